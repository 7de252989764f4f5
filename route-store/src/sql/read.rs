//! Reading routes. Each is one statement, so what it gives is of one moment.

use super::engine::{Arg, Engine, Session};
use super::row::Row;
use super::store::{Failure, SqlStore};
use crate::revision::{Epoch, Revision};
use crate::store::{Change, ChangeKind, Changes, Routes, StoreError, StoredRoute};

/// Where the store stands.
pub(super) const REVISION: &str = "SELECT epoch, revision FROM {p}_meta WHERE id = 1";

const ROUTES: &str = "SELECT m.epoch, m.revision, r.host, r.version, r.revision, r.schema_version, r.data \
    FROM {p}_meta m LEFT JOIN {p}_routes r ON 1 = 1 WHERE m.id = 1 ORDER BY r.host";

/// What is later than `$1` of the epoch `$2`: routes, and deleted hosts with nothing but their name. A row without a host
/// comes alone; it says by its last column whether the store knows so far back.
const CHANGES: &str = "SELECT m.epoch, m.revision, m.forgotten, c.host, c.version, c.revision, c.schema_version, c.data \
    FROM {p}_meta m LEFT JOIN ( \
      SELECT host, version, revision, schema_version, data FROM {p}_routes WHERE revision > $1 \
      UNION ALL \
      SELECT host, CAST(NULL AS BIGINT), revision, CAST(NULL AS BIGINT), CAST(NULL AS TEXT) \
      FROM {p}_deleted WHERE revision > $1 \
    ) c ON m.epoch = $2 AND m.forgotten <= $1 AND m.revision >= $1 WHERE m.id = 1 ORDER BY c.host";

const ROUTE: &str = "SELECT host, version, revision, schema_version, data FROM {p}_routes WHERE host = $1";

const HISTORY: &str = "SELECT c.revision, c.kind, c.detail, c.author, c.at, v.data \
    FROM {p}_changes c LEFT JOIN {p}_versions v ON c.host = v.host AND c.revision = v.version \
    WHERE c.host = $1 ORDER BY c.revision DESC";

/// What a change is called in its row.
pub(super) const PUT: &str = "put";
pub(super) const DELETE: &str = "delete";
pub(super) const ROLLBACK: &str = "rollback";

pub(super) async fn revision<E: Engine>(store: &SqlStore<E>) -> Result<Revision, Failure> {
    let mut session = store.begin(false).await?;
    let rows = session.run(&store.text(REVISION), &[]).await?;
    drop(session);
    match rows.into_iter().next() {
        Some(mut row) => revision_of(&mut row),
        None => begin_epoch(store).await,
    }
}

pub(super) async fn routes<E: Engine>(store: &SqlStore<E>) -> Result<Routes, Failure> {
    let mut session = store.begin(false).await?;
    let rows = session.run(&store.text(ROUTES), &[]).await?;
    drop(session);
    let mut revision = None;
    let mut routes = Vec::with_capacity(rows.len());
    for mut row in rows {
        revision = Some(revision_of(&mut row)?);
        if let Some(host) = row.optional_text()? {
            routes.push(route_of(host, &mut row)?);
        }
    }
    let revision = match revision {
        Some(revision) => revision,
        None => begin_epoch(store).await?,
    };
    Ok(Routes { revision, routes })
}

pub(super) async fn changes<E: Engine>(store: &SqlStore<E>, known: Revision) -> Result<Changes, Failure> {
    let mut session = store.begin(false).await?;
    let epoch = known.epoch.to_string();
    let args = [Arg::Number(known.number), Arg::Text(&epoch)];
    let rows = session.run(&store.text(CHANGES), &args).await?;
    drop(session);
    let (mut routes, mut deleted, mut now) = (Vec::new(), Vec::new(), None);
    for mut row in rows {
        let revision = revision_of(&mut row)?;
        let forgotten = row.number()?;
        if revision.epoch != known.epoch || known.number > revision.number || known.number < forgotten {
            break;
        }
        now = Some(revision);
        let Some(host) = row.optional_text()? else { break };
        match row.optional_number()? {
            Some(version) => routes.push(versioned(host, version, &mut row)?),
            None => deleted.push(host),
        }
    }
    match now {
        Some(revision) => Ok(Changes::Some {
            revision,
            routes,
            deleted,
        }),
        None => Ok(Changes::All(self::routes(store).await?)),
    }
}

