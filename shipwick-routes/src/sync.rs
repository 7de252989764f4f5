//! Keeps a proxy's configuration what the desired routes say.
//!
//! [`Syncer::run`] looks every second: while the routes render to the same fingerprint nothing is sent, but every ten
//! seconds the proxy is asked whether it still has them, by the marker of their last route; if it has not, they are loaded
//! again. [`Syncer::sync`] does the same at once, before a container that was stopped gets its signal for example, and a
//! [`RolloutGuard`] at every swap of a rollout.
//!
//! ```no_run
//! use shipwick_routes::sync::{Settings, Syncer};
//! use shipwick_routes::{App, Desired, Replica, Rollout, Upstream};
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn agent(stop: CancellationToken) -> Result<(), Box<dyn std::error::Error>> {
//! let admin = "unix//run/caddy/admin.sock".parse()?;
//! # let state = Desired::new("unix//run/caddy/admin.sock".parse()?);
//! // What the agent's database says at this moment.
//! let routes = move || Ok::<_, std::io::Error>(state.clone());
//! let syncer = Syncer::new(admin, routes, Settings::default());
//!
//! let rollout = async {
//!     let old = Rollout { domain: None, replicas: vec![Replica::running(Upstream::new("web_6_1", 8080)?)] };
//!     let new = Rollout { domain: None, replicas: vec![Replica::running(Upstream::new("web_7_1", 8080)?)] };
//!     let rollout = syncer.begin_rollout("web", Some(old))?;
//!     rollout.serve(new).await?; // an error leaves the predecessor where it is
//!     // Now web_6_1 may be stopped, and the new deployment be recorded.
//!     rollout.finish();
//!     Ok::<_, Box<dyn std::error::Error>>(())
//! };
//! let (_, done) = tokio::join!(syncer.run(stop), rollout);
//! done
//! # }
//! ```
//!
//! # Who waits for whom
//!
//! Routes are computed and loaded in one turn, so that no list which was computed earlier is loaded later. A turn may last
//! as long as the proxy takes to answer, 15 seconds at most. A look of [`Syncer::run`] gives its turn up to whoever else
//! asks for one; [`Syncer::status`] never waits.

mod client;
mod error;
mod rollout;
mod status;
mod turn;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{self, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use self::client::Client;
pub use self::error::{RolloutError, RolloutUnderWay, SyncError};
pub use self::rollout::RolloutGuard;
pub use self::status::Status;
use self::turn::Turn;
use crate::admin_address::AdminAddress;
use crate::desired::{Desired, Rollout};
use crate::render::RenderOptions;

/// Where the routes come from.
///
/// A closure that gives them, or an error, is one.
pub trait Source: Send + Sync {
    /// Why they could not be computed.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The routes at this moment. It is called in the turn in which they are loaded, and what it locks is free again
    /// before anything is sent.
    fn desired(&self) -> impl Future<Output = Result<Desired, Self::Error>> + Send;
}

/// How a [`Syncer`] works.
///
/// # Defaults
///
/// Those of Shipwick's agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What is rendered beside the routes.
    pub render: RenderOptions,
    /// The time between two looks of [`Syncer::run`]: 1 second; a millisecond at least.
    pub tick: Duration,
    /// How long it is believed that the proxy still has what it was given: 10 seconds.
    pub verify_every: Duration,
    /// How long a request to the admin API may take: 15 seconds; a year at most.
    pub timeout: Duration,
}

/// What a timer takes.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Keeps one proxy's configuration.
#[derive(Debug)]
pub struct Syncer<S> {
    source: S,
    client: Client,
    settings: Settings,
    turn: tokio::sync::Mutex<Turn>,
    /// How many wait for a turn that a look must give up.
    waiting: watch::Sender<usize>,
    /// Those that are under way, and whom they route to; nobody before the first swap of a first deployment.
    rollouts: Mutex<BTreeMap<String, Option<Rollout>>>,
    status: Mutex<Status>,
}

/// What came of a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synced {
    /// The proxy was not asked: it had these routes a moment ago.
    Unchanged,
    /// The proxy was asked, and has them.
    Verified,
    /// They were loaded.
    Loaded,
}

/// Counts one that waits.
#[derive(Debug)]
struct Waits<'w>(&'w watch::Sender<usize>);

// === impl Source ===

impl<F, E> Source for F
where
    F: Fn() -> Result<Desired, E> + Send + Sync,
    E: std::error::Error + Send + Sync + 'static,
{
    type Error = E;

    async fn desired(&self) -> Result<Desired, E> {
        self()
    }
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            render: RenderOptions::default(),
            tick: Duration::from_secs(1),
            verify_every: Duration::from_secs(10),
            timeout: Duration::from_secs(15),
        }
    }
}

// === impl Syncer ===

