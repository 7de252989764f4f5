//! The manual: what Doorway reads. Text only.
//!
//! The table of [`configuration`] is written by `cargo xtask codegen`, from the code that it speaks of.

/// What of Caddy's configuration Doorway has.
pub mod configuration {
    #![doc = include_str!("manual/configuration.md")]
}
