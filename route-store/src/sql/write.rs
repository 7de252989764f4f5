//! Writing routes. The row of the revision goes first, so that writers wait for each other.

use super::engine::{Arg, Engine, Session};
use super::read::{DELETE, PUT, ROLLBACK, ensure_epoch, revision_of};
use super::store::{Failure, SqlStore};
use crate::revision::Revision;
use crate::store::{Document, StoreError, TOMBSTONES, Terms};

const NEXT: &str = "UPDATE {p}_meta SET revision = revision + 1 WHERE id = 1 RETURNING epoch, revision";

const ACTIVATE: &str = "INSERT INTO {p}_routes (host, version, revision, schema_version, data, updated_at) \
    VALUES ($1, $2, $3, $4, $5, {now}) ON CONFLICT (host) DO UPDATE SET version = excluded.version, \
    revision = excluded.revision, schema_version = excluded.schema_version, data = excluded.data, \
    updated_at = excluded.updated_at";

const KEEP_VERSIONS: &str = "DELETE FROM {p}_versions WHERE host = $1 AND version NOT IN \
    (SELECT version FROM {p}_versions WHERE host = $1 ORDER BY version DESC LIMIT $2)";

const KEEP_CHANGES: &str = "DELETE FROM {p}_changes WHERE host = $1 AND revision NOT IN \
    (SELECT revision FROM {p}_changes WHERE host = $1 ORDER BY revision DESC LIMIT $2)";

/// A write that has begun.
struct Write<'a, E> {
    store: &'a SqlStore<E>,
    session: Box<dyn Session>,
    host: String,
    /// What the write makes of the revision.
    revision: Revision,
    /// The version that was there.
    current: Option<u64>,
}

pub(super) async fn put<E: Engine>(
    store: &SqlStore<E>,
    host: &str,
    document: Document<'_>,
    terms: Terms<'_>,
) -> Result<Revision, Failure> {
    let mut write = Write::begin(store, host, terms).await?;
    let number = write.revision.number;
    write.activate(number, document).await?;
    let args = [
        Arg::Number(number),
        Arg::Number(document.schema_version.into()),
        Arg::Text(document.text),
    ];
    let sql = "INSERT INTO {p}_versions (host, version, schema_version, data) VALUES ($1, $2, $3, $4)";
    write.run(sql, &args).await?;
    write.run(KEEP_VERSIONS, &[Arg::Number(store.keep)]).await?;
    write
        .finish(PUT, document.schema_version.into(), terms.author)
        .await
}

pub(super) async fn rollback<E: Engine>(
    store: &SqlStore<E>,
    host: &str,
    version: u64,
    terms: Terms<'_>,
) -> Result<Revision, Failure> {
    let mut write = Write::begin(store, host, terms).await?;
    let sql = "SELECT schema_version, data FROM {p}_versions WHERE host = $1 AND version = $2";
    let rows = write.run(sql, &[Arg::Number(version)]).await?;
    let Some(mut row) = rows.into_iter().next() else {
        let host = host.to_owned();
        return Err(StoreError::UnknownVersion { host, version }.into());
    };
    let schema_version = super::read::schema_version(row.number()?);
    let text = row.text()?;
    let document = Document {
        schema_version,
        text: &text,
    };
    write.activate(version, document).await?;
    write.finish(ROLLBACK, version, terms.author).await
}

pub(super) async fn delete<E: Engine>(
    store: &SqlStore<E>,
    host: &str,
    terms: Terms<'_>,
) -> Result<Revision, Failure> {
    let mut write = Write::begin(store, host, terms).await?;
    if write.current.is_none() {
        let Revision { epoch, number } = write.revision;
        return Ok(Revision {
            epoch,
            number: number.saturating_sub(1),
        });
    }
    write.run("DELETE FROM {p}_routes WHERE host = $1", &[]).await?;
    let number = Arg::Number(write.revision.number);
    write
        .run(
            "INSERT INTO {p}_deleted (host, revision) VALUES ($1, $2)",
            &[number],
        )
        .await?;
    write.forget_oldest().await?;
    write.finish(DELETE, 0, terms.author).await
}

