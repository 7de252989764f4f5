//! What Consul's `/v1/health/service/…` answers, read into instances. Pure.
//!
//! Consul gives null for what is empty, ports and addresses that nothing can listen on, and another order each time; it
//! adds fields with each release. Whatever of an entry makes no address is passed over with the reason.

mod entry;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;

use serde::de::Deserializer as _;
use thiserror::Error;

use self::entry::{Entries, Entry};
use crate::locality::Locality;

/// The most entries of one answer.
pub const MOST_INSTANCES: usize = 8192;

/// An address that takes requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    host: Box<str>,
    port: u16,
    weight: u16,
    is_local: bool,
    zone: Option<Box<str>>,
}

/// What an answer holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Each host and port once, sorted: addresses by their value, then names.
    pub instances: Vec<Instance>,
    /// What makes no instance, in Consul's order.
    pub skipped: Vec<Skipped>,
}

/// An entry that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// `NODE/SERVICE-ID`, as far as they are known.
    pub id: String,
    /// Why.
    pub reason: SkipReason,
}

/// Why an entry is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// It is null, or lacks its node or its service.
    Incomplete,
    /// The port is not one from 1 to 65535.
    Port(i64),
    /// Neither the service nor the node has an address.
    NoAddress,
    /// What it has is no name, and no address that something can be reached at.
    Address(String),
    /// Another entry has the same host and port.
    Duplicate,
    /// A check is not passing: its name and its status.
    Check(String, String),
}

/// Why an answer cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is not the JSON of this endpoint.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It has more entries than [`MOST_INSTANCES`].
    #[error("more than {MOST_INSTANCES} instances")]
    Many,
}

// === impl Instance ===

impl Instance {
    /// An instance of weight 1 that is not local.
    pub fn new(host: &str, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
            weight: 1,
            is_local: false,
            zone: None,
        }
    }

    /// On a node whose metadata says `zone` in the field that `locality` looks at.
    pub(crate) fn with_zone(self, zone: Option<&str>, locality: Option<&Locality>) -> Self {
        Self {
            is_local: locality.is_some_and(|locality| locality.is_local(zone)),
            // The caches hold it for as long as the instance, so that nobody's metadata is to fill them.
            zone: zone.map(|zone| entry::short(zone).into()),
            ..self
        }
    }

    /// A name in lower case, or an address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// From 1 on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Consul's `Weights.Passing`, from 1 on; 1 if none is given.
    pub fn weight(&self) -> u16 {
        self.weight
    }

    /// Whether its node has the local value.
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// What its node's metadata says in the field of [`Locality::node_meta`]: its first 100 characters.
    pub fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    /// Addresses first, and by their value, so that 10.0.0.9 comes before 10.0.0.10.
    fn key(&self) -> (bool, Option<IpAddr>, &str, u16) {
        let ip = self.host.parse().ok();
        (ip.is_none(), ip, &self.host, self.port)
    }
}

impl fmt::Display for Instance {
    /// `host:port`, with brackets around an IPv6 address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete => f.write_str("it lacks its node or its service"),
            Self::Port(port) => write!(f, "port {port} is not one from 1 to 65535"),
            Self::NoAddress => f.write_str("neither the service nor its node has an address"),
            Self::Address(address) => write!(f, "nothing can be reached at {address:?}"),
            Self::Duplicate => f.write_str("another instance has the same host and port"),
            Self::Check(name, status) => write!(f, "check {name:?} is {status:?}"),
        }
    }
}

/// Reads the body of an answer.
///
/// # Errors
///
/// If it is not the JSON of this endpoint, or holds too many entries.
pub fn read(body: &[u8], locality: Option<&Locality>) -> Result<Health, ReadError> {
    let mut health = Health::default();
    let mut count = 0;
    each(body, |entry| {
        count += 1;
        match entry.instance(locality) {
            Ok(instance) => health.instances.push(instance),
            Err(reason) => health.skipped.push(Skipped {
                id: entry.id(),
                reason,
            }),
        }
        count < MOST_INSTANCES
    })?;
    // Of several with one address the first counts: the order of equal ones stays.
    health.instances.sort_by(|a, b| a.key().cmp(&b.key()));
    let skipped = &mut health.skipped;
    health.instances.dedup_by(|later, first| {
        let same = later.key() == first.key();
        if same {
            let (id, reason) = (later.to_string(), SkipReason::Duplicate);
            skipped.push(Skipped { id, reason });
        }
        same
    });
    Ok(health)
}

/// What an answer about all instances, passing or not, holds of those that are not.
///
/// # Errors
///
/// As [`read`].
pub fn read_failing(body: &[u8]) -> Result<(usize, Vec<Skipped>), ReadError> {
    let (mut count, mut failing) = (0, Vec::new());
    each(body, |entry| {
        count += 1;
        if let Some(reason) = entry.failing() {
            failing.push(Skipped {
                id: entry.id(),
                reason,
            });
        }
        count < MOST_INSTANCES
    })?;
    Ok((count, failing))
}

/// Gives each entry to `take` as soon as it is read, so that never more than one is held whole.
fn each(body: &[u8], mut take: impl FnMut(&Entry) -> bool) -> Result<(), ReadError> {
    let mut full = false;
    let mut reader = serde_json::Deserializer::from_slice(body);
    let entries = Entries(|entry: &Entry| {
        if full {
            return false;
        }
        full = !take(entry);
        true
    });
    if reader.deserialize_option(entries)? {
        reader.end()?;
        return Ok(());
    }
    Err(ReadError::Many)
}
