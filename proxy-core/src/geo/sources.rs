//! All databases of countries: one for each address of an archive, from one configuration to the next.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use geo_db::Status;
use geo_db::updater::{Proxies, Settings, Updater};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::counts::Counts;
use super::source::{Source, Terms};
use crate::clock;
use crate::environment::Environment;
use crate::metrics::{Exposition, names};

/// Where archives are kept, in the data directory.
const DIRECTORY: &str = "geo";

/// The databases in use. Share it behind an [`Arc`]; [`run`](Self::run) must run for any to be kept up to date.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Where archives are kept. `None`: nowhere.
    directory: Option<PathBuf>,
    /// How they are fetched.
    proxies: Proxies,
    known: Mutex<HashMap<Option<String>, Weak<Source>>>,
    /// What the running configuration wants, which keeps it.
    wanted: Mutex<Vec<(Arc<Source>, Terms)>>,
    /// Those that have read what is kept and have not run yet.
    restored: Mutex<Vec<(Arc<Source>, Terms, Updater)>>,
    changed: Notify,
    counts: Arc<Counts>,
}

/// A source that is used only if something asks for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asking {
    source: Option<(Arc<Source>, Terms)>,
    asked: Arc<AtomicBool>,
}

// === impl Sources ===

impl Sources {
    /// Archives are kept in the directory `data`; requests are counted by so many workers.
    pub(crate) fn new(data: Option<&Path>, environment: &Environment, workers: usize) -> Self {
        Self {
            directory: data.map(|data| data.join(DIRECTORY)),
            proxies: Proxies::from_vars(|name| environment.get(name)),
            restored: Mutex::default(),
            known: Mutex::default(),
            wanted: Mutex::default(),
            changed: Notify::new(),
            counts: Arc::new(Counts::new(workers)),
        }
    }

    /// The database of the archive at `url`; `None`: of the usual one.
    pub(crate) fn of(&self, url: Option<&str>) -> Arc<Source> {
        let mut known = lock(&self.known);
        known.retain(|_, source| source.strong_count() > 0);
        let entry = known.entry(url.map(str::to_owned)).or_default();
        entry.upgrade().unwrap_or_else(|| {
            let source = Arc::new(Source::new(url));
            *entry = Arc::downgrade(&source);
            source
        })
    }

    /// Where requests are counted.
    pub(crate) fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// From now on these are kept up to date and no others. Those that were before keep their data.
    pub(crate) fn watch(&self, wanted: &[(Arc<Source>, Terms)]) {
        let mut each: Vec<(Arc<Source>, Terms)> = Vec::new();
        for (source, terms) in wanted {
            match each.iter_mut().find(|(known, _)| Arc::ptr_eq(known, source)) {
                Some((_, known)) => *known = known.and(*terms),
                None => each.push((Arc::clone(source), terms.and(*terms))),
            }
        }
        // What is dropped here is large.
        drop(std::mem::replace(&mut *lock(&self.wanted), each));
        self.changed.notify_one();
    }

    /// How each database is that the running configuration wants, by its name.
    pub(crate) fn statuses(&self) -> Vec<(String, Status)> {
        let wanted = lock(&self.wanted);
        let of = |(source, _): &(Arc<Source>, Terms)| (source.name.clone(), source.database.status());
        wanted.iter().map(of).collect()
    }

    /// Writes what was counted, and how each database is.
    pub(crate) fn write(&self, page: &mut Exposition) {
        self.counts.write(page);
        let wanted = lock(&self.wanted).clone();
        if wanted.is_empty() {
            return;
        }
        let all: Vec<_> = wanted
            .iter()
            .map(|(source, _)| (source.name.as_str(), source.database.status()))
            .collect();
        let now = clock::wall();
        let loaded = || {
            all.iter()
                .filter_map(|(name, status)| Some((*name, status.loaded.as_ref()?)))
        };
        let mut ages = page.family(&names::GEO_AGE);
        for (name, status) in &all {
            if let Some(age) = status.age(now) {
                ages.sample(&[("source", name)], age.as_secs());
            }
        }
        let mut prefixes = page.family(&names::GEO_PREFIXES);
        for (name, loaded) in loaded() {
            for (family, count) in [("ipv4", loaded.prefixes.ipv4), ("ipv6", loaded.prefixes.ipv6)] {
                let count = u64::try_from(count).unwrap_or(u64::MAX);
                prefixes.sample(&[("family", family), ("source", name)], count);
            }
        }
        let mut countries = page.family(&names::GEO_COUNTRIES_KNOWN);
        for (name, loaded) in loaded() {
            countries.sample(
                &[("source", name)],
                u64::try_from(loaded.countries).unwrap_or(u64::MAX),
            );
        }
        let mut failures = page.family(&names::GEO_FAILURES);
        for (name, status) in &all {
            failures.sample(&[("source", name)], status.failures.into());
        }
    }

