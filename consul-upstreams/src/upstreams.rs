//! The source itself: what requests ask, and the loop that does the asking.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;
use tokio::time::{self, Instant};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

use crate::cache::{Begin, Cache, Change, Step, Terms};
use crate::catalog::Skipped;
use crate::client::{Ask, Blocking, Client};
use crate::error::LookupError;
use crate::flight::{Flight, Landing, Outcome};
use crate::locality::{Answer, Locality};
use crate::name::ServiceName;
use crate::pace;
use crate::settings::{Checked, Settings, SettingsError};
use crate::watch::Watch;

/// The most look-ups at once, watches apart. An agent takes 200 connections from one address, unless it is told
/// otherwise.
const MOST_FLIGHTS: usize = 64;

/// How long the request that begins a refresh waits for it before it goes on with the last answer. An agent on the same
/// machine needs a hundredth of this. If the last look-up took longer, nobody waits.
const PATIENCE: Duration = Duration::from_millis(100);

/// The instances of services, as one Consul tells them. Clones share everything.
///
/// It asks for nothing itself: its [`Driver`] must run for answers to come.
#[derive(Clone, Debug)]
pub struct ConsulUpstreams {
    shared: Arc<Shared>,
    client: Arc<Client>,
    /// The driver ends with the last clone.
    _used: Arc<DropGuard>,
}

/// Looks services up for a [`ConsulUpstreams`]. Run it once.
#[must_use = "without its driver a source answers nothing"]
pub struct Driver {
    shared: Arc<Shared>,
    unused: CancellationToken,
    seed: u64,
}

/// What is known of a service now.
#[derive(Debug)]
pub enum Look {
    /// These are its instances; perhaps none.
    Known(Arc<Answer>),
    /// It could not be looked up.
    Failed(LookupError),
    /// It is being looked up.
    Pending(Pending),
}

/// A look-up to wait for. To drop it ends nothing.
#[derive(Clone, Debug)]
pub struct Pending {
    flight: Arc<Flight>,
    old: Option<Arc<Answer>>,
}

/// What Consul says of a service, and what would be made of it.
#[derive(Debug)]
pub struct Explanation {
    /// The instances that would be used, and those that locality passes over.
    pub answer: Answer,
    /// Entries that pass and cannot be used, and those that do not pass.
    pub skipped: Vec<Skipped>,
    /// How many instances are registered, whatever their checks say. With 0, Consul knows no such service, or the token
    /// may not see it.
    pub registered: usize,
}

/// What clones, driver and look-ups share.
pub(crate) struct Shared {
    ask: Arc<dyn Ask>,
    terms: Terms,
    locality: Option<Locality>,
    state: Mutex<State>,
    begun: Notify,
    /// The last look-up took longer than anybody would wait for a refresh.
    is_slow: AtomicBool,
}

struct State {
    cache: Cache,
    jobs: VecDeque<Job>,
}

struct Job {
    name: ServiceName,
    flight: Arc<Flight>,
    begin: Begin,
    /// Whoever waits is let go if the job never runs.
    landing: Landing,
}

// === impl ConsulUpstreams ===

impl ConsulUpstreams {
    /// A source as `settings` say, and what must run for it to answer. Certificates are read; Consul is not asked for
    /// anything yet, so that a Consul which is down stops no start. `seed` should differ between processes: it spreads
    /// their blocking queries.
    ///
    /// # Errors
    ///
    /// All settings that are of no use, each with its name.
    pub fn try_new(settings: &Settings, seed: u64) -> Result<(Self, Driver), SettingsError> {
        let checked = settings.checked()?;
        let client = Arc::new(Client::try_new(&checked)?);
        Ok(Self::with(client, &checked, seed))
    }

    fn with(client: Arc<Client>, checked: &Checked, seed: u64) -> (Self, Driver) {
        let (shared, unused) = (
            Arc::new(Shared::new(Arc::clone(&client) as _, checked)),
            CancellationToken::new(),
        );
        let source = Self {
            shared: Arc::clone(&shared),
            client,
            _used: Arc::new(unused.clone().drop_guard()),
        };
        (source, Driver { shared, unused, seed })
    }

