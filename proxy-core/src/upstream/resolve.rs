//! Names to addresses and to services, off the request path.
//!
//! A [`ResolverSet`] holds one [`Name`] for each host in use, and one for each name whose SRV records are. Its [`run`](ResolverSet::run) looks each up again when the
//! record's TTL is over and publishes the [`Answer`]; a request only reads the current one. A failed look-up keeps the
//! last good addresses. Nobody has to be told of a change: whoever holds something for an address compares
//! [`Answer::generation`].

mod answer;
mod dns;
mod name;
mod places;
mod set;
mod system;

use std::time::Duration;

pub(crate) use answer::{Answer, Service, State};
pub(crate) use name::{Name, Wishes};
pub(crate) use places::Places;
pub(crate) use set::{ResolverSet, Terms, When};

/// The wait after the first failed look-up; it doubles with each further one.
const BACKOFF_START: Duration = Duration::from_secs(1);

/// How often names are looked up.
///
/// # Defaults
/// `floor` 1 s, `ceiling` 30 s, `timeout` 5 s.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ResolveSettings {
    floor: Duration,
    ceiling: Duration,
    /// Of one look-up.
    timeout: Duration,
}

// === impl ResolveSettings ===

impl ResolveSettings {
    /// The shortest time between two look-ups of a name, whatever its TTL and however many connections fail. Zero
    /// counts as 10 ms, since a loop without a pause helps nobody.
    pub(crate) fn with_floor(mut self, floor: Duration) -> Self {
        self.floor = floor.max(Duration::from_millis(10));
        self.ceiling = self.ceiling.max(self.floor);
        self
    }

    /// The longest time between two look-ups of a name; at least the floor. Failures may add a quarter.
    pub(crate) fn with_ceiling(mut self, ceiling: Duration) -> Self {
        self.ceiling = ceiling.max(self.floor);
        self
    }

    /// With what a name's own terms say.
    fn on(&self, terms: &Terms) -> Self {
        let timeout = terms.timeout.unwrap_or(self.timeout);
        let settings = Self {
            timeout,
            ..self.clone()
        };
        match terms.refresh {
            Some(refresh) => settings.with_ceiling(refresh),
            None => settings,
        }
    }
}

impl Default for ResolveSettings {
    fn default() -> Self {
        Self {
            floor: Duration::from_secs(1),
            ceiling: Duration::from_secs(30),
            timeout: Duration::from_secs(5),
        }
    }
}

#[cfg(test)]
pub(crate) mod script;
#[cfg(test)]
#[path = "../../tests/it/support/dns.rs"]
#[allow(dead_code, reason = "made for the integration tests, which use all of it")]
mod test_server;
