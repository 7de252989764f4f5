//! Durations as Go writes them, which is how Caddy's placeholders and logs have them.

use std::fmt;
use std::time::Duration;

/// Writes such as `1h2m3.5s`, `12.345ms`, `7µs` or `0s`.
pub(super) struct GoDuration(pub(super) Duration);

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{nanos}ns"),
            1_000..1_000_000 => write!(f, "{}µs", Decimal(nanos, 3)),
            1_000_000..1_000_000_000 => write!(f, "{}ms", Decimal(nanos, 6)),
            _ => {
                let minutes = self.0.as_secs() / 60;
                if minutes >= 60 {
                    write!(f, "{}h", minutes / 60)?;
                }
                if minutes > 0 {
                    write!(f, "{}m", minutes % 60)?;
                }
                write!(f, "{}s", Decimal(nanos % 60_000_000_000, 9))
            }
        }
    }
}

/// A number with so many decimal places; zeros at the end are left out.
struct Decimal(u128, u32);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, places) = *self;
        let unit = 10_u128.pow(places);
        let (whole, rest) = (number / unit, number % unit);
        if rest == 0 {
            return whole.fmt(f);
        }
        let digits = format!("{rest:0width$}", width = places as usize);
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_does() {
        for (nanos, text) in [
            (0, "0s"),
            (7, "7ns"),
            (1_500, "1.5µs"),
            (12_345_000, "12.345ms"),
            (1_000_000_000, "1s"),
            (61_500_000_000, "1m1.5s"),
            (3_600_000_000_000, "1h0m0s"),
        ] {
            assert_eq!(GoDuration(Duration::from_nanos(nanos)).to_string(), text);
        }
    }
}
