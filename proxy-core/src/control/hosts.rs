//! The hosts of the sources of routes: what is said of them is merged, and what has changed is built and served.

mod build;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use route_sources::{Applied, Delta, HostName, Invalid, Kind, Merge, Route, Snapshot, Status};
use tokio::sync::watch;
use tokio::task;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::build::Built;
use super::Reconciler;
use crate::clock;
use crate::forward::hosts::Site;

/// What the sources say, and what came of it.
#[derive(Debug, Default)]
pub(crate) struct Hosting {
    /// Only one snapshot is worked on at a time.
    turn: tokio::sync::Mutex<()>,
    hosted: Mutex<Hosted>,
}

/// What is known of hosts. It is looked at for short times only.
#[derive(Debug, Default)]
pub(crate) struct Hosted {
    pub(super) merge: Merge,
    /// Hosts that the configuration serves.
    configured: Vec<HostName>,
    /// What the files say beside it.
    files: Arc<Snapshot>,
    /// Routes that count but could not be built.
    pub(super) unbuilt: BTreeMap<HostName, Invalid>,
    /// When the last snapshot of each source came.
    came: BTreeMap<Kind, u64>,
    /// What was told last of what is wrong.
    told: Told,
    /// Where plain HTTP of hosts with certificates is redirected to.
    https_port: u16,
}

/// How much there is.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) sources: Vec<(Kind, SourceCounts)>,
    pub(super) names: usize,
    pub(super) conflicts: usize,
    pub(super) unbuilt: usize,
}

/// How much one source says.
#[derive(Debug)]
pub(super) struct SourceCounts {
    pub(super) routes: usize,
    pub(super) invalid: usize,
    pub(super) is_stale: bool,
    /// When it said so, in seconds since 1970.
    pub(super) came: u64,
}

/// How much was wrong.
#[derive(Debug, Default, PartialEq)]
struct Told {
    conflicts: usize,
    invalid: BTreeMap<Kind, Vec<Invalid>>,
    stale: BTreeMap<Kind, Option<String>>,
}

// === impl Reconciler ===

impl Reconciler {
    /// Lets requests see what a source says now, unless the source has `ended`. It returns once they do.
    pub(crate) async fn take_snapshot(
        self: &Arc<Self>,
        kind: Kind,
        snapshot: Arc<Snapshot>,
        ended: &CancellationToken,
    ) {
        let _turn = self.hosting.turn.lock().await;
        // What takes its place may have been said while this waited.
        if ended.is_cancelled() {
            return;
        }
        let revision = snapshot.revision;
        let take = move |hosted: &mut Hosted| hosted.take(kind, snapshot);
        let Some((delta, built)) = self.build_hosts(take).await else {
            return;
        };
        self.with_hosted(|hosted| {
            hosted.note(built.unbuilt);
            hosted.tell(kind, &delta);
        });
        self.change_hosts(built.changes, Some(kind)).await;
        // It may be the last that holds many routes.
        drop(task::spawn_blocking(move || drop(delta)));
        if let (Kind::Store, Some(revision)) = (kind, revision) {
            let applied = self.with_hosted(|hosted| Applied {
                revision,
                at: hosted.came.get(&kind).copied().unwrap_or_default(),
                invalid: hosted.unserved(kind),
            });
            self.applied.send_replace(Some(applied));
        }
    }