    /// The instances of `service`, waiting for as long as a look-up takes: with a driver that runs, at most the
    /// time-out, unless very many names are asked for at once.
    ///
    /// # Errors
    ///
    /// If the name is none, or the look-up failed and no earlier answer may be used.
    pub async fn instances(&self, service: &str) -> Outcome {
        match self.look(&ServiceName::parse(service)?, Instant::now()) {
            Look::Known(answer) => Ok(answer),
            Look::Failed(error) => Err(error),
            Look::Pending(pending) => pending.wait().await,
        }
    }

    /// What is known of `service` `now`. Never waits; what is to be looked up is given to the driver.
    pub fn look(&self, service: &ServiceName, now: Instant) -> Look {
        self.shared.look(service, now)
    }

    /// An instance of `service` did not hold what its answer promised: the next request asks Consul again, but not more
    /// often than once a second. If that fails, the answer serves for the rest of its time. A watch goes on as it is.
    pub fn reset(&self, service: &ServiceName, now: Instant) {
        self.shared.state().cache.reset(service, now);
    }

    /// Forgets all answers.
    pub fn reset_all(&self) {
        self.shared.state().cache.clear();
    }

    /// How many services are kept: at most 100 that have had instances, and 64 others.
    pub fn services(&self) -> usize {
        self.shared.state().cache.len()
    }

    /// Asks Consul itself, past the cache and without the driver, and tells what would be used and why.
    ///
    /// # Errors
    ///
    /// If the name is none, or Consul does not answer.
    pub async fn explain(&self, service: &str) -> Result<Explanation, LookupError> {
        let name = ServiceName::parse(service)?;
        let reply = self.client.ask(&name, None).await?;
        let (registered, failing) = self.client.failing(&name).await?;
        let mut skipped = reply.health.skipped;
        skipped.extend(failing);
        Ok(Explanation {
            answer: Answer::select(reply.health.instances, self.shared.locality.as_ref()),
            skipped,
            registered,
        })
    }
}

// === impl Pending ===

impl Pending {
    /// Waits for the look-up. One that only refreshes an answer is not waited for long: the last one serves then.
    ///
    /// # Errors
    ///
    /// If the look-up failed and no earlier answer may be used.
    pub async fn wait(self) -> Outcome {
        match self.old {
            None => self.flight.wait().await,
            Some(old) => time::timeout(PATIENCE, self.flight.wait())
                .await
                .unwrap_or(Ok(old)),
        }
    }

    /// Whether it has ended, so that [`Pending::wait`] does not wait.
    pub fn is_over(&self) -> bool {
        self.flight.is_over()
    }
}

// === impl Driver ===

