//! What a filter sees.

use std::borrow::Cow;
use std::time::{Instant, SystemTime};

use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{HeaderName, StatusCode};

use super::body::BodySlot;
use super::exchange::Exchange;
use crate::template::{Filled, Placeholder, Template};

/// A request, and in the second phase its answer.
pub struct FilterContext<'c> {
    /// The head of the request. Its fields hold no Host, which is [`Exchange::host`], unless a filter has set one: then
    /// the backend is told that one, and predicates see it after a loopback. In the second phase see
    /// [`Wants::head`](super::Wants::head).
    pub request: &'c mut Parts,
    /// The body of the request; in the second phase it is gone.
    pub request_body: &'c mut BodySlot,
    /// What else belongs to it.
    pub exchange: &'c mut Exchange,
    /// The answer; `None` in the first phase.
    pub response: Option<Answer<'c>>,
    /// What is around.
    pub env: &'c dyn Env,
}

/// An answer on its way to the client.
#[derive(Debug)]
pub struct Answer<'c> {
    /// The status.
    pub status: &'c mut StatusCode,
    /// The fields.
    pub headers: &'c mut HeaderMap,
    /// The body.
    pub body: &'c mut BodySlot,
}

/// What filters need of the world.
pub trait Env {
    /// The monotonic clock.
    fn now(&self) -> Instant;

    /// The time of day.
    fn wall(&self) -> SystemTime;

    /// A random number; it keeps no secret.
    fn random(&self) -> u64;
}

// === impl FilterContext ===

impl FilterContext<'_> {
    /// Fills in a template.
    #[must_use]
    pub fn fill(&self, template: &Template) -> Filled {
        template.fill(|placeholder| self.value(placeholder))
    }

    /// The first value of a field of the request, if it is text. Host is the one that the client gave, or a filter.
    #[must_use]
    pub fn field(&self, name: &HeaderName) -> Option<&str> {
        match self.request.headers.get(name) {
            None if name == header::HOST => Some(&self.exchange.host),
            value => value?.to_str().ok(),
        }
    }

    /// The first cookie of that name.
    #[must_use]
    pub fn cookie(&self, name: &str) -> Option<&str> {
        cookie(&self.request.headers, name)
    }

    /// The first address of X-Forwarded-For, else that of who is connected. Clients can write there what they want.
    #[must_use]
    pub fn source(&self) -> Option<String> {
        self.forwarded(|all| all.next())
    }

    /// The last address of X-Forwarded-For, else that of who is connected.
    #[must_use]
    pub fn source_from_last(&self) -> Option<String> {
        self.forwarded(|all| all.last())
    }

    /// Sets the Host that the backend is told. What is no host is not taken.
    pub fn set_outgoing_host(&mut self, host: &str) {
        if let (Ok(_), Ok(value)) = (host.parse::<http::uri::Authority>(), HeaderValue::from_str(host)) {
            self.exchange.outgoing_host = Some(value);
        }
    }

    fn forwarded(
        &self,
        choose: impl for<'a> FnOnce(&mut dyn Iterator<Item = &'a str>) -> Option<&'a str>,
    ) -> Option<String> {
        let lines = self.request.headers.get_all("x-forwarded-for").iter();
        let mut all = lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(','))
            .map(str::trim)
            .filter(|address| !address.is_empty());
        let chosen = choose(&mut all).map(str::to_owned);
        chosen.or_else(|| self.exchange.peer_ip().map(|ip| ip.to_string()))
    }

    fn value(&self, placeholder: &Placeholder) -> Option<Cow<'_, str>> {
        Some(match placeholder {
            Placeholder::Method => self.request.method.as_str().into(),
            Placeholder::Host => self.exchange.host.as_str().into(),
            Placeholder::Path => self.path(),
            Placeholder::RawQuery => self.request.uri.query()?.into(),
            Placeholder::Source => self.source()?.into(),
            Placeholder::SourceFromLast => self.source_from_last()?.into(),
            Placeholder::ClientIp => self.exchange.peer_ip()?.to_string().into(),
            Placeholder::RequestHeader(name) => self.field(&name.parse().ok()?)?.into(),
            Placeholder::Query(name) => self.query(name)?.into(),
            Placeholder::Cookie(name) => self.cookie(name)?.into(),
            Placeholder::ResponseHeader(name) => {
                let value = self.response.as_ref()?.headers.get(name)?;
                value.to_str().ok()?.into()
            }
            Placeholder::PathParameter(name) => self.exchange.param(name)?.into(),
        })
    }
}

impl std::fmt::Debug for FilterContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Fields may hold secrets.
        f.debug_struct("FilterContext")
            .field("route", &self.exchange.route)
            .finish_non_exhaustive()
    }
}

/// The first cookie of that name.
fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter_map(|(given, value)| (given == name).then_some(value));
    values.next().map(|value| value.trim_matches('"'))
}
