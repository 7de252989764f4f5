//! What differs between databases.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use sqlx::{
    AssertSqlSafe, ColumnIndex, Database, Decode, Encode, Executor, IntoArguments, Type, query::Query,
};

use super::row::Row;
use crate::store::StoreError;

/// A database that a store can live in.
pub(crate) trait Engine: fmt::Debug + Send + Sync + 'static {
    /// See [`Store::kind`](crate::Store::kind).
    const KIND: &'static str;
    /// Now, in milliseconds since 1970.
    const NOW: &'static str;
    /// The type of text that is compared byte by byte.
    const KEY: &'static str;
    /// The type of bytes.
    const BYTES: &'static str;
    /// Where to find out that a table is there, given its name.
    const HAS_TABLE: &'static str;

    /// Begins a transaction, one that writes if it says so.
    fn begin(&self, writes: bool) -> BoxFuture<'_, Result<Box<dyn Session>, sqlx::Error>>;

    /// Makes other replicas that migrate wait until this transaction ends.
    fn lock_migrations<'a>(&'a self, session: &'a mut dyn Session) -> BoxFuture<'a, Result<(), sqlx::Error>>;

    /// Tells watchers of a change when this transaction ends.
    fn announce<'a>(&'a self, session: &'a mut dyn Session) -> BoxFuture<'a, Result<(), sqlx::Error>>;

    /// See [`Store::watch`](crate::Store::watch). `revision` tells where the store stands.
    fn watch(&self, revision: String) -> BoxFuture<'_, Result<BoxStream<'static, ()>, sqlx::Error>>;

    /// Why an operation failed.
    fn blame(&self, error: sqlx::Error) -> StoreError;

    /// Whether an operation failed as tables are missing.
    fn is_unprepared(&self, error: &sqlx::Error) -> bool;

    /// How long one operation may take.
    fn patience(&self) -> Duration;
}

/// A transaction. Dropping it undoes what it did.
pub(crate) trait Session: Send {
    /// Runs one statement.
    fn run<'a>(
        &'a mut self,
        sql: &'a str,
        args: &'a [Arg<'a>],
    ) -> BoxFuture<'a, Result<Vec<Row>, sqlx::Error>>;

    /// Runs many statements without values.
    fn run_all<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<(), sqlx::Error>>;

    /// Makes it last.
    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<(), sqlx::Error>>;
}

/// A value of a statement.
#[derive(Clone, Copy)]
pub(crate) enum Arg<'a> {
    Number(u64),
    OptionalNumber(Option<u64>),
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// Runs a statement on a connection of any database.
pub(crate) async fn run_on<'c, DB, E>(
    executor: E,
    sql: &str,
    args: &[Arg<'_>],
) -> Result<Vec<Row>, sqlx::Error>
where
    DB: Database,
    E: Executor<'c, Database = DB>,
    DB::Arguments: IntoArguments<DB>,
    usize: ColumnIndex<DB::Row>,
    for<'r> i64: Decode<'r, DB> + Encode<'r, DB> + Type<DB>,
    for<'r> Option<i64>: Encode<'r, DB>,
    for<'r> String: Decode<'r, DB> + Encode<'r, DB> + Type<DB>,
    for<'r> Vec<u8>: Decode<'r, DB> + Encode<'r, DB> + Type<DB>,
{
    // Every value goes in as an argument; what is filled into the text is the prefix, which settings check.
    let mut query: Query<'_, DB, DB::Arguments> = sqlx::query(AssertSqlSafe(sql.to_owned()));
    for arg in args {
        query = match arg {
            Arg::Number(number) => query.bind(signed(*number)),
            Arg::OptionalNumber(number) => query.bind(number.map(signed)),
            Arg::Text(text) => query.bind((*text).to_owned()),
            Arg::Bytes(bytes) => query.bind(bytes.to_vec()),
        };
    }
    let rows = query.fetch_all(executor).await?;
    rows.iter().map(Row::read::<DB>).collect()
}

/// Databases have no unsigned numbers; what does not fit is larger than all that are stored.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
