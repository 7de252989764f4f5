//! What Doors apps need: the way to the pod of a session, and to the site of a visitor's country.

use std::{collections::BTreeMap, time::Duration};

use ipnet::IpNet;
use serde::{Serialize, Serializer};

use crate::model::{Secret, http::nanos};

/// Doors routing: which pod, which server, or gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DoorsHandler {
    /// Standard base64 of an AES key, shared with the Doors app; not yet decoded. A token opens with any of
    /// them, which is how a key is changed without cutting sessions. One is written as a string, several as a
    /// list; never empty after reading.
    #[serde(rename = "secret", serialize_with = "one_or_list")]
    pub secrets: Vec<Secret>,
    /// The cookie that pins a session to a server; needed with more than one upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cookie_name: Option<String>,
    /// The servers in order of precedence; never empty after reading.
    pub upstreams: Vec<DoorsUpstream>,
    /// The status for a pod that refuses the connection; `None` is 410.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_pod_status: Option<u16>,
}

/// One server of a Doors app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoorsUpstream {
    /// Covers the addresses of all pods on this server. Bits behind the prefix may be set.
    #[serde(serialize_with = "text")]
    pub cidr: IpNet,
    /// A name or address that leads to the fresh deployment; no brackets, no port.
    pub host: String,
    /// Where the app listens; 1 to 65535.
    pub port: u16,
}

/// Sends visitors to the site of their country: a GET whose client's address lies in a country of `redirects` is
/// answered with a redirect, unless it came for that site already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DoorsGeo {
    /// Where the archive of all countries' networks is; `None` is the release of ipverse/geo-ip-blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tarball_url: Option<String>,
    /// How often it is asked for; nanoseconds in JSON. `None` is 24 hours.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub update_interval: Option<Duration>,
    /// Limit for one download; `None` is 30 seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub download_timeout: Option<Duration>,
    /// Domain to the countries that belong there, two letters each in upper case; no country has two domains.
    pub redirects: BTreeMap<String, Vec<String>>,
    /// The scheme of the target; `None` is [`RedirectScheme::Https`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_scheme: Option<RedirectScheme>,
    /// The status of a redirect: 302, 307 or 308; `None` is 307.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// The scheme that visitors are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RedirectScheme {
    /// Plain HTTP.
    Http,
    /// HTTPS, whatever the request came by: TLS may end before Doorway.
    Https,
    /// That of the request.
    Request,
}

// === impl RedirectScheme ===

impl RedirectScheme {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            "request" => Some(Self::Request),
            _ => None,
        }
    }
}

/// A list of one is written without brackets.
fn one_or_list<S: Serializer>(secrets: &[Secret], serializer: S) -> Result<S::Ok, S::Error> {
    match secrets {
        [one] => one.serialize(serializer),
        list => list.serialize(serializer),
    }
}

/// A network is a string in JSON.
fn text<S: Serializer>(net: &IpNet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(net)
}
