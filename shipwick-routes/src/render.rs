//! Desired routes as Caddy's JSON.

mod json;
mod model;

use std::fmt;

use sha2::{Digest as _, Sha256};

use self::model::Document;
use crate::desired::Desired;

/// What is rendered beside the routes.
///
/// # Defaults
///
/// `never_twice`, and nothing else: the configuration of Shipwick 0.1.0, with its promise kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderOptions {
    /// Whether a request that reached an application is never sent to another replica (`retry_match` with a matcher that
    /// matches nothing). Without it a proxy sends a GET again whose connection broke after the application had read it.
    /// Failed connections are tried on another replica either way.
    pub never_twice: bool,
    /// Whether clients get the text of "no healthy replica" also where the proxy finds every replica down by itself, as a
    /// 503 with `Retry-After` in place of its own empty 502 or 503.
    pub error_route: bool,
    /// The protocols of the server; none leaves them to the proxy.
    pub protocols: Vec<Protocol>,
    /// The addresses that the server listens on, as Caddy spells them: `:443`.
    pub listen: Vec<String>,
    /// Whether the server speaks plain HTTP and asks for no certificates, for a proxy behind another one. Its `listen` is
    /// another port then.
    pub plain_http: bool,
}

/// A protocol of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    H1,
    /// HTTP/2 over TLS.
    H2,
    /// HTTP/2 without TLS.
    H2c,
    /// HTTP/3.
    H3,
}

/// A configuration, as it is sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Rendered {
    bytes: Vec<u8>,
    fingerprint: Fingerprint,
    routes: usize,
}

/// Eight bytes of the SHA-256 of a configuration, which is rendered without a marker for that. The same routes, with the
/// same options, for the same admin address have the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 8]);

/// The text is no protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value {}: expected h1, h2, h2c or h3", crate::text::shown(.0))]
pub struct ProtocolError(String);

/// How the marker of a configuration begins.
const MARKER: &str = "shipwick-config-";

/// Renders `desired`. The same routes give the same bytes, whatever the order in which they are given.
///
/// A domain that is claimed twice is served by the first, see [`Desired::conflicts`].
pub fn render(desired: &Desired, options: &RenderOptions) -> Rendered {
    let routes = desired.routes();
    let document = Document::new(desired, &routes, options);
    let mut bytes = json::to_vec(&document);
    let digest = Sha256::digest(&bytes);
    let mut fingerprint = Fingerprint([0; 8]);
    for (to, from) in fingerprint.0.iter_mut().zip(digest) {
        *to = from;
    }
    mark(&mut bytes, fingerprint);
    Rendered {
        bytes,
        fingerprint,
        routes: routes.len(),
    }
}

/// Puts the marker into the last route, where an empty one holds its place.
fn mark(bytes: &mut Vec<u8>, fingerprint: Fingerprint) {
    let place = bytes
        .windows(model::NO_MARKER.len())
        .rposition(|window| window == model::NO_MARKER.as_bytes());
    debug_assert!(place.is_some(), "the last route has a marker");
    if let Some(place) = place {
        // Before the last of its quotation marks.
        let at = place + model::NO_MARKER.len() - 1;
        bytes.splice(at..at, fingerprint.marker().into_bytes());
    }
}

// === impl RenderOptions ===

impl RenderOptions {
    /// The bytes of Shipwick 0.1.0, whose configuration does not keep its promise that no request is sent twice.
    pub fn shipwick_0_1_0() -> Self {
        Self {
            never_twice: false,
            ..Self::default()
        }
    }
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            never_twice: true,
            error_route: false,
            protocols: Vec::new(),
            listen: vec![":443".to_owned()],
            plain_http: false,
        }
    }
}

// === impl Protocol ===

impl Protocol {
    /// Its name in a configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::H1 => "h1",
            Self::H2 => "h2",
            Self::H2c => "h2c",
            Self::H3 => "h3",
        }
    }
}

impl std::str::FromStr for Protocol {
    type Err = ProtocolError;

    fn from_str(text: &str) -> Result<Self, ProtocolError> {
        let all = [Self::H1, Self::H2, Self::H2c, Self::H3];
        let found = all.into_iter().find(|protocol| protocol.as_str() == text);
        found.ok_or_else(|| ProtocolError(text.to_owned()))
    }
}

// === impl Rendered ===

impl Rendered {
    /// The JSON: compact, its keys in the order of the alphabet.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The JSON.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// What tells this configuration from others.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// How many routes there are, the last one, which answers 404, not counted.
    pub fn routes(&self) -> usize {
        self.routes
    }
}

/// The routes are long, and their fingerprint says which they are.
impl fmt::Debug for Rendered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendered")
            .field("fingerprint", &self.fingerprint)
            .field("routes", &self.routes)
            .finish_non_exhaustive()
    }
}

// === impl Fingerprint ===

impl Fingerprint {
    /// The `@id` by which a proxy that runs the configuration can be asked for it: `/id/shipwick-config-…`.
    pub fn marker(self) -> String {
        format!("{MARKER}{self}")
    }
}

/// 16 digits, in lowercase.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