// === impl Write ===

impl<'a, E: Engine> Write<'a, E> {
    /// Counts the revision up and checks the terms. What is begun and not finished never was.
    async fn begin(store: &'a SqlStore<E>, host: &str, terms: Terms<'_>) -> Result<Self, Failure> {
        let mut session = store.begin(true).await?;
        let host = host.to_ascii_lowercase();
        let next = store.text(NEXT);
        let mut rows = session.run(&next, &[]).await?;
        if rows.is_empty() {
            ensure_epoch(store, &mut *session).await?;
            rows = session.run(&next, &[]).await?;
        }
        let Some(mut row) = rows.into_iter().next() else {
            return Err(super::row::Odd("a revision").into());
        };
        let revision = revision_of(&mut row)?;
        let sql = store.text("SELECT version FROM {p}_routes WHERE host = $1");
        let rows = session.run(&sql, &[Arg::Text(&host)]).await?;
        let current = match rows.into_iter().next() {
            Some(mut row) => Some(row.number()?),
            None => None,
        };
        terms.expected.check(current)?;
        Ok(Self {
            store,
            session,
            host,
            revision,
            current,
        })
    }

    /// Runs a statement whose `$1` is the host.
    async fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Vec<super::row::Row>, Failure> {
        let mut all = Vec::with_capacity(args.len() + 1);
        all.push(Arg::Text(&self.host));
        all.extend_from_slice(args);
        Ok(self.session.run(&self.store.text(sql), &all).await?)
    }

    async fn activate(&mut self, version: u64, document: Document<'_>) -> Result<(), Failure> {
        let args = [
            Arg::Number(version),
            Arg::Number(self.revision.number),
            Arg::Number(document.schema_version.into()),
            Arg::Text(document.text),
        ];
        self.run(ACTIVATE, &args).await?;
        if self.current.is_none() {
            self.run("DELETE FROM {p}_deleted WHERE host = $1", &[]).await?;
        }
        Ok(())
    }

    /// Forgets the deletions beyond those that a store remembers, and the past of their hosts.
    async fn forget_oldest(&mut self) -> Result<(), Failure> {
        let sql = self
            .store
            .text("SELECT revision FROM {p}_deleted ORDER BY revision DESC LIMIT 1 OFFSET $1");
        let most = Arg::Number(u64::try_from(TOMBSTONES).unwrap_or(u64::MAX));
        let rows = self.session.run(&sql, &[most]).await?;
        let Some(mut row) = rows.into_iter().next() else {
            return Ok(());
        };
        let oldest = [Arg::Number(row.number()?)];
        for sql in [
            "DELETE FROM {p}_versions WHERE host IN (SELECT host FROM {p}_deleted WHERE revision <= $1)",
            "DELETE FROM {p}_changes WHERE host IN (SELECT host FROM {p}_deleted WHERE revision <= $1)",
            "DELETE FROM {p}_deleted WHERE revision <= $1",
            "UPDATE {p}_meta SET forgotten = $1 WHERE id = 1",
        ] {
            self.session.run(&self.store.text(sql), &oldest).await?;
        }
        Ok(())
    }

    /// Notes the change and makes it last.
    async fn finish(mut self, kind: &str, detail: u64, author: &str) -> Result<Revision, Failure> {
        let args = [
            Arg::Number(self.revision.number),
            Arg::Text(kind),
            Arg::Number(detail),
            Arg::Text(author),
        ];
        let sql = "INSERT INTO {p}_changes (host, revision, kind, detail, author, at) VALUES ($1, $2, $3, $4, $5, {now})";
        self.run(sql, &args).await?;
        self.run(KEEP_CHANGES, &[Arg::Number(self.store.keep)]).await?;
        self.store.engine.announce(&mut *self.session).await?;
        self.session.commit().await?;
        Ok(self.revision)
    }
}
