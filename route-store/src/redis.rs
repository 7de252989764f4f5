//! A store in Redis.
//!
//! | ADR | here | why |
//! | --- | --- | --- |
//! | `route:<host>` and the set `routes` | hash `{doorway}:routes`, a host's document behind its version, revision and schema version | one key, so a script names all of its keys beforehand |
//! | counter `revision` | hash `{doorway}:meta`: `epoch`, `layout`, `revision`, `forgotten`, `last_value` | lost data is seen: the epoch is gone with it |
//! | | sorted set `{doorway}:order` of hosts by revision, `{doorway}:deleted` of deleted hosts | changes since a revision; loading in parts |
//! | | hash `{doorway}:versions:<host>`, list `{doorway}:history:<host>` | rollback, history |
//! | `replica:<id>` with a TTL | `{doorway}:replica:<id>` with a TTL, and the set `{doorway}:replicas` | listed without `KEYS` and `SCAN` |
//! | | `{doorway}:lease:<name>` with a TTL | leases |
//! | | `{doorway}:value:<length of space>:<space>:<key>`, sorted set `{doorway}:keys:<space>` | certificates, challenges |
//! | | channel `{doorway}:changed` | watching |
//!
//! The braces make all keys one slot of a Redis Cluster, whose other nodes say where it is. Every write is one script. Data
//! that is loaded comes in parts of at most 500 routes or about a mebibyte, so the server is never busy for long: parts follow
//! the order of revisions, and what is written meanwhile moves behind them, so the last part makes the whole one of its own
//! revision.
//!
//! A server that removes keys when memory is short (`maxmemory-policy` other than `noeviction`) loses routes.

mod connection;
mod keys;
mod read;
mod shared;
mod write;

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;

use crate::open::{OpenError, StoreKind, StoreSettings};
use crate::report::{CheckReport, MigrateReport};
use crate::revision::{Epoch, Revision};
use crate::store::{
    Answer, Change, Changes, Document, Expected, Replica, Routes, Store, StoreError, StoredRoute, Terms,
    Value,
};
use connection::Server;
use keys::Keys;

/// How long a command may take unless settings say so, and as long for connecting.
const PATIENCE: Duration = Duration::from_secs(2);

/// See [`Store::kind`].
const KIND: &str = "redis";

/// How the keys are laid out, which the scripts check.
const LAYOUT: u32 = 1;

/// A store in Redis.
#[derive(Debug)]
struct RedisStore {
    server: Server,
    keys: Keys,
    keep: usize,
}

/// Opens a store, which the first operation connects to.
pub(crate) fn open(settings: &StoreSettings) -> Result<Arc<dyn Store>, OpenError> {
    let wrong = |reason: &str| OpenError::Url {
        kind: StoreKind::Redis,
        reason: reason.to_owned(),
    };
    let is_ours = ["redis://", "rediss://", "redis+unix://"]
        .iter()
        .any(|scheme| settings.url.starts_with(scheme));
    if !is_ours {
        return Err(wrong(
            "write redis://host:port, or rediss://host:port for TLS, with user:password@ before the host",
        ));
    }
    let server = Server::new(&settings.url, settings.timeout.unwrap_or(PATIENCE)).ok_or_else(|| {
        wrong("it cannot be parsed; write redis://user:password@host:port/0, with special characters as %XX")
    })?;
    Ok(Arc::new(RedisStore {
        server,
        keys: Keys::new(&settings.prefix),
        keep: settings.history.max(1),
    }))
}

