//! Where Consul is.

use reqwest::Url;

/// What stands for an address that is not given.
const DEFAULT: &str = "http://127.0.0.1:8500";

/// Where Consul is: what leads there, and what each request's URL begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) place: Place,
    /// The scheme, the host and a path before Consul's own.
    pub(crate) base: Url,
}

/// What leads to Consul.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The host and the port of the URL.
    Network,
    /// A unix socket.
    Socket(String),
}

// === impl Address ===

impl Address {
    /// Reads an address. The error does not show it, as it may hold a password.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let text = match text.trim() {
            "" => DEFAULT,
            text => text,
        };
        if let Some(path) = text.strip_prefix("unix://") {
            if path.is_empty() || path.contains('\0') {
                return Err("a unix socket needs a path, such as unix:///run/consul.sock");
            }
            return Ok(Self {
                place: Place::Socket(path.to_owned()),
                base: Url::parse("http://localhost").map_err(|_| "no URL")?,
            });
        }
        let whole = match text.split_once("://") {
            Some(("http" | "https", _)) => text.to_owned(),
            Some(_) => return Err("the scheme must be http, https or unix"),
            None => format!("http://{text}"),
        };
        let base = Url::parse(&whole).map_err(|_| "it is no URL, such as http://127.0.0.1:8500")?;
        if !base.username().is_empty() || base.password().is_some() {
            return Err("it must not hold a user or password");
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err("it must not hold a query or fragment");
        }
        if !base.has_host() {
            return Err("it needs a host");
        }
        Ok(Self {
            place: Place::Network,
            base,
        })
    }
}
