//! The admin API: what Caddy's is, for whoever drives Caddy.

pub(crate) mod document;
pub(crate) mod guard;
