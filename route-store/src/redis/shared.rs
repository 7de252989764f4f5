//! Replicas, leases and values, which expire by the server's clock.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use super::{RedisStore, condition, conflict, millis, new_epoch, number, odd};
use crate::store::{Expected, Replica, StoreError, Value};

/// How many keys are asked for at once.
const PART: usize = 500;

static REPORT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("scripts/report.lua")));
static EXPIRED: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("scripts/expired.lua")));
static ACQUIRE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("scripts/acquire.lua")));
static RELEASE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("scripts/release.lua")));
static SET: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("scripts/common.lua"),
        include_str!("scripts/set.lua")
    ))
});
static REMOVE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("scripts/common.lua"),
        include_str!("scripts/remove.lua")
    ))
});

pub(super) async fn report(store: &RedisStore, replica: &Replica, ttl: Duration) -> Result<(), StoreError> {
    let text = serde_json::to_string(replica).map_err(|error| odd(error.to_string()))?;
    let mut script = REPORT.prepare_invoke();
    script
        .key(store.keys.replica(&replica.id))
        .key(store.keys.replicas())
        .arg(&replica.id)
        .arg(millis(ttl))
        .arg(text);
    let _ok: String = store.server.script(&script).await?;
    Ok(())
}

pub(super) async fn replicas(store: &RedisStore) -> Result<Vec<Replica>, StoreError> {
    let list = store.keys.replicas();
    let command = redis::Cmd::smembers(&list);
    let mut ids: Vec<String> = store.server.command(&command).await?;
    ids.sort_unstable();
    let mut replicas = Vec::with_capacity(ids.len());
    for some in ids.chunks(PART) {
        let keys: Vec<String> = some.iter().map(|id| store.keys.replica(id)).collect();
        let command = redis::Cmd::mget(&keys);
        let texts: Vec<Option<String>> = store.server.command(&command).await?;
        for ((id, key), text) in some.iter().zip(&keys).zip(texts) {
            match text {
                // One that another version wrote in a way that is not understood must not hide the others.
                Some(text) => replicas.extend(serde_json::from_str::<Replica>(&text)),
                None => forget(store, key, &list, id, "SREM").await?,
            }
        }
    }
    Ok(replicas)
}

pub(super) async fn acquire(
    store: &RedisStore,
    name: &str,
    holder: &str,
    ttl: Duration,
) -> Result<bool, StoreError> {
    let mut script = ACQUIRE.prepare_invoke();
    script.key(store.keys.lease(name)).arg(holder).arg(millis(ttl));
    let taken: u8 = store.server.script(&script).await?;
    Ok(taken == 1)
}

pub(super) async fn release(store: &RedisStore, name: &str, holder: &str) -> Result<(), StoreError> {
    let mut script = RELEASE.prepare_invoke();
    script.key(store.keys.lease(name)).arg(holder);
    let _ok: String = store.server.script(&script).await?;
    Ok(())
}

pub(super) async fn get(store: &RedisStore, space: &str, key: &str) -> Result<Option<Value>, StoreError> {
    let command = redis::Cmd::get(store.keys.value(space, key));
    let stored: Option<Vec<u8>> = store.server.command(&command).await?;
    let Some(stored) = stored else { return Ok(None) };
    let mut halves = stored.splitn(2, |byte| *byte == b':');
    let version = halves
        .next()
        .and_then(|version| std::str::from_utf8(version).ok());
    match (version, halves.next()) {
        (Some(version), Some(bytes)) => Ok(Some(Value {
            version: number(version)?,
            bytes: bytes.to_vec(),
        })),
        _ => Err(odd("a value expected")),
    }
}

pub(super) async fn set(
    store: &RedisStore,
    space: &str,
    key: &str,
    bytes: &[u8],
    expected: Expected,
    ttl: Option<Duration>,
) -> Result<u64, StoreError> {
    let mut script = SET.prepare_invoke();
    script
        .key(store.keys.meta())
        .key(store.keys.order())
        .key(store.keys.deleted())
        .key(store.keys.value(space, key))
        .key(store.keys.values(space))
        .arg(new_epoch()?)
        .arg(condition(expected))
        .arg(key)
        .arg(ttl.map_or(0, millis))
        .arg(bytes);
    let said: Vec<String> = store.server.script(&script).await?;
    let mut said = said.iter();
    match (said.next().map(String::as_str), said.next()) {
        (Some("done"), Some(version)) => number(version),
        (Some("conflict"), current) => Err(conflict(current)),
        _ => Err(odd("it answers otherwise than the script does")),
    }
}

pub(super) async fn remove(
    store: &RedisStore,
    space: &str,
    key: &str,
    expected: Expected,
) -> Result<(), StoreError> {
    let mut script = REMOVE.prepare_invoke();
    script
        .key(store.keys.value(space, key))
        .key(store.keys.values(space))
        .arg(condition(expected))
        .arg(key);
    let said: Vec<String> = store.server.script(&script).await?;
    let mut said = said.iter();
    match said.next().map(String::as_str) {
        Some("done") => Ok(()),
        Some("conflict") => Err(conflict(said.next())),
        _ => Err(odd("it answers otherwise than the script does")),
    }
}

pub(super) async fn keys(store: &RedisStore, space: &str, prefix: &str) -> Result<Vec<String>, StoreError> {
    let list = store.keys.values(space);
    // No text has the byte 255, so it ends what begins with the prefix.
    let from = [b"[", prefix.as_bytes()].concat();
    let to = [b"(", prefix.as_bytes(), b"\xff"].concat();
    let command = redis::Cmd::zrangebylex(&list, from, to);
    let names: Vec<String> = store.server.command(&command).await?;
    let mut there = Vec::with_capacity(names.len());
    for some in names.chunks(PART) {
        let mut asked = redis::pipe();
        for name in some {
            asked.exists(store.keys.value(space, name));
        }
        let answers: Vec<bool> = store.server.pipeline(&asked).await?;
        for (name, is_there) in some.iter().zip(answers) {
            if is_there {
                there.push(name.clone());
            } else {
                forget(store, &store.keys.value(space, name), &list, name, "ZREM").await?;
            }
        }
    }
    Ok(there)
}

/// Takes the name of what has expired out of its list.
async fn forget(
    store: &RedisStore,
    key: &str,
    list: &str,
    name: &str,
    command: &str,
) -> Result<(), StoreError> {
    let mut script = EXPIRED.prepare_invoke();
    script.key(key).key(list).arg(name).arg(command);
    let _ok: String = store.server.script(&script).await?;
    Ok(())
}
