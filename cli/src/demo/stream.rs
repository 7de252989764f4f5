//! The long response that keeps a page up to date: one line of JSON for every change.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::channel::{Channel, Sender};
use tokio::sync::watch;
use tokio::time::{self, Instant};
use tokio_util::sync::CancellationToken;

use super::cluster::Cluster;
use super::ids::Id;
use super::page;
use super::shared::Shared;

/// A page opens its next stream after 15 seconds; this much later the pod ends the old one at any rate.
const LIMIT: Duration = Duration::from_secs(20);
/// Lines that may wait for the client.
const BACKLOG: usize = 2;

/// Feeds one stream of one session.
pub(super) struct Feed {
    stream: Stream,
    changes: watch::Receiver<()>,
    sender: Sender<Bytes>,
}

/// The stream as the cluster knows it; dropping it says that the stream has ended, for whatever reason.
struct Stream {
    shared: Arc<Shared>,
    pod: Ipv4Addr,
    session: Id,
    owner: Id,
    number: u64,
}

/// Begins a stream of `session`, which ends the one before. `None` if the session is not `owner`'s or not here.
pub(super) fn begin(
    shared: &Arc<Shared>,
    pod: Ipv4Addr,
    session: Id,
    owner: Id,
) -> Option<(Feed, Channel<Bytes>)> {
    let connect = |cluster: &mut Cluster| Some(cluster.session(pod, session, owner).ok()?.connect());
    let number = shared.change(connect)?;
    // Changes before this line are in the first event.
    let changes = shared.changes();
    let (sender, body) = Channel::new(BACKLOG);
    let stream = Stream {
        shared: Arc::clone(shared),
        pod,
        session,
        owner,
        number,
    };
    Some((
        Feed {
            stream,
            changes,
            sender,
        },
        body,
    ))
}

// === impl Feed ===

impl Feed {
    /// Sends a line for every change until the client leaves, a newer stream takes over, the session ends, the
    /// time is up or `stop` is cancelled.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let end = tokio::select! {
            end = self.send_events() => end,
            () = time::sleep(LIMIT) => Some("limit"),
            () = stop.cancelled() => Some("stopped"),
        };
        if let Some(reason) = end {
            // A client that does not read misses the reason, nothing else.
            let _unread = self
                .sender
                .try_send(hyper::body::Frame::data(page::end_event(reason).into()));
        }
    }

    /// Why the stream ends; `None` if nobody is there to be told.
    async fn send_events(&mut self) -> Option<&'static str> {
        loop {
            let line = match self.stream.event() {
                Ok(line) => line,
                Err(reason) => return Some(reason),
            };
            self.sender.send_data(line.into()).await.ok()?;
            self.changes.changed().await.ok()?;
        }
    }
}

// === impl Stream ===

impl Stream {
    /// The line that tells how things are now, or why there is none any more.
    fn event(&self) -> Result<String, &'static str> {
        self.shared.with(|cluster| {
            let session = cluster
                .pod(self.pod)
                .and_then(|pod| pod.sessions.get(&self.session))
                .ok_or("gone")?;
            if !session.is_current(self.number) {
                return Err("replaced");
            }
            Ok(page::event(cluster, self.pod, session))
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared.change(|cluster| {
            if let Ok(session) = cluster.session(self.pod, self.session, self.owner) {
                session.disconnect(self.number, Instant::now());
            }
        });
    }
}
