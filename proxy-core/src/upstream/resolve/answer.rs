//! What is known about a name: its addresses or services, and whether the last look-up worked.

use std::net::IpAddr;
use std::time::Duration;

use thiserror::Error;

/// The addresses of one name, or what else is looked up, as they are known now. Immutable; the next one replaces it
/// whole.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Answer<R = IpAddr> {
    records: Box<[R]>,
    generation: u64,
    state: State,
}

/// Where an SRV record says that a service is.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Service {
    /// The lowest is meant to be asked first.
    pub(crate) priority: u16,
    /// The host, in lower case, with the dot at its end that says that it is whole.
    pub(crate) target: Box<str>,
    /// Never 0.
    pub(crate) port: u16,
}

/// What an SRV look-up brought: never empty, sorted, each once; and how long it may be used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Services {
    pub(super) services: Vec<Service>,
    pub(super) ttl: Duration,
}

/// How far an [`Answer`] can be trusted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum State {
    /// No look-up has ended yet.
    Never,
    /// The last look-up worked.
    Fresh,
    /// The last look-up failed; the addresses, if any, are those of the last one that worked.
    Stale(LookupError),
}

/// Addresses of one family, never empty, and how long they may be used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Records {
    pub(super) addresses: Vec<IpAddr>,
    pub(super) ttl: Duration,
}

/// What one look-up brought, family by family: each can fail for itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Lookup {
    pub(super) v4: Result<Records, LookupError>,
    pub(super) v6: Result<Records, LookupError>,
}

/// Why a look-up brought no addresses.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub(crate) enum LookupError {
    /// The name servers say that there is no such name.
    #[error("the name does not exist")]
    NoSuchName,
    /// The name exists, without an address that can be connected to.
    #[error("the name has no addresses")]
    NoAddresses,
    /// The name exists, without an SRV record that names a service.
    #[error("the name has no services")]
    NoServices,
    /// The name server answered with this error code.
    #[error("the name server answered: {0}")]
    Code(Box<str>),
    /// No usable answer came in time.
    #[error("no answer from the name servers in time")]
    Timeout,
    /// The text is no host name.
    #[error("not a host name: {0}")]
    BadName(Box<str>),
    /// Anything else: unreachable servers, broken answers, an unreadable system configuration.
    #[error("{0}")]
    Other(Box<str>),
}

/// The last good addresses of each family. They are kept apart, because one family's name server trouble must not
/// take the other family's addresses away.
#[derive(Debug, Default)]
pub(super) struct Known {
    v4: Vec<IpAddr>,
    v6: Vec<IpAddr>,
}

// === impl Answer ===

impl<R> Answer<R> {
    pub(super) fn never() -> Self {
        Self {
            records: Box::default(),
            generation: 0,
            state: State::Never,
        }
    }

    /// What was found: each once, sorted, so that name servers that change the order change nothing. Empty if no look-up
    /// has worked yet.
    pub(crate) fn records(&self) -> &[R] {
        &self.records
    }

    /// Grows by one whenever the records change, and only then. 0 until there are some.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether the last look-up worked.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }
}

impl<R: PartialEq> Answer<R> {
    /// The answer that follows this one.
    pub(super) fn next(&self, records: Vec<R>, state: State) -> Self {
        let records = records.into_boxed_slice();
        let changed = records != self.records;
        Self {
            records,
            generation: self.generation + u64::from(changed),
            state,
        }
    }
}

impl Answer {
    /// The answer for an address, which needs no look-up.
    pub(super) fn literal(address: IpAddr) -> Self {
        Self {
            records: Box::new([address]),
            generation: 1,
            state: State::Fresh,
        }
    }

    /// The addresses, sorted (IPv4 first) and each once. Empty if no look-up has worked yet.
    pub(crate) fn addresses(&self) -> &[IpAddr] {
        self.records()
    }
}

// === impl LookupError ===

impl LookupError {
    /// Whether the name servers said for certain that there are no such records, as opposed to saying nothing.
    pub(super) fn is_absence(&self) -> bool {
        matches!(self, Self::NoSuchName | Self::NoAddresses | Self::NoServices)
    }
}

// === impl Lookup ===

impl Lookup {
    /// The same failure for both families.
    pub(super) fn failed(error: &LookupError) -> Self {
        Self {
            v4: Err(error.clone()),
            v6: Err(error.clone()),
        }
    }

    pub(super) fn has_addresses(&self) -> bool {
        self.v4.is_ok() || self.v6.is_ok()
    }

    /// Whether the name servers said for certain that the name has no addresses.
    pub(super) fn is_absence(&self) -> bool {
        [&self.v4, &self.v6]
            .into_iter()
            .all(|family| matches!(family, Err(error) if error.is_absence()))
    }
}

// === impl Known ===

impl Known {
    /// Takes in what a look-up brought and says how long it is valid.
    ///
    /// With an address of any family the look-up worked: a family that the name servers deny is dropped, one that
    /// failed is kept. Without any address it failed, whatever the reason, and everything is kept.
    ///
    /// # Errors
    /// The failure that says most: trouble with the name servers before the name's absence.
    pub(super) fn accept(&mut self, lookup: Lookup) -> Result<Duration, LookupError> {
        match (lookup.v4, lookup.v6) {
            (Err(v4), Err(v6)) => Err(if v4.is_absence() && !v6.is_absence() {
                v6
            } else {
                v4
            }),
            (v4, v6) => {
                let ttls = [&v4, &v6].into_iter().flatten().map(|records| records.ttl);
                let ttl = ttls.min().unwrap_or_default();
                replace(&mut self.v4, v4);
                replace(&mut self.v6, v6);
                Ok(ttl)
            }
        }
    }

    /// All addresses in the order of [`Answer::addresses`].
    pub(super) fn addresses(&self) -> Vec<IpAddr> {
        let mut all: Vec<IpAddr> = self.v4.iter().chain(&self.v6).map(IpAddr::to_canonical).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn replace(known: &mut Vec<IpAddr>, found: Result<Records, LookupError>) {
    match found {
        Ok(records) => *known = records.addresses,
        Err(error) if error.is_absence() => known.clear(),
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests;
