//! Limits of how many requests there may be in a time.
//!
//! Each proxy counts for itself. Counts belong to the process, not to a table of routes: a route that comes again with
//! the same limit goes on counting where it was.

mod limiter;
mod window;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use sha2::{Digest as _, Sha256};

use self::limiter::{Client, Limiter, Limiters};
use self::window::Rate;
use super::args::{Args, duration};
use super::body::Body;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::refusal::refusal;
use super::registry::Filters;
use super::settings::{BackendLimit, RouteSettings};
use super::settles::Settles;
use crate::Arg;
use crate::routing::ArgsError;

/// `ratelimit` and `clientRatelimit`.
#[derive(Debug)]
struct Limit {
    limiters: Arc<Limiters<Key>>,
    by: By,
    rate: Rate,
    status: StatusCode,
    /// The limiter of the route, once that is known.
    limiter: OnceLock<Arc<Limiter>>,
}

/// Which requests are counted together.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum By {
    /// All of the route.
    Route,
    /// Those of one address.
    Address,
    /// Those with the same values of these fields; X-Forwarded-For stands for the address.
    Fields(Vec<HeaderName>),
}

/// What tells limiters apart.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Key {
    table: usize,
    route: String,
    by: By,
    rate: Rate,
}

/// `disableRatelimit()`.
#[derive(Debug)]
struct Disable;

/// The route whose limits do not count.
struct Unlimited(String);

/// Counts the requests to each endpoint, for the limits that `backendRatelimit` gives routes. There is one for a
/// process: whoever asks endpoints keeps it through all tables of routes.
///
/// ```
/// use std::time::Duration;
///
/// use eskip::filters::{BackendLimit, BackendLimits};
///
/// # #[allow(clippy::disallowed_methods, reason = "it is an example")]
/// let now = std::time::Instant::now();
/// let limits = BackendLimits::default();
/// let limit = BackendLimit {
///     group: "orders".to_owned(),
///     most: 1,
///     window: Duration::from_secs(10),
///     status: http::StatusCode::SERVICE_UNAVAILABLE,
/// };
/// assert!(limits.refusal(&limit, "http://10.0.0.1:8080", now).is_none());
/// assert!(limits.refusal(&limit, "http://10.0.0.2:8080", now).is_none());
/// let refusal = limits.refusal(&limit, "http://10.0.0.1:8080", now).unwrap();
/// assert_eq!(refusal.status(), 503);
/// assert_eq!(refusal.headers()["retry-after"], "10");
/// ```
#[derive(Debug, Default)]
pub struct BackendLimits(Limiters<BackendLimit>);

pub(super) fn add(all: &mut Filters) {
    let limiters = Arc::new(Limiters::default());
    let of_route = Arc::clone(&limiters);
    all.add(
        "ratelimit",
        (
            "limits the requests of the route in a time; what is above gets status 429, or another",
            r#"ratelimit(20, "1m", 503)"#,
        ),
        move |args| Limit::of_route(args, &of_route),
    );
    let of_client = Arc::clone(&limiters);
    all.add(
        "clientRatelimit",
        (
            "limits the requests of each client in a time, told by its address or by header fields",
            r#"clientRatelimit(10, "1h", "Authorization,User-Agent")"#,
        ),
        move |args| Limit::of_client(args, &of_client),
    );
    all.add(
        "localRatelimit",
        ("deprecated: `clientRatelimit`", r#"localRatelimit(10, "1h")"#),
        move |args| Limit::of_client(args, &limiters),
    );
    all.add(
        "backendRatelimit",
        (
            "limits the requests to each endpoint in a time, for all routes that name the same group",
            r#"backendRatelimit("orders", 100, "1s", 429)"#,
        ),
        backend_limit,
    );
    all.add(
        "disableRatelimit",
        (
            "switches off the limits of requests that stand behind it in the route",
            "disableRatelimit()",
        ),
        |args| {
            Args::new(args).end()?;
            Ok(Disable)
        },
    );
}

fn backend_limit(args: &[Arg]) -> Result<Settles<BackendLimit>, ArgsError> {
    let mut args = Args::new(args);
    let group = args.text("a group")?.to_owned();
    let Rate { most, window } = rate(&mut args)?;
    let status = status(&mut args, StatusCode::SERVICE_UNAVAILABLE)?;
    args.end()?;
    let limit = BackendLimit {
        group,
        most,
        window,
        status,
    };
    Ok(Settles::new(limit, |route, limit| {
        if !route.is_unlimited {
            route.backend_limit = Some(limit.clone());
        }
    }))
}

/// A number of requests, and a time: a text, or a number of seconds.
fn rate(args: &mut Args<'_>) -> Result<Rate, ArgsError> {
    let most = args.whole("a number of requests")?;
    let window = args.next().and_then(|arg| match arg {
        Arg::Number(seconds) => Duration::try_from_secs_f64(*seconds).ok(),
        Arg::Text(text) => duration(text),
    });
    match window.filter(|window| !window.is_zero()) {
        Some(window) => Ok(Rate { most, window }),
        None => Err(args.expected("a length of time above zero, such as `1m`, or in seconds")),
    }
}

/// The status of what is refused, if one is given.
fn status(args: &mut Args<'_>, default: StatusCode) -> Result<StatusCode, ArgsError> {
    if !args.has_more() {
        return Ok(default);
    }
    let status = args.status()?;
    if status.is_informational() {
        return Err(args.expected("a status of an answer"));
    }
    Ok(status)
}

/// The answer to a request that is one too many.
fn too_many(status: StatusCode, rate: Rate, free: Duration) -> Response<Body> {
    let mut answer = refusal(status);
    let fields = answer.headers_mut();
    if let Ok(per_hour) = HeaderValue::try_from(rate.per_hour().to_string()) {
        fields.insert(HeaderName::from_static("x-rate-limit"), per_hour);
    }
    // A part of a second is told as a whole one: who comes back earlier would come in vain.
    let seconds = free.as_nanos().div_ceil(1_000_000_000).max(1);
    if let Ok(seconds) = HeaderValue::try_from(seconds.to_string()) {
        fields.insert(RETRY_AFTER, seconds);
    }
    answer
}

// === impl Limit ===

impl Limit {
    fn of_route(args: &[Arg], limiters: &Arc<Limiters<Key>>) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let rate = rate(&mut args)?;
        let status = status(&mut args, StatusCode::TOO_MANY_REQUESTS)?;
        args.end()?;
        Ok(Self::new(limiters, By::Route, rate, status))
    }

    fn of_client(args: &[Arg], limiters: &Arc<Limiters<Key>>) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let rate = rate(&mut args)?;
        let by = if args.has_more() {
            let what = "names of header fields with commas between them";
            let names = args.text(what)?.split(',').map(|name| name.trim().parse());
            let names: Result<_, _> = names.collect();
            By::Fields(names.map_err(|_| args.expected(what))?)
        } else {
            By::Address
        };
        args.end()?;
        Ok(Self::new(limiters, by, rate, StatusCode::TOO_MANY_REQUESTS))
    }

    fn new(limiters: &Arc<Limiters<Key>>, by: By, rate: Rate, status: StatusCode) -> Self {
        Self {
            limiters: Arc::clone(limiters),
            by,
            rate,
            status,
            limiter: OnceLock::new(),
        }
    }

    fn limiter(&self, cx: &FilterContext<'_>) -> &Limiter {
        self.limiter.get_or_init(|| {
            let key = Key {
                table: cx.exchange.table,
                route: cx.exchange.route.clone(),
                by: self.by.clone(),
                rate: self.rate,
            };
            self.limiters.get(&key, self.rate, cx.env.now())
        })
    }
}

