//! Several replicas on one store, each with a merge of its own, as a proxy has it.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use route_sources::store::{DataLoss, Settings};
use route_sources::{Applied, Kind, Merge, Route, Snapshots, StoreSource, channel};
use route_store::{Document, Epoch, Expected, MemoryStore, Revision, Store, Terms};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Far longer than anything takes; the clock is paused, so nobody waits for it.
const LONG: Duration = Duration::from_secs(3600);

/// A replica: a source, and a merge that says what was applied.
struct Replica {
    snapshots: Snapshots,
    merge: Merge,
    applied: watch::Sender<Option<Applied>>,
    seen: Option<Revision>,
}

struct Everything {
    store: Arc<MemoryStore>,
    replicas: Vec<Replica>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

fn epoch(number: u8) -> Epoch {
    format!("{number:032x}").parse().unwrap()
}

fn begin(count: usize, data_loss: DataLoss) -> Everything {
    let store = Arc::new(MemoryStore::new(epoch(1), UNIX_EPOCH));
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let replica = |number| {
        let (publisher, snapshots) = channel();
        let (applied, told) = watch::channel(None);
        let settings = Settings {
            id: format!("replica-{number}"),
            data_loss,
            ..Settings::default()
        };
        let source = StoreSource::new(Arc::clone(&store) as Arc<dyn Store>, settings, publisher, told);
        tasks.spawn(source.run(stop.clone()));
        Replica {
            snapshots,
            merge: Merge::default(),
            applied,
            seen: None,
        }
    };
    let replicas = (0..count).map(replica).collect();
    Everything {
        store,
        replicas,
        stop,
        tasks,
    }
}

// === impl Replica ===

impl Replica {
    /// Applies snapshots until one is of this revision, and says so.
    async fn reach(&mut self, revision: Revision) {
        while self.seen != Some(revision) {
            let snapshot = timeout(LONG, self.snapshots.next()).await.unwrap().unwrap();
            self.seen = snapshot.revision;
            self.merge.update(Kind::Store, snapshot);
        }
        self.applied.send_replace(Some(Applied {
            revision,
            at: 1,
            invalid: 0,
        }));
    }

    /// Each name, and where its requests go to.
    fn table(&self) -> Vec<String> {
        let said = |route: &Route| match route {
            Route::Document(document) => document.raw().target.upstreams.clone().unwrap_or_default()[0]
                .address
                .clone(),
            _ => "503".to_owned(),
        };
        let mut table: Vec<_> = self
            .merge
            .names()
            .map(|(name, served)| format!("{name} {}", said(&served.route)))
            .collect();
        table.sort();
        table
    }
}

// === impl Everything ===

impl Everything {
    async fn put(&self, host: &str, upstream: &str) -> Revision {
        let text =
            format!(r#"{{"schema_version":2,"host":"{host}","upstreams":[{{"address":"{upstream}"}}]}}"#);
        let document = Document {
            schema_version: 2,
            text: &text,
        };
        self.store.put(host, document, terms()).await.unwrap()
    }

    async fn reach(&mut self, revision: Revision) {
        for replica in &mut self.replicas {
            replica.reach(revision).await;
        }
    }

    async fn end(self) {
        self.stop.cancel();
        self.tasks.close();
        timeout(LONG, self.tasks.wait()).await.unwrap();
    }
}

fn terms() -> Terms<'static> {
    Terms {
        author: "a test",
        expected: Expected::Any,
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_writes_reach_every_replica_and_each_says_so() {
    let mut all = begin(3, DataLoss::Keep);
    let mut last = all.put("host-0.test", "u:1").await;
    for number in 1..1000_u32 {
        let host = format!("host-{}.test", number % 40);
        last = if number % 7 == 0 {
            all.store.delete(&host, terms()).await.unwrap()
        } else {
            all.put(&host, &format!("u:{number}")).await
        };
        if number % 100 == 0 {
            all.reach(last).await;
        }
    }
    all.reach(last).await;
    let stored = all.store.routes().await.unwrap();
    for replica in &all.replicas {
        assert_eq!(replica.table(), all.replicas[0].table());
        assert_eq!(replica.merge.name_count(), stored.routes.len());
    }
    // Before the next look, as a heartbeat goes out with what was applied.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let replicas = all.store.replicas().await.unwrap();
    let said: Vec<_> = replicas
        .iter()
        .map(|replica| (replica.id.as_str(), replica.revision))
        .collect();
    assert_eq!(
        said,
        [("replica-0", last), ("replica-1", last), ("replica-2", last)]
    );
    all.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_has_ended_is_forgotten_after_three_intervals() {
    let mut all = begin(1, DataLoss::Keep);
    let revision = all.put("a.test", "u:1").await;
    all.reach(revision).await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    let store = Arc::clone(&all.store);
    assert_eq!(store.replicas().await.unwrap().len(), 1);
    all.end().await;
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(store.replicas().await.unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn replicas_serve_on_what_a_store_has_lost() {
    let mut all = begin(2, DataLoss::Keep);
    all.put("a.test", "u:1").await;
    let revision = all.put("b.test", "u:1").await;
    all.reach(revision).await;
    all.store.lose(epoch(2));
    let revision = all.put("b.test", "u:2").await;
    all.reach(revision).await;
    for replica in &all.replicas {
        assert_eq!(replica.table(), ["a.test u:1", "b.test u:2"]);
        assert_eq!(replica.merge.invalid_count(Kind::Store), 1);
    }
    all.end().await;
}

#[tokio::test(start_paused = true)]
async fn replicas_write_what_a_store_has_lost_again_once_together() {
    let mut all = begin(3, DataLoss::Restore);
    let hosts: Vec<_> = (0..20).map(|number| format!("host-{number}.test")).collect();
    let mut revision = all.put("first.test", "u:1").await;
    for host in &hosts {
        revision = all.put(host, "u:1").await;
    }
    all.reach(revision).await;
    all.store.lose(epoch(2));
    all.reach(Revision {
        epoch: epoch(2),
        number: 21,
    })
    .await;
    for replica in &all.replicas {
        assert_eq!(replica.merge.name_count(), 21);
        assert_eq!(replica.merge.invalid_count(Kind::Store), 0);
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(
        all.store.revision().await.unwrap().number,
        21,
        "each was written once"
    );
    let history = all.store.history("host-3.test").await.unwrap();
    assert!(
        history[0].author.starts_with("restore by replica-"),
        "{history:?}"
    );
    all.end().await;
}
