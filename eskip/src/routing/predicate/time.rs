//! Predicates of the time.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use super::{ArgsError, Predicate, Predicates, texts, wanted};
use crate::{Arg, routing::Asked};

/// `After(a)`, `Before(b)` and `Between(a, b)`: from the first moment on, before the second.
#[derive(Debug)]
struct Window(Option<Timestamp>, Option<Timestamp>);

/// `Cron("m h dom mon dow")`: the minute is one of those.
#[derive(Debug)]
struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    zone: TimeZone,
}

/// What a date is.
const DATE: &str =
    "a date: RFC 3339, or without offset and the name of a time zone behind it, or seconds since 1970";

pub(super) fn add(all: &mut Predicates, zone: TimeZone) {
    all.add(
        "After",
        ("from this moment on", r#"After("2026-01-31T15:30:00Z")"#),
        |args| Ok(Window(Some(date(args)?), None)),
    );
    all.add(
        "Before",
        (
            "before this moment",
            r#"Before("2026-01-31T15:30:00", "Europe/Berlin")"#,
        ),
        |args| Ok(Window(None, Some(date(args)?))),
    );
    all.add(
        "Between",
        (
            "from one moment to before another",
            r#"Between(1767225600, 1769904000)"#,
        ),
        |args| {
            let (from, to) = match args {
                [from, to] => (date(std::slice::from_ref(from))?, date(std::slice::from_ref(to))?),
                [from, to, zone] => (
                    date(&[from.clone(), zone.clone()])?,
                    date(&[to.clone(), zone.clone()])?,
                ),
                _ => return wanted(&format!("two times {DATE}")),
            };
            if from >= to {
                return Err(ArgsError("the first date is not before the second".to_owned()));
            }
            Ok(Window(Some(from), Some(to)))
        },
    );
    all.add(
        "Cron",
        (
            "minute, hour, day, month and day of the week, Sunday being 0, all are in a mask",
            r#"Cron("* 9-17 * * 1-5")"#,
        ),
        move |args| {
            let [mask] = texts(args, "one mask of five fields")?;
            Cron::new(mask, zone.clone())
        },
    );
}

fn date(args: &[Arg]) -> Result<Timestamp, ArgsError> {
    let read = match args {
        [Arg::Number(seconds)] => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "what is out of range is no moment"
            )]
            let whole = *seconds as i64;
            Timestamp::from_second(whole)
                .ok()
                .filter(|_| seconds.fract() == 0.0)
        }
        [Arg::Text(text)] => text.parse().ok(),
        [Arg::Text(text), Arg::Text(zone)] => local(text, zone),
        _ => None,
    };
    read.map_or_else(|| wanted(DATE), Ok)
}

fn local(text: &str, zone: &str) -> Option<Timestamp> {
    let moment: DateTime = text.parse().ok()?;
    TimeZone::get(zone).ok()?.to_timestamp(moment).ok()
}

impl Cron {
    fn new(mask: &str, zone: TimeZone) -> Result<Self, ArgsError> {
        let fields: Vec<&str> = mask.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return wanted("five fields: minute, hour, day of the month, month, day of the week");
        };
        Ok(Self {
            minutes: set(minutes, 0, 59)?,
            hours: set(hours, 0, 23)?,
            days: set(days, 1, 31)?,
            months: set(months, 1, 12)?,
            weekdays: set(weekdays, 0, 6)?,
            zone,
        })
    }
}

/// The numbers of a field: `*`, or numbers and ranges with commas between them. A range from more to less has none.
fn set(field: &str, least: u32, most: u32) -> Result<u64, ArgsError> {
    if field == "*" {
        return Ok(u64::MAX);
    }
    let number = |text: &str| {
        let number: Option<u32> = text.parse().ok();
        let number = number.filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| ArgsError(format!("{text:?} is no number from {least} to {most}")))
    };
    let mut set = 0;
    for part in field.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        for number in number(from)?..=number(to)? {
            set |= 1 << number;
        }
    }
    Ok(set)
}

/// The time, as far as it can be told.
fn now(asked: &Asked<'_>) -> Option<Timestamp> {
    (asked.clock.0)().try_into().ok()
}

impl Predicate for Window {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        let Some(now) = now(asked) else { return false };
        self.0.is_none_or(|from| now >= from) && self.1.is_none_or(|to| now < to)
    }
}

impl Predicate for Cron {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        let Some(now) = now(asked) else { return false };
        let now = self.zone.to_datetime(now);
        let has = |set: u64, number: i8| set >> number & 1 == 1;
        has(self.minutes, now.minute())
            && has(self.hours, now.hour())
            && has(self.days, now.day())
            && has(self.months, now.month())
            && has(self.weekdays, now.weekday().to_sunday_zero_offset())
    }
}
