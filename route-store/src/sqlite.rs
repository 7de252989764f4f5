//! A store in an SQLite file, for replicas on one machine.
//!
//! The file is in WAL mode: readers and the one writer do not wait for each other, and a crash loses nothing that was committed.
//! Watchers ask `PRAGMA data_version` ten times a second on a connection of their own: it is one page of shared memory that
//! every commit of any process changes, so it works where events of files do not, and an edit of the WAL that is no commit wakes
//! nobody.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, ConnectOptions, Sqlite, Transaction};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::open::{OpenError, StoreKind, StoreSettings};
use crate::sql::{Arg, Engine, Row, Session, SqlStore, run_on};
use crate::store::{Store, StoreError};

/// How often a watcher looks.
const LOOK: Duration = Duration::from_millis(100);

/// Connections to the file. Readers use them at once; writers wait for each other in any case.
const CONNECTIONS: u32 = 4;

/// How long an operation may take unless settings say so.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens a file, which is made by the first operation.
pub(crate) fn open(settings: &StoreSettings) -> Result<Arc<dyn Store>, OpenError> {
    let url = settings.url.as_str();
    let path = url
        .strip_prefix("sqlite:")
        .map_or(url, |rest| rest.strip_prefix("//").unwrap_or(rest));
    let wrong = |reason: &str| OpenError::Url {
        kind: StoreKind::Sqlite,
        reason: reason.to_owned(),
    };
    if path.contains("://") {
        return Err(wrong("it is of another kind; write the path of a file"));
    }
    if path.is_empty() || path.contains('?') || path == ":memory:" {
        return Err(wrong("write the path of a file, without parameters"));
    }
    let file = SqliteFile::new(Path::new(path), settings.timeout.unwrap_or(PATIENCE));
    Ok(Arc::new(SqlStore::new(file, &settings.prefix, settings.history)))
}

/// An SQLite file.
struct SqliteFile {
    path: PathBuf,
    patience: Duration,
    pool: Mutex<(Identity, SqlitePool)>,
}

/// Which file is at a path; `None` if there is none.
type Identity = Option<(u64, u64)>;

// === impl SqliteFile ===

impl SqliteFile {
    fn new(path: &Path, patience: Duration) -> Self {
        Self {
            path: path.to_owned(),
            patience,
            pool: Mutex::new((identity(path), pool(path, patience))),
        }
    }

    /// Connections to the file that is there now: one that was removed or replaced is not written to any more.
    fn pool(&self) -> SqlitePool {
        let mut held = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let there = identity(&self.path);
        match held.0 {
            // The first connection makes the file.
            None => held.0 = there,
            Some(known) if there != Some(known) => *held = (there, pool(&self.path, self.patience)),
            Some(_) => {}
        }
        held.1.clone()
    }
}

impl Engine for SqliteFile {
    const KIND: &'static str = "sqlite";
    const NOW: &'static str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
    const KEY: &'static str = "TEXT";
    const BYTES: &'static str = "BLOB";
    const HAS_TABLE: &'static str = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = $1";

    fn begin(&self, writes: bool) -> BoxFuture<'_, Result<Box<dyn Session>, sqlx::Error>> {
        Box::pin(async move {
            let pool = self.pool();
            if writes {
                // A transaction that only becomes a writer later fails at once if another has written in between.
                let transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
                return Ok(Box::new(Writing(transaction)) as Box<dyn Session>);
            }
            Ok(Box::new(Reading(pool.acquire().await?)) as Box<dyn Session>)
        })
    }

    fn lock_migrations<'a>(&'a self, _: &'a mut dyn Session) -> BoxFuture<'a, Result<(), sqlx::Error>> {
        // The transaction is the only writer already.
        Box::pin(std::future::ready(Ok(())))
    }

    fn announce<'a>(&'a self, _: &'a mut dyn Session) -> BoxFuture<'a, Result<(), sqlx::Error>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn watch(&self, revision: String) -> BoxFuture<'_, Result<BoxStream<'static, ()>, sqlx::Error>> {
        Box::pin(async move {
            let watch = Watch::begin(self.path.clone(), self.patience, revision).await?;
            let mut ticks = interval(LOOK);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let wakes = stream::unfold((watch, ticks), |(mut watch, mut ticks)| async move {
                watch.next(&mut ticks).await?;
                Some(((), (watch, ticks)))
            });
            Ok(wakes.boxed())
        })
    }

    fn blame(&self, error: sqlx::Error) -> StoreError {
        let kind = Self::KIND;
        let code = error.as_database_error().and_then(|error| error.code());
        let code = code
            .and_then(|code| code.parse::<i64>().ok())
            .map(|code| code & 0xff);
        match (&error, code) {
            // Corrupt, or no database.
            (_, Some(11 | 26)) => StoreError::Failed {
                kind,
                reason: format!(
                    "{} is damaged or no SQLite database ({error}): move it away, or put a copy of it in its place",
                    self.path.display()
                ),
            },
            // Not allowed, busy, locked, out of memory, read-only, interrupted, not readable, full, not to be opened.
            (_, Some(3 | 5 | 6 | 7 | 8 | 9 | 10 | 13 | 14)) => unavailable(error),
            (sqlx::Error::Database(_) | sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_), _) => {
                StoreError::Failed {
                    kind,
                    reason: error.to_string(),
                }
            }
            _ => unavailable(error),
        }
    }

    fn is_unprepared(&self, error: &sqlx::Error) -> bool {
        let message = error.as_database_error().map(|error| error.message());
        message.is_some_and(|message| message.contains("no such table"))
    }

    fn patience(&self) -> Duration {
        self.patience
    }
}

