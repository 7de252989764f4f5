//! Which upstream a request asks for: the rule of its proxy, and what the rule goes by.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hmac::digest::CtOutput;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::header::{self, HeaderName, HeaderValue};
use sha2::Sha256;

use crate::percent;
use crate::request::Context;
use crate::routing::template::Template;
use crate::upstream::balance::Rule;
use crate::upstream::cluster::Upstream;

/// How one of several upstreams is selected.
#[derive(Debug)]
pub(crate) enum Selection {
    Rule(Rule),
    /// By the hash of a key; without one, by the fallback.
    Keyed {
        key: Key,
        rule: Rule,
        fallback: Box<Self>,
    },
    /// By a cookie; without one, by the fallback, and the answer sets it.
    Sticky(Box<Sticky>),
}

/// What a request is hashed by.
#[derive(Debug)]
pub(crate) enum Key {
    PeerIp,
    ClientIp,
    /// Path and query.
    Target,
    /// The values of a field, joined with commas.
    Field(HeaderName),
    Host,
    /// The values of a parameter of the query, joined with commas.
    Query(String),
    Text(Template),
    /// What the filters of a route said.
    Filters,
}

/// A cookie that names an upstream.
#[derive(Debug)]
pub(crate) struct Sticky {
    pub(crate) name: String,
    pub(crate) seal: Seal,
    /// The names of the upstreams that the configuration lists, in their order.
    pub(crate) known: Vec<(Arc<str>, Tag)>,
    /// How long browsers keep it; `None` is until they are closed.
    pub(crate) max_age: Option<Duration>,
    pub(crate) fallback: Selection,
}

/// Makes names of upstreams that tell nobody their addresses: the HMAC-SHA256 of an address, in hex, as Caddy.
#[derive(Clone)]
pub(crate) struct Seal(Hmac<Sha256>);

/// Such a name. Comparing two takes a time that does not tell how much of them is equal.
pub(crate) type Tag = CtOutput<Hmac<Sha256>>;

/// What one request asks for.
#[derive(Debug)]
pub(crate) struct Ask<'v> {
    pub(crate) rule: &'v Rule,
    pub(crate) key: String,
    pub(crate) sticky: Option<Stuck<'v>>,
}

/// What the cookie of one request says.
#[derive(Debug)]
pub(crate) struct Stuck<'v> {
    sticky: &'v Sticky,
    /// The place of the upstream that it names.
    pub(crate) named: Option<usize>,
    /// The client speaks TLS, to the proxy or to a trusted one before it.
    secure: bool,
}

// === impl Selection ===

impl Selection {
    /// Any upstream, all equally likely: what is done where nothing is said.
    pub(crate) const RANDOM: Self = Self::Rule(Rule::Random);

    /// What the request of `cx` asks for among `list`. `behind_tls` says whether a trusted proxy took it over TLS.
    pub(crate) fn ask<'v>(&'v self, cx: &Context, list: &[Upstream], behind_tls: bool) -> Ask<'v> {
        match self {
            Self::Rule(rule) => Ask {
                rule,
                key: String::new(),
                sticky: None,
            },
            Self::Keyed { key, rule, fallback } => match key.of(cx) {
                key if key.is_empty() => fallback.ask(cx, list, behind_tls),
                key => Ask {
                    rule,
                    key,
                    sticky: None,
                },
            },
            Self::Sticky(sticky) => Ask {
                sticky: Some(Stuck {
                    named: sticky.named(cx, list),
                    secure: cx.tls || behind_tls,
                    sticky,
                }),
                ..sticky.fallback.ask(cx, list, behind_tls)
            },
        }
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self::RANDOM
    }
}

// === impl Key ===

impl Key {
    fn of(&self, cx: &Context) -> String {
        let address = |ip: Option<std::net::IpAddr>| ip.map(|ip| ip.to_string()).unwrap_or_default();
        match self {
            Self::PeerIp => address(cx.peer.as_ref().map(SocketAddr::ip)),
            Self::ClientIp => address(cx.client_ip),
            Self::Target => cx.target().to_owned(),
            Self::Field(name) => {
                let values = cx.parts.headers.get_all(name).iter();
                joined(values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()))
            }
            Self::Host => cx.host_port().to_owned(),
            Self::Query(name) => {
                let pairs = cx.query().unwrap_or_default().split('&');
                let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
                let values =
                    pairs.filter(|(key, _)| percent::decode_query(key).is_some_and(|key| key == *name));
                joined(values.filter_map(|(_, value)| percent::decode_query(value).map(Cow::into_owned)))
            }
            Self::Text(text) => text.render(cx),
            Self::Filters => cx.hash_key.as_deref().unwrap_or_default().to_owned(),
        }
    }
}

fn joined(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(",")
}

// === impl Sticky ===

