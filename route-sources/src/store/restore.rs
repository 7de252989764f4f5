//! Writes routes again that a store has lost.

use std::time::Duration;

use route_store::{Document, Expected, StoreError, StoredRoute, Terms};
use tracing::info;

use super::Shared;
use super::ask::within;

/// One replica at a time does it.
const LEASE: &str = "doorway-restore";
const TTL: Duration = Duration::from_secs(30);

/// Writes each of these routes again, if the store has the version of it that is given with it, or none. What somebody
/// else has written meanwhile stays. `false`: another replica is at it.
pub(super) async fn restore(
    shared: &Shared,
    routes: &[(StoredRoute, Option<u64>)],
) -> Result<bool, StoreError> {
    let Shared { store, settings, .. } = shared;
    let author = format!("restore by {}", settings.id);
    let mut restored = 0_usize;
    for (stored, version) in routes {
        // It is taken before each write, so that it never ends before they do.
        let is_ours = within(
            &**store,
            settings.timeout,
            store.acquire(LEASE, &settings.id, TTL),
        )
        .await?;
        if !is_ours {
            return Ok(false);
        }
        let document = Document {
            schema_version: stored.schema_version,
            text: &stored.document,
        };
        let expected = version.map_or(Expected::Absent, Expected::Version);
        let terms = Terms {
            author: &author,
            expected,
        };
        match within(
            &**store,
            settings.timeout,
            store.put(&stored.host, document, terms),
        )
        .await
        {
            Ok(_) => restored += 1,
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    within(&**store, settings.timeout, store.release(LEASE, &settings.id)).await?;
    info!(
        store = store.kind(),
        restored, "routes that the store had lost are in it again"
    );
    Ok(true)
}
