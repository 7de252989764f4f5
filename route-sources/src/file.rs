//! Routes from files.

mod contents;
mod deep;
mod files;
mod hcl;
mod node;
mod parse;
mod settings;
mod state;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{self, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

pub use self::settings::{Env, FileSettings, WhenMissing};

use self::files::{Look, Seen};
use self::state::State;
use self::watch::Watch;
use crate::snapshot::Publisher;

/// Two looks this far apart must agree before a change is taken: then nobody is writing.
const PAUSE: Duration = Duration::from_millis(20);
/// Events make looks come at most this often: a directory may be written to all the time.
const REST: Duration = Duration::from_millis(100);
/// So often is looked before a file that changes all the time is passed over.
const LOOKS: usize = 50;

/// Gives the routes of files, and watches them.
#[derive(Debug)]
pub struct FileSource {
    settings: Arc<FileSettings>,
    publisher: Publisher,
    state: Arc<State>,
    published: bool,
}

// === impl FileSource ===

impl FileSource {
    /// A source that has not looked yet.
    pub fn new(settings: FileSettings, publisher: Publisher) -> Self {
        Self {
            settings: Arc::new(settings),
            publisher,
            state: Arc::new(State::default()),
            published: false,
        }
    }

    /// Gives a snapshot at once, and another whenever what files say has changed, until `stop`. Nothing that a file holds
    /// or lacks ends it. Needs a runtime with time.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut watch = self.settings.events.then(Watch::new);
        let mut polls = time::interval(self.settings.poll.max(PAUSE));
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = changed(watch.as_ref()) => {}
                _ = polls.tick() => {}
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.pass() => {}
            }
            if let Some(watch) = &mut watch {
                watch.follow(self.settings.paths.iter().chain(self.state.imports()));
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = time::sleep(REST) => {}
            }
        }
    }

    /// Looks until nobody is writing, and takes what is there if it has changed.
    async fn pass(&mut self) {
        let Some(mut look) = self.look().await else {
            return;
        };
        if self.published && !self.state.differs(&look) {
            return;
        }
        for number in 1..=LOOKS {
            time::sleep(PAUSE).await;
            let Some(again) = self.look().await else {
                return;
            };
            if again == look {
                return self.take(look).await;
            }
            if number == LOOKS {
                return self.take(calm(&look, again)).await;
            }
            look = again;
        }
    }

    async fn look(&self) -> Option<Look> {
        let settings = Arc::clone(&self.settings);
        let state = Arc::clone(&self.state);
        blocking(move || {
            let known: Vec<PathBuf> = state.files().cloned().collect();
            let imports: Vec<PathBuf> = state.imports().cloned().collect();
            files::look(&settings.paths, &known, &imports)
        })
        .await
    }

    async fn take(&mut self, look: Look) {
        let settings = Arc::clone(&self.settings);
        let state = Arc::clone(&self.state);
        let Some(state) = blocking(move || state.next(&look, &settings)).await else {
            return;
        };
        state.tell(&self.state);
        self.state = Arc::new(state);
        self.published = true;
        self.publisher.publish(self.state.snapshot());
    }
}

/// What both looks agree on. The rest is passed over, which keeps its routes.
fn calm(look: &Look, again: Look) -> Look {
    let mut calm = again;
    for (path, seen) in &mut calm.files {
        if !look
            .files
            .iter()
            .any(|(other, before)| other == path && before == seen)
        {
            *seen = Seen::Unreadable("it is written to all the time".to_owned());
        }
    }
    calm
}

async fn changed(watch: Option<&Watch>) {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}

/// Files are read, and texts are parsed, beside what must not wait.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => Some(result),
        Err(failure) if failure.is_cancelled() => {
            debug!("the runtime stops");
            None
        }
        Err(failure) => {
            error!(error = %failure, "files of routes could not be looked at");
            None
        }
    }
}
