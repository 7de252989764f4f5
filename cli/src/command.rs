//! The commands, one file each.

pub(crate) mod adapt;
pub(crate) mod config;
pub(crate) mod consul;
pub(crate) mod demo;
pub(crate) mod eskip;
pub(crate) mod explain;
pub(crate) mod fmt;
pub(crate) mod geo;
pub(crate) mod hash_password;
pub(crate) mod reload;
pub(crate) mod routes;
pub(crate) mod run;
pub(crate) mod shipwick;
pub(crate) mod stop;
pub(crate) mod store;
pub(crate) mod token;
pub(crate) mod validate;
pub(crate) mod version;
