//! Who may ask: nobody authenticates, so that pages in a browser must be kept from asking for their visitor.
//!
//! A page of another site can send requests to any address of its visitor's machine, and a name that its owner turns
//! around can even make them look as if they stayed on one site. Both show in the request's head: the first in
//! `Origin` or `Sec-Fetch-Mode`, the second in `Host`. The checks and their order are Caddy's.

mod origin;
#[cfg(test)]
mod tests;

use caddy_config::{Admin, ListenAddress};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, StatusCode};
use thiserror::Error;

use self::origin::Origin;

const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// What a page of an allowed origin may send.
const METHODS: HeaderValue = HeaderValue::from_static("OPTIONS, GET, POST, PUT, PATCH, DELETE");
const HEADERS: HeaderValue = HeaderValue::from_static("Content-Type, Content-Length, Cache-Control");
const CREDENTIALS: HeaderValue = HeaderValue::from_static("true");

/// The checks of one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    allowed: Vec<Origin>,
    check_host: bool,
    enforce_origin: bool,
}

/// Why a request is refused. The words are Caddy's.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum Refusal {
    #[error("WebSocket connections aren't allowed.")]
    WebSocket,
    #[error("Disabling same-origin restrictions is not allowed.")]
    NoCors,
    #[error("Buggy browser is sending null Origin header.")]
    NullOrigin,
    #[error("host not allowed: {0}")]
    Host(String),
    #[error("required Origin header is missing or invalid")]
    BadOrigin,
    #[error("client is not allowed to access from origin '{0}'")]
    Origin(String),
}

// === impl Guard ===

impl Guard {
    /// The checks of an endpoint at `address`, whose port is `port`.
    pub(crate) fn new(admin: &Admin, address: &ListenAddress, port: u16) -> Self {
        let ip = address.tcp().and_then(caddy_config::HostPort::ip);
        let host = address.tcp().map(caddy_config::HostPort::host);
        let everywhere = host == Some("") || ip.is_some_and(|ip| ip.is_unspecified());
        let is_loopback = host.is_some_and(|host| host.eq_ignore_ascii_case("localhost"))
            || ip.is_some_and(|ip| ip.is_loopback());
        let mut allowed: Vec<Origin> = admin.origins.iter().map(|text| Origin::allowed(text)).collect();
        if let (Some(host), true) = (host, allowed.is_empty()) {
            let hosts: &[&str] = if is_loopback {
                &["localhost", "::1", "127.0.0.1", host]
            } else {
                &[host]
            };
            let of_port = |host: &&str| caddy_config::HostPort::new((*host).to_owned(), port).to_string();
            allowed.extend(hosts.iter().map(of_port).map(|text| Origin::allowed(&text)));
        }
        Self {
            allowed,
            check_host: host.is_some() && !everywhere,
            enforce_origin: admin.enforce_origin,
        }
    }

    /// Checks the head of a request; fields for its answer, whatever that will be.
    pub(crate) fn check(&self, head: &Parts) -> Result<HeaderMap, Refusal> {
        let fields = &head.headers;
        if first(fields, &header::UPGRADE)
            .to_ascii_lowercase()
            .contains("websocket")
        {
            return Err(Refusal::WebSocket);
        }
        if first(fields, &SEC_FETCH_MODE).contains("no-cors") {
            return Err(Refusal::NoCors);
        }
        if first(fields, &header::ORIGIN) == "null" {
            return Err(Refusal::NullOrigin);
        }
        if self.check_host {
            let host = head.uri.authority().map_or_else(
                || first(fields, &header::HOST),
                |authority| authority.as_str().to_owned(),
            );
            if !self.allowed.iter().any(|origin| origin.has_host(&host)) {
                return Err(Refusal::Host(host));
            }
        }
        let mut answer = HeaderMap::new();
        let asks_from_page = fields.contains_key(header::ORIGIN) || fields.contains_key(SEC_FETCH_MODE);
        if self.enforce_origin || asks_from_page {
            answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, self.check_origin(fields)?);
            if head.method == Method::OPTIONS {
                answer.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
                answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
                answer.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, CREDENTIALS);
            }
        }
        Ok(answer)
    }

    /// The origin of a request, if it is allowed.
    fn check_origin(&self, fields: &HeaderMap) -> Result<HeaderValue, Refusal> {
        let mut text = first(fields, &header::ORIGIN);
        if text.is_empty() {
            text = first(fields, &header::REFERER);
        }
        let origin = Origin::of_request(&text).ok_or(Refusal::BadOrigin)?;
        if !self.allowed.iter().any(|allowed| allowed.allows(&origin)) {
            return Err(Refusal::Origin(text));
        }
        HeaderValue::from_str(&origin.to_string()).map_err(|_| Refusal::BadOrigin)
    }
}

/// The first value of a field, empty if there is none. Bytes that are no text are replaced, so that they match nothing.
fn first(fields: &HeaderMap, name: &HeaderName) -> String {
    let value = fields.get(name).map(HeaderValue::as_bytes);
    value.map_or_else(String::new, |value| String::from_utf8_lossy(value).into_owned())
}

// === impl Refusal ===

impl Refusal {
    /// The status of the answer.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::WebSocket | Self::NoCors | Self::NullOrigin => StatusCode::BAD_REQUEST,
            Self::Host(_) | Self::BadOrigin | Self::Origin(_) => StatusCode::FORBIDDEN,
        }
    }
}
