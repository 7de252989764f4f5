//! Several sites, listeners and handlers: who answers, and with what.

mod handlers;
mod routing;
mod tls;
