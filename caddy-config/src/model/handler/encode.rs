//! Compression of responses.

use serde::Serialize;

use super::ResponseMatcher;

/// Compresses responses for clients that accept it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Encode {
    /// What is on offer.
    #[serde(skip_serializing_if = "Encodings::is_empty")]
    pub encodings: Encodings,
    /// Which to take of those that the client likes alike, best first; empty is zstd, br, gzip.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prefer: Vec<Encoding>,
    /// Bodies up to this many bytes are left alone; `None` is 512.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_length: Option<u64>,
    /// `match` in JSON: which responses; `None` is those of a type that compresses well.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matcher: Option<ResponseMatcher>,
}

/// The encodings on offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Encodings {
    /// Brotli, which Caddy has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub br: Option<Brotli>,
    /// Gzip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gzip: Option<Gzip>,
    /// Zstandard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zstd: Option<Zstd>,
}

/// How brotli compresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Brotli {
    /// 0 to 11; `None` is 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
}

/// How gzip compresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gzip {
    /// 1 to 9; `None` is 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
}

/// How Zstandard compresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Zstd {
    /// `None` is [`ZstdLevel::Default`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<ZstdLevel>,
}

/// How hard Zstandard tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ZstdLevel {
    /// About level 1 of the reference implementation.
    Fastest,
    /// About level 3.
    Default,
    /// About level 7.
    Better,
    /// About level 11.
    Best,
}

/// The name of an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Encoding {
    /// Brotli.
    Br,
    /// Gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

// === impl Encodings ===

impl Encodings {
    /// Whether nothing is on offer.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.br.is_none() && self.gzip.is_none() && self.zstd.is_none()
    }

    /// Whether this one is on offer.
    #[must_use]
    pub const fn has(&self, encoding: Encoding) -> bool {
        match encoding {
            Encoding::Br => self.br.is_some(),
            Encoding::Gzip => self.gzip.is_some(),
            Encoding::Zstd => self.zstd.is_some(),
        }
    }
}

// === impl ZstdLevel ===

impl ZstdLevel {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "fastest" => Some(Self::Fastest),
            "default" => Some(Self::Default),
            "better" => Some(Self::Better),
            "best" => Some(Self::Best),
            _ => None,
        }
    }
}

// === impl Encoding ===

impl Encoding {
    /// As it stands in `Content-Encoding`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Br => "br",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Br, Self::Gzip, Self::Zstd]
            .into_iter()
            .find(|encoding| encoding.name() == name)
    }
}