impl Driver {
    /// Looks services up until `stop` is cancelled, or nobody holds the source any more. Needs a tokio runtime with time
    /// and I/O.
    pub async fn run(self, stop: CancellationToken) {
        let (mut flights, mut watches) = (FuturesUnordered::new(), FuturesUnordered::new());
        let mut queue = VecDeque::new();
        let mut seed = self.seed;
        loop {
            while flights.len() < MOST_FLIGHTS
                && let Some(job) = queue.pop_front()
            {
                flights.push(self.shared.fly(job));
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.unused.cancelled() => return,
                () = self.shared.begun.notified() => {
                    let begun = std::mem::take(&mut self.shared.state().jobs);
                    for job in begun {
                        match job.begin {
                            Begin::Once => queue.push_back(job),
                            Begin::Watch(stop) => {
                                seed = pace::mixed(seed);
                                let watch = Watch::new(Arc::clone(&self.shared), job.name, (job.flight, job.landing), seed);
                                watches.push(watch.run(stop));
                            }
                        }
                    }
                }
                Some(()) = flights.next(), if !flights.is_empty() => {}
                Some(()) = watches.next(), if !watches.is_empty() => {}
            }
        }
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    fn new(ask: Arc<dyn Ask>, checked: &Checked) -> Self {
        let terms = Terms {
            refresh: checked.refresh,
            grace: checked.grace,
            slack: checked.timeout,
            watch: checked.settings.watch,
        };
        Self {
            ask,
            terms,
            locality: checked.settings.locality.clone(),
            state: Mutex::new(State {
                cache: Cache::new(terms),
                jobs: VecDeque::new(),
            }),
            begun: Notify::new(),
            is_slow: AtomicBool::new(false),
        }
    }

    fn look(&self, name: &ServiceName, now: Instant) -> Look {
        let mut state = self.state();
        match state.cache.ask(name, now) {
            Step::Known(answer) => Look::Known(answer),
            Step::Failed(error) => Look::Failed(error),
            Step::Wait { flight, old, begin } => {
                if let Some(begin) = begin {
                    state.jobs.push_back(Job {
                        name: name.clone(),
                        landing: Landing::of(&flight),
                        flight: Arc::clone(&flight),
                        begin,
                    });
                    drop(state);
                    self.begun.notify_one();
                }
                match old {
                    // It would be waited for in vain.
                    Some(old) if self.is_slow.load(Ordering::Relaxed) => Look::Known(old),
                    old => Look::Pending(Pending { flight, old }),
                }
            }
        }
    }

    /// One look-up of a name.
    async fn fly(&self, job: Job) {
        let Job {
            name,
            flight,
            landing,
            ..
        } = job;
        let begun = Instant::now();
        let found = self.look_up(&name, None).await;
        self.is_slow.store(begun.elapsed() > PATIENCE, Ordering::Relaxed);
        self.end(&name, Some(&flight), found.map(|(answer, _)| answer));
        drop(landing);
    }

    pub(crate) async fn look_up(
        &self,
        name: &ServiceName,
        blocking: Option<Blocking>,
    ) -> Result<(Answer, Option<u64>), LookupError> {
        let reply = self.ask.ask(name, blocking).await?;
        let answer = Answer::select(reply.health.instances, self.locality.as_ref());
        Ok((answer, reply.index))
    }

    /// Keeps what was found, tells it to those who wait, and logs what has changed.
    pub(crate) fn end(
        &self,
        name: &ServiceName,
        flight: Option<&Arc<Flight>>,
        found: Result<Answer, LookupError>,
    ) {
        let (outcome, change) = self.state().cache.end(name, flight, found, Instant::now());
        if let Some(flight) = flight {
            flight.end(outcome);
        }
        // A client may have made it up.
        let service = name.as_str().escape_debug();
        match change {
            None => {}
            Some(Change::Fails {
                error,
                serves_old: true,
            }) => {
                warn!(%service, %error, "Consul cannot be asked; the last answer is used");
            }
            Some(Change::Fails { error, .. }) => warn!(%service, %error, "Consul cannot be asked"),
            Some(Change::Works { failures }) => info!(%service, failures, "Consul answers again"),
            Some(Change::Emptied { failures }) => {
                if failures > 0 {
                    info!(%service, failures, "Consul answers again");
                }
                warn!(
                    %service,
                    "no instance passes any more, or the token does not see them"
                );
            }
        }
    }

    pub(crate) fn refresh(&self) -> Duration {
        self.terms.refresh
    }

    pub(crate) fn failures(&self, name: &ServiceName) -> u32 {
        self.state().cache.failures(name)
    }

    /// Whether `name` has not been asked for in `least`, nor in two refreshes.
    pub(crate) fn is_idle(&self, name: &ServiceName, least: Duration) -> bool {
        let time = least.max(self.terms.refresh.saturating_mul(2));
        self.state().cache.is_idle(name, time, Instant::now())
    }

    pub(crate) fn unwatch(&self, name: &ServiceName) {
        self.state().cache.unwatch(name, Instant::now());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is a whole one: a panic elsewhere leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
