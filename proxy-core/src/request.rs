//! What the pipeline knows of one request, from its head checks to its answer.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher as _;
use std::net::{IpAddr, SocketAddr};

use consul_upstreams::Tier;
use http::header::{HeaderMap, HeaderValue};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri};
use http_body::Body as _;

use crate::body::Body;
use crate::error::{Failure, Reason};
use crate::facts::Facts;
use crate::percent;
use crate::routing::slots::Values;

/// One request on its way through the routes.
#[derive(Debug)]
pub(crate) struct Context {
    /// The head; filters of the request phase change it. A path and a query are changed with [`Context::rewrite`].
    pub(crate) parts: Parts,
    /// The host as the client gave it, with its port, or as a filter changed it.
    pub(crate) host: Option<HeaderValue>,
    /// The direct peer; `None` if it came by a unix socket.
    pub(crate) peer: Option<SocketAddr>,
    /// The client behind trusted proxies, else the peer.
    pub(crate) client_ip: Option<IpAddr>,
    /// Whether the client speaks TLS to the proxy.
    pub(crate) tls: bool,
    /// Whether the direct peer is a trusted proxy.
    pub(crate) via_trusted_proxy: bool,
    /// The number of the worker that has it.
    pub(crate) worker: usize,
    /// The fields of the answer so far: those that were set on the way in. An upstream's are added to them.
    pub(crate) answer: HeaderMap,
    /// What routes set and captured.
    pub(crate) vars: Values,
    /// What the request was before the first rewrite; `None`: it still is.
    pub(crate) original: Option<Box<Original>>,
    /// What error routes are told.
    pub(crate) error: Option<Box<Told>>,
    /// The answer of an upstream that routes decide about.
    pub(crate) caught: Option<Box<Response<Body>>>,
    /// What few configurations ask for.
    pub(crate) facts: Option<Box<Facts>>,
    /// Where the filters of a route let it go, as `host:port`.
    pub(crate) dynamic: Option<Box<str>>,
    /// What the filters of a route want its upstream to be chosen by.
    pub(crate) hash_key: Option<Box<str>>,
    /// The upstream is told the Host that is there, not its own.
    pub(crate) keeps_host: bool,
    uuid: OnceCell<String>,
    form: Form,
}

/// How a peer is written down: its address, or `@` if it came by a unix socket and has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerName(pub(crate) Option<SocketAddr>);

/// What a rewrite changes.
#[derive(Clone, Debug)]
pub(crate) struct Original {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
}

/// An error, as error routes see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) reason: Reason,
    pub(crate) status: StatusCode,
    /// The seconds after which trying again makes sense.
    pub(crate) retry_after: Option<u8>,
    pub(crate) message: String,
    /// Tells this occurrence from others.
    pub(crate) id: String,
}

/// The path in the form that path matchers compare: decoded once, in lower case, clean of dots and double slashes.
#[derive(Debug, Default)]
enum Form {
    #[default]
    Unknown,
    /// It came in this form.
    AsItIs,
    Other(Box<str>),
}

/// Where errors come from, for those who ask: Caddy names a line of its source there.
pub(crate) const TRACE: &str = "doorway";

/// Methods that are defined to change nothing (RFC 9110, section 9.2.1): sending one again does no harm.
const SAFE: [Method; 4] = [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE];

/// Whether sending `request` twice is harmless and possible: it changes nothing and has no body.
pub(crate) fn may_repeat(request: &Request<Body>) -> bool {
    SAFE.contains(request.method()) && request.body().is_end_stream()
}

/// A copy of `request`; `None` if its body comes in pieces, which go to one upstream only.
pub(crate) fn copy(request: &Request<Body>) -> Option<Box<Request<Body>>> {
    let mut copy = Request::new(request.body().copy()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    Some(Box::new(copy))
}

// === impl PeerName ===

impl fmt::Display for PeerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("@"),
        }
    }
}

// === impl Context ===

impl Context {
    /// A request of `client_ip` that came from `peer`, with its head checked.
    pub(crate) fn new(
        parts: Parts,
        host: Option<HeaderValue>,
        peer: Option<SocketAddr>,
        client_ip: Option<IpAddr>,
        tls: bool,
    ) -> Self {
        Self {
            parts,
            host,
            peer,
            client_ip,
            tls,
            via_trusted_proxy: false,
            worker: 0,
            answer: HeaderMap::new(),
            vars: Values::default(),
            original: None,
            error: None,
            caught: None,
            facts: None,
            dynamic: None,
            hash_key: None,
            keeps_host: false,
            uuid: OnceCell::new(),
            form: Form::Unknown,
        }
    }

    /// Which instances of a service in Consul there are to choose from. What an earlier attempt had stays if this one has
    /// none.
    pub(crate) fn note_tier(&mut self, tier: Option<Tier>) {
        if let Some(facts) = &mut self.facts {
            facts.consul_tier = tier.or(facts.consul_tier);
        }
    }

    /// The path as it came, dot segments resolved, or as it was rewritten.
    pub(crate) fn path(&self) -> &str {
        self.parts.uri.path()
    }

    /// The query without its `?`.
    pub(crate) fn query(&self) -> Option<&str> {
        self.parts.uri.query()
    }

    /// Path and query.
    pub(crate) fn target(&self) -> &str {
        target(&self.parts.uri)
    }

    /// The host with its port, as text.
    pub(crate) fn host_port(&self) -> &str {
        self.host
            .as_ref()
            .and_then(|host| host.to_str().ok())
            .unwrap_or_default()
    }

