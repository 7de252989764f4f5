//! The wall clock, read in one place.

use std::cell::RefCell;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderValue;

/// Now, for log lines and certificates. Everything that waits uses tokio's clock instead.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the wall clock"
)]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

thread_local! {
    static DATE: RefCell<Option<HeaderValue>> = const { RefCell::new(None) };
}

/// The date as answers give it. It is read anew when [`tick`] was called on this thread.
pub(crate) fn http_date() -> HeaderValue {
    DATE.with_borrow_mut(|date| date.get_or_insert_with(rendered).clone())
}

/// A second or so has passed, and the date may be another one.
pub(crate) fn tick() {
    DATE.set(None);
}

fn rendered() -> HeaderValue {
    let date = httpdate::fmt_http_date(wall());
    HeaderValue::from_maybe_shared(bytes::Bytes::from(date)).unwrap_or_else(|_| HeaderValue::from_static(""))
}

// === dates ===

/// A second of the calendar, in UTC. Its `Display` is such as `2026-08-01 12:00:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: u64,
    month: u64,
    day: u64,
    second: u64,
}

const DAY: u64 = 24 * 60 * 60;
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

// === impl Date ===

impl Date {
    /// The date of a time after 1970.
    pub(crate) fn of(time: SystemTime) -> Self {
        let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        // Counted from the first of March of the year 0, leap days come last: in 400 years there are 146,097 days.
        let days = seconds / DAY + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 {
            from_march + 3
        } else {
            from_march - 9
        };
        Self {
            year: era * 400 + year_of_era + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * from_march + 2) / 5 + 1,
            second: seconds % DAY,
        }
    }

    /// Such as `01/Aug/2026:12:00:00 +0000`.
    pub(crate) fn common_log(self) -> String {
        let month = usize::try_from(self.month - 1).ok();
        let month = month
            .and_then(|index| MONTHS.get(index))
            .copied()
            .unwrap_or_default();
        let (hour, minute, second) = self.time();
        format!(
            "{:02}/{month}/{}:{hour:02}:{minute:02}:{second:02} +0000",
            self.day, self.year
        )
    }

    fn time(self) -> (u64, u64, u64) {
        (self.second / 3600, self.second / 60 % 60, self.second % 60)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, .. } = self;
        let (hour, minute, second) = self.time();
        write!(f, "{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (1_785_585_600, "2026-08-01 12:00:00"),
        ] {
            let date = Date::of(UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(date.to_string(), text);
        }
        let date = Date::of(UNIX_EPOCH + Duration::from_secs(1_785_585_600));
        assert_eq!(date.common_log(), "01/Aug/2026:12:00:00 +0000");
    }
}
