//! The one writer of what is running.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{self, Arc, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use caddy_config::{self as model, Config};
use route_sources::{Applied, Kind};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Mutex, Notify, oneshot, watch};
use tokio::time::Instant;
use tokio::{task, time};
use tokio_util::sync::CancellationToken;

use super::hosts::Hosting;
use super::listeners::{self, Listeners, Next};
use super::sources::{Plan, Sources};
use super::{Applied as Loaded, Commit, Part, SourcesApi};
use crate::clock;
use crate::config::compile::{self, Compiled, Surroundings};
use crate::config::{BuildError, BuildErrors};
use crate::forward::hosts::Site;
use crate::forward::view::{Base, View};
use crate::forward::worker::Worker;
use crate::listener::bind::Accepting;
use crate::listener::{Address, Listener};
use crate::skipper::table::Table;
use crate::snapshot::Snapshot;
use crate::tasks::Tasks;
use crate::thread::Command;

/// How often replaced views are looked at.
const BURIAL_CHECK: Duration = Duration::from_secs(1);

/// How many times after a change memory is given back: until the threads that worked for it have ended, and an allocator
/// that waits with pages for a second has waited.
const GIVING_BACK: u32 = 5;

/// More than allocators keep for the next one that asks.
const LARGE: usize = 4 << 20;

/// Compiles configurations and makes them run.
#[derive(Debug)]
pub(crate) struct Reconciler {
    pub(super) surroundings: Surroundings,
    pub(crate) views: Arc<Snapshot<View>>,
    pub(super) workers: Vec<Arc<Worker>>,
    running: Snapshot<Running>,
    pub(super) state: Arc<Mutex<State>>,
    /// Which sources of routes there are.
    pub(super) sources: Sources,
    /// Those of the program that the proxy is part of.
    given: BTreeSet<Kind>,
    /// Whether all of them have said what they know.
    complete: watch::Sender<bool>,
    /// What they say.
    pub(super) hosting: Hosting,
    /// The revision of the store that requests see.
    pub(super) applied: watch::Sender<Option<Applied>>,
    /// There is another view.
    pub(super) published: Notify,
    /// Views that were replaced. Requests may still use them, but none drops the last reference: that takes a while if
    /// there are many routes or a log that nobody writes to any more.
    old_views: sync::Mutex<Vec<Arc<View>>>,
    parts: sync::Mutex<Vec<Arc<dyn Part>>>,
    /// What the admin API is told of sources of routes.
    sources_api: ArcSwapOption<SourcesApi>,
    pub(super) tasks: Tasks,
    started: AtomicBool,
    stop: CancellationToken,
}

/// What others may ask for at any time.
#[derive(Debug, Default)]
struct Running {
    revision: u64,
    /// What the configuration says about the admin API. All else of it is in the view: as a model it would take as much
    /// memory again.
    admin: Option<model::Admin>,
    listeners: Vec<Arc<Listener>>,
}

/// What only a load may touch.
#[derive(Debug)]
pub(super) struct State {
    listeners: Listeners,
    threads: Vec<UnboundedSender<Command>>,
    /// Removed listeners whose sockets are still open.
    removed: Vec<Arc<Listener>>,
}

/// A configuration for which everything that can fail was done.
struct Ready {
    view: Base,
    tables: Vec<Arc<Table>>,
    next: Next,
    warnings: Vec<String>,
    commits: Vec<Commit>,
    /// Sources of routes.
    sources: Plan,
}

// === impl Reconciler ===

