//! Figures about requests and the process, in the text format of Prometheus.
//!
//! What is measured for each request is measured by each worker for itself, and summed when somebody asks. Where the
//! configuration asks for no `metrics`, nothing is.

mod exposition;
mod histogram;
pub(crate) mod names;
mod observation;
mod process;
mod series;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) use self::exposition::{Exposition, Format, Page};
pub(crate) use self::observation::{Observation, RouteMetrics};
pub(crate) use self::series::{Labels, Series};

/// Everything that is counted, for all workers.
#[derive(Debug)]
pub(crate) struct Metrics {
    workers: usize,
    /// Those that a configuration still counts with. They go on from one configuration to the next.
    series: Mutex<BTreeMap<Labels, Weak<Series>>>,
    loads: Loads,
    admin: Mutex<AdminRequests>,
    facts: OnceLock<Weak<dyn Facts>>,
}

/// Knows figures beside those that are counted here.
pub(crate) trait Facts: std::fmt::Debug + Send + Sync {
    /// Writes them.
    fn write(&self, page: &mut Exposition);
}

/// Requests to the admin API by status, method and path, of which there are few.
type AdminRequests = BTreeMap<(u16, &'static str, &'static str), Asked>;

/// How often something was asked, and how often that ended with an error.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    all: u64,
    failed: u64,
}

/// How loading configurations went.
#[derive(Debug, Default)]
struct Loads {
    accepted: AtomicU64,
    refused: AtomicU64,
    /// The last one was accepted.
    is_good: AtomicBool,
    /// When one was accepted last, in milliseconds since 1970.
    last: AtomicU64,
}

// === impl Metrics ===

impl Metrics {
    /// For so many workers, which are numbered from 0.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            workers: workers.max(1),
            series: Mutex::default(),
            loads: Loads::default(),
            admin: Mutex::default(),
            facts: OnceLock::new(),
        }
    }

    /// Asks `facts` for its figures from now on. Only the first one is asked.
    pub(crate) fn ask(&self, facts: Weak<dyn Facts>) {
        let _first = self.facts.set(facts);
    }

    /// Where requests with these labels are counted. Whoever holds it keeps it.
    pub(crate) fn series(&self, labels: Labels) -> Arc<Series> {
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = all.get(&labels).and_then(Weak::upgrade) {
            return series;
        }
        let series = Arc::new(Series::new(labels.clone(), self.workers));
        all.insert(labels, Arc::downgrade(&series));
        series
    }

    /// Counts an attempt to load a configuration.
    pub(crate) fn loaded(&self, is_good: bool, now: SystemTime) {
        let counter = if is_good {
            &self.loads.accepted
        } else {
            &self.loads.refused
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.loads.is_good.store(is_good, Ordering::Relaxed);
        if is_good {
            let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
            let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
            self.loads.last.store(millis, Ordering::Relaxed);
        }
    }

    /// Counts a request to the admin API, which `failed` or did not.
    pub(crate) fn asked(&self, code: u16, method: &'static str, path: &'static str, failed: bool) {
        let mut all = self.admin.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.entry((code, method, path)).or_default();
        count.all = count.all.saturating_add(1);
        count.failed = count.failed.saturating_add(failed.into());
    }

    /// Everything, in the format that suits the client best.
    pub(crate) fn page(&self, format: Format) -> Page {
        let mut page = Exposition::new(format);
        self.loads.write(&mut page);
        self.write_admin(&mut page);
        series::write(&self.live(), &mut page);
        if let Some(facts) = self.facts.get().and_then(Weak::upgrade) {
            facts.write(&mut page);
        }
        process::write(&mut page);
        page.finish()
    }

    fn write_admin(&self, page: &mut Exposition) {
        let all = self.admin.lock().unwrap_or_else(PoisonError::into_inner);
        let mut requests = page.family(&names::ADMIN_HTTP_REQUESTS);
        for ((code, method, path), count) in &*all {
            let code = code.to_string();
            let labels = [
                ("code", &*code),
                ("handler", "admin"),
                ("method", method),
                ("path", path),
            ];
            requests.sample(&labels, count.all);
        }
        // Without the status, as Caddy.
        let mut failed: BTreeMap<_, u64> = BTreeMap::new();
        for ((_, method, path), count) in all.iter().filter(|(_, count)| count.failed > 0) {
            let sum = failed.entry((*path, *method)).or_default();
            *sum = sum.saturating_add(count.failed);
        }
        let mut errors = page.family(&names::ADMIN_HTTP_REQUEST_ERRORS);
        for ((path, method), count) in failed {
            errors.sample(&[("handler", "admin"), ("method", method), ("path", path)], count);
        }
    }

    /// The series that are in use, in the order of their labels. The others are forgotten.
    fn live(&self) -> Vec<Arc<Series>> {
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, series| series.strong_count() > 0);
        all.values().filter_map(Weak::upgrade).collect()
    }
}

// === impl Loads ===

impl Loads {
    fn write(&self, page: &mut Exposition) {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let is_good = u64::from(self.is_good.load(Ordering::Relaxed));
        page.family(&names::CONFIG_LAST_RELOAD_SUCCESSFUL)
            .sample(&[], is_good);
        page.family(&names::CONFIG_LAST_RELOAD_SUCCESS_TIMESTAMP)
            .fraction(&[], get(&self.last), 1000);
        let mut loads = page.family(&names::CONFIG_LOADS);
        loads.sample(&[("result", "accepted")], get(&self.accepted));
        loads.sample(&[("result", "refused")], get(&self.refused));
    }
}

#[cfg(test)]
mod tests;
