//! Replicas, leases and values, all by the database's clock.

use std::time::Duration;

use super::engine::{Arg, Engine};
use super::read::ensure_epoch;
use super::row::{Odd, Row};
use super::store::{Failure, SqlStore};
use crate::store::{Expected, Replica, Value};

const REPORT: &str = "INSERT INTO {p}_replicas (id, data, expires_at) VALUES ($1, $2, {now} + $3) \
    ON CONFLICT (id) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at";

const ACQUIRE: &str = "INSERT INTO {p}_leases (name, holder, expires_at) VALUES ($1, $2, {now} + $3) \
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at \
    WHERE {p}_leases.holder = excluded.holder OR {p}_leases.expires_at <= {now} RETURNING name";

const GET: &str = "SELECT version, data FROM {p}_values \
    WHERE space = $1 AND name = $2 AND (expires_at IS NULL OR expires_at > {now})";

const SET: &str = "INSERT INTO {p}_values (space, name, version, data, expires_at) \
    VALUES ($1, $2, $3, $4, {now} + CAST($5 AS BIGINT)) ON CONFLICT (space, name) DO UPDATE SET \
    version = excluded.version, data = excluded.data, expires_at = excluded.expires_at";

const KEYS: &str = "SELECT name FROM {p}_values WHERE space = $1 AND substr(name, 1, length($2)) = $2 \
    AND (expires_at IS NULL OR expires_at > {now}) ORDER BY name";

const NEXT: &str = "UPDATE {p}_meta SET last_value = last_value + 1 WHERE id = 1 RETURNING last_value";

pub(super) async fn report<E: Engine>(
    store: &SqlStore<E>,
    replica: &Replica,
    ttl: Duration,
) -> Result<(), Failure> {
    let data = serde_json::to_string(replica).map_err(|_| Odd("a replica"))?;
    let mut session = store.begin(true).await?;
    session
        .run(
            &store.text("DELETE FROM {p}_replicas WHERE expires_at <= {now}"),
            &[],
        )
        .await?;
    let args = [Arg::Text(&replica.id), Arg::Text(&data), Arg::Number(millis(ttl))];
    session.run(&store.text(REPORT), &args).await?;
    Ok(session.commit().await?)
}

pub(super) async fn replicas<E: Engine>(store: &SqlStore<E>) -> Result<Vec<Replica>, Failure> {
    let mut session = store.begin(false).await?;
    let sql = store.text("SELECT data FROM {p}_replicas WHERE expires_at > {now} ORDER BY id");
    let mut replicas = Vec::new();
    for mut row in session.run(&sql, &[]).await? {
        // One that another version wrote in a way that is not understood is left out; it must not hide the others.
        if let Ok(replica) = serde_json::from_str(&row.text()?) {
            replicas.push(replica);
        }
    }
    Ok(replicas)
}

pub(super) async fn acquire<E: Engine>(
    store: &SqlStore<E>,
    name: &str,
    holder: &str,
    ttl: Duration,
) -> Result<bool, Failure> {
    let mut session = store.begin(true).await?;
    let args = [Arg::Text(name), Arg::Text(holder), Arg::Number(millis(ttl))];
    let rows = session.run(&store.text(ACQUIRE), &args).await?;
    session.commit().await?;
    Ok(!rows.is_empty())
}

pub(super) async fn release<E: Engine>(store: &SqlStore<E>, name: &str, holder: &str) -> Result<(), Failure> {
    let mut session = store.begin(true).await?;
    let sql = store.text("DELETE FROM {p}_leases WHERE name = $1 AND holder = $2");
    session.run(&sql, &[Arg::Text(name), Arg::Text(holder)]).await?;
    Ok(session.commit().await?)
}

pub(super) async fn get<E: Engine>(
    store: &SqlStore<E>,
    space: &str,
    key: &str,
) -> Result<Option<Value>, Failure> {
    let mut session = store.begin(false).await?;
    let rows = session
        .run(&store.text(GET), &[Arg::Text(space), Arg::Text(key)])
        .await?;
    let Some(mut row) = rows.into_iter().next() else {
        return Ok(None);
    };
    Ok(Some(Value {
        version: row.number()?,
        bytes: row.bytes()?,
    }))
}

pub(super) async fn set<E: Engine>(
    store: &SqlStore<E>,
    space: &str,
    key: &str,
    bytes: &[u8],
    expected: Expected,
    ttl: Option<Duration>,
) -> Result<u64, Failure> {
    let mut session = store.begin(true).await?;
    let next = store.text(NEXT);
    let mut rows = session.run(&next, &[]).await?;
    if rows.is_empty() {
        ensure_epoch(store, &mut *session).await?;
        rows = session.run(&next, &[]).await?;
    }
    let version = first_number(rows)?.ok_or_else(|| Failure::from(Odd("a number")))?;
    session
        .run(
            &store.text("DELETE FROM {p}_values WHERE expires_at <= {now}"),
            &[],
        )
        .await?;
    let current = session
        .run(&store.text(GET), &[Arg::Text(space), Arg::Text(key)])
        .await?;
    expected.check(first_number(current)?)?;
    let args = [
        Arg::Text(space),
        Arg::Text(key),
        Arg::Number(version),
        Arg::Bytes(bytes),
        Arg::OptionalNumber(ttl.map(millis)),
    ];
    session.run(&store.text(SET), &args).await?;
    session.commit().await?;
    Ok(version)
}

pub(super) async fn remove<E: Engine>(
    store: &SqlStore<E>,
    space: &str,
    key: &str,
    expected: Expected,
) -> Result<(), Failure> {
    let mut session = store.begin(true).await?;
    // The row is held until the end, so that nobody writes it between the look and the removal.
    session
        .run(
            &store.text("UPDATE {p}_meta SET last_value = last_value WHERE id = 1"),
            &[],
        )
        .await?;
    let args = [Arg::Text(space), Arg::Text(key)];
    let current = session.run(&store.text(GET), &args).await?;
    expected.check(first_number(current)?)?;
    session
        .run(
            &store.text("DELETE FROM {p}_values WHERE space = $1 AND name = $2"),
            &args,
        )
        .await?;
    Ok(session.commit().await?)
}

pub(super) async fn keys<E: Engine>(
    store: &SqlStore<E>,
    space: &str,
    prefix: &str,
) -> Result<Vec<String>, Failure> {
    let mut session = store.begin(false).await?;
    let rows = session
        .run(&store.text(KEYS), &[Arg::Text(space), Arg::Text(prefix)])
        .await?;
    rows.into_iter().map(|mut row| Ok(row.text()?)).collect()
}

fn first_number(rows: Vec<Row>) -> Result<Option<u64>, Failure> {
    match rows.into_iter().next() {
        Some(mut row) => Ok(Some(row.number()?)),
        None => Ok(None),
    }
}

/// At least one, as 0 would be the past already. At most some ten thousand years, so that sums do not overflow.
fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis())
        .unwrap_or(u64::MAX)
        .clamp(1, 1 << 48)
}
