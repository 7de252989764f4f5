//! A store in a PostgreSQL database.
//!
//! Tables are made in the first schema of the connection's search path, and all of their names begin with the prefix, so several
//! stores fit into one database. A commit notifies the channel `{prefix}_routes`, on which watchers listen.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Postgres, Transaction};

use crate::open::{OpenError, StoreKind, StoreSettings};
use crate::sql::{Arg, Engine, Row, Session, SqlStore, run_on};
use crate::store::{Store, StoreError};

/// Connections for operations; each watcher has one more.
const CONNECTIONS: u32 = 5;

/// A connection that is not used for so long is closed.
const IDLE: Duration = Duration::from_secs(60);

/// How long an operation may take unless settings say so.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens a database, which the first operation connects to.
pub(crate) fn open(settings: &StoreSettings) -> Result<Arc<dyn Store>, OpenError> {
    let wrong = |reason: &str| OpenError::Url {
        kind: StoreKind::Postgres,
        reason: reason.to_owned(),
    };
    let is_ours = ["postgres://", "postgresql://"]
        .iter()
        .any(|scheme| settings.url.starts_with(scheme));
    if !is_ours {
        return Err(wrong("write postgres://user:password@host:port/database"));
    }
    let options: PgConnectOptions = settings
        .url
        .parse()
        .map_err(|_| wrong("it cannot be parsed; write postgres://user:password@host:port/database, with special characters as %XX"))?;
    let database = PostgresDatabase::new(options, &settings.prefix, settings.timeout.unwrap_or(PATIENCE));
    Ok(Arc::new(SqlStore::new(
        database,
        &settings.prefix,
        settings.history,
    )))
}

/// A PostgreSQL database.
struct PostgresDatabase {
    options: PgConnectOptions,
    pool: PgPool,
    channel: String,
    patience: Duration,
}

// === impl PostgresDatabase ===

impl PostgresDatabase {
    /// Connects with the first operation. The server ends what takes longer than anybody waits for, so that nobody waits for a
    /// lock of one who has given up.
    fn new(options: PgConnectOptions, prefix: &str, patience: Duration) -> Self {
        let limit = |patience: Duration| format!("{}ms", patience.as_millis().max(1));
        let (statement, idle) = (limit(patience * SqlStore::<Self>::LOAD), limit(patience));
        let options = options.application_name("doorway").options([
            ("statement_timeout", statement.as_str()),
            ("idle_in_transaction_session_timeout", idle.as_str()),
        ]);
        Self {
            pool: pool(CONNECTIONS, patience).connect_lazy_with(options.clone()),
            options,
            channel: format!("{prefix}_routes"),
            patience,
        }
    }
}

impl Engine for PostgresDatabase {
    const KIND: &'static str = "postgres";
    const NOW: &'static str = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";
    const KEY: &'static str = "TEXT COLLATE \"C\"";
    const BYTES: &'static str = "BYTEA";
    const HAS_TABLE: &'static str = "SELECT 'yes' WHERE to_regclass($1) IS NOT NULL";

    fn begin(&self, writes: bool) -> BoxFuture<'_, Result<Box<dyn Session>, sqlx::Error>> {
        Box::pin(async move {
            if writes {
                return Ok(Box::new(Writing(self.pool.begin().await?)) as Box<dyn Session>);
            }
            Ok(Box::new(Reading(self.pool.acquire().await?)) as Box<dyn Session>)
        })
    }

    fn lock_migrations<'a>(&'a self, session: &'a mut dyn Session) -> BoxFuture<'a, Result<(), sqlx::Error>> {
        Box::pin(async {
            let sql = "SELECT 'locked' FROM (SELECT pg_advisory_xact_lock(hashtextextended($1, 0))) locked";
            session.run(sql, &[Arg::Text(&self.channel)]).await.map(drop)
        })
    }

    fn announce<'a>(&'a self, session: &'a mut dyn Session) -> BoxFuture<'a, Result<(), sqlx::Error>> {
        Box::pin(async {
            let sql = "SELECT 'told' FROM (SELECT pg_notify($1, '')) told";
            session.run(sql, &[Arg::Text(&self.channel)]).await.map(drop)
        })
    }

    fn watch(&self, _: String) -> BoxFuture<'_, Result<BoxStream<'static, ()>, sqlx::Error>> {
        Box::pin(async {
            // A connection of its own: those of operations must not run out.
            let pool = pool(1, self.patience).connect_lazy_with(self.options.clone());
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.eager_reconnect(false);
            listener.listen(&self.channel).await?;
            let wakes = stream::unfold((listener, pool), |(mut listener, pool)| async move {
                // Nothing at all: the connection was lost, and with it what was told meanwhile.
                listener.try_recv().await.ok().flatten()?;
                Some(((), (listener, pool)))
            });
            Ok(wakes.boxed())
        })
    }

    fn blame(&self, error: sqlx::Error) -> StoreError {
        let kind = Self::KIND;
        let code = error.as_database_error().and_then(|error| error.code());
        let is_away = code.is_none_or(|code| AWAY.iter().any(|class| code.starts_with(class)));
        let is_odd = matches!(error, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_));
        if is_away && !is_odd {
            return StoreError::Unavailable {
                kind,
                source: Box::new(error),
            };
        }
        StoreError::Failed {
            kind,
            reason: error.to_string(),
        }
    }

    fn is_unprepared(&self, error: &sqlx::Error) -> bool {
        // No such table.
        error
            .as_database_error()
            .and_then(|error| error.code())
            .is_some_and(|code| code == "42P01")
    }

    fn patience(&self) -> Duration {
        self.patience
    }
}

/// Classes of errors that pass: connections, transactions to be tried again, read-only while failing over, resources, an operator, the system.
const AWAY: [&str; 7] = ["08", "25006", "40", "53", "55", "57", "58"];

impl fmt::Debug for PostgresDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresDatabase")
            .field("host", &self.options.get_host())
            .field("channel", &self.channel)
            .finish_non_exhaustive()
    }
}

fn pool(connections: u32, patience: Duration) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(patience)
        .idle_timeout(IDLE)
}

/// A transaction that writes.
struct Writing(Transaction<'static, Postgres>);

/// A connection for statements that read.
struct Reading(PoolConnection<Postgres>);

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