    /// Finds out what a change means for requests, and builds it.
    async fn build_hosts(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Hosted) -> Delta + Send + 'static,
    ) -> Option<(Delta, Built)> {
        let this = Arc::clone(self);
        // Where there are many routes it takes a while.
        let work = task::spawn_blocking(move || {
            let (delta, https_port) = this.with_hosted(|hosted| (change(hosted), hosted.https_port));
            let built = this.build(&delta, https_port);
            (delta, built)
        });
        // A panic is reported by itself, and the hosts stay as they are.
        work.await.ok()
    }

    /// Looks at what is known of hosts.
    pub(super) fn with_hosted<T>(&self, look: impl FnOnce(&mut Hosted) -> T) -> T {
        // A panic elsewhere leaves a merge that the next snapshots mend.
        look(&mut self.hosting.hosted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets requests see what has changed. `spoke` is the source that it is from, if it is from one.
    async fn change_hosts(&self, changes: Vec<(HostName, Option<Arc<Site>>)>, spoke: Option<Kind>) {
        // No load comes between the view that is looked at and the next one.
        let _state = self.state.lock().await;
        let last = self.views.current();
        let awaited = spoke.filter(|kind| last.hosts.awaits(*kind));
        if changes.is_empty() && awaited.is_none() {
            return;
        }
        let hosts = last.hosts.with(changes);
        let hosts = match awaited {
            Some(kind) => hosts.without_awaiting(kind),
            None => hosts,
        };
        self.publish(last.with_hosts(hosts), last);
    }

    /// A source is gone, and its routes with it. One that comes in its place later is waited for.
    pub(crate) async fn forget_source(self: &Arc<Self>, kind: Kind) {
        let nothing = Arc::new(Snapshot::default());
        self.take_snapshot(kind, nothing, &CancellationToken::new()).await;
        self.with_hosted(|hosted| hosted.came.remove(&kind));
    }

    /// A source goes on as it was. What it has said before it need not say again.
    pub(crate) async fn keep_source(&self, kind: Kind) {
        if self.with_hosted(|hosted| hosted.came.contains_key(&kind)) {
            self.change_hosts(Vec::new(), Some(kind)).await;
        }
    }

    /// What the configuration says beside the sources: the hosts that it serves itself, and where HTTPS is.
    pub(crate) async fn configure_hosts(self: &Arc<Self>, configured: Vec<HostName>, https_port: u16) {
        let _turn = self.hosting.turn.lock().await;
        let change = move |hosted: &mut Hosted| {
            let delta = hosted.configure(configured);
            if std::mem::replace(&mut hosted.https_port, https_port) == https_port {
                return delta;
            }
            hosted.everything()
        };
        let Some((_, built)) = self.build_hosts(change).await else {
            return;
        };
        self.with_hosted(|hosted| hosted.note(built.unbuilt));
        // No source has spoken: its requests go on waiting.
        self.change_hosts(built.changes, None).await;
    }

    /// Tells which revision of the store requests see.
    pub(crate) fn applied(&self) -> watch::Receiver<Option<Applied>> {
        self.applied.subscribe()
    }

    /// How much there is to say of routes.
    pub(super) fn hosts_counted(&self) -> Counts {
        self.with_hosted(|hosted| hosted.counts())
    }

    /// What there is to say of routes.
    pub(crate) fn routes_status(&self) -> Status {
        self.with_hosted(|hosted| hosted.status())
    }
}

// === impl Hosted ===

impl Hosted {
    /// Takes what a source says in the place of what it said before.
    fn take(&mut self, kind: Kind, snapshot: Arc<Snapshot>) -> Delta {
        self.came.insert(kind, now());
        match kind {
            Kind::File => {
                self.files = snapshot;
                self.merge_files()
            }
            _ => self.merge.update(kind, snapshot),
        }
    }

    /// The configuration is a file, too, and its sites come first.
    fn merge_files(&mut self) -> Delta {
        if self.configured.is_empty() {
            return self.merge.update(Kind::File, Arc::clone(&self.files));
        }
        let configured = self
            .configured
            .iter()
            .cloned()
            .map(Arc::new)
            .map(Route::Configured);
        let all = Snapshot {
            routes: configured.chain(self.files.routes.iter().cloned()).collect(),
            ..Snapshot::clone(&self.files)
        };
        self.merge.update(Kind::File, Arc::new(all))
    }

    /// The configuration serves these hosts now.
    fn configure(&mut self, configured: Vec<HostName>) -> Delta {
        if configured == self.configured {
            return Delta::default();
        }
        self.configured = configured;
        self.merge_files()
    }

    /// All names, as if they had changed.
    fn everything(&self) -> Delta {
        let all = self.merge.names();
        Delta {
            set: all
                .map(|(name, served)| (name.clone(), served.route.clone()))
                .collect(),
            ..Delta::default()
        }
    }

    fn note(&mut self, unbuilt: Vec<(HostName, Option<Invalid>)>) {
        for (name, invalid) in unbuilt {
            match invalid {
                Some(invalid) => {
                    warn!(host = %name, reason = %invalid.reason, kept = invalid.kept, "a route cannot be built");
                    self.unbuilt.insert(name, invalid);
                }
                None => {
                    self.unbuilt.remove(&name);
                }
            }
        }
    }

    /// Logs what has changed, and what is wrong if that has changed.
    fn tell(&mut self, kind: Kind, delta: &Delta) {
        if !delta.is_empty() {
            info!(source = %kind, set = delta.set.len(), removed = delta.removed.len(), "routes have changed");
        }
        let conflicts = self.merge.conflict_count();
        if conflicts != self.told.conflicts {
            self.told.conflicts = conflicts;
            for conflict in self.merge.conflicts().iter().take(MOST_TOLD) {
                let shadowed: Vec<_> = conflict.shadowed.iter().map(|kind| kind.as_str()).collect();
                warn!(host = %conflict.host, winner = %conflict.winner, ?shadowed, "several sources have a route for the host");
            }
        }
        let Some(snapshot) = self.merge.snapshot(kind) else {
            return;
        };
        let stale = self.told.stale.entry(kind).or_default();
        if *stale != snapshot.stale {
            match &snapshot.stale {
                Some(reason) => warn!(source = %kind, reason, "routes may not be the newest"),
                None => info!(source = %kind, "routes are the newest again"),
            }
            stale.clone_from(&snapshot.stale);
        }
        let invalid = self.told.invalid.entry(kind).or_default();
        if *invalid != snapshot.invalid {
            invalid.clone_from(&snapshot.invalid);
            for Invalid {
                place, reason, kept, ..
            } in invalid.iter().take(MOST_TOLD)
            {
                warn!(source = %kind, place, reason, kept, "no route can be made of it");
            }
        }
    }

    /// How many routes of a source are not served as they are written.
    fn unserved(&self, kind: Kind) -> u64 {
        let owned = |name: &HostName| {
            self.merge
                .served(name.as_str())
                .is_some_and(|served| served.kind == kind)
        };
        let unbuilt = self.unbuilt.keys().filter(|name| owned(name)).count();
        u64::try_from(self.merge.invalid_count(kind) + unbuilt).unwrap_or(u64::MAX)
    }

    fn counts(&self) -> Counts {
        let sources = Kind::ALL.into_iter().filter_map(|kind| {
            let snapshot = self.merge.snapshot(kind)?;
            let counts = SourceCounts {
                routes: snapshot.routes.len(),
                invalid: self.merge.invalid_count(kind),
                is_stale: snapshot.stale.is_some(),
                came: self.came.get(&kind).copied().unwrap_or_default(),
            };
            Some((kind, counts))
        });
        Counts {
            sources: sources.collect(),
            names: self.merge.name_count(),
            conflicts: self.merge.conflict_count(),
            unbuilt: self.unbuilt.len(),
        }
    }

    fn status(&self) -> Status {
        Status {
            unbuilt: self.unbuilt.values().cloned().collect(),
            ..Status::of(&self.merge, |kind| self.came.get(&kind).copied())
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    clock::wall()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

/// So many lines are logged of one kind.
const MOST_TOLD: usize = 20;
