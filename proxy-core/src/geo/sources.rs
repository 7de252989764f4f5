//! All databases of countries: one for each address of an archive, from one configuration to the next.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::counts::Counts;
use super::source::{Source, Terms};
use crate::clock;
use crate::metrics::{Exposition, names};

/// The databases in use. Share it behind an [`Arc`]; [`run`](Self::run) must run for any to be kept up to date.
#[derive(Debug)]
pub(crate) struct Sources {
    known: Mutex<HashMap<Option<String>, Weak<Source>>>,
    /// What the running configuration wants, which keeps it.
    wanted: Mutex<Vec<(Arc<Source>, Terms)>>,
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
    /// Requests are counted by so many workers.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
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

    /// Writes what was counted, and how each database is.
    pub(crate) fn write(&self, page: &mut Exposition) {
        self.counts.write(page);
        let wanted = lock(&self.wanted).clone();
        if wanted.is_empty() {
            return;
        }
        let all: Vec<_> = wanted
            .iter()
            .map(|(source, _)| (source.name(), source.database.status()))
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

    /// Keeps databases up to date until `stop` is cancelled. Run it once.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        stop.cancelled().await;
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