impl Filter for Limit {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let unlimited: Option<&Unlimited> = cx.exchange.kept();
        if unlimited.is_some_and(|unlimited| unlimited.0 == cx.exchange.route) {
            return Flow::Next;
        }
        // A request that has none of the fields is nobody's, and not counted.
        let Some(client) = self.by.client(cx) else {
            return Flow::Next;
        };
        match self.limiter(cx).allow(client, cx.env.now()) {
            Ok(()) => Flow::Next,
            Err(free) => Flow::serve(too_many(self.status, self.rate, free)),
        }
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST.and_acts()
    }
}

// === impl By ===

impl By {
    fn client(&self, cx: &FilterContext<'_>) -> Option<Client> {
        match self {
            Self::Route => Some(Client(0)),
            Self::Address => Some(Client(address(cx).map_or(0, number))),
            Self::Fields(names) => {
                let values = names.iter().map(|name| match name.as_str() {
                    "x-forwarded-for" => address(cx).map(|address| address.to_string()),
                    _ => cx.field(name).map(str::to_owned),
                });
                let values: Vec<String> = values.map(Option::unwrap_or_default).collect();
                let is_anybody = values.iter().any(|value| !value.is_empty());
                is_anybody.then(|| Client::of(values.iter().map(String::as_str)))
            }
        }
    }
}

/// The address of the client: the first of X-Forwarded-For if that is one, else that of who is connected.
fn address(cx: &FilterContext<'_>) -> Option<IpAddr> {
    let given = cx.source();
    let given = given.and_then(|given| {
        let with_port = || given.parse::<SocketAddr>().ok().map(|address| address.ip());
        given.parse().ok().or_else(with_port)
    });
    given.or_else(|| cx.exchange.peer_ip())
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

// === impl Client ===

impl Client {
    /// Whoever has these texts. They may be long, and secret, so it is a hash of them that is remembered.
    fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut hash = Sha256::new();
        for text in texts {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        let bytes = hash.finalize();
        let half = bytes.first_chunk().copied().unwrap_or_default();
        Self(u128::from_be_bytes(half))
    }
}

// === impl Disable ===

impl Filter for Disable {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let route = cx.exchange.route.clone();
        cx.exchange.keep(Unlimited(route));
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }

    fn settle(&self, route: &mut RouteSettings) {
        route.is_unlimited = true;
        route.backend_limit = None;
    }
}

// === impl BackendLimits ===

impl BackendLimits {
    /// The answer to a request that is one too many for an endpoint, such as `http://10.0.0.1:8080`; otherwise the
    /// request counts.
    #[must_use]
    pub fn refusal(&self, limit: &BackendLimit, endpoint: &str, now: Instant) -> Option<Response<Body>> {
        let rate = Rate {
            most: limit.most,
            window: limit.window,
        };
        let client = Client::of([endpoint].into_iter());
        let refused = self.0.get(limit, rate, now).allow(client, now);
        refused.err().map(|free| too_many(limit.status, rate, free))
    }
}

#[cfg(test)]
mod tests;
