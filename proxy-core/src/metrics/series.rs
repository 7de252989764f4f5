//! What is measured of the requests of one handler.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::fast::FixedState;
use http::Method;

use super::exposition::{Exposition, Label};
use super::histogram::Histogram;
use super::names::{self, Family};

/// The bounds of durations, in microseconds; those that Prometheus' libraries have.
const DURATIONS: [u64; 11] = [
    5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// Microseconds in a second.
const MICROS: u64 = 1_000_000;

/// The bounds of sizes, in bytes.
const SIZES: [u64; 8] = [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304];

/// Methods with a name of their own; any other one is counted as `OTHER`, as clients may make up as many as they like.
const METHODS: [&str; 10] = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE", "OTHER",
];

/// What tells one series from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Labels {
    pub(crate) server: Arc<str>,
    /// The name of the handler.
    pub(crate) handler: &'static str,
    /// The host, if hosts are counted apart.
    pub(crate) host: Option<Arc<str>>,
}

/// What is measured under some labels, by each worker for itself.
#[derive(Debug)]
pub(crate) struct Series {
    labels: Labels,
    cells: Box<[Cell]>,
}

/// What one worker has measured. Workers share no cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cell {
    began: AtomicU64,
    totals: Mutex<Totals>,
}

#[derive(Clone, Debug, Default)]
struct Totals {
    ended: u64,
    errors: u64,
    answers: HashMap<Answer, Box<Measures>, FixedState>,
}

/// Answers that are measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Answer {
    code: u16,
    /// An index of [`METHODS`].
    method: u8,
}

#[derive(Clone, Debug, Default)]
struct Measures {
    duration: Histogram<11>,
    until_head: Histogram<11>,
    request_size: Histogram<8>,
    response_size: Histogram<8>,
}

/// What is known of a request that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) code: u16,
    pub(super) method: MethodLabel,
    pub(super) is_error: bool,
    pub(super) duration: Duration,
    /// Until the head of the answer. `None`: there was none.
    pub(super) until_head: Option<Duration>,
    pub(super) request_size: u64,
    pub(super) response_size: u64,
}

/// A method as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MethodLabel(u8);

// === impl MethodLabel ===

impl MethodLabel {
    pub(super) fn of(method: &Method) -> Self {
        let index = METHODS.iter().position(|name| *name == method.as_str());
        let index = index.unwrap_or(METHODS.len() - 1);
        Self(u8::try_from(index).unwrap_or_default())
    }
}

// === impl Series ===

impl Series {
    pub(super) fn new(labels: Labels, workers: usize) -> Self {
        Self {
            labels,
            cells: std::iter::repeat_with(Cell::default).take(workers).collect(),
        }
    }

    /// A request has come, at the worker with this number.
    pub(super) fn begin(&self, worker: usize) {
        if let Some(cell) = self.cell(worker) {
            cell.began.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// And has ended.
    pub(super) fn end(&self, worker: usize, ended: &Ended) {
        let Some(cell) = self.cell(worker) else { return };
        let mut totals = cell.totals();
        totals.ended += 1;
        totals.errors += u64::from(ended.is_error);
        let answer = Answer {
            code: ended.code,
            method: ended.method.0,
        };
        let measures = totals.answers.entry(answer).or_default();
        measures.duration.add(micros(ended.duration), &DURATIONS);
        if let Some(until_head) = ended.until_head {
            measures.until_head.add(micros(until_head), &DURATIONS);
        }
        measures.request_size.add(ended.request_size, &SIZES);
        measures.response_size.add(ended.response_size, &SIZES);
    }

    fn cell(&self, worker: usize) -> Option<&Cell> {
        self.cells.get(worker % self.cells.len().max(1))
    }

    /// What all workers have measured, and how many requests are in flight.
    fn sum(&self) -> (Totals, u64) {
        let mut sum = Totals::default();
        let mut began = 0;
        for cell in &self.cells {
            let totals = cell.totals().clone();
            began += cell.began.load(Ordering::Relaxed);
            sum.ended += totals.ended;
            sum.errors += totals.errors;
            for (answer, measures) in totals.answers {
                sum.answers.entry(answer).or_default().add_all(&measures);
            }
        }
        let in_flight = began.saturating_sub(sum.ended);
        (sum, in_flight)
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

// === impl Cell ===

impl Cell {
    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Measures ===

impl Measures {
    fn add_all(&mut self, other: &Self) {
        self.duration.add_all(&other.duration);
        self.until_head.add_all(&other.until_head);
        self.request_size.add_all(&other.request_size);
        self.response_size.add_all(&other.response_size);
    }
}

// === writing ===

/// A series as it is written.
struct Written<'s> {
    labels: &'s Labels,
    totals: Totals,
    in_flight: u64,
    /// In order, so that a page is the same each time.
    answers: Vec<Answer>,
}

// === impl Written ===

impl Written<'_> {
    /// Caddy's order: by name.
    fn base(&self) -> Vec<Label<'_>> {
        let mut labels: Vec<Label<'_>> = vec![("handler", self.labels.handler)];
        labels.extend(self.labels.host.as_deref().map(|host| ("host", host)));
        labels.push(("server", &self.labels.server));
        labels
    }

    fn of_answer<'l>(&'l self, code: &'l str, method: &'l str) -> Vec<Label<'l>> {
        let mut labels: Vec<Label<'_>> = vec![("code", code), ("handler", self.labels.handler)];
        labels.extend(self.labels.host.as_deref().map(|host| ("host", host)));
        labels.push(("method", method));
        labels.push(("server", &self.labels.server));
        labels
    }

