//! Opening the store that settings name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use thiserror::Error;

use crate::memory::{DEFAULT_HISTORY, MemoryStore};
use crate::revision::Epoch;
use crate::store::Store;

/// Which store, and how it is used.
#[derive(Clone)]
pub struct StoreSettings {
    /// The kind of store.
    pub kind: StoreKind,
    /// Where it is; nothing for memory. `redis://` or `rediss://` (TLS) for Redis, `postgres://` for PostgreSQL, the path of a
    /// file, perhaps behind `sqlite:` or `sqlite://`, for SQLite. May hold a password, so it is in no message.
    pub url: String,
    /// What the names of all keys or tables begin with, so that stores share a server: 1 to 40 lowercase letters, digits and
    /// `_`, the first one a letter. Default: `doorway`.
    pub prefix: String,
    /// How many changes and how many versions are kept of each host, at least 1. Default: 50.
    pub history: usize,
    /// How long an operation may take; for Redis, connecting apart. Default: 2 seconds for Redis, 5 for databases. Loading
    /// routes may take ten and four times as long.
    pub timeout: Option<Duration>,
}

/// A kind of store.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum StoreKind {
    /// This process alone.
    #[default]
    Memory,
    /// A Redis server.
    Redis,
    /// A file.
    Sqlite,
    /// A PostgreSQL server.
    Postgres,
}

/// Why a store cannot be opened. None of these passes by itself.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No such kind.
    #[error("there is no store `{0}`: use memory, redis, sqlite or postgres")]
    UnknownKind(String),
    /// This program was built without it.
    #[error(
        "this program was built without the {kind} store: use one with the feature `{kind}` of route-store, or another store"
    )]
    NotBuilt {
        /// The kind.
        kind: StoreKind,
    },
    /// The address is none for this kind.
    #[error("the address of the {kind} store is of no use: {reason}")]
    Url {
        /// The kind.
        kind: StoreKind,
        /// What is wrong, and what to write.
        reason: String,
    },
    /// The prefix is none.
    #[error("`{0}` is no prefix: use 1 to 40 lowercase letters, digits and `_`, the first one a letter")]
    Prefix(String),
    /// The system gives no random numbers.
    #[error("no random numbers")]
    Random(#[from] getrandom::Error),
}

/// What opens one kind of store.
type Opener = fn(&StoreSettings) -> Result<Arc<dyn Store>, OpenError>;

/// Opens a store. It need not be there: connections are made by the operations, each of which tries anew.
///
/// `now` is the time of day, for the history of a store in memory; the others have clocks of their own.
///
/// # Errors
///
/// [`OpenError`] if the settings are of no use.
pub fn open(settings: &StoreSettings, now: SystemTime) -> Result<Arc<dyn Store>, OpenError> {
    if !is_prefix(&settings.prefix) {
        return Err(OpenError::Prefix(settings.prefix.clone()));
    }
    if settings.kind == StoreKind::Memory {
        let store = MemoryStore::with_history(Epoch::random()?, now, settings.history);
        return Ok(Arc::new(store));
    }
    let kind = settings.kind;
    let opener = OPENERS.iter().find(|(of, _)| *of == kind);
    let (_, opener) = opener.ok_or(OpenError::NotBuilt { kind })?;
    opener(settings)
}

const OPENERS: &[(StoreKind, Opener)] = &[
    #[cfg(feature = "redis")]
    (StoreKind::Redis, crate::redis::open),
    #[cfg(feature = "sqlite")]
    (StoreKind::Sqlite, crate::sqlite::open),
    #[cfg(feature = "postgres")]
    (StoreKind::Postgres, crate::postgres::open),
];

fn is_prefix(prefix: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    prefix.len() <= 40
        && prefix.starts_with(|first: char| first.is_ascii_lowercase())
        && prefix.bytes().all(is_fine)
}

// === impl StoreSettings ===

impl StoreSettings {
    /// A store at an address, everything else as it is by default.
    pub fn new(kind: StoreKind, url: impl Into<String>) -> Self {
        Self {
            kind,
            url: url.into(),
            ..Self::default()
        }
    }
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            kind: StoreKind::Memory,
            url: String::new(),
            prefix: "doorway".to_owned(),
            history: DEFAULT_HISTORY,
            timeout: None,
        }
    }
}

/// Without the address, which may hold a password.
impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSettings")
            .field("kind", &self.kind)
            .field("prefix", &self.prefix)
            .field("history", &self.history)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

// === impl StoreKind ===

impl StoreKind {
    /// As settings name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Redis => "redis",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for StoreKind {
    type Err = OpenError;

    fn from_str(name: &str) -> Result<Self, OpenError> {
        let kinds = [Self::Memory, Self::Redis, Self::Sqlite, Self::Postgres];
        let found = kinds.into_iter().find(|kind| kind.as_str() == name);
        found.ok_or_else(|| OpenError::UnknownKind(name.to_owned()))
    }
}
