//! Where requests go: names to addresses.

pub(crate) mod resolve;
