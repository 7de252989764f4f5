//! Requests are turned away while the backend fails: `admissionControl`.
//!
//! While too few of the last requests went well, some of the next ones are rejected, the more the more fail:
//!
//! ```text
//! p = ((all - well / threshold) / (all + 1)) ^ exponent
//! ```
//!
//! It is never more than the filter says, and 0 while there are few requests. All and well are counts of the last
//! windows, of which the one that has begun is none. What the filter itself rejects is not counted.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use eskip::Arg;
use eskip::filters::{Args, Exchange, Filter, FilterContext, Filters, Flow, RouteSettings, Switch, Wants};
use eskip::routing::ArgsError;
use http::{HeaderName, HeaderValue, StatusCode};
use tracing::{debug, info};

use super::Means;
use super::bodies::bare;
use super::delays::chance;

/// Says in an answer that it is no backend's.
const MARK: HeaderName = HeaderName::from_static("admission-control");

/// Counts of a route that had no requests for as long are forgotten.
const KEPT: Duration = Duration::from_secs(3600);

/// The filter.
#[derive(Debug)]
struct Admission {
    all: Arc<Counts>,
    /// What the metrics of the filter are called; tells routes' filters apart in logs.
    suffix: String,
    mode: Mode,
    terms: Terms,
    /// Of several filters of a route only the last one works.
    switch: Switch,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    /// Requests are rejected.
    Active,
    /// Nothing is done; the counts go on.
    Inactive,
    /// As inactive, and it is logged what would be done.
    LogInactive,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Terms {
    windows: Windows,
    least_per_second: f64,
    threshold: f64,
    most: f64,
    exponent: f64,
}

/// How long counts are looked back at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Windows {
    length: Duration,
    count: usize,
}

/// The counts of all routes, by their tables and ids.
#[derive(Debug, Default)]
struct Counts(Mutex<HashMap<(usize, String), History>>);

/// The counts of a route.
#[derive(Debug)]
struct History {
    windows: Windows,
    /// When the window that goes on began.
    begun: Instant,
    now: Count,
    /// The last ones, the latest last.
    before: VecDeque<Count>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Count {
    all: u64,
    well: u64,
}

/// This request was to be rejected, and is not counted.
#[derive(Debug)]
struct Rejected;

pub(super) fn add(all: &mut Filters, _means: &Means) {
    let counts = Arc::new(Counts::default());
    all.add(
        "admissionControl",
        (
            "rejects some requests with 503 while many of them fail",
            r#"admissionControl("app", "active", "1s", 5, 10, 0.1, 0.95, 0.5)"#,
        ),
        move |args| Admission::create(args, &counts),
    );
}

// === impl Admission ===

impl Admission {
    fn create(args: &[Arg], all: &Arc<Counts>) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let suffix = args.text("a suffix of metrics")?.to_owned();
        let mode = match args.text("a mode")? {
            "active" => Mode::Active,
            "inactive" => Mode::Inactive,
            "logInactive" => Mode::LogInactive,
            _ => return Err(args.expected("active, inactive or logInactive")),
        };
        let terms = Terms::read(&mut args)?;
        args.end()?;
        Ok(Self {
            all: Arc::clone(all),
            suffix,
            mode,
            terms,
            switch: Switch::default(),
        })
    }
}

impl Filter for Admission {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if !self.switch.is_on() {
            return Flow::Next;
        }
        let now = cx.env.now();
        let sum = self.all.of(cx.exchange, self.terms.windows, now, History::sum);
        let probability = self.terms.probability(sum);
        let is_rejected = probability > chance(cx.env.random());
        if self.mode == Mode::LogInactive {
            info!(
                suffix = self.suffix,
                probability,
                all = sum.all,
                well = sum.well,
                is_rejected,
                "admission control"
            );
        }
        if !is_rejected {
            return Flow::Next;
        }
        // What would be rejected is not counted either, so that both modes see the same.
        cx.exchange.keep(Rejected);
        if self.mode != Mode::Active {
            return Flow::Next;
        }
        debug!(suffix = self.suffix, probability, "rejected by admission control");
        let mut response = bare(StatusCode::SERVICE_UNAVAILABLE);
        response
            .headers_mut()
            .insert(MARK, HeaderValue::from_static("true"));
        Flow::serve(response)
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        if !self.switch.is_on() || cx.exchange.take_kept::<Rejected>().is_some() {
            return Flow::Next;
        }
        let Some(answer) = &cx.response else {
            return Flow::Next;
        };
        // Another proxy behind this one that rejects a request does not say that its backend fails.
        if answer.headers.contains_key(MARK) {
            return Flow::Next;
        }
        let is_well = !answer.status.is_server_error();
        let (exchange, now) = (&*cx.exchange, cx.env.now());
        self.all.of(exchange, self.terms.windows, now, |history| {
            history.count(is_well)
        });
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::BOTH.and_errors().and_acts()
    }

    fn settle(&self, route: &mut RouteSettings) {
        route.set_last("admissionControl", &self.switch);
    }
}

