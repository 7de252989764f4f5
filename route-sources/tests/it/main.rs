//! The tests of the crate as its users see it.

#[cfg(feature = "kubernetes")]
mod kubernetes;
