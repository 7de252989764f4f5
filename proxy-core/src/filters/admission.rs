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
use eskip::filters::{Args, Filter, FilterContext, Filters, Flow, RouteSettings, Switch, Wants};
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

/// The counts of all routes, by their ids.
#[derive(Debug, Default)]
struct Counts(Mutex<HashMap<String, History>>);

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
        let sum = self
            .all
            .of(&cx.exchange.route, self.terms.windows, now, History::sum);
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
        let (route, now) = (&cx.exchange.route, cx.env.now());
        self.all
            .of(route, self.terms.windows, now, |history| history.count(is_well));
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::BOTH.and_errors()
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
    fn of<T>(&self, route: &str, windows: Windows, now: Instant, then: impl FnOnce(&mut History) -> T) -> T {
        let mut all = self.all();
        if let Some(history) = all.get_mut(route)
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
        all.insert(route.to_owned(), history);
        value
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, History>> {
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
mod tests {
    use super::*;
    use crate::filters::trial::{Chain, Trial, all, chain, mistake};

    const TEXT: &str = r#"admissionControl("app", "active", "1s", 5, 10, 0.9, 0.95, 0.5)"#;

    /// One request that the backend answers with `status`. Whether it came there.
    async fn ask(chain: &Chain, status: StatusCode, random: u64) -> bool {
        let mut trial = Trial::get("/");
        trial.env.random = random;
        match trial.request(chain).await {
            Ok(_) => {
                trial.status = status;
                trial.response(chain).await;
                true
            }
            Err(count) => {
                assert_eq!(trial.status, StatusCode::SERVICE_UNAVAILABLE);
                assert_eq!(trial.answer_field("admission-control"), ["true"]);
                trial.response(&chain[..count]).await;
                false
            }
        }
    }

    /// Requests of one window, and its end.
    async fn window(chain: &Chain, well: usize, failed: usize) {
        for _ in 0..well {
            ask(chain, StatusCode::OK, u64::MAX).await;
        }
        for _ in 0..failed {
            ask(chain, StatusCode::BAD_GATEWAY, u64::MAX).await;
        }
        tokio::time::advance(Duration::from_secs(1)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn requests_are_rejected_while_many_fail_and_pass_once_that_is_over() {
        let chain = chain(&all(), TEXT);
        window(&chain, 0, 100).await;
        assert!(!ask(&chain, StatusCode::OK, 0).await);
        // Never more than 95 of a hundred.
        assert!(ask(&chain, StatusCode::OK, u64::MAX / 100 * 96).await);
        for _ in 0..6 {
            window(&chain, 100, 0).await;
        }
        assert!(ask(&chain, StatusCode::OK, 0).await);
    }

    #[tokio::test(start_paused = true)]
    async fn few_requests_are_not_rejected() {
        let chain = chain(&all(), TEXT);
        window(&chain, 0, 49).await;
        assert!(
            ask(&chain, StatusCode::OK, 0).await,
            "not ten a second in five seconds"
        );
        let mut now = Trial::get("/");
        now.run(&chain).await;
        window(&chain, 0, 50).await;
        assert!(!ask(&chain, StatusCode::OK, 0).await);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_active_only_counts() {
        for mode in ["inactive", "logInactive"] {
            let chain = chain(&all(), &TEXT.replace("active", mode));
            window(&chain, 0, 100).await;
            assert!(ask(&chain, StatusCode::OK, 0).await);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn rejections_are_not_counted_and_those_of_a_proxy_behind_are_neither() {
        let filters = all();
        let chain = chain(&filters, TEXT);
        window(&chain, 60, 20).await;
        for _ in 0..1000 {
            assert!(!ask(&chain, StatusCode::OK, 0).await);
            let mut behind = Trial::get("/").answered_with("admission-control", "true");
            behind.env.random = u64::MAX;
            behind.status = StatusCode::SERVICE_UNAVAILABLE;
            behind.run(&chain).await;
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        let terms = terms(TEXT);
        let before = terms.probability(Count { all: 80, well: 60 });
        assert!(before > 0.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a probability of all numbers"
        )]
        let at = |share: f64| (share * u64::MAX as f64) as u64;
        assert!(!ask(&chain, StatusCode::OK, at(before - 0.01)).await);
        assert!(ask(&chain, StatusCode::OK, at(before + 0.01)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn counts_outlive_the_table_of_the_route_and_only_the_last_filter_counts() {
        let all = all();
        window(&chain(&all, TEXT), 0, 100).await;
        let next = chain(&all, &format!("{TEXT} -> {TEXT}"));
        assert!(!ask(&next, StatusCode::OK, 0).await);
        window(&next, 10, 0).await;
        let found = chain(&all, &TEXT.replace("0.9,", "0.09,"));
        assert!(
            ask(&found, StatusCode::OK, 0).await,
            "10 of 110 are well, each once"
        );
    }

    fn terms(text: &str) -> Terms {
        let calls = eskip::parse_filters(text).unwrap();
        let mut args = Args::new(&calls[0].args);
        args.text("").unwrap();
        args.text("").unwrap();
        Terms::read(&mut args).unwrap()
    }

    #[test]
    fn the_probability_is_that_of_the_formula() {
        let terms = terms(r#"x("", "", "1s", 1, 10, 0.5, 0.9, 0.5)"#);
        for (all, well, expected) in [
            (100, 100, 0.0),
            (100, 50, 0.0),
            (100, 40, (20.0_f64 / 101.0).sqrt()),
            (100, 0, 0.9),
            (9, 0, 0.0),
        ] {
            let found = terms.probability(Count { all, well });
            assert!((found - expected).abs() < 1e-9, "{all} {well}: {found}");
        }
    }

    #[test]
    fn arguments_that_say_nothing_are_refused() {
        for (from, to) in [
            (r#""app""#, "1"),
            ("active", "on"),
            ("1s", "x"),
            ("1s", "0"),
            (" 5,", " 0,"),
            (" 5,", " 101,"),
            ("0.9,", "0,"),
            ("0.9,", "1.1,"),
            ("0.95", "0"),
            ("0.95", "2"),
            ("0.5)", "0)"),
            (", 0.5)", ")"),
            ("0.5)", "0.5, 1)"),
        ] {
            let text = TEXT.replacen(from, to, 1);
            assert!(mistake(&text).starts_with("invalid_filter_params"), "{text}");
        }
    }
}
