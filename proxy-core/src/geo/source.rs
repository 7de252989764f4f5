//! One database of countries.

use std::net::IpAddr;
use std::time::Duration;

use doors_routing::Located;
use geo_db::{Database, updater};

/// A database that is kept up to date. It outlives a configuration that another one with the same address follows.
#[derive(Debug)]
pub(crate) struct Source {
    /// Where its archive is. `None`: the release of ipverse/geo-ip-blocks.
    pub(crate) url: Option<String>,
    /// The same without its secrets, as metrics and logs name it.
    pub(crate) name: String,
    pub(crate) database: Database,
}

/// How a database is kept up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// How often its archive is asked for. Default: 24 hours.
    pub(crate) interval: Option<Duration>,
    /// How long a download may take. Default: 30 seconds.
    pub(crate) timeout: Option<Duration>,
}

// === impl Source ===

impl Source {
    pub(crate) fn new(url: Option<&str>) -> Self {
        Self {
            url: url.map(str::to_owned),
            name: url.map_or_else(|| "ipverse".to_owned(), updater::without_secrets),
            database: Database::default(),
        }
    }

    /// Where a client with this address is.
    pub(crate) fn locate(&self, client: Option<IpAddr>) -> Located {
        let Some(client) = client else {
            return Located::NoAddress;
        };
        let found = self.database.lookup(client);
        let code = found.and_then(|country| country.as_str().as_bytes().try_into().ok());
        match code {
            Some(country) => Located::In(country),
            None if self.database.has_data() => Located::Unknown,
            None => Located::NoData,
        }
    }
}

// === impl Terms ===

impl Terms {
    /// What suits all who asked: the shorter interval, and the longer time for a download.
    pub(super) fn and(self, other: Self) -> Self {
        let interval = |one: Option<Duration>| one.unwrap_or(Duration::from_secs(24 * 3600));
        let timeout = |one: Option<Duration>| one.unwrap_or(Duration::from_secs(30));
        Self {
            interval: Some(interval(self.interval).min(interval(other.interval))),
            timeout: Some(timeout(self.timeout).max(timeout(other.timeout))),
        }
    }
}
