//! The admin API: what Caddy's is, for whoever drives Caddy.

mod document;
mod guard;
