//! What became of requests that came to a `doors_geo`, counted by each worker for itself.

use std::sync::atomic::{AtomicU64, Ordering};

use doors_routing::{COUNTRY_CODES, Country, PassReason, country_place};

use crate::metrics::{Exposition, names};

/// As metrics name them, in the order of [`Outcome::place`].
const OUTCOMES: [&str; 10] = [
    "redirected",
    "system",
    "method",
    "acme",
    "upgrade",
    "no_address",
    "no_data",
    "unknown_country",
    "no_site",
    "at_home",
];

/// What became of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Redirected,
    Passed(PassReason),
}

/// The counts of all workers, which are numbered from 0.
#[derive(Debug)]
pub(crate) struct Counts(Box<[Cell]>);

/// Those of one worker. Workers share no cache line.
#[derive(Debug)]
#[repr(align(128))]
struct Cell {
    outcomes: [AtomicU64; OUTCOMES.len()],
    redirected: Box<[AtomicU64]>,
    passed: Box<[AtomicU64]>,
}

// === impl Counts ===

impl Counts {
    pub(crate) fn new(workers: usize) -> Self {
        Self(
            std::iter::repeat_with(Cell::default)
                .take(workers.max(1))
                .collect(),
        )
    }

    /// Counts one request of the worker with this number.
    pub(crate) fn add(&self, worker: usize, outcome: Outcome, country: Option<Country>) {
        let Some(cell) = self.0.get(worker % self.0.len().max(1)) else {
            return;
        };
        if let Some(count) = cell.outcomes.get(outcome.place()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let by_country = match outcome {
            Outcome::Redirected => &cell.redirected,
            Outcome::Passed(_) => &cell.passed,
        };
        if let Some(count) = country
            .and_then(country_place)
            .and_then(|place| by_country.get(place))
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes what was counted, unless no request ever came.
    pub(crate) fn write(&self, page: &mut Exposition) {
        let sum = |count: &dyn Fn(&Cell) -> Option<u64>| -> u64 { self.0.iter().filter_map(count).sum() };
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let outcomes: Vec<u64> = (0..OUTCOMES.len())
            .map(|place| sum(&|cell| cell.outcomes.get(place).map(get)))
            .collect();
        if outcomes.iter().all(|count| *count == 0) {
            return;
        }
        let mut requests = page.family(&names::GEO_REQUESTS);
        for (name, count) in OUTCOMES.iter().zip(&outcomes) {
            requests.sample(&[("outcome", name)], *count);
        }
        let mut countries = page.family(&names::GEO_COUNTRIES);
        for place in 0..COUNTRY_CODES {
            let code = code(place);
            let redirected = sum(&|cell| cell.redirected.get(place).map(get));
            let passed = sum(&|cell| cell.passed.get(place).map(get));
            for (outcome, count) in [("passed", passed), ("redirected", redirected)] {
                if count > 0 {
                    countries.sample(&[("country", &code), ("outcome", outcome)], count);
                }
            }
        }
    }
}

// === impl Cell ===

impl Default for Cell {
    fn default() -> Self {
        let zeros = || {
            std::iter::repeat_with(AtomicU64::default)
                .take(COUNTRY_CODES)
                .collect()
        };
        Self {
            outcomes: Default::default(),
            redirected: zeros(),
            passed: zeros(),
        }
    }
}

// === impl Outcome ===

impl Outcome {
    fn place(self) -> usize {
        match self {
            Self::Redirected => 0,
            Self::Passed(reason) => match reason {
                PassReason::System => 1,
                PassReason::Method => 2,
                PassReason::Acme => 3,
                PassReason::Upgrade => 4,
                PassReason::NoAddress => 5,
                PassReason::NoData => 6,
                PassReason::UnknownCountry => 7,
                PassReason::NoSite(_) => 8,
                PassReason::AtHome(_) => 9,
            },
        }
    }
}

fn code(place: usize) -> String {
    let letter =
        |number: usize| char::from(b'A'.saturating_add(u8::try_from(number % 26).unwrap_or_default()));
    [letter(place / 26), letter(place)].into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Format;

    fn page(counts: &Counts) -> String {
        let mut page = Exposition::new(Format::Plain);
        counts.write(&mut page);
        let text = page.finish().text;
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| format!("{line}\n"))
            .collect()
    }

    #[test]
    fn workers_count_for_themselves_and_are_summed() {
        let counts = Counts::new(2);
        assert_eq!(page(&counts), "");
        counts.add(0, Outcome::Redirected, Some(*b"DE"));
        counts.add(1, Outcome::Redirected, Some(*b"DE"));
        counts.add(1, Outcome::Passed(PassReason::NoSite(*b"ZW")), Some(*b"ZW"));
        counts.add(7, Outcome::Passed(PassReason::System), None);
        let text = page(&counts);
        for line in [
            "doorway_geo_requests_total{outcome=\"redirected\"} 2\n",
            "doorway_geo_requests_total{outcome=\"no_site\"} 1\n",
            "doorway_geo_requests_total{outcome=\"system\"} 1\n",
            "doorway_geo_requests_total{outcome=\"acme\"} 0\n",
            "doorway_geo_countries_total{country=\"DE\",outcome=\"redirected\"} 2\n",
            "doorway_geo_countries_total{country=\"ZW\",outcome=\"passed\"} 1\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        assert_eq!(text.lines().count(), OUTCOMES.len() + 2);
    }

    #[test]
    fn every_code_has_a_place_of_its_own() {
        for place in 0..COUNTRY_CODES {
            let code = code(place);
            assert_eq!(
                country_place(code.as_bytes().try_into().unwrap()),
                Some(place),
                "{code}"
            );
        }
    }
}
