//! Skipper's routes in a running proxy: where they come from, the tables that are made of them, and what is told of those.

mod fetch;
pub(crate) mod settings;
pub(crate) mod source;
pub(crate) mod supply;
pub(crate) mod table;
