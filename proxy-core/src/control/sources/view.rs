//! The sources as the admin API sees them.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use route_sources::{HostDocument, HostName, Kind, Problems, Revision, Route, Served};
use route_store::Problem;
use serde_json::{Value, json};
use tokio::task;

use super::Reconciler;
use crate::control::{HostState, ServedHost, SourcesView};

/// Looks at what runs, for as long as it does.
#[derive(Debug)]
pub(super) struct Overview(Weak<Reconciler>);

// === impl Overview ===

impl Overview {
    pub(super) fn new(reconciler: &Arc<Reconciler>) -> Self {
        Self(Arc::downgrade(reconciler))
    }

    fn said(&self) -> Value {
        let Some(reconciler) = self.0.upgrade() else {
            return json!({});
        };
        let status = reconciler.routes_status();
        // It has nothing that cannot be written.
        let mut value = serde_json::to_value(status).unwrap_or_default();
        if let Value::Object(fields) = &mut value {
            let applied = *reconciler.applied().borrow();
            let applied = applied.map(
                |applied| json!({"revision": applied.revision, "at": applied.at, "invalid": applied.invalid}),
            );
            fields.insert("applied".to_owned(), applied.unwrap_or_default());
        }
        value
    }

    fn list(&self, after: Option<&str>, limit: usize) -> Vec<ServedHost> {
        let Some(reconciler) = self.0.upgrade() else {
            return Vec::new();
        };
        reconciler.with_hosted(|hosted| {
            let mut names: Vec<(&HostName, &Served)> = hosted
                .merge
                .names()
                .filter(|(name, _)| after.is_none_or(|after| name.as_str() > after))
                .collect();
            if limit < names.len() {
                names.select_nth_unstable_by_key(limit, |(name, _)| *name);
                names.truncate(limit);
            }
            names.sort_unstable_by_key(|(name, _)| *name);
            let shown = names.into_iter().map(|(name, served)| ServedHost {
                host: name.clone(),
                alias_of: Some(served.route.host()).filter(|host| *host != name).cloned(),
                source: served.kind,
                state: state(hosted.unbuilt.get(name), served),
            });
            shown.collect()
        })
    }
}

impl SourcesView for Overview {
    fn status(&self) -> BoxFuture<'_, Value> {
        Box::pin(async { self.said() })
    }

    fn hosts<'a>(&'a self, after: Option<&'a str>, limit: usize) -> BoxFuture<'a, Vec<ServedHost>> {
        Box::pin(async move { self.list(after, limit) })
    }

    fn check<'a>(&'a self, document: &'a HostDocument) -> BoxFuture<'a, Result<(), Problems>> {
        let (reconciler, document) = (self.0.upgrade(), document.clone());
        Box::pin(async move {
            let Some(reconciler) = reconciler else {
                return Ok(());
            };
            // It may read files.
            let built = task::spawn_blocking(move || reconciler.could_serve(&document));
            let built = built
                .await
                .unwrap_or_else(|_| Err("it cannot be built".to_owned()));
            built.map_err(|reason| Problems::one(Problem::new("", reason)))
        })
    }

    fn applied(&self) -> Option<Revision> {
        let reconciler = self.0.upgrade()?;
        let applied = *reconciler.applied().borrow();
        applied.map(|applied| applied.revision)
    }

    fn sync(&self) {
        if let Some(reconciler) = self.0.upgrade()
            && let Some(store) = &reconciler.sources.handles().store
        {
            store.sync_now();
        }
    }

    fn forget(&self, host: &HostName) -> bool {
        let Some(reconciler) = self.0.upgrade() else {
            return false;
        };
        let handles = reconciler.sources.handles();
        handles.docker.as_ref().is_some_and(|docker| docker.forget(host))
    }

    fn accept_loss(&self) -> bool {
        let Some(reconciler) = self.0.upgrade() else {
            return false;
        };
        let lost = reconciler.with_hosted(|hosted| {
            let store = hosted.merge.snapshot(Kind::Store);
            store.is_some_and(|snapshot| snapshot.invalid.iter().any(|invalid| invalid.kept))
        });
        let handles = reconciler.sources.handles();
        let Some(store) = handles.store.as_ref().filter(|_| lost) else {
            return false;
        };
        store.accept_loss();
        true
    }
}

fn state(unbuilt: Option<&route_sources::Invalid>, served: &Served) -> HostState {
    match (unbuilt, &served.route) {
        (Some(unbuilt), _) if unbuilt.kept => HostState::Kept(unbuilt.reason.clone()),
        (Some(unbuilt), _) => HostState::Unavailable(unbuilt.reason.clone()),
        (None, Route::Held(held)) => HostState::Unavailable(held.reason.clone()),
        (None, Route::Configured(_)) => HostState::Configured,
        (None, Route::Document(_)) => HostState::Served,
    }
}