pub(super) async fn route<E: Engine>(
    store: &SqlStore<E>,
    host: &str,
) -> Result<Option<StoredRoute>, Failure> {
    let mut session = store.begin(false).await?;
    let host = host.to_ascii_lowercase();
    let rows = session.run(&store.text(ROUTE), &[Arg::Text(&host)]).await?;
    let Some(mut row) = rows.into_iter().next() else {
        return Ok(None);
    };
    let host = row.text()?;
    route_of(host, &mut row).map(Some)
}

pub(super) async fn history<E: Engine>(store: &SqlStore<E>, host: &str) -> Result<Vec<Change>, Failure> {
    let mut session = store.begin(false).await?;
    let host = host.to_ascii_lowercase();
    let rows = session.run(&store.text(HISTORY), &[Arg::Text(&host)]).await?;
    rows.into_iter().map(change_of).collect()
}

/// Begins the first epoch, or the next one if the data was lost, unless another has just done so. What is left of routes
/// stays, at numbers that the new epoch begins after.
async fn begin_epoch<E: Engine>(store: &SqlStore<E>) -> Result<Revision, Failure> {
    let mut session = store.begin(true).await?;
    let revision = ensure_epoch(store, &mut *session).await?;
    session.commit().await?;
    Ok(revision)
}

pub(super) async fn ensure_epoch<E: Engine>(
    store: &SqlStore<E>,
    session: &mut dyn Session,
) -> Result<Revision, Failure> {
    let epoch = Epoch::random().map_err(|error| StoreError::Failed {
        kind: E::KIND,
        reason: format!("no random numbers: {error}"),
    })?;
    let sql = "INSERT INTO {p}_meta (id, epoch, revision, forgotten, last_value) VALUES (1, $1, \
        (SELECT coalesce(max(revision), 0) FROM {p}_changes), 0, (SELECT coalesce(max(version), 0) FROM {p}_values)) \
        ON CONFLICT (id) DO NOTHING";
    session
        .run(&store.text(sql), &[Arg::Text(&epoch.to_string())])
        .await?;
    let rows = session.run(&store.text(REVISION), &[]).await?;
    match rows.into_iter().next() {
        Some(mut row) => revision_of(&mut row),
        None => Err(StoreError::Failed {
            kind: E::KIND,
            reason: "the row of the revision cannot be written".to_owned(),
        }
        .into()),
    }
}

pub(super) fn revision_of(row: &mut Row) -> Result<Revision, Failure> {
    let epoch = row.text()?.parse().map_err(|_| super::row::Odd("an epoch"))?;
    let number = row.number()?;
    Ok(Revision { epoch, number })
}

fn route_of(host: String, row: &mut Row) -> Result<StoredRoute, Failure> {
    let version = row.number()?;
    versioned(host, version, row)
}

fn versioned(host: String, version: u64, row: &mut Row) -> Result<StoredRoute, Failure> {
    Ok(StoredRoute {
        host,
        version,
        revision: row.number()?,
        schema_version: schema_version(row.number()?),
        document: row.text()?,
    })
}

fn change_of(mut row: Row) -> Result<Change, Failure> {
    let revision = row.number()?;
    let kind = row.text()?;
    let detail = row.number()?;
    let author = row.text()?;
    let at = row.number()? / 1000;
    let kind = match kind.as_str() {
        PUT => ChangeKind::Put {
            schema_version: schema_version(detail),
            document: row.optional_text()?,
        },
        DELETE => ChangeKind::Delete,
        ROLLBACK => ChangeKind::Rollback { version: detail },
        _ => return Err(super::row::Odd("a kind of change").into()),
    };
    Ok(Change {
        revision,
        kind,
        author,
        at,
    })
}

/// A number that is too large is a version that no program knows.
pub(super) fn schema_version(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
