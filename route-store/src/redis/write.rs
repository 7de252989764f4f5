//! Writing routes.

use std::sync::LazyLock;

use redis::{Script, ScriptInvocation};

use super::read::revision_of;
use super::{RedisStore, condition, conflict, new_epoch, odd};
use crate::revision::Revision;
use crate::store::{Document, StoreError, TOMBSTONES, Terms};

static WRITE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("scripts/common.lua"),
        include_str!("scripts/write.lua")
    ))
});
static FORGET: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("scripts/common.lua"),
        include_str!("scripts/forget.lua")
    ))
});

pub(super) async fn put(
    store: &RedisStore,
    host: &str,
    document: Document<'_>,
    terms: Terms<'_>,
) -> Result<Revision, StoreError> {
    let host = host.to_ascii_lowercase();
    let mut script = begin(store, &host, terms, "put")?;
    script.arg(document.schema_version).arg(document.text);
    finish(store, &script, &host, 0).await
}

pub(super) async fn rollback(
    store: &RedisStore,
    host: &str,
    version: u64,
    terms: Terms<'_>,
) -> Result<Revision, StoreError> {
    let host = host.to_ascii_lowercase();
    let mut script = begin(store, &host, terms, "rollback")?;
    script.arg(version);
    finish(store, &script, &host, version).await
}

pub(super) async fn delete(store: &RedisStore, host: &str, terms: Terms<'_>) -> Result<Revision, StoreError> {
    let host = host.to_ascii_lowercase();
    let script = begin(store, &host, terms, "delete")?;
    let revision = finish(store, &script, &host, 0).await?;
    // The route is gone, whatever becomes of this; the next deletion tries again.
    if let Err(error) = forget_oldest(store).await {
        tracing::debug!(%error, "old deletions are not forgotten");
    }
    Ok(revision)
}

fn begin(
    store: &RedisStore,
    host: &str,
    terms: Terms<'_>,
    kind: &str,
) -> Result<ScriptInvocation<'static>, StoreError> {
    let keys = &store.keys;
    let mut script = WRITE.prepare_invoke();
    script
        .key(keys.meta())
        .key(keys.order())
        .key(keys.deleted())
        .key(keys.routes())
        .key(keys.versions(host))
        .key(keys.history(host))
        .arg(new_epoch()?)
        .arg(keys.channel())
        .arg(host)
        .arg(condition(terms.expected))
        .arg(terms.author)
        .arg(store.keep)
        .arg(kind);
    Ok(script)
}

async fn finish(
    store: &RedisStore,
    script: &ScriptInvocation<'_>,
    host: &str,
    version: u64,
) -> Result<Revision, StoreError> {
    let said: Vec<String> = store.server.script(script).await?;
    let mut said = said.iter();
    match said.next().map(String::as_str) {
        Some("done" | "same") => match (said.next(), said.next()) {
            (Some(epoch), Some(revision)) => revision_of(epoch, revision),
            _ => Err(odd("a revision expected")),
        },
        Some("conflict") => Err(conflict(said.next())),
        Some("unknown") => Err(StoreError::UnknownVersion {
            host: host.to_owned(),
            version,
        }),
        _ => Err(odd("it answers otherwise than the script does")),
    }
}

/// Forgets deletions beyond those that a store remembers.
async fn forget_oldest(store: &RedisStore) -> Result<(), StoreError> {
    let deleted = store.keys.deleted();
    let most = isize::try_from(TOMBSTONES).unwrap_or(isize::MAX);
    let command = redis::Cmd::zrange_withscores(&deleted, 0, -most - 1);
    let oldest: Vec<(String, u64)> = store.server.command(&command).await?;
    for (host, revision) in oldest {
        let mut script = FORGET.prepare_invoke();
        script
            .key(store.keys.meta())
            .key(&deleted)
            .key(store.keys.versions(&host))
            .key(store.keys.history(&host))
            .arg(&host)
            .arg(revision);
        let _ok: String = store.server.script(&script).await?;
    }
    Ok(())
}
