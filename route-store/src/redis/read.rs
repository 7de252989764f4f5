//! Reading routes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use redis::Script;

use super::{RedisStore, new_epoch, number, odd};
use crate::revision::Revision;
use crate::store::{Change, ChangeKind, Changes, Routes, StoreError, StoredRoute};

/// Routes of one part at most.
const PART: usize = 500;

/// Bytes of documents after which a part ends.
const PART_BYTES: usize = 1 << 20;

/// How often loading begins anew when the data was lost, or too much was forgotten, meanwhile.
const TRIES: usize = 3;

static REVISION: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("scripts/common.lua"),
        include_str!("scripts/revision.lua")
    ))
});
static LOAD: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("scripts/common.lua"),
        include_str!("scripts/load.lua")
    ))
});

/// What the script gives.
type Raw = (String, String, String, String, String, Vec<String>, Vec<String>);

/// One part of what is after a revision.
struct Part {
    revision: Revision,
    /// Deletions up to this number are forgotten.
    forgotten: u64,
    last: u64,
    has_more: bool,
    routes: Vec<StoredRoute>,
    deleted: Vec<String>,
}

/// Everything that is after a revision.
struct Since {
    revision: Revision,
    routes: BTreeMap<String, StoredRoute>,
    deleted: BTreeSet<String>,
}

pub(super) async fn revision(store: &RedisStore) -> Result<Revision, StoreError> {
    let epoch = new_epoch()?;
    let mut script = REVISION.prepare_invoke();
    script
        .key(store.keys.meta())
        .key(store.keys.order())
        .key(store.keys.deleted())
        .arg(epoch);
    let (epoch, revision): (String, String) = store.server.script(&script).await?;
    revision_of(&epoch, &revision)
}

/// How the keys are laid out; 0 if there are none.
pub(super) async fn layout(store: &RedisStore) -> Result<u32, StoreError> {
    let command = redis::Cmd::hget(store.keys.meta(), "layout");
    let layout: Option<u32> = store.server.command(&command).await?;
    Ok(layout.unwrap_or_default())
}

pub(super) async fn routes(store: &RedisStore) -> Result<Routes, StoreError> {
    for _ in 0..TRIES {
        let first = part(store, 0, 0).await?;
        // Who begins with nothing does not care what was deleted before.
        let begun = first.revision;
        if let Some(since) = follow(store, begun, first).await? {
            return Ok(Routes {
                revision: since.revision,
                routes: since.routes.into_values().collect(),
            });
        }
    }
    Err(odd("its data was lost several times while it was loaded"))
}

pub(super) async fn changes(store: &RedisStore, known: Revision) -> Result<Changes, StoreError> {
    let first = part(store, known.number, known.number).await?;
    let is_known = first.revision.epoch == known.epoch
        && known.number <= first.revision.number
        && known.number >= first.forgotten;
    if is_known && let Some(since) = follow(store, known, first).await? {
        return Ok(Changes::Some {
            revision: since.revision,
            routes: since.routes.into_values().collect(),
            deleted: since.deleted.into_iter().collect(),
        });
    }
    routes(store).await.map(Changes::All)
}

pub(super) async fn route(store: &RedisStore, host: &str) -> Result<Option<StoredRoute>, StoreError> {
    let host = host.to_ascii_lowercase();
    let command = redis::Cmd::hget(store.keys.routes(), &host);
    let stored: Option<String> = store.server.command(&command).await?;
    stored.map(|stored| route_of(host, &stored)).transpose()
}

pub(super) async fn history(store: &RedisStore, host: &str) -> Result<Vec<Change>, StoreError> {
    let host = host.to_ascii_lowercase();
    let mut both = redis::pipe();
    both.atomic()
        .lrange(store.keys.history(&host), 0, -1)
        .hgetall(store.keys.versions(&host));
    let (changes, versions): (Vec<String>, BTreeMap<String, String>) = store.server.pipeline(&both).await?;
    changes
        .iter()
        .map(|change| change_of(change, &versions))
        .collect()
}

/// Reads on from a first part, all of it against what was deleted after `known`. `None`: begin anew.
async fn follow(store: &RedisStore, known: Revision, first: Part) -> Result<Option<Since>, StoreError> {
    let mut routes = BTreeMap::new();
    let mut part = first;
    loop {
        routes.extend(part.routes.into_iter().map(|route| (route.host.clone(), route)));
        if !part.has_more {
            break;
        }
        part = self::part(store, part.last, known.number).await?;
        if part.revision.epoch != known.epoch || part.forgotten > known.number {
            return Ok(None);
        }
    }
    let deleted: BTreeSet<String> = part.deleted.into_iter().collect();
    routes.retain(|host, _| !deleted.contains(host));
    Ok(Some(Since {
        revision: part.revision,
        routes,
        deleted,
    }))
}

