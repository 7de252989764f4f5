//! Several sites, listeners and handlers: who answers, and with what.

mod encode;
mod handlers;
mod metrics;
mod routing;
mod tls;
mod users;
