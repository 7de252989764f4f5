//! Layouts of times as Go has them: the time `Mon Jan 2 15:04:05 MST 2006` written in the wanted form.

use std::fmt::Write as _;

use jiff::ZonedDateTime;

/// A layout in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Part(Part),
    /// Digits of a second behind a `.` or `,`; if not `fixed`, without zeros at the end.
    Fraction {
        mark: char,
        digits: usize,
        fixed: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Year,
    ShortYear,
    MonthName,
    ShortMonthName,
    Month,
    MonthDigits,
    WeekdayName,
    ShortWeekdayName,
    Day,
    DayDigits,
    DaySpaced,
    DayOfYear,
    DayOfYearSpaced,
    Hour,
    Hour12,
    Hour12Digits,
    Minute,
    MinuteDigits,
    Second,
    SecondDigits,
    UpperNoon,
    LowerNoon,
    ZoneName,
    /// Hours of the offset, whether minutes follow, behind a colon or not, and whether UTC is `Z`.
    Offset {
        minutes: bool,
        colon: bool,
        z: bool,
    },
}

const fn offset(minutes: bool, colon: bool, z: bool) -> Part {
    Part::Offset { minutes, colon, z }
}

/// What stands for what; of two that fit the longer one comes first.
const PARTS: [(&str, Part); 29] = [
    ("2006", Part::Year),
    ("Z07:00", offset(true, true, true)),
    ("-07:00", offset(true, true, false)),
    ("Z0700", offset(true, false, true)),
    ("-0700", offset(true, false, false)),
    ("Z07", offset(false, false, true)),
    ("-07", offset(false, false, false)),
    ("January", Part::MonthName),
    ("Jan", Part::ShortMonthName),
    ("Monday", Part::WeekdayName),
    ("Mon", Part::ShortWeekdayName),
    ("MST", Part::ZoneName),
    ("__2", Part::DayOfYearSpaced),
    ("002", Part::DayOfYear),
    ("_2", Part::DaySpaced),
    ("PM", Part::UpperNoon),
    ("pm", Part::LowerNoon),
    ("15", Part::Hour),
    ("01", Part::MonthDigits),
    ("02", Part::DayDigits),
    ("03", Part::Hour12Digits),
    ("04", Part::MinuteDigits),
    ("05", Part::SecondDigits),
    ("06", Part::ShortYear),
    ("1", Part::Month),
    ("2", Part::Day),
    ("3", Part::Hour12),
    ("4", Part::Minute),
    ("5", Part::Second),
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

// === impl Layout ===

impl Layout {
    /// Every text is a layout; what stands for nothing is itself.
    pub(crate) fn parse(mut text: &str) -> Self {
        let mut pieces: Vec<Piece> = Vec::new();
        while let Some(first) = text.chars().next() {
            let (piece, rest) = match piece(text) {
                Some(found) => found,
                None => {
                    let (plain, rest) = text.split_at(first.len_utf8());
                    if let Some(Piece::Text(before)) = pieces.last_mut() {
                        before.push_str(plain);
                        text = rest;
                        continue;
                    }
                    (Piece::Text(plain.to_owned()), rest)
                }
            };
            pieces.push(piece);
            text = rest;
        }
        Self(pieces)
    }

    /// Writes `time` in this form.
    pub(crate) fn write(&self, time: &ZonedDateTime, out: &mut String) {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Part(part) => part.write(time, out),
                Piece::Fraction { mark, digits, fixed } => {
                    let nanos = format!("{:09}", time.subsec_nanosecond());
                    let shown = nanos.get(..*digits).unwrap_or(&nanos);
                    let shown = if *fixed {
                        shown
                    } else {
                        shown.trim_end_matches('0')
                    };
                    if !shown.is_empty() {
                        out.push(*mark);
                        out.push_str(shown);
                    }
                }
            }
        }
    }
}

fn piece(text: &str) -> Option<(Piece, &str)> {
    if let Some(found) = fraction(text) {
        return Some(found);
    }
    let (name, part) = PARTS.iter().find(|(name, _)| text.starts_with(name))?;
    let rest = text.strip_prefix(name)?;
    // `Jan` and `Mon` are parts only if no word goes on behind them.
    let is_word = matches!(part, Part::ShortMonthName | Part::ShortWeekdayName);
    if is_word && rest.starts_with(|next: char| next.is_ascii_lowercase()) {
        return None;
    }
    Some((Piece::Part(*part), rest))
}

/// `.000` or `,999` and the like, as long as no other digit follows.
fn fraction(text: &str) -> Option<(Piece, &str)> {
    let mark = text.chars().next().filter(|mark| matches!(mark, '.' | ','))?;
    let rest = text.split_at(1).1;
    let digit = rest.chars().next().filter(|digit| matches!(digit, '0' | '9'))?;
    let behind = rest.trim_start_matches(digit);
    let digits = rest.len() - behind.len();
    if digits > 9 || behind.starts_with(|next: char| next.is_ascii_digit()) {
        return None;
    }
    let fixed = digit == '0';
    Some((Piece::Fraction { mark, digits, fixed }, behind))
}

