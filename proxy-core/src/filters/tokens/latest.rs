//! Documents of other servers, such as keys: fetched when they are first needed, and again from time to time.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tracing::{info, warn};

use crate::filters::outside::AskError;
use crate::tasks::Tasks;

/// How long a document is used before it is fetched again, behind the requests.
const FRESH: Duration = Duration::from_secs(10 * 60);

/// The time from one fetch to the next if somebody thinks that there may be a newer one, or the last one failed and
/// there is an older document.
const PAUSE: Duration = Duration::from_secs(10);

/// The same while there is no document at all.
const RETRY: Duration = Duration::from_secs(1);

/// The latest good version of a document. One request for it is under way at most, and it goes on if those who wait for
/// it leave.
pub(super) struct Latest<T> {
    /// What it is, for the log.
    name: String,
    fetch: Fetch<T>,
    tasks: Tasks,
    state: Mutex<State<T>>,
}

/// Bounded in time.
type Fetch<T> = Box<dyn Fn() -> Fetching<T> + Send + Sync>;

pub(super) type Fetching<T> = Pin<Box<dyn Future<Output = Result<T, AskError>> + Send>>;

struct State<T> {
    value: Option<Arc<T>>,
    /// When the last fetch has ended, and whether it failed.
    ended: Option<(Instant, bool)>,
    flight: Option<Flight>,
}

/// Closed when the fetch that is under way has ended.
type Flight = watch::Receiver<()>;

/// What there is of a document.
pub(super) enum Now<T> {
    There(Arc<T>),
    /// Nothing yet.
    Coming(Coming<T>),
    /// Nothing, and it was tried just now.
    Missing,
}

/// Waits for the fetch that is under way.
pub(super) struct Coming<T> {
    flight: Flight,
    of: Arc<Latest<T>>,
}

/// The documents that filters use, by what they are of. Filters that use the same one share it.
pub(super) struct Shared<T>(Mutex<HashMap<String, Weak<Latest<T>>>>);

// === impl Latest ===

impl<T: Send + Sync + 'static> Latest<T> {
    pub(super) fn new(
        name: &str,
        tasks: &Tasks,
        fetch: impl Fn() -> Fetching<T> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            fetch: Box::new(fetch),
            tasks: tasks.clone(),
            state: Mutex::new(State {
                value: None,
                ended: None,
                flight: None,
            }),
        }
    }

    /// The document, which is fetched if it is not there, or not new.
    pub(super) fn now(self: &Arc<Self>, now: Instant) -> Now<T> {
        let mut state = self.lock();
        let since = |(ended, _): (Instant, bool)| now.saturating_duration_since(ended);
        match state.value.clone() {
            Some(value) => {
                let wait = match state.ended {
                    Some((_, true)) => PAUSE,
                    _ => FRESH,
                };
                if state.ended.map(since).is_none_or(|since| since >= wait) {
                    self.begin(&mut state);
                }
                Now::There(value)
            }
            None if state.under_way().is_none()
                && state.ended.map(since).is_some_and(|since| since < RETRY) =>
            {
                Now::Missing
            }
            None => Now::Coming(self.coming(&mut state)),
        }
    }

    /// A newer version than the one that is there, unless it was looked for just now.
    pub(super) fn newer(self: &Arc<Self>, now: Instant) -> Option<Coming<T>> {
        let mut state = self.lock();
        let is_new = state
            .ended
            .is_some_and(|(ended, _)| now.saturating_duration_since(ended) < PAUSE);
        (!is_new || state.under_way().is_some()).then(|| self.coming(&mut state))
    }

    fn coming(self: &Arc<Self>, state: &mut State<T>) -> Coming<T> {
        Coming {
            flight: self.begin(state),
            of: Arc::clone(self),
        }
    }

    /// Joins the fetch that is under way, or begins one.
    fn begin(self: &Arc<Self>, state: &mut State<T>) -> Flight {
        if let Some(flight) = state.under_way() {
            return flight.clone();
        }
        let (landed, flight) = watch::channel(());
        state.flight = Some(flight.clone());
        let (this, stop) = (Arc::clone(self), self.tasks.stop());
        self.tasks.spawn("document", async move {
            // Dropped at last, however the fetch ends.
            let _landed = landed;
            let fetched = stop.run_until_cancelled((this.fetch)()).await;
            this.land(fetched.unwrap_or(Err(AskError::Late)));
        });
        flight
    }

    fn land(&self, fetched: Result<T, AskError>) {
        let mut state = self.lock();
        state.flight = None;
        state.ended = Some((tokio::time::Instant::now().into_std(), fetched.is_err()));
        match fetched {
            Ok(value) => {
                if state.value.replace(Arc::new(value)).is_none() {
                    info!(of = self.name, "a document of a filter was fetched");
                }
            }
            Err(error) => {
                let is_kept = state.value.is_some();
                warn!(of = self.name, %error, is_kept, "a document of a filter cannot be fetched");
            }
        }
    }
}

impl<T> Latest<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for Latest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latest")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

// === impl State ===

impl<T> State<T> {
    /// The fetch that is under way. One whose task was dropped, as when its worker ends, is not.
    fn under_way(&self) -> Option<&Flight> {
        self.flight.as_ref().filter(|flight| flight.has_changed().is_ok())
    }
}

// === impl Coming ===

impl<T> Coming<T> {
    /// What is there when the fetch has ended.
    pub(super) async fn value(mut self) -> Option<Arc<T>> {
        // It is closed, and nothing is ever sent.
        while self.flight.changed().await.is_ok() {}
        self.of.lock().value.clone()
    }
}

// === impl Shared ===

impl<T> Shared<T> {
    /// The document of that name, which is made if no filter has it.
    pub(super) fn of(&self, name: &str, make: impl FnOnce() -> Latest<T>) -> Arc<Latest<T>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(latest) = known.get(name).and_then(Weak::upgrade) {
            return latest;
        }
        known.retain(|_, latest| latest.strong_count() > 0);
        let latest = Arc::new(make());
        known.insert(name.to_owned(), Arc::downgrade(&latest));
        latest
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

#[cfg(test)]
mod tests;