    /// Puts the archives that are kept in place, for requests that come with the next one.
    pub(crate) async fn restore(&self) {
        let wanted = lock(&self.wanted).clone();
        for (source, terms) in wanted {
            if let Some(mut updater) = self.updater(&source, terms) {
                updater.restore().await;
                lock(&self.restored).push((source, terms, updater));
            }
        }
    }

    /// Keeps databases up to date until `stop` is cancelled. Run it once.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut running: Vec<(Arc<Source>, Terms, CancellationToken)> = Vec::new();
        let mut updates = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.changed.notified() => {
                    let wanted = lock(&self.wanted).clone();
                    running.retain(|(source, terms, gone)| {
                        let stays = wanted.iter().any(|wanted| is(wanted, source, *terms));
                        if !stays {
                            gone.cancel();
                        }
                        stays
                    });
                    for (source, terms) in wanted {
                        if running.iter().any(|(known, now, _)| is(&(Arc::clone(known), *now), &source, terms)) {
                            continue;
                        }
                        let gone = CancellationToken::new();
                        if let Some(updater) = self.begin(&source, terms) {
                            updates.push(updater.run(gone.clone()));
                        }
                        running.push((source, terms, gone));
                    }
                }
                Some(()) = updates.next() => {}
            }
        }
    }

    /// The updater that has read what is kept, or a new one.
    fn begin(&self, source: &Arc<Source>, terms: Terms) -> Option<Updater> {
        let mut restored = lock(&self.restored);
        let found = restored
            .iter()
            .position(|(known, now, _)| Arc::ptr_eq(known, source) && *now == terms);
        let found = found.map(|place| restored.swap_remove(place).2);
        drop(restored);
        found.or_else(|| self.updater(source, terms))
    }

    fn updater(&self, source: &Source, terms: Terms) -> Option<Updater> {
        let mut settings = Settings {
            directory: self.directory.clone(),
            proxies: self.proxies.clone(),
            ..Settings::default()
        };
        if let Some(url) = &source.url {
            settings.url.clone_from(url);
        }
        settings.interval = terms.interval.unwrap_or(settings.interval);
        settings.timeout = terms.timeout.unwrap_or(settings.timeout);
        let seed = RandomState::new().hash_one(0);
        Updater::try_new(settings, source.database.clone(), clock::wall, seed)
            .inspect_err(
                |error| error!(%error, source = source.name, "the countries of addresses are not updated"),
            )
            .ok()
    }
}

// === impl Asking ===

impl Asking {
    pub(crate) fn new(source: Arc<Source>, terms: Terms) -> Self {
        Self {
            source: Some((source, terms)),
            asked: Arc::default(),
        }
    }

    /// The source, which is needed from now on.
    pub(crate) fn ask(&self) -> Option<Arc<Source>> {
        self.asked.store(true, Ordering::Relaxed);
        self.source.as_ref().map(|(source, _)| Arc::clone(source))
    }

    /// The source if anything has asked for it.
    pub(crate) fn asked(self) -> Option<(Arc<Source>, Terms)> {
        self.source.filter(|_| self.asked.load(Ordering::Relaxed))
    }
}

/// Whether one that is wanted is this one.
fn is(wanted: &(Arc<Source>, Terms), source: &Arc<Source>, terms: Terms) -> bool {
    Arc::ptr_eq(&wanted.0, source) && wanted.1 == terms
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
