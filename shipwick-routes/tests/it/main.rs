//! The crate as its users see it.

mod desired;
mod document;
mod render;
#[cfg(feature = "sync")]
mod sync;