impl<S: Source> Syncer<S> {
    /// A syncer of the proxy whose admin API is at `admin`. Nothing is sent yet.
    pub fn new(admin: AdminAddress, source: S, settings: Settings) -> Self {
        let settings = Settings {
            tick: settings.tick.clamp(SHORTEST, LONGEST),
            timeout: settings.timeout.min(LONGEST),
            ..settings
        };
        Self {
            source,
            client: Client::new(admin, settings.timeout),
            settings,
            turn: tokio::sync::Mutex::default(),
            waiting: watch::Sender::new(0),
            rollouts: Mutex::default(),
            status: Mutex::new(Status::enabled()),
        }
    }

    /// Looks once a tick, first at once, until `stop` is cancelled. Routes that the proxy takes are logged, and trouble
    /// when it appears, when it becomes another one, and when it clears.
    pub async fn run(&self, stop: CancellationToken) {
        let mut ticks = time::interval(self.settings.tick);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut said = String::new();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let looked = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                looked = self.look() => looked,
            };
            // Whoever took the turn says what came of it.
            let Some(outcome) = looked else { continue };
            if let Ok(Synced::Loaded) = outcome {
                info!(routes = self.status().routes, "the proxy has taken the routes");
            }
            let trouble = outcome.err().map_or_else(String::new, |error| error.to_string());
            match (said.is_empty(), trouble.is_empty()) {
                (_, false) if said != trouble => {
                    error!(
                        error = trouble,
                        "the proxy is out of sync; trying again every tick"
                    );
                }
                (false, true) => info!("the proxy is in sync again"),
                _ => {}
            }
            said = trouble;
        }
    }

    /// Computes the routes and sees to it that the proxy has them, now.
    ///
    /// Dropping the future leaves the proxy with the routes of before or the new ones; the next sync finds out.
    ///
    /// # Errors
    ///
    /// If the routes could not be computed, or the proxy did not take them. It keeps those that it has then.
    pub async fn sync(&self) -> Result<Synced, SyncError> {
        let waits = Waits::new(&self.waiting);
        let mut turn = self.turn.lock().await;
        drop(waits);
        self.take(&mut turn).await
    }

    /// What is known of the proxy.
    pub fn status(&self) -> Status {
        lock(&self.status).clone()
    }

    /// Lets a rollout say who serves `app`, from now on, until the guard is dropped: first those of `from`, the deployment
    /// before, if there is one. Nothing is sent yet.
    ///
    /// The aliases and the path of `app` are those that the source names. At its first deployment the source names it
    /// without replicas if it has any of them, since it would get its domain as a whole otherwise.
    ///
    /// # Errors
    ///
    /// If a rollout of `app` is under way already.
    pub fn begin_rollout(
        &self,
        app: &str,
        from: Option<Rollout>,
    ) -> Result<RolloutGuard<'_, S>, RolloutUnderWay> {
        RolloutGuard::begin(self, app, from)
    }

    /// A sync, unless somebody else has or wants the turn.
    async fn look(&self) -> Option<Result<Synced, SyncError>> {
        let mut waiting = self.waiting.subscribe();
        let mut turn = self.turn.try_lock().ok()?;
        tokio::select! {
            biased;
            _ = waiting.wait_for(|waiting| *waiting > 0) => None,
            outcome = self.take(&mut turn) => Some(outcome),
        }
    }

    async fn take(&self, turn: &mut Turn) -> Result<Synced, SyncError> {
        let outcome = self.compute_and_load(turn).await;
        lock(&self.status).record(outcome.as_ref().err(), turn.routes());
        outcome
    }

    async fn compute_and_load(&self, turn: &mut Turn) -> Result<Synced, SyncError> {
        // Before the source is asked: a rollout that is finished while the source works must not be replaced by what the
        // source has read before the end.
        let rollouts = lock(&self.rollouts).clone();
        let desired = self.source.desired().await;
        let mut desired = desired.map_err(|error| SyncError::Source(Box::new(error)))?;
        if desired.admin != *self.client.admin() {
            return Err(SyncError::Moved);
        }
        add_rollouts(&mut desired, rollouts);
        turn.sync(desired, &self.client, &self.settings).await
    }
}

// === impl Waits ===

impl<'w> Waits<'w> {
    fn new(waiting: &'w watch::Sender<usize>) -> Self {
        waiting.send_modify(|waiting| *waiting = waiting.saturating_add(1));
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting = waiting.saturating_sub(1));
    }
}

/// An application that the source does not know yet is one whose first deployment is under way.
fn add_rollouts(desired: &mut Desired, rollouts: BTreeMap<String, Option<Rollout>>) {
    for (name, rollout) in rollouts {
        if rollout.is_some() {
            desired.apps.entry(name).or_default().rollout = rollout;
        }
    }
}

/// What a panic left is whole: each lock guards single assignments.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
