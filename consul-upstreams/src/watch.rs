//! Keeps one name fresh with blocking queries.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{self, Instant};
use tokio_util::sync::CancellationToken;

use crate::client::Blocking;
use crate::flight::{Flight, Landing};
use crate::name::ServiceName;
use crate::pace::{self, Bucket};
use crate::upstreams::Shared;

/// A name that nobody asked for in so long, or in two refreshes if that is longer, is watched no more.
const IDLE: Duration = Duration::from_secs(120);

/// One name's watch.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    name: ServiceName,
    /// Those who wait for the first answer.
    first: Option<Arc<Flight>>,
    /// They are let go however this ends.
    _landing: Landing,
    index: Option<u64>,
    pace: Bucket,
    random: u64,
}

// === impl Watch ===

impl Watch {
    pub(crate) fn new(
        shared: Arc<Shared>,
        name: ServiceName,
        (first, landing): (Arc<Flight>, Landing),
        seed: u64,
    ) -> Self {
        Self {
            shared,
            name,
            first: Some(first),
            _landing: landing,
            index: None,
            pace: Bucket::default(),
            random: seed,
        }
    }

    /// Watches until nobody asks for the name any more, or `stop` is cancelled.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        stop.run_until_cancelled(self.keep_on()).await;
    }

    async fn keep_on(&mut self) {
        loop {
            time::sleep(self.pace.take(Instant::now())).await;
            self.random = pace::mixed(self.random);
            let wait = pace::wait(self.random);
            let blocking = self.index.map(|index| Blocking { index, wait });
            let found = self.shared.look_up(&self.name, blocking).await;
            let index = found.as_ref().ok().map(|(_, index)| *index);
            let first = self.first.take();
            self.shared
                .end(&self.name, first.as_ref(), found.map(|(answer, _)| answer));
            match index {
                Some(given) => {
                    let next = pace::next_index(self.index, given);
                    let has_none = given.is_none_or(|index| index == 0);
                    self.index = next;
                    if has_none {
                        // Without an index there is nothing to wait for.
                        time::sleep(self.shared.refresh()).await;
                    }
                }
                None => {
                    // What comes after a failure may be of another server, with a count of its own.
                    self.index = None;
                    time::sleep(pace::back_off(self.shared.failures(&self.name), self.random)).await;
                }
            }
            if self.shared.is_idle(&self.name, IDLE) {
                return self.shared.unwatch(&self.name);
            }
        }
    }
}
