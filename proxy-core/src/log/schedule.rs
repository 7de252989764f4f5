//! At which times a file is rolled.

use std::time::{Duration, SystemTime};

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _, ZonedDateTime};

use super::file::Rolling;

/// The first time after `now` at which a file is to be rolled whose oldest line is from `begun`. It is `now` itself
/// if that is overdue. `None`: never.
pub(super) fn next(
    rolling: &Rolling,
    zone: &TimeZone,
    begun: SystemTime,
    now: SystemTime,
) -> Option<SystemTime> {
    let by_interval = rolling
        .interval
        .and_then(|interval| begun.checked_add(interval))
        .map(|due| due.max(now));
    let by_clock = if rolling.minutes.is_empty() && rolling.at.is_empty() {
        None
    } else {
        let now = Timestamp::try_from(now)
            .unwrap_or_default()
            .to_zoned_datetime(zone.clone());
        let hourly = rolling.minutes.iter().filter_map(|minute| hourly(&now, *minute));
        let daily = rolling
            .at
            .iter()
            .filter_map(|(hour, minute)| daily(&now, *hour, *minute));
        hourly
            .chain(daily)
            .map(SystemTime::try_from)
            .filter_map(Result::ok)
            .min()
    };
    by_interval.into_iter().chain(by_clock).min()
}

/// How long it is until `due`.
pub(super) fn until(due: SystemTime, now: SystemTime) -> Duration {
    due.duration_since(now).unwrap_or_default()
}

fn hourly(now: &ZonedDateTime, minute: u8) -> Option<Timestamp> {
    let minute = i8::try_from(minute).ok()?;
    let at = |hour: &ZonedDateTime| {
        let at = hour.with().minute(minute).second(0).subsec_nanosecond(0).build();
        at.ok().filter(|at| at > now)
    };
    let found = at(now).or_else(|| at(&now.checked_add(1.hour()).ok()?));
    found.map(|at| at.timestamp())
}

fn daily(now: &ZonedDateTime, hour: u8, minute: u8) -> Option<Timestamp> {
    let (hour, minute) = (i8::try_from(hour).ok()?, i8::try_from(minute).ok()?);
    let at = |day: &ZonedDateTime| {
        let at = day
            .with()
            .hour(hour)
            .minute(minute)
            .second(0)
            .subsec_nanosecond(0)
            .build();
        at.ok().filter(|at| at > now)
    };
    let found = at(now).or_else(|| at(&now.checked_add(1.day()).ok()?));
    found.map(|at| at.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> SystemTime {
        text.parse::<Timestamp>().unwrap().try_into().unwrap()
    }

    fn next_of(rolling: &Rolling, begun: &str, now: &str) -> Option<String> {
        let next = next(rolling, &TimeZone::UTC, time(begun), time(now))?;
        Some(Timestamp::try_from(next).unwrap().to_string())
    }

    #[test]
    fn a_file_is_rolled_when_it_is_old_enough() {
        let rolling = Rolling {
            interval: Some(Duration::from_secs(3600)),
            ..Rolling::default()
        };
        let begun = "2026-01-01T10:00:00Z";
        for (now, due) in [
            ("2026-01-01T10:30:00Z", "2026-01-01T11:00:00Z"),
            ("2026-01-02T10:30:00Z", "2026-01-02T10:30:00Z"),
        ] {
            assert_eq!(next_of(&rolling, begun, now).as_deref(), Some(due));
        }
    }

    #[test]
    fn minutes_and_times_of_day_come_round() {
        let rolling = Rolling {
            minutes: vec![0, 30],
            at: vec![(12, 15)],
            ..Rolling::default()
        };
        for (now, due) in [
            ("2026-01-01T10:29:59.9Z", "2026-01-01T10:30:00Z"),
            ("2026-01-01T10:30:00Z", "2026-01-01T11:00:00Z"),
            ("2026-01-01T12:10:00Z", "2026-01-01T12:15:00Z"),
            ("2026-12-31T23:45:00Z", "2027-01-01T00:00:00Z"),
        ] {
            assert_eq!(next_of(&rolling, now, now).as_deref(), Some(due), "{now}");
        }
        let daily = Rolling {
            at: vec![(0, 0)],
            ..Rolling::default()
        };
        let due = next_of(&daily, "2026-02-28T00:00:00Z", "2026-02-28T00:00:00Z");
        assert_eq!(due.as_deref(), Some("2026-03-01T00:00:00Z"));
    }

    #[test]
    fn without_times_there_is_none() {
        assert_eq!(
            next_of(
                &Rolling::default(),
                "2026-01-01T00:00:00Z",
                "2026-01-02T00:00:00Z"
            ),
            None
        );
    }
}