impl Sticky {
    /// The place of the upstream that the first cookie of the name names, if it is there. As in Go, what is no cookie is
    /// passed over, whatever stands beside it.
    fn named(&self, cx: &Context, list: &[Upstream]) -> Option<usize> {
        let fields = cx.parts.headers.get_all(header::COOKIE).iter();
        let pairs = fields.flat_map(|field| field.as_bytes().split(|byte| *byte == b';'));
        let mut values = pairs.filter_map(|pair| self.value_of(pair));
        let value = values.next()?;
        let tag = tag_of(value)?;
        let is_meant = |(index, upstream): (usize, &Upstream)| {
            let label = upstream.slot().label();
            match self.known.get(index) {
                Some((known, theirs)) if known == label => *theirs == tag,
                _ => self.seal.tag(label) == tag,
            }
        };
        list.iter().enumerate().position(is_meant)
    }

    /// What a pair says, if it is a cookie of this name (RFC 6265, section 4.1.1, and spaces).
    fn value_of<'c>(&self, pair: &'c [u8]) -> Option<&'c [u8]> {
        let rest = pair.trim_ascii_start().strip_prefix(self.name.as_bytes())?;
        let value = rest.trim_ascii_start().strip_prefix(b"=")?.trim_ascii();
        let unquoted = value
            .strip_prefix(b"\"")
            .and_then(|value| value.strip_suffix(b"\""))
            .unwrap_or(value);
        let fits = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        unquoted.iter().all(fits).then_some(unquoted)
    }
}

/// The tag that hexadecimal digits stand for, in lower case as they are written.
fn tag_of(hex: &[u8]) -> Option<Tag> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    let bytes: Vec<u8> = hex.chunks(2).map(byte).collect::<Option<_>>()?;
    <[u8; 32]>::try_from(bytes)
        .ok()
        .map(|bytes| CtOutput::new(bytes.into()))
}

// === impl Seal ===

impl Seal {
    /// `secret` is the key. Without one the names are no secret, as in Caddy.
    pub(crate) fn new(secret: &str) -> Self {
        // A key of any length is one: longer ones are hashed first (RFC 2104).
        let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes());
        Self(mac.unwrap_or_else(|_| Hmac::new(&hmac::digest::Key::<Hmac<Sha256>>::default())))
    }

    /// The name of the upstream with `label`.
    pub(crate) fn tag(&self, label: &str) -> Tag {
        let mut mac = self.0.clone();
        mac.update(label.as_bytes());
        mac.finalize()
    }

    fn name(&self, label: &str) -> String {
        let tag = self.tag(label).into_bytes();
        tag.iter().fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a string does not fail.
            let _infallible = write!(hex, "{byte:02x}");
            hex
        })
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

// === impl Stuck ===

impl Stuck<'_> {
    /// The field that makes the client come back to the upstream at `index`; `None` if it does already.
    pub(crate) fn cookie(&self, index: usize, upstream: &Upstream) -> Option<HeaderValue> {
        if self.named == Some(index) {
            return None;
        }
        let Sticky {
            name, seal, max_age, ..
        } = self.sticky;
        let mut cookie = format!("{name}={}; Path=/", seal.name(upstream.slot().label()));
        if let Some(age) = max_age {
            // Writing to a string does not fail.
            let _infallible = write!(cookie, "; Max-Age={}", age.as_secs());
        }
        cookie.push_str("; HttpOnly");
        cookie.push_str(if self.secure {
            "; Secure; SameSite=None"
        } else {
            "; SameSite=Lax"
        });
        HeaderValue::try_from(cookie).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstreams_are_named_as_caddy_names_them() {
        for (secret, name) in [
            (
                "hush",
                "1924940d7c6c3339c502f7b5c57dc60aed7dec52657c6e421b2d8d002e1f7dd3",
            ),
            (
                "",
                "8f739746d46f6017b4bde24ace4c68cb3c3e881ad280882383b5332dcfbcd789",
            ),
        ] {
            let seal = Seal::new(secret);
            assert_eq!(seal.name("10.0.0.1:80"), name);
            assert!(tag_of(name.as_bytes()).is_some_and(|tag| tag == seal.tag("10.0.0.1:80")));
            assert!(tag_of(name.as_bytes()).is_some_and(|tag| tag != seal.tag("10.0.0.2:80")));
        }
        assert_eq!(format!("{:?}", Seal::new("hush")), "Seal");
    }

    #[test]
    fn what_is_no_name_of_an_upstream_is_refused() {
        let long = "0".repeat(66);
        for wrong in [
            "",
            "0",
            "12",
            "zz",
            &"0".repeat(62),
            &"0".repeat(63),
            &long,
            &"g".repeat(64),
            &"A".repeat(64),
            &"+f".repeat(32),
            "é",
        ] {
            assert!(tag_of(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }
}
