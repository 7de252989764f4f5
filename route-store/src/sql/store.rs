//! The store on a database: each operation in a transaction, tables made when they are missing.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream::BoxStream;
use tokio::time::timeout;

use super::engine::{Engine, Session};
use super::row::Odd;
use super::{migrate, read, shared, write};
use crate::report::{CheckReport, MigrateReport};
use crate::revision::Revision;
use crate::store::{
    Answer, Change, Changes, Document, Expected, Replica, Routes, Store, StoreError, StoredRoute, Terms,
    Value,
};

/// A store on a database.
pub(crate) struct SqlStore<E> {
    pub(super) engine: E,
    pub(super) prefix: String,
    pub(super) keep: u64,
    is_ready: AtomicBool,
}

/// Why a step of an operation failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Database(sqlx::Error),
    Odd(Odd),
    Store(StoreError),
    /// The tables are of a newer layout.
    Newer(u32),
}

/// What takes too long.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
pub(crate) struct Late(pub(crate) Duration);

// === impl SqlStore ===

impl<E: Engine> SqlStore<E> {
    /// How much longer loading all routes may take than any other operation.
    pub(crate) const LOAD: u32 = 4;

    pub(crate) fn new(engine: E, prefix: &str, history: usize) -> Self {
        Self {
            engine,
            prefix: prefix.to_owned(),
            keep: u64::try_from(history.max(1)).unwrap_or(u64::MAX),
            is_ready: AtomicBool::new(false),
        }
    }

    /// Fills the prefix of tables and the time into a statement.
    pub(super) fn text(&self, sql: &str) -> String {
        sql.replace("{p}", &self.prefix).replace("{now}", E::NOW)
    }

    pub(super) async fn begin(&self, writes: bool) -> Result<Box<dyn Session>, Failure> {
        Ok(self.engine.begin(writes).await?)
    }

    /// Runs an operation within its time, with its tables made, once more if they turn out to be gone.
    async fn run<T, F>(
        &self,
        patience: Duration,
        operation: impl Fn() -> F + Send + Sync,
    ) -> Result<T, StoreError>
    where
        T: Send,
        F: Future<Output = Result<T, Failure>> + Send,
    {
        let all = async {
            self.prepare().await?;
            match operation().await {
                Err(Failure::Database(error)) if self.engine.is_unprepared(&error) => {
                    self.is_ready.store(false, Ordering::Relaxed);
                    self.prepare().await?;
                    operation().await
                }
                answer => answer,
            }
        };
        self.within(patience, all).await
    }

    async fn within<T>(
        &self,
        patience: Duration,
        work: impl Future<Output = Result<T, Failure>> + Send,
    ) -> Result<T, StoreError> {
        match timeout(patience, work).await {
            Ok(answer) => answer.map_err(|failure| self.blame(failure)),
            Err(_) => Err(StoreError::Unavailable {
                kind: E::KIND,
                source: Box::new(Late(patience)),
            }),
        }
    }

    async fn prepare(&self) -> Result<(), Failure> {
        if self.is_ready.load(Ordering::Relaxed) {
            return Ok(());
        }
        migrate::migrate(&self.engine, &self.prefix).await?;
        self.is_ready.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn blame(&self, failure: Failure) -> StoreError {
        let failed = |reason| StoreError::Failed {
            kind: E::KIND,
            reason,
        };
        match failure {
            Failure::Database(error) => self.engine.blame(error),
            Failure::Odd(odd) => failed(odd.to_string()),
            Failure::Store(error) => error,
            Failure::Newer(layout) => failed(format!(
                "its tables are of layout {layout}, which a newer version of this program made: use that one"
            )),
        }
    }

    fn patience(&self) -> Duration {
        self.engine.patience()
    }
}

impl<E: Engine> Store for SqlStore<E> {
    fn kind(&self) -> &'static str {
        E::KIND
    }

