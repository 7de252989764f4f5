//! To be written.

#[allow(dead_code, unused_imports, reason = "its users come next")]
mod tls;
#[allow(dead_code, unused_imports, reason = "its users come next")]
mod upstream;
