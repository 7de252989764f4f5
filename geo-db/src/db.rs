//! A handle on the current table, and how old it is.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use arc_swap::ArcSwap;

use crate::{CountryCode, Table};

/// The current table, if there is one, and how it came. Clones are the same database.
///
/// A look-up takes no lock: it sees the table of before or that of after a [`Database::replace`], whole.
#[derive(Clone, Debug, Default)]
pub struct Database(Arc<ArcSwap<State>>);

/// All that changes at once.
#[derive(Clone, Debug, Default)]
struct State {
    table: Option<Arc<Table>>,
    status: Status,
}

/// How a database stands. Times are those of the clock that whoever updates it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The table that answers now; `None` before the first.
    pub loaded: Option<Loaded>,
    /// When the source was last heard of, be it that nothing has changed; `None` before the first time.
    pub checked: Option<SystemTime>,
    /// Why the last try failed; `None` if it succeeded.
    pub last_error: Option<String>,
    /// Failures since the last success.
    pub failures: u32,
    /// When the next try is due; `None` if nothing updates the database.
    pub next_try: Option<SystemTime>,
}

/// The table that answers now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Where its archive came from: a URL or a file's path.
    pub source: String,
    /// When that was fetched.
    pub fetched: SystemTime,
    /// How many countries have prefixes.
    pub countries: usize,
    /// How many prefixes there are.
    pub prefixes: crate::Counts,
    /// Bytes of memory that the table takes.
    pub bytes: usize,
}

// === impl Database ===

impl Database {
    /// The country of an address; `None` if the table has none for it or there is no table yet. An IPv4-mapped address
    /// is IPv4.
    pub fn lookup(&self, address: IpAddr) -> Option<CountryCode> {
        self.0.load().table.as_ref()?.lookup(address)
    }

    /// Whether there is a table.
    pub fn has_data(&self) -> bool {
        self.0.load().table.is_some()
    }

    /// The table, for many look-ups that shall agree.
    pub fn table(&self) -> Option<Arc<Table>> {
        self.0.load().table.clone()
    }

    /// How the database stands.
    pub fn status(&self) -> Status {
        self.0.load().status.clone()
    }

    /// Puts `table` in place of the one before. `source` says where it came from, `fetched` when. What the status tells
    /// of failures and the next try stays.
    pub fn replace(&self, table: impl Into<Arc<Table>>, source: impl Into<String>, fetched: SystemTime) {
        let table = table.into();
        let loaded = Loaded {
            source: source.into(),
            fetched,
            countries: table.countries().len(),
            prefixes: table.counts(),
            bytes: table.bytes(),
        };
        self.0.rcu(|state| State {
            table: Some(Arc::clone(&table)),
            status: Status {
                loaded: Some(loaded.clone()),
                ..state.status.clone()
            },
        });
    }

    /// Changes what the status tells beside the table.
    #[cfg_attr(
        not(feature = "updater"),
        allow(dead_code, reason = "only the updater tells of tries")
    )]
    pub(crate) fn report(&self, change: impl Fn(&mut Status)) {
        self.0.rcu(|state| {
            let mut state = State::clone(state);
            change(&mut state.status);
            state
        });
    }
}

// === impl Status ===

impl Status {
    /// How old the data is at `now`: the time since the source last said that it is current. `None` without data.
    pub fn age(&self, now: SystemTime) -> Option<Duration> {
        let loaded = self.loaded.as_ref()?;
        let current = self
            .checked
            .map_or(loaded.fetched, |checked| checked.max(loaded.fetched));
        Some(now.duration_since(current).unwrap_or_default())
    }
}
