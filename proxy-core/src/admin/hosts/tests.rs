//! The API of routes without sockets: requests in, answers out.

mod access;
mod conditions;
mod history;
mod outage;
mod reading;
mod rig;
mod state;
mod waiting;
mod writing;