impl Store for RedisStore {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn revision(&self) -> Answer<'_, Revision> {
        Box::pin(read::revision(self))
    }

    fn routes(&self) -> Answer<'_, Routes> {
        Box::pin(self.server.load(read::routes(self)))
    }

    fn changes(&self, known: Revision) -> Answer<'_, Changes> {
        Box::pin(self.server.load(read::changes(self, known)))
    }

    fn route<'a>(&'a self, host: &'a str) -> Answer<'a, Option<StoredRoute>> {
        Box::pin(read::route(self, host))
    }

    fn put<'a>(&'a self, host: &'a str, document: Document<'a>, terms: Terms<'a>) -> Answer<'a, Revision> {
        Box::pin(write::put(self, host, document, terms))
    }

    fn delete<'a>(&'a self, host: &'a str, terms: Terms<'a>) -> Answer<'a, Revision> {
        Box::pin(write::delete(self, host, terms))
    }

    fn history<'a>(&'a self, host: &'a str) -> Answer<'a, Vec<Change>> {
        Box::pin(read::history(self, host))
    }

    fn rollback<'a>(&'a self, host: &'a str, version: u64, terms: Terms<'a>) -> Answer<'a, Revision> {
        Box::pin(write::rollback(self, host, version, terms))
    }

    fn report<'a>(&'a self, replica: &'a Replica, ttl: Duration) -> Answer<'a, ()> {
        Box::pin(shared::report(self, replica, ttl))
    }

    fn replicas(&self) -> Answer<'_, Vec<Replica>> {
        Box::pin(shared::replicas(self))
    }

    fn acquire<'a>(&'a self, name: &'a str, holder: &'a str, ttl: Duration) -> Answer<'a, bool> {
        Box::pin(shared::acquire(self, name, holder, ttl))
    }

    fn release<'a>(&'a self, name: &'a str, holder: &'a str) -> Answer<'a, ()> {
        Box::pin(shared::release(self, name, holder))
    }

    fn get<'a>(&'a self, space: &'a str, key: &'a str) -> Answer<'a, Option<Value>> {
        Box::pin(shared::get(self, space, key))
    }

    fn set<'a>(
        &'a self,
        space: &'a str,
        key: &'a str,
        bytes: &'a [u8],
        expected: Expected,
        ttl: Option<Duration>,
    ) -> Answer<'a, u64> {
        Box::pin(shared::set(self, space, key, bytes, expected, ttl))
    }

    fn remove<'a>(&'a self, space: &'a str, key: &'a str, expected: Expected) -> Answer<'a, ()> {
        Box::pin(shared::remove(self, space, key, expected))
    }

    fn keys<'a>(&'a self, space: &'a str, prefix: &'a str) -> Answer<'a, Vec<String>> {
        Box::pin(shared::keys(self, space, prefix))
    }

    fn watch(&self) -> Answer<'_, Option<BoxStream<'static, ()>>> {
        Box::pin(async { self.server.watch(self.keys.channel()).await.map(Some) })
    }

    fn migrate(&self) -> Answer<'_, MigrateReport> {
        Box::pin(async {
            let from = read::layout(self).await?;
            self.revision().await?;
            Ok(MigrateReport {
                kind: KIND,
                from,
                to: LAYOUT,
            })
        })
    }

    fn check(&self) -> Answer<'_, CheckReport> {
        Box::pin(async {
            match read::layout(self).await? {
                0 => Ok(CheckReport::empty(KIND)),
                layout => CheckReport::of(self, layout).await,
            }
        })
    }
}

/// What `ensure` of the scripts begins if there is no epoch.
fn new_epoch() -> Result<String, StoreError> {
    let epoch = Epoch::random().map_err(|error| odd(format!("no random numbers: {error}")))?;
    Ok(epoch.to_string())
}

/// Something that this program does not write.
fn odd(reason: impl Into<String>) -> StoreError {
    StoreError::Failed {
        kind: KIND,
        reason: reason.into(),
    }
}

fn number(text: &str) -> Result<u64, StoreError> {
    text.parse().map_err(|_| odd("a number expected"))
}

/// As scripts want a condition.
fn condition(expected: Expected) -> String {
    match expected {
        Expected::Any => "*".to_owned(),
        Expected::Absent => "-".to_owned(),
        Expected::Version(version) => version.to_string(),
    }
}

/// What a script says of a version that is there, or is not.
fn conflict(current: Option<&String>) -> StoreError {
    StoreError::Conflict {
        current: current.and_then(|version| version.parse().ok()),
    }
}

/// At least one, which a TTL must be; at most some ten thousand years.
fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis())
        .unwrap_or(u64::MAX)
        .clamp(1, 1 << 48)
}
