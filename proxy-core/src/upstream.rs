//! Where requests go: names to addresses, connections to them, and the pools that keep those.

pub(crate) mod balance;
pub(crate) mod breaker;
pub(crate) mod budget;
pub(crate) mod channel;
pub(crate) mod cluster;
pub(crate) mod connect;
pub(crate) mod dials;
pub(crate) mod discovery;
pub(crate) mod gate;
pub(crate) mod health;
pub(crate) mod http2;
pub(crate) mod idle;
pub(crate) mod load;
pub(crate) mod pool;
pub(crate) mod proxy_header;
pub(crate) mod resolve;
pub(crate) mod retry;
pub(crate) mod standing;
pub(crate) mod timed;
pub(crate) mod transport;