    fn each_answer(&self, mut write: impl FnMut(&[Label<'_>], &Measures)) {
        for answer in &self.answers {
            let code = answer.code.to_string();
            let method = METHODS
                .get(usize::from(answer.method))
                .copied()
                .unwrap_or_default();
            if let Some(measures) = self.totals.answers.get(answer) {
                write(&self.of_answer(&code, method), measures);
            }
        }
    }
}

/// Writes all series, family by family.
pub(super) fn write(all: &[Arc<Series>], page: &mut Exposition) {
    let all: Vec<Written<'_>> = all
        .iter()
        .map(|series| {
            let (totals, in_flight) = series.sum();
            let mut answers: Vec<Answer> = totals.answers.keys().copied().collect();
            answers.sort_unstable();
            Written {
                labels: &series.labels,
                totals,
                in_flight,
                answers,
            }
        })
        .collect();
    if all.is_empty() {
        return;
    }
    counts(page, &all, &names::HTTP_REQUESTS, |series| series.totals.ended);
    counts(page, &all, &names::HTTP_REQUESTS_IN_FLIGHT, |series| {
        series.in_flight
    });
    counts(page, &all, &names::HTTP_REQUEST_ERRORS, |series| {
        series.totals.errors
    });
    let seconds = Scale {
        bounds: &DURATIONS,
        parts: MICROS,
    };
    measures(page, &all, &names::HTTP_REQUEST_DURATION, seconds, |of| {
        &of.duration
    });
    measures(page, &all, &names::HTTP_RESPONSE_DURATION, seconds, |of| {
        &of.until_head
    });
    let bytes = Scale {
        bounds: &SIZES,
        parts: 1,
    };
    measures(page, &all, &names::HTTP_REQUEST_SIZE, bytes, |of| {
        &of.request_size
    });
    measures(page, &all, &names::HTTP_RESPONSE_SIZE, bytes, |of| {
        &of.response_size
    });
}

fn counts(page: &mut Exposition, all: &[Written<'_>], family: &Family, count: fn(&Written<'_>) -> u64) {
    let mut samples = page.family(family);
    for series in all {
        samples.sample(&series.base(), count(series));
    }
}

/// The bounds of a family of histograms, and how many parts a whole has.
#[derive(Clone, Copy)]
struct Scale<const N: usize> {
    bounds: &'static [u64; N],
    parts: u64,
}

fn measures<const N: usize>(
    page: &mut Exposition,
    all: &[Written<'_>],
    family: &Family,
    scale: Scale<N>,
    histogram: fn(&Measures) -> &Histogram<N>,
) {
    let mut samples = page.family(family);
    for series in all {
        series.each_answer(|labels, measures| {
            samples.histogram(labels, histogram(measures), scale.bounds, scale.parts);
        });
    }
}
