//! The source beside a store that does what it is told: answers, refuses, hangs, makes no sense, forgets. Time is paused.

mod cold_start;
mod following;
mod heartbeats;
mod loss;
mod outages;
mod scripted;
mod unreadable;

use std::sync::Arc;
use std::time::Duration;

use route_store::Revision;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::scripted::{Mood, Scripted, epoch};
use super::*;
use crate::snapshot::{self, Held, Route, Snapshot, Snapshots};

/// Far longer than anything takes; the clock is paused, so nobody waits for it.
const LONG: Duration = Duration::from_secs(3600);

/// A source that runs.
struct Running {
    store: Arc<Scripted>,
    snapshots: Snapshots,
    applied: watch::Sender<Option<Applied>>,
    handle: StoreHandle,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// A document for a host that sends requests to `upstream`.
fn document(host: &str, upstream: &str) -> String {
    format!(r#"{{"schema_version":2,"host":"{host}","upstreams":[{{"address":"{upstream}"}}]}}"#)
}

fn settings() -> Settings {
    Settings {
        id: "here-00000001".to_owned(),
        version: "1.2.3".to_owned(),
        hostname: "here".to_owned(),
        identity: "scripted 1".to_owned(),
        ..Settings::default()
    }
}

fn run(store: &Arc<Scripted>, settings: Settings) -> Running {
    let (publisher, snapshots) = snapshot::channel();
    let (applied, told) = watch::channel(None);
    let source = StoreSource::new(Arc::clone(store) as Arc<dyn Store>, settings, publisher, told);
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let handle = source.handle();
    tasks.spawn(source.run(stop.clone()));
    Running {
        store: Arc::clone(store),
        snapshots,
        applied,
        handle,
        stop,
        tasks,
    }
}

/// What a snapshot says of its hosts: where requests go to, or 503.
fn said(snapshot: &Snapshot) -> Vec<String> {
    let said = |route: &Route| match route {
        Route::Document(document) => document.raw().target.upstreams.as_ref().unwrap()[0]
            .address
            .clone(),
        Route::Held(_) => "503".to_owned(),
        Route::Configured(_) => "configured".to_owned(),
    };
    snapshot
        .routes
        .iter()
        .map(|route| format!("{} {}", route.host(), said(route)))
        .collect()
}

/// What a snapshot tells to be wrong: hosts, and `kept` where an earlier route serves on.
fn wrong(snapshot: &Snapshot) -> Vec<String> {
    let wrong = snapshot.invalid.iter().map(|invalid| {
        let host = invalid.host.as_deref().unwrap_or("-");
        format!("{host}{}", if invalid.kept { " kept" } else { "" })
    });
    wrong.collect()
}

fn at(number: u64) -> Option<Revision> {
    Some(Revision {
        epoch: epoch(1),
        number,
    })
}

// === impl Running ===

impl Running {
    /// The next snapshot.
    async fn next(&mut self) -> Arc<Snapshot> {
        timeout(LONG, self.snapshots.next())
            .await
            .expect("a snapshot")
            .expect("a source that runs")
    }

    /// Nothing is published for so long.
    async fn is_quiet(&mut self, duration: Duration) {
        let published = timeout(duration, self.snapshots.next()).await;
        assert!(published.is_err(), "{published:?}");
    }

    async fn end(self) {
        self.stop.cancel();
        self.tasks.close();
        timeout(LONG, self.tasks.wait()).await.expect("an end");
    }
}
