//! One entry of an answer, as far as it matters.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::{Instance, SkipReason};
use crate::locality::Locality;

/// The longest host name.
const LONGEST_HOST: usize = 253;

/// The longest text of Consul's that is told to people.
const LONGEST_TEXT: usize = 100;

/// An array of entries, or null, each given to a function that says whether it wants more. Its value is whether it took
/// them all.
pub(super) struct Entries<F>(pub(super) F);

/// Unknown fields are passed over, and all may be null or missing.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Entry {
    node: Option<Node>,
    service: Option<Service>,
    checks: Option<Vec<Option<Check>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Node {
    node: Option<String>,
    address: Option<String>,
    meta: Option<HashMap<String, Option<String>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Service {
    #[serde(rename = "ID")]
    id: Option<String>,
    address: Option<String>,
    port: Option<i64>,
    weights: Option<Weights>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Weights {
    passing: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Check {
    #[serde(rename = "CheckID")]
    id: Option<String>,
    status: Option<String>,
}

// === impl Entries ===

impl<'de, F: FnMut(&Entry) -> bool> Visitor<'de> for Entries<F> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of instances")
    }

    fn visit_none<E>(self) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut all: A) -> Result<bool, A::Error> {
        let mut whole = true;
        while whole {
            match all.next_element::<Option<Entry>>()? {
                None => return Ok(true),
                Some(entry) => whole = (self.0)(&entry.unwrap_or_default()),
            }
        }
        // What is left need not be understood, only read past.
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(false)
    }
}

// === impl Entry ===

impl Entry {
    pub(super) fn instance(&self, locality: Option<&Locality>) -> Result<Instance, SkipReason> {
        let (Some(node), Some(service)) = (&self.node, &self.service) else {
            return Err(SkipReason::Incomplete);
        };
        let number = service.port.unwrap_or(0);
        let port = u16::try_from(number).ok().filter(|port| *port != 0);
        let port = port.ok_or(SkipReason::Port(number))?;
        let given = |address: &Option<String>| {
            let address = address.as_deref().unwrap_or("");
            (!address.is_empty()).then(|| address.to_owned())
        };
        let address = given(&service.address).or_else(|| given(&node.address));
        let address = address.ok_or(SkipReason::NoAddress)?;
        let host = host(&address).ok_or_else(|| SkipReason::Address(short(&address)))?;
        let zone = locality.and_then(|locality| {
            let meta = node.meta.as_ref()?.get(&locality.node_meta)?;
            meta.as_deref()
        });
        let weight = service.weights.as_ref().and_then(|weights| weights.passing);
        let instance = Instance {
            weight: u16::try_from(weight.unwrap_or(1).clamp(1, i64::from(u16::MAX))).unwrap_or(1),
            ..Instance::new(&host, port)
        };
        Ok(instance.with_zone(zone, locality))
    }

    /// Why it is not among those that pass: the first of its checks that does not.
    pub(super) fn failing(&self) -> Option<SkipReason> {
        let checks = self.checks.as_deref().unwrap_or_default();
        let text = |text: &Option<String>| short(text.as_deref().unwrap_or(""));
        let failing = checks
            .iter()
            .flatten()
            .find(|check| check.status.as_deref() != Some("passing"))?;
        Some(SkipReason::Check(text(&failing.id), text(&failing.status)))
    }

    pub(super) fn id(&self) -> String {
        let part = |text: Option<&String>| text.map_or_else(|| "?".to_owned(), |text| short(text));
        let node = self.node.as_ref().and_then(|node| node.node.as_ref());
        let id = self.service.as_ref().and_then(|service| service.id.as_ref());
        format!("{}/{}", part(node), part(id))
    }
}

/// A name in lower case, or an address in its usual form. Some registrations have their brackets already.
fn host(text: &str) -> Option<String> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    if let Ok(ip) = inner.unwrap_or(text).parse::<IpAddr>() {
        let ip = ip.to_canonical();
        return (!ip.is_unspecified() && !ip.is_multicast()).then(|| ip.to_string());
    }
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(known);
    let whole = text.strip_suffix('.').unwrap_or(text);
    let is_name = whole.len() <= LONGEST_HOST && whole.split('.').all(is_label);
    is_name.then(|| text.to_ascii_lowercase())
}

pub(super) fn short(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}