impl Reconciler {
    /// Nothing is running yet, and without `threads` nothing will ever be listened on.
    pub(crate) fn new(
        surroundings: Surroundings,
        views: Arc<Snapshot<View>>,
        workers: Vec<Arc<Worker>>,
        threads: Vec<UnboundedSender<Command>>,
        given: BTreeSet<Kind>,
    ) -> Self {
        Self {
            surroundings,
            views,
            workers,
            running: Snapshot::new(Running::default()),
            state: Arc::new(Mutex::new(State {
                listeners: Listeners::default(),
                threads,
                removed: Vec::new(),
            })),
            tasks: Tasks::default(),
            published: Notify::new(),
            sources: Sources::default(),
            given,
            complete: watch::Sender::new(false),
            hosting: Hosting::default(),
            applied: watch::Sender::new(None),
            old_views: sync::Mutex::default(),
            parts: sync::Mutex::default(),
            sources_api: ArcSwapOption::empty(),
            started: AtomicBool::new(false),
            stop: CancellationToken::new(),
        }
    }

    /// Drops views that nobody uses any more, and has their memory given back to the system, until `stop`.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let (mut seen, mut left) = (0, 0);
        while stop
            .run_until_cancelled(time::sleep(BURIAL_CHECK))
            .await
            .is_some()
        {
            let (unused, revision) = (self.unused_views(), self.revision());
            if !unused.is_empty() || revision != seen {
                (seen, left) = (revision, GIVING_BACK);
            }
            if !unused.is_empty() {
                // A panic of a drop is reported by itself, and nothing is left to do.
                let _dropped = task::spawn_blocking(move || drop(unused)).await;
            }
            if left > 0 {
                left -= 1;
                give_back();
            }
        }
    }

    fn unused_views(&self) -> Vec<Arc<View>> {
        let mut old = lock(&self.old_views);
        old.extract_if(.., |view| Arc::strong_count(view) == 1).collect()
    }

    /// The first load, before anybody else can ask for one.
    pub(crate) fn begin(&self, config: &Config) -> Result<Loaded, BuildErrors> {
        match self.state.try_lock() {
            Ok(mut state) => self.apply(&mut state, config),
            Err(_) => Err(BuildErrors(vec![BuildError::Fault])),
        }
    }

    /// See [`Control::load`](super::Control::load).
    pub(crate) async fn load(self: Arc<Self>, config: Config) -> Result<Loaded, BuildErrors> {
        let (told, outcome) = oneshot::channel();
        let this = Arc::clone(&self);
        // A task of its own, which nobody can give up halfway.
        self.tasks.spawn("load", async move {
            let _nobody_waits = told.send(this.load_next(config).await);
        });
        outcome.await.unwrap_or(Err(BuildError::Fault.into()))
    }

    async fn load_next(self: Arc<Self>, config: Config) -> Result<Loaded, BuildErrors> {
        let mut state = Arc::clone(&self.state).lock_owned().await;
        // If one was removed before the threads have started.
        self.close_removed(&mut state).await;
        let this = Arc::clone(&self);
        // On a thread that may wait for disks and names.
        let work = task::spawn_blocking(move || {
            let result = this.apply(&mut state, &config);
            (state, result)
        });
        let (mut state, result) = work.await.map_err(|_| BuildError::Fault)?;
        self.close_removed(&mut state).await;
        result
    }

    /// See [`Control::join`](super::Control::join).
    pub(crate) fn join(&self, part: Arc<dyn Part>) {
        lock(&self.parts).push(part);
    }

    /// See [`Control::revision`](super::Control::revision).
    pub(crate) fn revision(&self) -> u64 {
        self.running.current().revision
    }

    /// The sources of routes as the admin API sees them; `None` without any.
    pub(crate) fn sources(&self) -> Option<SourcesApi> {
        Some(SourcesApi::clone(&*self.sources_api.load_full()?))
    }

    /// Gives the admin API other sources of routes.
    pub(crate) fn set_sources(&self, sources: Option<SourcesApi>) {
        self.sources_api.store(sources.map(Arc::new));
    }

    /// What the running configuration says about the admin API.
    pub(crate) fn admin(&self) -> Option<model::Admin> {
        self.running.current().admin.clone()
    }

    /// The addresses that are listened on.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        let listeners = &self.running.current().listeners;
        listeners
            .iter()
            .map(|listener| listener.address.clone())
            .collect()
    }

    /// See [`Control::addresses`](super::Control::addresses).
    pub(crate) fn tcp_addresses(&self) -> Vec<SocketAddr> {
        let all = self.addresses().into_iter();
        let tcp = all.filter_map(|address| match address {
            Address::Tcp(address) => Some(address),
            Address::Unix(_) => None,
        });
        tcp.collect()
    }

    /// See [`Control::stop`](super::Control::stop).
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits for [`Reconciler::stop`].
    pub(crate) async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Lets the listeners say that they are about to close, and says how long they stay open yet.
    pub(crate) fn announce_stop(&self) -> Duration {
        let delay = self.views.current().shutdown_delay;
        if !delay.is_zero() {
            for listener in &self.running.current().listeners {
                listener.place.announce(Instant::now() + delay);
            }
        }
        delay
    }

    /// Removes the files of unix sockets: nobody can connect any more.
    pub(crate) async fn close(&self) {
        self.state.lock().await.listeners = Listeners::default();
    }

    /// The threads now do what they are told.
    pub(crate) fn threads_start(&self) {
        self.started.store(true, Ordering::Release);
    }

    /// Closes the sockets of removed listeners, those for which a delay was configured once that has passed.
    async fn close_removed(&self, state: &mut State) {
        if !self.started.load(Ordering::Acquire) {
            return;
        }
        for listener in std::mem::take(&mut state.removed) {
            if let Some(at) = listener.place.closing() {
                // A stop has a delay of its own.
                self.stop.run_until_cancelled(time::sleep_until(at)).await;
            }
            let closed: Vec<_> = state.close(&listener).collect();
            for closed in closed {
                // A thread that has ended holds no socket.
                let _ended = closed.await;
            }
        }
    }

    /// Makes `config` run, or changes nothing; and counts that.
    fn apply(&self, state: &mut State, config: &Config) -> Result<Loaded, BuildErrors> {
        let result = self.apply_uncounted(state, config);
        self.surroundings.metrics.loaded(result.is_ok(), clock::wall());
        result
    }

    fn apply_uncounted(&self, state: &mut State, config: &Config) -> Result<Loaded, BuildErrors> {
        if self.stop.is_cancelled() {
            return Err(BuildErrors(vec![BuildError::Stopping]));
        }
        drop(self.unused_views());
        let prepared = self.prepare(state, config);
        // Names are looked up once it is known that they are wanted.
        let Ready {
            mut view,
            tables,
            mut next,
            warnings,
            commits,
            sources,
        } = match prepared {
            Ok(prepared) => prepared,
            Err(errors) => {
                self.surroundings.resolvers.begin();
                return Err(errors);
            }
        };
        // From here on nothing can fail.
        view.entries = std::mem::take(&mut next.entries);
        let last = self.views.current();
        for listener in &next.removed {
            listener.place.retire(Arc::clone(&last));
            if !last.shutdown_delay.is_zero() {
                listener.place.announce(Instant::now() + last.shutdown_delay);
            }
        }
        state.listeners.become_next(&mut next);
        let mut awaited = self.sources.want(sources, last.hosts.awaited());
        let is_first = self.revision() == 0;
        let given = self.given.iter();
        awaited.extend(given.filter(|kind| is_first || last.hosts.awaits(**kind)));
        let view = View::new(view, tables).with_hosts(last.hosts.clone().awaiting(awaited));
        view.settle_logs();
        self.publish(view, last);
        let revision = self.revision() + 1;
        self.running.publish(Running {
            revision,
            admin: config.admin.clone(),
            listeners: state.listeners.all().cloned().collect(),
        });
        let name = |listener: &Arc<Listener>| listener.address.to_string();
        let applied = Loaded {
            revision,
            warnings,
            added: next.added.iter().map(|(listener, _)| name(listener)).collect(),
            removed: next.removed.iter().map(name).collect(),
            kept: next.kept,
        };
        state.open(next.added);
        state.renew(&next.renewed);
        state.removed.append(&mut next.removed);
        commits.into_iter().for_each(|commit| commit());
        Ok(applied)
    }

    /// Makes `view` the one that requests see. `last` was it before.
    pub(super) fn publish(&self, view: View, last: Arc<View>) {
        view.settle_gates();
        let of_hosts = view.hosts.demanding().flat_map(Site::geo);
        let geo: Vec<_> = view.geo.iter().chain(of_hosts).cloned().collect();
        let (checks, is_complete) = (view.checks(), view.hosts.is_complete());
        self.views.publish(view);
        self.surroundings.geo.watch(&geo);
        self.complete.send_replace(is_complete);
        lock(&self.old_views).push(last);
        self.surroundings.resolvers.begin();
        self.surroundings.prober.watch(checks);
        self.published.notify_one();
    }

    /// Everything that can fail.
    fn prepare(&self, state: &State, config: &Config) -> Result<Ready, BuildErrors> {
        let compiled = compile::compile(config, &self.surroundings);
        let sources = Plan::of(config, self);
        let parts = lock(&self.parts).clone();
        let (mut commits, mut errors) = (Vec::new(), Vec::new());
        let sources = sources.unwrap_or_else(|BuildErrors(mut found)| {
            errors.append(&mut found);
            Plan::default()
        });
        for part in parts {
            match part.prepare(config) {
                Ok(commit) => commits.push(commit),
                Err(BuildErrors(mut found)) => errors.append(&mut found),
            }
        }
        let Compiled {
            view,
            tables,
            listeners,
            warnings,
        } = match compiled {
            Ok(compiled) if errors.is_empty() => compiled,
            Ok(_) => return Err(BuildErrors(errors)),
            Err(BuildErrors(mut all)) => {
                all.append(&mut errors);
                return Err(BuildErrors(all));
            }
        };
        let planned = if state.threads.is_empty() {
            Vec::new()
        } else {
            listeners
        };
        let wanted = listeners::wanted(planned, &view.servers)?;
        let next = state.listeners.next(wanted, state.threads.len())?;
        Ok(Ready {
            view,
            tables,
            next,
            warnings,
            commits,
            sources,
        })
    }

    /// Waits until every source of routes has said what it knows.
    pub(crate) async fn complete(&self) {
        // It cannot fail as long as the reconciler is there.
        let mut complete = self.complete.subscribe();
        let _complete = complete.wait_for(|complete| *complete).await;
    }
}