// === impl Terms ===

impl Terms {
    fn read(args: &mut Args<'_>) -> Result<Self, ArgsError> {
        let length = args.duration("the length of a window")?;
        if length < Duration::from_millis(1) {
            return Err(args.expected("a millisecond or more"));
        }
        let count = args.whole("a number of windows")?;
        if !(1..=100).contains(&count) {
            return Err(args.expected("a number of windows from 1 to 100"));
        }
        let least_per_second = args.number("the least requests a second")?;
        let mut share = |what: &str| {
            let number = args.number(what)?;
            let is_share = number > 0.0 && number <= 1.0;
            is_share.then_some(number).ok_or_else(|| args.expected(what))
        };
        let threshold = share("a share of requests above 0, up to 1")?;
        let most = share("a probability above 0, up to 1")?;
        let exponent = args.number("an exponent")?;
        if exponent <= 0.0 {
            return Err(args.expected("an exponent above 0"));
        }
        Ok(Self {
            windows: Windows { length, count },
            least_per_second,
            threshold,
            most,
            exponent,
        })
    }

    /// How likely it is that a request is rejected.
    fn probability(&self, sum: Count) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts of requests are far below 2^53")]
        let (all, well) = (sum.all as f64, sum.well as f64);
        #[expect(clippy::cast_precision_loss, reason = "there are a hundred at most")]
        let seconds = self.windows.length.as_secs_f64() * self.windows.count as f64;
        let too_many = all - well / self.threshold;
        if all / seconds < self.least_per_second || too_many <= 0.0 {
            return 0.0;
        }
        (too_many / (all + 1.0)).powf(self.exponent).min(self.most)
    }
}

// === impl Counts ===

impl Counts {
    /// Does something with the counts of a route as they are now.
    fn of<T>(
        &self,
        exchange: &Exchange,
        windows: Windows,
        now: Instant,
        then: impl FnOnce(&mut History) -> T,
    ) -> T {
        let mut all = self.all();
        let route = (exchange.table, exchange.route.clone());
        if let Some(history) = all.get_mut(&route)
            && history.windows == windows
        {
            history.advance(now);
            return then(history);
        }
        if all.len() == all.capacity() {
            all.retain(|_, history| now.saturating_duration_since(history.begun) < KEPT);
        }
        let mut history = History::new(windows, now);
        let value = then(&mut history);
        all.insert(route, history);
        value
    }

    fn all(&self) -> MutexGuard<'_, HashMap<(usize, String), History>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl History ===

impl History {
    fn new(windows: Windows, now: Instant) -> Self {
        Self {
            windows,
            begun: now,
            now: Count::default(),
            before: VecDeque::new(),
        }
    }

    /// Ends windows whose time has passed.
    fn advance(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.begun);
        if passed < self.windows.length {
            return;
        }
        let ended = passed.as_nanos() / self.windows.length.as_nanos().max(1);
        let ended = usize::try_from(ended).unwrap_or(usize::MAX);
        let ended_of_note = ended.min(self.windows.count.saturating_add(1));
        for _ in 0..ended_of_note {
            self.before.push_back(std::mem::take(&mut self.now));
            if self.before.len() > self.windows.count {
                self.before.pop_front();
            }
        }
        let times = u32::try_from(ended).ok();
        let later = times.and_then(|times| self.begun.checked_add(self.windows.length.checked_mul(times)?));
        self.begun = later.unwrap_or(now);
    }

    fn count(&mut self, is_well: bool) {
        self.now.all += 1;
        self.now.well += u64::from(is_well);
    }

    fn sum(&mut self) -> Count {
        let sum = |sum: Count, one: &Count| Count {
            all: sum.all + one.all,
            well: sum.well + one.well,
        };
        self.before.iter().fold(Count::default(), sum)
    }
}

#[cfg(test)]
mod tests;
