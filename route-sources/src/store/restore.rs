//! Writes routes again that a store has lost.

use std::time::Duration;

use route_store::{ChangeKind, Document, Expected, StoreError, StoredRoute, Terms};
use tracing::info;

use super::Shared;
use super::ask::within;

/// One replica at a time does it.
const LEASE: &str = "doorway-restore";
const TTL: Duration = Duration::from_secs(30);

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Restored {
    /// Somebody has deleted these hosts since the store lost them: nothing is to be written again.
    pub(super) deleted: Vec<String>,
    /// There is something to read.
    pub(super) is_done: bool,
}

/// Writes each of these routes again, if the store has the version of it that is given with it, or none. What somebody
/// else has written or deleted meanwhile stays so. Nothing is done while another replica is at it.
pub(super) async fn restore(
    shared: &Shared,
    routes: &[(StoredRoute, Option<u64>)],
) -> Result<Restored, StoreError> {
    let Shared { store, settings, .. } = shared;
    let mut result = Restored::default();
    let mut written = 0_usize;
    for (stored, version) in routes {
        // It is taken before each write, so that it never ends before they do.
        let is_ours = within(
            &**store,
            settings.timeout,
            store.acquire(LEASE, &settings.id, TTL),
        )
        .await?;
        if !is_ours {
            return Ok(result);
        }
        result.is_done = true;
        if version.is_none() && is_deleted(shared, &stored.host).await? {
            result.deleted.push(stored.host.clone());
        } else {
            written += usize::from(write(shared, stored, *version).await?);
        }
    }
    within(&**store, settings.timeout, store.release(LEASE, &settings.id)).await?;
    info!(
        store = store.kind(),
        written, "routes that the store had lost are in it again"
    );
    Ok(result)
}

/// Whether the last that the store knows of a host is that it was deleted.
async fn is_deleted(shared: &Shared, host: &str) -> Result<bool, StoreError> {
    let Shared { store, settings, .. } = shared;
    let history = within(&**store, settings.timeout, store.history(host)).await?;
    Ok(history
        .first()
        .is_some_and(|last| last.kind == ChangeKind::Delete))
}

/// Whether it was written.
async fn write(shared: &Shared, stored: &StoredRoute, version: Option<u64>) -> Result<bool, StoreError> {
    let Shared { store, settings, .. } = shared;
    let document = Document {
        schema_version: stored.schema_version,
        text: &stored.document,
    };
    let terms = Terms {
        author: &format!("restore by {}", settings.id),
        expected: version.map_or(Expected::Absent, Expected::Version),
    };
    match within(
        &**store,
        settings.timeout,
        store.put(&stored.host, document, terms),
    )
    .await
    {
        Ok(_) => Ok(true),
        Err(StoreError::Conflict { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
