//! HTTP as the proxy speaks it to clients: connections, head checks, header rules, replies.

pub(crate) mod buffer;
pub(crate) mod clients;
pub(crate) mod connection;
pub(crate) mod forwarded;
pub(crate) mod frames;
pub(crate) mod hop_by_hop;
pub(crate) mod io;
pub(crate) mod limit;
pub(crate) mod marks;
pub(crate) mod proxy_protocol;
pub(crate) mod reply;
pub(crate) mod server;
pub(crate) mod sweep;
pub(crate) mod target;
pub(crate) mod trailers;
pub(crate) mod upgrade;
