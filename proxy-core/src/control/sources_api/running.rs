//! The sources that run, as the admin API sees them.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use route_sources::{HostDocument, HostName, Revision};
use route_store::{Problem, Problems, Store};
use serde_json::{Value, json};
use tokio::task;

use super::{ServedHost, SourcesApi, SourcesView, Tokens};
use crate::config::hosts;
use crate::control::Reconciler;

/// Something that is asked of a source.
type Call = Arc<dyn Fn() + Send + Sync>;

/// Something that is asked of a source about a host.
type CallOfHost = Arc<dyn Fn(&HostName) -> bool + Send + Sync>;

/// What may be asked of the sources that run. Whoever starts them sets it.
#[derive(Clone, Default)]
pub(crate) struct Handles {
    /// The store that documents are written to, if the configuration has one.
    pub(crate) store: Option<Arc<dyn Store>>,
    /// Who may ask.
    pub(crate) tokens: Arc<Tokens>,
    /// Has the source of the store look at once.
    pub(crate) sync: Option<Call>,
    /// Has the source of the store take what it finds for what is meant.
    pub(crate) accept_loss: Option<Call>,
    /// Has the source of containers forget one that is gone; says whether there was one.
    pub(crate) forget: Option<CallOfHost>,
}

#[derive(Debug)]
struct Running {
    reconciler: Arc<Reconciler>,
    handles: Arc<Handles>,
}

// === impl Handles ===

impl fmt::Debug for Handles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handles")
            .field("store", &self.store)
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

// === impl Reconciler ===

impl Reconciler {
    /// Says what may be asked of the sources that run from now on.
    #[allow(dead_code, reason = "whoever starts the sources calls it")]
    pub(crate) fn set_handles(&self, handles: Option<Handles>) {
        self.handles.store(handles.map(Arc::new));
    }

    /// The sources of routes as the admin API sees them; `None` without any.
    pub(crate) fn sources(self: &Arc<Self>) -> Option<SourcesApi> {
        let handles = self.handles.load_full()?;
        Some(SourcesApi {
            store: handles.store.clone(),
            tokens: Arc::clone(&handles.tokens),
            view: Arc::new(Running {
                reconciler: Arc::clone(self),
                handles,
            }),
        })
    }
}

// === impl Running ===

impl SourcesView for Running {
    fn status(&self) -> BoxFuture<'_, Value> {
        async { json!(self.reconciler.routes_status().await) }.boxed()
    }

    fn hosts<'a>(&'a self, after: Option<&'a str>, limit: usize) -> BoxFuture<'a, Vec<ServedHost>> {
        let after = after.map(str::to_owned);
        async move {
            let hosted = Arc::clone(&self.reconciler.hosted).lock_owned().await;
            // Where there are many it takes a while. A panic is reported by itself.
            let work = task::spawn_blocking(move || hosted.page(after.as_deref(), limit));
            work.await.unwrap_or_default()
        }
        .boxed()
    }

    fn applied(&self) -> Option<Revision> {
        self.reconciler.applied.borrow().map(|applied| applied.revision)
    }

    fn check<'a>(&'a self, document: &'a HostDocument) -> BoxFuture<'a, Result<(), Problems>> {
        let (reconciler, document) = (Arc::clone(&self.reconciler), document.clone());
        async move {
            let https_port = reconciler.hosted.lock().await.https_port();
            // It may wait for disks.
            let work = task::spawn_blocking(move || {
                let built = hosts::site(&reconciler.surroundings, &document, https_port);
                built.map(drop).map_err(|errors| errors.to_string())
            });
            let built = work
                .await
                .unwrap_or_else(|_| Err("it cannot be built; see the log".to_owned()));
            built.map_err(|reason| Problems::one(Problem::new("", reason)))
        }
        .boxed()
    }

    fn sync(&self) {
        if let Some(sync) = &self.handles.sync {
            sync();
        }
    }

    fn forget(&self, host: &HostName) -> bool {
        self.handles.forget.as_ref().is_some_and(|forget| forget(host))
    }

    fn accept_loss(&self) -> bool {
        if let Some(accept) = &self.handles.accept_loss {
            accept();
        }
        self.handles.accept_loss.is_some()
    }
}
