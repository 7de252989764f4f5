//! Forwarding: one request, from its head checks to the end of its answer. Read [`pipeline`] first.

pub(crate) mod access_log;
mod addresses;
mod attempts;
pub(crate) mod before;
mod choice;
mod connecting;
pub(crate) mod exchange;
pub(crate) mod hosts;
pub(crate) mod interim;
mod journey;
mod mounted;
pub(crate) mod outgoing;
pub(crate) mod pipeline;
pub(crate) mod pods;
pub(crate) mod proxy;
pub(crate) mod query;
pub(crate) mod rehearsal;
pub(crate) mod selection;
pub(crate) mod upload;
pub(crate) mod view;
pub(crate) mod worker;