/// Reads one part: routes of revisions after `after`, and with the last one the hosts that were deleted after `known`.
async fn part(store: &RedisStore, after: u64, known: u64) -> Result<Part, StoreError> {
    let mut script = LOAD.prepare_invoke();
    script
        .key(store.keys.meta())
        .key(store.keys.order())
        .key(store.keys.deleted())
        .key(store.keys.routes())
        .arg(new_epoch()?)
        .arg(after)
        .arg(known)
        .arg(PART)
        .arg(PART_BYTES);
    let raw: Raw = store.server.script(&script).await?;
    let (epoch, revision, forgotten, last, more, pairs, deleted) = raw;
    let mut routes = Vec::with_capacity(pairs.len() / 2);
    let mut pairs = pairs.into_iter();
    while let (Some(host), Some(stored)) = (pairs.next(), pairs.next()) {
        routes.push(route_or_damage(host, stored));
    }
    Ok(Part {
        revision: revision_of(&epoch, &revision)?,
        forgotten: number(&forgotten)?,
        last: number(&last)?,
        has_more: more == "1",
        routes,
        deleted,
    })
}

pub(super) fn revision_of(epoch: &str, revision: &str) -> Result<Revision, StoreError> {
    Ok(Revision {
        epoch: epoch.parse().map_err(|_| odd("an epoch expected"))?,
        number: number(revision)?,
    })
}

/// One of many. What somebody else has put in the place of a route is damage of this host alone: it is told as a document that
/// nobody can read, and keeps no other route from being loaded.
fn route_or_damage(host: String, stored: String) -> StoredRoute {
    route_of(host.clone(), &stored).unwrap_or(StoredRoute {
        host,
        version: 0,
        revision: 0,
        schema_version: 0,
        document: stored,
    })
}

/// `version:revision:schema version:document`.
fn route_of(host: String, stored: &str) -> Result<StoredRoute, StoreError> {
    let mut fields = stored.splitn(4, ':');
    let mut field = || fields.next().ok_or_else(|| odd("a route expected"));
    Ok(StoredRoute {
        host,
        version: number(field()?)?,
        revision: number(field()?)?,
        schema_version: schema_version(field()?)?,
        document: field()?.to_owned(),
    })
}

/// `revision:seconds:kind:detail:author`.
fn change_of(stored: &str, versions: &BTreeMap<String, String>) -> Result<Change, StoreError> {
    let mut fields = stored.splitn(5, ':');
    let mut field = || fields.next().ok_or_else(|| odd("a change expected"));
    let revision = field()?;
    let at = number(field()?)?;
    let (kind, detail, author) = (field()?, field()?, field()?);
    let kind = match kind {
        "put" => {
            let kept = versions.get(revision).and_then(|kept| kept.split_once(':'));
            ChangeKind::Put {
                schema_version: schema_version(detail)?,
                document: kept.map(|(_, document)| document.to_owned()),
            }
        }
        "delete" => ChangeKind::Delete,
        "rollback" => ChangeKind::Rollback {
            version: number(detail)?,
        },
        _ => return Err(odd("a kind of change expected")),
    };
    Ok(Change {
        revision: number(revision)?,
        kind,
        author: author.to_owned(),
        at,
    })
}

/// A number that is too large is a version that no program knows.
fn schema_version(text: &str) -> Result<u32, StoreError> {
    Ok(u32::try_from(number(text)?).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_of_one_route_is_told_as_what_is_there() {
        let good = route_or_damage("a.test".to_owned(), "7:9:2:{\"a\":1}".to_owned());
        assert_eq!((good.version, good.revision, good.schema_version), (7, 9, 2));
        assert_eq!(good.document, "{\"a\":1}");
        for junk in ["", "x", "7", "7:9:x:{}", "-1:9:2:{}", "7:9:2"] {
            let route = route_or_damage("a.test".to_owned(), junk.to_owned());
            assert_eq!((route.host.as_str(), route.version), ("a.test", 0), "{junk}");
            assert_eq!(route.document, junk);
            assert!(crate::document::read(&route.document).is_err(), "{junk}");
        }
    }
}
