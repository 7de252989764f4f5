//! What stands between a listening socket and HTTP.

use std::time::Duration;

use serde::Serialize;

use super::{IpRange, http::nanos};

/// What stands between a listening socket and HTTP; `wrapper` in JSON.
///
/// Those before [`ListenerWrapper::Tls`] act on the raw connection, those behind it on what is encrypted. Without a
/// `Tls` among them, all of them stand behind TLS, if the listener speaks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "wrapper", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ListenerWrapper {
    /// Takes the client's address from a PROXY protocol header.
    ProxyProtocol(ProxyProtocol),
    /// The place of TLS. After reading it stands at most once, and not first.
    Tls {},
}

/// From whom a PROXY protocol header is taken, and for how long it is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProxyProtocol {
    /// How long the header may take; `None` is no limit in Caddy, and five seconds in Doorway.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub timeout: Option<Duration>,
    /// Peers whose header is used. If it is empty and nothing is denied, all are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<IpRange>,
    /// Peers whose header is not used; it comes before `allow`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<IpRange>,
    /// What happens to peers that are neither allowed nor denied; `None` is [`ProxyProtocolFallback::Ignore`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_policy: Option<ProxyProtocolFallback>,
}

/// What happens to the PROXY protocol header of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum ProxyProtocolFallback {
    /// It is read, and its address not used. Never read: it is as good as not said.
    Ignore,
    /// Its address is used.
    Use,
    /// A connection that begins with one is closed.
    Reject,
    /// Its address is used, and a connection without one is closed.
    Require,
    /// It is not looked for: what comes is HTTP or TLS.
    Skip,
}

// === impl ProxyProtocolFallback ===

impl ProxyProtocolFallback {
    /// Case does not matter.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name.to_ascii_uppercase().as_str() {
            "IGNORE" => Some(Self::Ignore),
            "USE" => Some(Self::Use),
            "REJECT" => Some(Self::Reject),
            "REQUIRE" => Some(Self::Require),
            "SKIP" => Some(Self::Skip),
            _ => None,
        }
    }
}
