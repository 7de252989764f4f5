//! Routes of a daemon that is ours.

mod containers;
mod example;
mod fake;
mod faults;
mod swarm;

use std::sync::Arc;
use std::time::Duration;

use route_sources::docker::{DockerSettings, DockerSource, Remembered};
use route_sources::{Route, Snapshot, Snapshots, channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::fake::Fake;

/// Nothing takes this long unless it is broken.
const BOUND: Duration = Duration::from_secs(20);

/// A source that runs.
struct Running {
    snapshots: Snapshots,
    remembered: Remembered,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

// === impl Running ===

impl Running {
    /// A source that lists again only after events.
    fn start(fake: &Fake) -> Self {
        Self::with(settings(fake))
    }

    #[expect(clippy::disallowed_methods, reason = "a test has no set of tasks")]
    fn with(settings: DockerSettings) -> Self {
        let (publisher, snapshots) = channel();
        let source = DockerSource::new(settings, publisher);
        let stop = CancellationToken::new();
        Self {
            snapshots,
            remembered: source.remembered(),
            task: tokio::spawn(source.run(stop.clone())),
            stop,
        }
    }

    /// The next snapshot.
    async fn next(&mut self) -> Arc<Snapshot> {
        let next = tokio::time::timeout(BOUND, self.snapshots.next()).await;
        next.expect("a snapshot in time").expect("the source runs")
    }

    /// The next snapshot for which this is so.
    async fn until(&mut self, is_so: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        loop {
            let snapshot = self.next().await;
            if is_so(&snapshot) {
                return snapshot;
            }
        }
    }

    async fn end(self) {
        self.stop.cancel();
        tokio::time::timeout(BOUND, self.task)
            .await
            .expect("it ends")
            .unwrap();
    }
}

fn settings(fake: &Fake) -> DockerSettings {
    DockerSettings {
        endpoint: fake.endpoint(),
        interval: Duration::from_secs(3600),
        ..DockerSettings::default()
    }
}

/// Host and addresses of each route, in one line each.
fn shown(snapshot: &Snapshot) -> Vec<String> {
    let route = |route: &Route| match route {
        Route::Document(document) => {
            let upstreams = document.raw().target.upstreams.iter().flatten();
            let addresses: Vec<_> = upstreams.map(|upstream| upstream.address.as_str()).collect();
            format!("{} {}", document.host(), addresses.join(" "))
                .trim()
                .to_owned()
        }
        Route::Held(held) => format!("{} held", held.host),
        Route::Configured(host) => format!("{host} configured"),
    };
    snapshot.routes.iter().map(route).collect()
}
