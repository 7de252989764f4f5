//! Upstreams that are found out for each request.

use std::time::Duration;

use serde::Serialize;

use super::{ConsulUpstreams, FallbackDelay, Resolver, is_false, nanos};

/// Upstreams that are found out for each request; `source` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "source", rename_all = "snake_case")]
#[non_exhaustive]
pub enum DynamicUpstreams {
    /// The addresses of a name.
    A(AUpstreams),
    /// The instances of a Consul service.
    Consul(Box<ConsulUpstreams>),
    /// What the `doors_handler` before it in the chain chose.
    #[serde(rename = "doors_upstreams")]
    Doors {},
    /// Those of several sources, in their order.
    Multi {
        /// The sources.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        sources: Vec<Self>,
    },
    /// What the SRV records of a name list.
    Srv(SrvUpstreams),
}

/// The addresses of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AUpstreams {
    /// The name, with placeholders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The port, with placeholders; `None` is 80.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The time after which the name is looked up again; `None` is one minute.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub refresh: Option<Duration>,
    /// Who is asked; `None` is the system's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolver: Option<Resolver>,
    /// Limit for reaching a name server.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub dial_timeout: Option<Duration>,
    /// The head start of IPv6 when a name server is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dial_fallback_delay: Option<FallbackDelay>,
    /// Which addresses are taken; `None` is both kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<IpVersions>,
}

/// Kinds of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IpVersions {
    /// A records.
    #[serde(skip_serializing_if = "is_false")]
    pub ipv4: bool,
    /// AAAA records.
    #[serde(skip_serializing_if = "is_false")]
    pub ipv6: bool,
}

/// What the SRV records of a name list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SrvUpstreams {
    /// The service, without its underscore, with placeholders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The protocol, `tcp` or `udp`, with placeholders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proto: Option<String>,
    /// The domain, or with neither service nor protocol the whole name; with placeholders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The time after which the name is looked up again; `None` is one minute.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub refresh: Option<Duration>,
    /// How long the last answer is good for after a failure; `None` is not at all.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub grace_period: Option<Duration>,
    /// Who is asked; `None` is the system's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolver: Option<Resolver>,
    /// Limit for reaching a name server.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub dial_timeout: Option<Duration>,
    /// The head start of IPv6 when a name server is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dial_fallback_delay: Option<FallbackDelay>,
}

// === impl DynamicUpstreams ===

impl DynamicUpstreams {
    /// The names of all sources, sorted.
    pub(crate) const NAMES: [&'static str; 5] = ["a", "consul", "doors_upstreams", "multi", "srv"];

    /// Whether it, or a source that it joins, takes what a `doors_handler` chose.
    #[must_use]
    pub fn has_doors(&self) -> bool {
        match self {
            Self::Doors {} => true,
            Self::Multi { sources } => sources.iter().any(Self::has_doors),
            Self::A(_) | Self::Consul(_) | Self::Srv(_) => false,
        }
    }
}