impl fmt::Debug for SqliteFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn unavailable(error: sqlx::Error) -> StoreError {
    StoreError::Unavailable {
        kind: SqliteFile::KIND,
        source: Box::new(error),
    }
}

fn options(path: &Path, patience: Duration) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // Every commit is on the disk when it is done.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(patience)
}

fn pool(path: &Path, patience: Duration) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(patience)
        .connect_lazy_with(options(path, patience))
}

#[cfg(unix)]
fn identity(path: &Path) -> Identity {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
fn identity(path: &Path) -> Identity {
    fs::metadata(path).ok().map(|_| (0, 0))
}

/// What a watcher has seen.
struct Watch {
    connection: SqliteConnection,
    path: PathBuf,
    file: Identity,
    /// The statement that tells where the store stands.
    revision: String,
    version: Option<u64>,
    seen: Option<(String, u64)>,
}

// === impl Watch ===

impl Watch {
    async fn begin(path: PathBuf, patience: Duration, revision: String) -> Result<Self, sqlx::Error> {
        let mut watch = Self {
            connection: options(&path, patience).connect().await?,
            file: identity(&path),
            path,
            revision,
            version: None,
            seen: None,
        };
        watch.look().await?;
        Ok(watch)
    }

    /// Waits for the next change. `None` ends the stream: the file is gone, replaced or not readable.
    async fn next(&mut self, ticks: &mut Interval) -> Option<()> {
        loop {
            ticks.tick().await;
            if identity(&self.path) != self.file {
                return None;
            }
            if self.look().await.ok()? {
                return Some(());
            }
        }
    }

    /// Whether the store stands elsewhere than at the last look. That is read only after a commit of another connection.
    async fn look(&mut self) -> Result<bool, sqlx::Error> {
        let rows = run_on(&mut self.connection, "PRAGMA data_version", &[]).await?;
        let version = rows.into_iter().next().and_then(|mut row| row.number().ok());
        if version == self.version {
            return Ok(false);
        }
        self.version = version;
        let rows = run_on(&mut self.connection, &self.revision, &[]).await?;
        let row = rows.into_iter().next();
        let now = row.and_then(|mut row| Some((row.text().ok()?, row.number().ok()?)));
        let has_changed = now != self.seen;
        self.seen = now;
        Ok(has_changed)
    }
}

/// A transaction that writes.
struct Writing(Transaction<'static, Sqlite>);

/// A connection for statements that read.
struct Reading(PoolConnection<Sqlite>);

impl Session for Writing {
    fn run<'a>(
        &'a mut self,
        sql: &'a str,
        args: &'a [Arg<'a>],
    ) -> BoxFuture<'a, Result<Vec<Row>, sqlx::Error>> {
        Box::pin(run_on(&mut *self.0, sql, args))
    }

    fn run_all<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<(), sqlx::Error>> {
        Box::pin(async {
            sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
                .execute(&mut *self.0)
                .await
                .map(drop)
        })
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<(), sqlx::Error>> {
        Box::pin(self.0.commit())
    }
}

impl Session for Reading {
    fn run<'a>(
        &'a mut self,
        sql: &'a str,
        args: &'a [Arg<'a>],
    ) -> BoxFuture<'a, Result<Vec<Row>, sqlx::Error>> {
        Box::pin(run_on(&mut *self.0, sql, args))
    }

    fn run_all<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<(), sqlx::Error>> {
        Box::pin(async {
            sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
                .execute(&mut *self.0)
                .await
                .map(drop)
        })
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<(), sqlx::Error>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
