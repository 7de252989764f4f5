//! What the tests stand on: raw clients, scripted origins, a Doors-like pod, a DNS server and a running proxy.

pub(crate) mod admin;
pub(crate) mod browser;
pub(crate) mod dns;
pub(crate) mod ends;
pub(crate) mod frames;
pub(crate) mod h2_client;
pub(crate) mod identity;
pub(crate) mod logs;
pub(crate) mod message;
pub(crate) mod net;
pub(crate) mod origin;
pub(crate) mod pod;
pub(crate) mod rig;
pub(crate) mod secure;
pub(crate) mod tls;
pub(crate) mod wait;
pub(crate) mod wire;
