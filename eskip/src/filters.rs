//! What a route does with a request and with its answer: filters, and the registry that makes them of a route's calls.
//!
//! A [`Filter`] has two phases. In the first, in the order of the route, it sees the request and may change it, answer
//! it, or wait. In the second, in the reverse order, it sees the answer. Only filters that a request has come to see its
//! answer. What is the same for all requests of a route, such as its time-outs, is no phase's: filters say it once, when
//! the route is built, by [`Filter::settle`].
//!
//! Filters are made by [`Filters`], which knows the kinds by name; new kinds are [`FilterSpec`]s:
//!
//! ```
//! use eskip::filters::{Filter, FilterContext, FilterSpec, Filters, Flow};
//! use eskip::{Arg, routing::ArgsError};
//!
//! /// Gives the request a field with what `:echo` in its path stands for.
//! #[derive(Debug)]
//! struct SetEchoHeader;
//!
//! impl Filter for SetEchoHeader {
//!     fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
//!         let echo = cx.exchange.param("echo").and_then(|echo| echo.parse().ok());
//!         if let Some(echo) = echo {
//!             cx.request.headers.insert("x-echo", echo);
//!         }
//!         Flow::Next
//!     }
//! }
//!
//! struct Spec;
//!
//! impl FilterSpec for Spec {
//!     fn name(&self) -> &'static str {
//!         "setEchoHeader"
//!     }
//!
//!     fn create(&self, _args: &[Arg]) -> Result<Box<dyn Filter>, ArgsError> {
//!         Ok(Box::new(SetEchoHeader))
//!     }
//! }
//!
//! let mut filters = Filters::default();
//! filters.register(Spec);
//! let calls = eskip::parse_filters("setEchoHeader() -> setResponseHeader(\"X-From\", \"here\")")?;
//! assert!(calls.iter().all(|call| filters.create(call).is_ok()));
//! # Ok::<(), eskip::ParseErrors>(())
//! ```
//!
//! # What it promises
//!
//! Filters of this crate touch no socket and no clock but those of [`Env`], and spawn nothing.

mod answers;
mod args;
mod backend;
mod balancing;
mod block;
mod body;
mod breakers;
mod contents;
mod context;
mod cookies;
mod cors;
mod dynamic;
mod edited;
mod encoding;
mod exchange;
mod filter;
mod forwarded;
mod header_values;
mod headers;
mod limits;
mod logs;
mod mtls;
mod path;
#[cfg(test)]
mod pieces;
mod query;
mod redirects;
mod refusal;
mod registry;
mod sed;
mod settings;
mod settles;
mod sniff;
mod target;
#[cfg(test)]
mod trial;

/// One for each file of filters: adds what is in it.
type Family = fn(&mut Filters);

/// All filters of this crate.
const FAMILIES: &[Family] = &[
    answers::add,
    backend::add,
    balancing::add,
    block::add,
    breakers::add,
    contents::add,
    cookies::add,
    cors::add,
    dynamic::add,
    encoding::add,
    forwarded::add,
    header_values::add,
    headers::add,
    limits::add,
    logs::add,
    mtls::add,
    path::add,
    query::add,
    redirects::add,
    sed::add,
];

pub use self::{
    args::Args,
    body::{Body, BodyChange, BodyRefused, BodySlot, BoxError, StreamBody, Wrap},
    context::{Answer, Env, FilterContext},
    exchange::{DynamicTarget, Exchange, StateBag},
    filter::{Filter, Flow, Resume, Waiting, Wants},
    limits::BackendLimits,
    registry::{FilterError, FilterSettings, FilterSpec, Filters, LookUp},
    settings::{AccessLog, BackendLimit, Breaker, BreakerKind, FadeIn, Origin, RouteSettings, Switch},
};
pub use crate::routing::About;
