//! How times and durations are written.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::digits::{push_number, push_padded};
use super::layout::Layout;

/// How the time of a line is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TimeFormat {
    /// Seconds since 1970 with a fraction, the usual form in JSON.
    Seconds,
    /// Milliseconds since 1970 with a fraction.
    Millis,
    /// Nanoseconds since 1970.
    Nanos,
    /// As text.
    Text(Layout, TimeZone),
}

/// How durations are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DurationFormat {
    /// Seconds with a fraction.
    #[default]
    Seconds,
    /// Whole milliseconds.
    Millis,
    /// Nanoseconds.
    Nanos,
    /// Text such as `1.5ms`.
    Text,
}

// === impl TimeFormat ===

impl TimeFormat {
    /// By Caddy's name of it, or a layout of Go.
    pub(crate) fn named(name: &str, is_local: bool) -> Self {
        let layout = match name {
            "unix_seconds_float" => return Self::Seconds,
            "unix_milli_float" => return Self::Millis,
            "unix_nano" => return Self::Nanos,
            "iso8601" => "2006-01-02T15:04:05.000Z0700",
            "rfc3339" => "2006-01-02T15:04:05Z07:00",
            "rfc3339_nano" => "2006-01-02T15:04:05.999999999Z07:00",
            "wall" => "2006/01/02 15:04:05",
            "wall_milli" => "2006/01/02 15:04:05.000",
            "wall_nano" => "2006/01/02 15:04:05.000000000",
            "common_log" => "02/Jan/2006:15:04:05 -0700",
            other => other,
        };
        let zone = if is_local {
            TimeZone::system()
        } else {
            TimeZone::UTC
        };
        Self::Text(Layout::parse(layout), zone)
    }

    /// Whether it is written as text, not as a number.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Text(..))
    }

    pub(super) fn write(&self, at: SystemTime, out: &mut String) {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        match self {
            Self::Seconds => with_fraction(out, since.as_secs(), since.subsec_micros(), 6),
            Self::Millis => with_fraction(out, whole(since.as_millis()), since.subsec_nanos() % 1_000_000, 6),
            Self::Nanos => push_number(out, whole(since.as_nanos())),
            Self::Text(layout, zone) => {
                let at = Timestamp::try_from(at).unwrap_or_default();
                layout.write(&at.to_zoned_datetime(zone.clone()), out);
            }
        }
    }
}

// === impl DurationFormat ===

impl DurationFormat {
    /// By Caddy's names of it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "" | "s" | "second" | "seconds" => Self::Seconds,
            "ms" | "milli" | "millis" => Self::Millis,
            "ns" | "nano" | "nanos" => Self::Nanos,
            "string" => Self::Text,
            _ => return None,
        })
    }

    /// Writes it as it stands in JSON.
    pub(super) fn write(self, duration: Duration, out: &mut String) {
        match self {
            Self::Seconds => with_fraction(out, duration.as_secs(), duration.subsec_nanos(), 9),
            Self::Millis => push_number(out, whole(duration.as_millis())),
            Self::Nanos => push_number(out, whole(duration.as_nanos())),
            Self::Text => {
                out.push('"');
                out.push_str(&text(duration));
                out.push('"');
            }
        }
    }
}

fn with_fraction(out: &mut String, whole: u64, fraction: u32, width: usize) {
    push_number(out, whole);
    out.push('.');
    push_padded(out, fraction.into(), width);
}

/// Nanoseconds of five centuries fit.
fn whole(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// As Go prints it: `1h2m3.5s`, `1.5ms`, `0s`.
fn text(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let (unit, scale) = match nanos {
        0 => return "0s".to_owned(),
        1..1_000 => ("ns", 1),
        1_000..1_000_000 => ("\u{b5}s", 1_000),
        1_000_000..1_000_000_000 => ("ms", 1_000_000),
        _ => ("s", 1_000_000_000),
    };
    if scale < 1_000_000_000 {
        return format!("{}{unit}", fraction(nanos, scale));
    }
    let minutes = duration.as_secs() / 60;
    let seconds = fraction(nanos % 60_000_000_000, scale);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// `nanos / scale`, without zeros at the end.
fn fraction(nanos: u128, scale: u128) -> String {
    let width = scale.ilog10() as usize;
    let digits = format!("{:0width$}", nanos % scale);
    match digits.trim_end_matches('0') {
        "" => (nanos / scale).to_string(),
        digits => format!("{}.{digits}", nanos / scale),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(format: &TimeFormat) -> String {
        let mut out = String::new();
        format.write(UNIX_EPOCH + Duration::new(1_796_044_641, 612_065_600), &mut out);
        out
    }

    #[test]
    fn times_are_numbers_or_text() {
        for (name, expected) in [
            ("unix_seconds_float", "1796044641.612065"),
            ("unix_milli_float", "1796044641612.065600"),
            ("unix_nano", "1796044641612065600"),
            ("iso8601", "2026-11-30T13:17:21.612Z"),
            ("rfc3339", "2026-11-30T13:17:21Z"),
            ("rfc3339_nano", "2026-11-30T13:17:21.6120656Z"),
            ("wall", "2026/11/30 13:17:21"),
            ("wall_milli", "2026/11/30 13:17:21.612"),
            ("wall_nano", "2026/11/30 13:17:21.612065600"),
            ("common_log", "30/Nov/2026:13:17:21 +0000"),
            ("02.01.2006", "30.11.2026"),
        ] {
            assert_eq!(at(&TimeFormat::named(name, false)), expected, "{name}");
        }
    }

    #[test]
    fn durations_are_numbers_or_text() {
        let duration = Duration::from_nanos(143_094);
        for (name, expected) in [
            ("seconds", "0.000143094"),
            ("ms", "0"),
            ("ns", "143094"),
            ("string", "\"143.094\u{b5}s\""),
        ] {
            let mut out = String::new();
            DurationFormat::named(name).unwrap().write(duration, &mut out);
            assert_eq!(out, expected, "{name}");
        }
        assert_eq!(DurationFormat::named("fortnights"), None);
    }

    #[test]
    fn durations_as_text_are_those_of_go() {
        for (duration, expected) in [
            (Duration::ZERO, "0s"),
            (Duration::from_nanos(999), "999ns"),
            (Duration::from_micros(1500), "1.5ms"),
            (Duration::from_millis(2050), "2.05s"),
            (Duration::from_secs(60), "1m0s"),
            (Duration::from_millis(3_723_500), "1h2m3.5s"),
        ] {
            assert_eq!(text(duration), expected);
        }
    }
}