/// Allocators look for pages that they could give back to the system when they have to do with large ones, and a proxy
/// that only forwards never has.
fn give_back() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGE)));
}

fn lock<T>(mutex: &sync::Mutex<T>) -> sync::MutexGuard<'_, T> {
    // Each change is a single one: a panic elsewhere leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl State ===

impl State {
    /// Gives each thread its socket. One that has ended needs none.
    fn open(&self, added: Vec<(Arc<Listener>, Vec<Accepting>)>) {
        for (listener, sockets) in added {
            for (thread, socket) in self.threads.iter().zip(sockets) {
                let _ended = thread.send(Command::Open(socket, Arc::clone(&listener)));
            }
        }
    }

    /// Lets connections end that were opened on other terms.
    fn renew(&self, renewed: &[Arc<Listener>]) {
        for listener in renewed {
            for thread in &self.threads {
                let _ended = thread.send(Command::Renew(Arc::clone(listener)));
            }
        }
    }

    /// Tells each thread to close its socket. The result tells when it has.
    fn close(&self, listener: &Arc<Listener>) -> impl Iterator<Item = oneshot::Receiver<()>> {
        self.threads.iter().map(move |thread| {
            let (closed, waiting) = oneshot::channel();
            let _ended = thread.send(Command::Close(Arc::clone(listener), closed));
            waiting
        })
    }
}