    fn revision(&self) -> Answer<'_, Revision> {
        Box::pin(self.run(self.patience(), || read::revision(self)))
    }

    fn routes(&self) -> Answer<'_, Routes> {
        Box::pin(self.run(self.patience() * Self::LOAD, || read::routes(self)))
    }

    fn changes(&self, known: Revision) -> Answer<'_, Changes> {
        Box::pin(self.run(self.patience() * Self::LOAD, move || read::changes(self, known)))
    }

    fn route<'a>(&'a self, host: &'a str) -> Answer<'a, Option<StoredRoute>> {
        Box::pin(self.run(self.patience(), move || read::route(self, host)))
    }

    fn put<'a>(&'a self, host: &'a str, document: Document<'a>, terms: Terms<'a>) -> Answer<'a, Revision> {
        Box::pin(self.run(self.patience(), move || write::put(self, host, document, terms)))
    }

    fn delete<'a>(&'a self, host: &'a str, terms: Terms<'a>) -> Answer<'a, Revision> {
        Box::pin(self.run(self.patience(), move || write::delete(self, host, terms)))
    }

    fn history<'a>(&'a self, host: &'a str) -> Answer<'a, Vec<Change>> {
        Box::pin(self.run(self.patience(), move || read::history(self, host)))
    }

    fn rollback<'a>(&'a self, host: &'a str, version: u64, terms: Terms<'a>) -> Answer<'a, Revision> {
        Box::pin(self.run(self.patience(), move || {
            write::rollback(self, host, version, terms)
        }))
    }

    fn report<'a>(&'a self, replica: &'a Replica, ttl: Duration) -> Answer<'a, ()> {
        Box::pin(self.run(self.patience(), move || shared::report(self, replica, ttl)))
    }

    fn replicas(&self) -> Answer<'_, Vec<Replica>> {
        Box::pin(self.run(self.patience(), || shared::replicas(self)))
    }

    fn acquire<'a>(&'a self, name: &'a str, holder: &'a str, ttl: Duration) -> Answer<'a, bool> {
        Box::pin(self.run(self.patience(), move || shared::acquire(self, name, holder, ttl)))
    }

    fn release<'a>(&'a self, name: &'a str, holder: &'a str) -> Answer<'a, ()> {
        Box::pin(self.run(self.patience(), move || shared::release(self, name, holder)))
    }

    fn get<'a>(&'a self, space: &'a str, key: &'a str) -> Answer<'a, Option<Value>> {
        Box::pin(self.run(self.patience(), move || shared::get(self, space, key)))
    }

    fn set<'a>(
        &'a self,
        space: &'a str,
        key: &'a str,
        bytes: &'a [u8],
        expected: Expected,
        ttl: Option<Duration>,
    ) -> Answer<'a, u64> {
        Box::pin(self.run(self.patience(), move || {
            shared::set(self, space, key, bytes, expected, ttl)
        }))
    }

    fn remove<'a>(&'a self, space: &'a str, key: &'a str, expected: Expected) -> Answer<'a, ()> {
        Box::pin(self.run(self.patience(), move || {
            shared::remove(self, space, key, expected)
        }))
    }

    fn keys<'a>(&'a self, space: &'a str, prefix: &'a str) -> Answer<'a, Vec<String>> {
        Box::pin(self.run(self.patience(), move || shared::keys(self, space, prefix)))
    }

    fn watch(&self) -> Answer<'_, Option<BoxStream<'static, ()>>> {
        let revision = self.text(read::REVISION);
        Box::pin(async move {
            let stream = self.run(self.patience(), || async {
                Ok(self.engine.watch(revision.clone()).await?)
            });
            stream.await.map(Some)
        })
    }

    fn migrate(&self) -> Answer<'_, MigrateReport> {
        Box::pin(async {
            let migrated = self.within(self.patience() * Self::LOAD, async {
                let migrated = migrate::migrate(&self.engine, &self.prefix).await?;
                read::revision(self).await?;
                Ok(migrated)
            });
            let migrated = migrated.await?;
            Ok(MigrateReport {
                kind: E::KIND,
                from: migrated.from,
                to: migrated.to,
            })
        })
    }

    fn check(&self) -> Answer<'_, CheckReport> {
        Box::pin(async {
            let layout = migrate::layout_there(&self.engine, &self.prefix);
            match self.within(self.patience(), layout).await? {
                0 => Ok(CheckReport::empty(E::KIND)),
                layout => CheckReport::of(self, layout).await,
            }
        })
    }
}

impl<E: Engine> fmt::Debug for SqlStore<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlStore")
            .field("engine", &self.engine)
            .field("prefix", &self.prefix)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

// === impl Failure ===

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Odd> for Failure {
    fn from(odd: Odd) -> Self {
        Self::Odd(odd)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