// === impl Part ===

impl Part {
    fn write(self, time: &ZonedDateTime, out: &mut String) {
        let name = |names: &[&'static str], index: i8| {
            usize::try_from(index - 1)
                .ok()
                .and_then(|index| names.get(index).copied())
                .unwrap_or_default()
        };
        let short = |name: &'static str| name.get(..3).unwrap_or(name);
        let month = name(&MONTHS, time.month());
        let weekday = name(&WEEKDAYS, time.weekday().to_monday_one_offset());
        let hour12 = match time.hour() % 12 {
            0 => 12,
            hour => hour,
        };
        let noon = if time.hour() < 12 { "AM" } else { "PM" };
        let written = match self {
            Self::Year => write!(out, "{:04}", time.year()),
            Self::ShortYear => write!(out, "{:02}", time.year() % 100),
            Self::MonthName => out.write_str(month),
            Self::ShortMonthName => out.write_str(short(month)),
            Self::Month => write!(out, "{}", time.month()),
            Self::MonthDigits => write!(out, "{:02}", time.month()),
            Self::WeekdayName => out.write_str(weekday),
            Self::ShortWeekdayName => out.write_str(short(weekday)),
            Self::Day => write!(out, "{}", time.day()),
            Self::DayDigits => write!(out, "{:02}", time.day()),
            Self::DaySpaced => write!(out, "{:2}", time.day()),
            Self::DayOfYear => write!(out, "{:03}", time.day_of_year()),
            Self::DayOfYearSpaced => write!(out, "{:3}", time.day_of_year()),
            Self::Hour => write!(out, "{:02}", time.hour()),
            Self::Hour12 => write!(out, "{hour12}"),
            Self::Hour12Digits => write!(out, "{hour12:02}"),
            Self::Minute => write!(out, "{}", time.minute()),
            Self::MinuteDigits => write!(out, "{:02}", time.minute()),
            Self::Second => write!(out, "{}", time.second()),
            Self::SecondDigits => write!(out, "{:02}", time.second()),
            Self::UpperNoon => out.write_str(noon),
            Self::LowerNoon => out.write_str(&noon.to_ascii_lowercase()),
            Self::ZoneName => zone_name(time, out),
            Self::Offset { minutes, colon, z } => write_offset(time, (minutes, colon, z), out),
        };
        debug_assert!(written.is_ok(), "a String takes all text");
    }
}

fn zone_name(time: &ZonedDateTime, out: &mut String) -> std::fmt::Result {
    let info = time.time_zone().to_offset_info(time.timestamp());
    out.write_str(info.abbreviation())
}

fn write_offset(
    time: &ZonedDateTime,
    (minutes, colon, z): (bool, bool, bool),
    out: &mut String,
) -> std::fmt::Result {
    let seconds = time.offset().seconds();
    if z && seconds == 0 {
        return out.write_str("Z");
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let total = seconds.unsigned_abs() / 60;
    write!(out, "{sign}{:02}", total / 60)?;
    if minutes {
        let colon = if colon { ":" } else { "" };
        write!(out, "{colon}{:02}", total % 60)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(layout: &str, time: &str) -> String {
        let mut out = String::new();
        Layout::parse(layout).write(&time.parse().unwrap(), &mut out);
        out
    }

    #[test]
    fn the_parts_of_go_are_known() {
        let time = "2026-03-07T15:04:09.120045000+01:00[Europe/Berlin]";
        for (layout, expected) in [
            ("2006/01/02 15:04:05", "2026/03/07 15:04:09"),
            ("2006-01-02T15:04:05.000Z0700", "2026-03-07T15:04:09.120+0100"),
            ("2006-01-02T15:04:05Z07:00", "2026-03-07T15:04:09+01:00"),
            (
                "2006-01-02T15:04:05.999999999Z07:00",
                "2026-03-07T15:04:09.120045+01:00",
            ),
            ("02/Jan/2006:15:04:05 -0700", "07/Mar/2026:15:04:09 +0100"),
            (
                "Mon Jan _2 15:04:05.000 MST 2006 PM 03 -07:00",
                "Sat Mar  7 15:04:09.120 CET 2026 PM 03 +01:00",
            ),
            (
                "Monday, January 2, 06 3:4:5pm -07",
                "Saturday, March 7, 26 3:4:9pm +01",
            ),
            ("002 __2 1", "066  66 3"),
            ("Month Monk 05,000000", "Month Monk 09,120045"),
            ("20060102150405", "20260307150409"),
            ("", ""),
            ("ab \u{e9}", "ab \u{e9}"),
        ] {
            assert_eq!(shown(layout, time), expected, "{layout}");
        }
    }

    #[test]
    fn utc_midnight_and_whole_seconds_have_their_own_forms() {
        let time = "2026-12-31T00:00:00+00:00[UTC]";
        assert_eq!(
            shown("3PM Z07:00 Z0700 Z07 MST -0700", time),
            "12AM Z Z Z UTC +0000"
        );
        assert_eq!(shown("05.999|05.000", time), "00|00.000");
    }
}
