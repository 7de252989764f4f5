//! Durations and sizes in words.

use std::time::Duration;

const NANOS_PER_DAY: u128 = 24 * 3600 * 1_000_000_000;

/// Units of a duration with their nanoseconds; longer names first where one begins another.
const DURATIONS: [(&str, u128); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3600 * 1_000_000_000),
    ("d", NANOS_PER_DAY),
];

/// Units of a size with their bytes.
const SIZES: [(&str, u64); 20] = [
    ("", 1),
    ("b", 1),
    ("k", 1_000),
    ("kb", 1_000),
    ("ki", 1 << 10),
    ("kib", 1 << 10),
    ("m", 1_000_000),
    ("mb", 1_000_000),
    ("mi", 1 << 20),
    ("mib", 1 << 20),
    ("g", 1_000_000_000),
    ("gb", 1_000_000_000),
    ("gi", 1 << 30),
    ("gib", 1 << 30),
    ("t", 1_000_000_000_000),
    ("tb", 1_000_000_000_000),
    ("ti", 1 << 40),
    ("tib", 1 << 40),
    ("p", 1_000_000_000_000_000),
    ("pb", 1_000_000_000_000_000),
];

/// Reads `1h30m`, `1.5s`, `2d`, `0`: decimal numbers with a unit each (only zero needs none), added up.
///
/// `None` for anything else, a sign, and more than 292 years (where Caddy's own type ends).
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(caddy_config::duration("1m30s"), Some(Duration::from_secs(90)));
/// assert_eq!(caddy_config::duration("90"), None);
/// ```
#[must_use]
pub fn duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let (number, tail) = split_number(rest);
        let unit_len = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(unit_len)?;
        let (_, nanos) = DURATIONS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(scaled(number, *nanos)?)?;
        rest = tail;
    }
    let nanos = u64::try_from(total)
        .ok()
        .filter(|nanos| i64::try_from(*nanos).is_ok())?;
    (!text.is_empty()).then(|| Duration::from_nanos(nanos))
}

/// [`duration`] in nanoseconds, which a `-` before it makes negative.
pub(crate) fn signed_duration(text: &str) -> Option<i64> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let nanos = i64::try_from(duration(rest)?.as_nanos()).ok()?;
    if negative {
        nanos.checked_neg()
    } else {
        Some(nanos)
    }
}

/// Reads `16KB` (powers of 1000), `16KiB` (powers of 1024), `1.5 MB`, `4096`; case does not matter.
pub(crate) fn size(text: &str) -> Option<u64> {
    let (number, unit) = split_number(text.trim());
    let unit = unit.trim().to_ascii_lowercase();
    let (_, bytes) = SIZES.iter().find(|(name, _)| *name == unit)?;
    u64::try_from(scaled(number, u128::from(*bytes))?).ok()
}

/// The leading digits and points, and what follows.
fn split_number(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// A decimal number times a unit, rounded down.
fn scaled(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len().checked_add(fraction.len())? == 0 || whole.len() > 20 || fraction.contains('.') {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // What lies behind the 18th decimal is below a nanosecond of a day.
    let digits: String = fraction.chars().take(18).collect();
    let scale = 10_u128.checked_pow(u32::try_from(digits.len()).ok()?)?;
    let part: u128 = if digits.is_empty() {
        0
    } else {
        digits.parse().ok()?
    };
    whole
        .checked_mul(unit)?
        .checked_add(part.checked_mul(unit)?.checked_div(scale)?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{duration, size};

    #[test]
    fn durations_read_as_in_caddy() {
        let cases = [
            ("0", 0),
            ("10s", 10_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5s", 1_500_000_000),
            (".5s", 500_000_000),
            ("1d", 86_400_000_000_000),
            ("0.5d", 43_200_000_000_000),
            ("250ms", 250_000_000),
            ("3us2ns", 3_002),
            ("1d12h", 129_600_000_000_000),
        ];
        for (text, nanos) in cases {
            assert_eq!(duration(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_none() {
        let cases = [
            "",
            "10",
            "s",
            "-1s",
            "+1s",
            "1x",
            "1.2.3s",
            "10 s",
            "1s ",
            ".",
            ".s",
            "9223372036854775808ns",
        ];
        for text in cases {
            assert_eq!(duration(text), None, "{text}");
        }
        assert_eq!(duration(&"9".repeat(1000)), None);
    }

    #[test]
    fn sizes_read_as_in_caddy() {
        let cases = [
            ("16KB", 16_000),
            ("16KiB", 16_384),
            ("16k", 16_000),
            ("4096", 4096),
            ("1.5 MB", 1_500_000),
            ("2gi", 2 << 30),
        ];
        for (text, bytes) in cases {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "KB", "-1KB", "1XB", "1.2.3", "99999999999999999999"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
