//! Routes from the labels of containers and of the services of a swarm.

mod address;
mod assemble;
mod client;
mod containers;
mod labels;
mod memory;
mod pace;
mod services;
mod settings;
mod workload;

use std::fmt;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::time;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use self::client::{Client, ClientError, Events};
use self::memory::News;
pub use self::memory::Remembered;
use self::pace::Pace;
pub use self::settings::{DockerMode, DockerSettings, Endpoint, EndpointError, LabelForms, Reach, TlsFiles};
use self::workload::Workload;
use crate::snapshot::Publisher;

/// After the first event of several, this much quiet is waited for.
const SETTLE: Duration = Duration::from_millis(100);
/// However many events there are, after this time everything is listed.
const SETTLE_AT_MOST: Duration = Duration::from_secs(1);

/// Publishes the routes that a daemon's labels define.
///
/// Everything is listed at the start, after each event, and at an interval. A list that fails in whatever way changes no
/// route; the snapshot then says why it is stale. A daemon that is away at the start gives an empty snapshot that is
/// stale, so that nobody waits for it.
pub struct DockerSource {
    settings: DockerSettings,
    publisher: Publisher,
    remembered: Remembered,
    jitter: Box<dyn FnMut() -> f64 + Send + Sync>,
}

// === impl DockerSource ===

impl DockerSource {
    /// A source that has asked for nothing yet.
    pub fn new(settings: DockerSettings, publisher: Publisher) -> Self {
        Self {
            settings,
            publisher,
            remembered: Remembered::default(),
            jitter: Box::new(|| 0.0),
        }
    }

    /// Spreads the attempts to reach a daemon that is away: `jitter` gives numbers from 0 to 1. Default: always 0.
    #[must_use]
    pub fn with_jitter(self, jitter: impl FnMut() -> f64 + Send + Sync + 'static) -> Self {
        let jitter = Box::new(jitter);
        Self { jitter, ..self }
    }

    /// The routes that are kept though nothing defines them any more, and the way to forget them.
    pub fn remembered(&self) -> Remembered {
        self.remembered.clone()
    }

    /// Publishes snapshots until `stop` is cancelled.
    pub async fn run(mut self, stop: CancellationToken) {
        let serve = async {
            let mut pace = Pace::default();
            loop {
                let Err(error) = self.session(&mut pace).await;
                self.fail(&error);
                let delay = pace.next((self.jitter)());
                self.sleep(delay).await;
            }
        };
        stop.run_until_cancelled(serve).await;
    }

    /// Follows one daemon until it fails.
    async fn session(&mut self, pace: &mut Pace) -> Result<std::convert::Infallible, ClientError> {
        let client = Client::connect(&self.settings).await?;
        let mut events = Some(client.events());
        let mut events_pace = Pace::default();
        loop {
            let (workloads, is_old) = list(&client, &mut events).await?;
            pace.reset();
            let assembled = assemble::assemble(workloads, &self.settings);
            let news = self.remembered.apply(assembled);
            self.publish(news);
            if events.is_none() {
                // What happens meanwhile is not told of, so the list that follows is of after the next try.
                let delay = events_pace.next((self.jitter)()).min(self.settings.interval);
                self.sleep(delay).await;
                events = Some(client.events());
            } else if self.wait(&mut events, is_old).await {
                events_pace.reset();
            }
        }
    }

    /// Waits until it is time for another list, which it is soon if the last one may be of before an event. Says whether
    /// that is so because of an event.
    async fn wait(&self, events: &mut Option<Events>, is_old: bool) -> bool {
        if !is_old {
            let interval = self.sleep(self.settings.interval);
            tokio::select! {
                () = interval => return false,
                is_event = next(events) => if !is_event { return false },
            }
        }
        let settled = async { while let Ok(true) = time::timeout(SETTLE, next(events)).await {} };
        // Too many events are as good a reason to list as none.
        if time::timeout(SETTLE_AT_MOST, settled).await.is_err() {
            debug!("events do not end, listing anyway");
        }
        true
    }

    /// Sleeps, and tells meanwhile of what is forgotten.
    async fn sleep(&self, delay: Duration) {
        let forgetting = async {
            loop {
                self.remembered.changed().await;
                self.publish(self.remembered.again());
            }
        };
        tokio::select! {
            () = time::sleep(delay) => {}
            () = forgetting => {}
        }
    }

    fn fail(&self, error: &ClientError) {
        if let Some(news) = self.remembered.fail(error.to_string()) {
            warn!(%error, "what docker runs is not known, all routes stay");
            self.publisher.publish(news.snapshot);
        }
    }

    fn publish(&self, news: Option<News>) {
        let Some(News {
            snapshot,
            are_mistakes_new,
        }) = news
        else {
            return;
        };
        let (routes, invalid) = (snapshot.routes.len(), snapshot.invalid.len());
        info!(routes, invalid, "routes of docker have changed");
        for invalid in snapshot.invalid.iter().filter(|_| are_mistakes_new) {
            warn!(
                place = invalid.place,
                host = invalid.host,
                reason = invalid.reason,
                "labels are wrong"
            );
        }
        self.publisher.publish(snapshot);
    }
}

impl fmt::Debug for DockerSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("DockerSource");
        debug.field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Lists everything, and says whether there was an event meanwhile. Events are asked for at the same time, so that what
/// happens after the list is told of.
async fn list(client: &Client, events: &mut Option<Events>) -> Result<(Vec<Workload>, bool), ClientError> {
    let mut listing = std::pin::pin!(client.list());
    let mut is_old = false;
    loop {
        tokio::select! {
            biased;
            listed = &mut listing => return Ok((listed?, is_old)),
            is_event = next(events) => is_old |= is_event,
        }
    }
}

/// Waits for an event. `false`: there will be none, as the stream has ended.
async fn next(events: &mut Option<Events>) -> bool {
    let Some(stream) = events else {
        return std::future::pending().await;
    };
    match stream.next().await {
        Some(Ok(_)) => true,
        Some(Err(error)) => {
            debug!(%error, "events of docker failed");
            *events = None;
            false
        }
        None => {
            *events = None;
            false
        }
    }
}
