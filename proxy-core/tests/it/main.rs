//! The integration suite of proxy-core: a real proxy on loopback, real clients, scripted upstreams.

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    dead_code,
    reason = "a test may spawn and stop where it finds a fault"
)]

mod support;

mod pod_alone;