    /// The host as routes compare it: no port, no brackets, no trailing dot, lower case.
    pub(crate) fn host_name(&self) -> Cow<'_, str> {
        self.host.as_ref().map_or(Cow::Borrowed(""), host_name)
    }

    /// The path decoded once, in lower case, clean of dots and double slashes.
    pub(crate) fn path_form(&mut self) -> &str {
        if matches!(self.form, Form::Unknown) {
            self.form = match percent::path_form(self.parts.uri.path()) {
                Cow::Borrowed(_) => Form::AsItIs,
                Cow::Owned(form) => Form::Other(form.into()),
            };
        }
        match &self.form {
            Form::Other(form) => form,
            Form::Unknown | Form::AsItIs => self.parts.uri.path(),
        }
    }

    /// Gives the request another method, or another path and query.
    pub(crate) fn rewrite(&mut self, method: Option<Method>, target: Option<PathAndQuery>) {
        let Self { parts, original, .. } = self;
        original.get_or_insert_with(|| {
            Box::new(Original {
                method: parts.method.clone(),
                uri: parts.uri.clone(),
            })
        });
        if let Some(method) = method {
            parts.method = method;
        }
        if let Some(target) = target {
            parts.uri = Uri::from(target);
            self.form = Form::Unknown;
        }
    }

    /// Undoes every rewrite, as error routes see the request that came.
    pub(crate) fn restore(&mut self) {
        if let Some(original) = self.original.take() {
            self.parts.method = original.method;
            self.parts.uri = original.uri;
            self.form = Form::Unknown;
        }
    }

    /// The method before every rewrite.
    pub(crate) fn original_method(&self) -> &Method {
        self.original
            .as_ref()
            .map_or(&self.parts.method, |original| &original.method)
    }

    /// Path and query before every rewrite.
    pub(crate) fn original_uri(&self) -> &Uri {
        self.original
            .as_ref()
            .map_or(&self.parts.uri, |original| &original.uri)
    }

    /// A name of the request's own, made when it is first asked for.
    pub(crate) fn uuid(&self) -> &str {
        self.uuid.get_or_init(uuid)
    }

    /// The same, if anything has asked for it.
    pub(crate) fn known_uuid(&self) -> Option<&str> {
        self.uuid.get().map(String::as_str)
    }

    /// The host follows the field, which a filter changed.
    pub(crate) fn follow_host(&mut self) {
        let last = self.parts.headers.get_all(http::header::HOST).iter().next_back();
        self.host = last.map(valid_host);
        if let Some(host) = &self.host {
            self.parts.headers.insert(http::header::HOST, host.clone());
        }
    }
}

/// `host`, or an empty one if it is none: what is no host goes nowhere, as in Caddy.
pub(crate) fn valid_host(host: &HeaderValue) -> HeaderValue {
    if http1_codec::is_valid_authority(host.as_bytes()) {
        host.clone()
    } else {
        HeaderValue::from_static("")
    }
}

/// A random UUID (RFC 9562, version 4). It tells requests apart and keeps no secret.
fn uuid() -> String {
    let random = || u128::from(RandomState::new().hash_one(0));
    let bits = (random() << 64) | random();
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{bits:032x}");
    let mut out = String::with_capacity(36);
    for (index, digit) in digits.chars().enumerate() {
        if matches!(index, 8 | 12 | 16 | 20) {
            out.push('-');
        }
        out.push(digit);
    }
    out
}

// === impl Told ===

impl Told {
    /// An error of this moment.
    pub(crate) fn new(failure: &Failure) -> Self {
        const LETTERS: &[u8] = b"abcdefghijkmnpqrstuvwxyz23456789";
        let mut random = RandomState::new().hash_one(0);
        let id = (0..9).filter_map(|_| {
            let letter = LETTERS.get(usize::try_from(random % 32).ok()?)?;
            random /= 32;
            Some(char::from(*letter))
        });
        Self {
            reason: failure.reason,
            status: failure.status,
            retry_after: failure.retry_after,
            message: failure.message(),
            id: id.collect(),
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{id={}}} {TRACE}: HTTP {}", self.id, self.status.as_u16())?;
        if self.message.is_empty() {
            Ok(())
        } else {
            write!(f, ": {}", self.message)
        }
    }
}

/// Path and query.
pub(crate) fn target(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", PathAndQuery::as_str)
}

/// The host as routes compare it: without port and trailing dot, in lower case.
pub(crate) fn host_name(host: &HeaderValue) -> Cow<'_, str> {
    host_name_of(std::str::from_utf8(host.as_bytes()).unwrap_or_default())
}

/// As [`host_name`], of a text.
pub(crate) fn host_name_of(text: &str) -> Cow<'_, str> {
    let name = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        // A byte after the other: it is short, and the search for text is for long ones.
        None => match text.bytes().position(|byte| byte == b':') {
            Some(end) => text.get(..end).unwrap_or_default(),
            None => text,
        },
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_safe_request_without_a_body_can_be_sent_again() {
        let request = |method: &str, body| Request::builder().method(method).body(body).unwrap();
        assert!(may_repeat(&request("GET", Body::empty())));
        assert!(!may_repeat(&request("GET", Body::full("x"))));
        for method in ["POST", "PUT", "DELETE", "PATCH", "X"] {
            assert!(!may_repeat(&request(method, Body::empty())), "{method}");
        }
    }

    #[test]
    fn hosts_that_mean_the_same_route_the_same() {
        for host in ["A.Test", "a.test:80", "a.test.", "a.test.:80", "a.test:"] {
            assert_eq!(
                host_name(&HeaderValue::from_str(host).unwrap()),
                "a.test",
                "{host}"
            );
        }
        assert_eq!(
            host_name(&HeaderValue::from_static("[2001:DB8::1]:80")),
            "2001:db8::1"
        );
    }
}
