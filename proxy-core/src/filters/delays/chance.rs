//! How long a delay is: always the same, or as chance has it.

use std::f64::consts::TAU;
use std::time::Duration;

use eskip::filters::Args;
use eskip::routing::ArgsError;

/// What delays are like.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Spread {
    Fixed(Duration),
    /// Anything that is no further from the mean.
    Uniform {
        mean: Duration,
        delta: Duration,
    },
    Normal {
        mean: Duration,
        deviation: Duration,
    },
    /// Each from a length of time to another one, with its weight. The sum of the weights is above 0.
    Histogram(Vec<(Duration, f64, Duration)>),
}

// === impl Spread ===

impl Spread {
    pub(super) fn fixed(args: &mut Args<'_>) -> Result<Self, ArgsError> {
        args.duration("a length of time").map(Self::Fixed)
    }

    pub(super) fn uniform(args: &mut Args<'_>) -> Result<Self, ArgsError> {
        Ok(Self::Uniform {
            mean: args.duration("the mean")?,
            delta: args.duration("how far from the mean")?,
        })
    }

    pub(super) fn normal(args: &mut Args<'_>) -> Result<Self, ArgsError> {
        Ok(Self::Normal {
            mean: args.duration("the mean")?,
            deviation: args.duration("the standard deviation")?,
        })
    }

    pub(super) fn histogram(args: &mut Args<'_>) -> Result<Self, ArgsError> {
        let mut ranges = Vec::new();
        let mut from = args.duration("a length of time")?;
        while args.has_more() || ranges.is_empty() {
            let weight = args.number("a weight")?;
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(args.expected("a weight"));
            }
            let to = args.duration("a length of time")?;
            if to <= from {
                return Err(args.expected("a longer time than the one before"));
            }
            ranges.push((from, weight, to));
            from = to;
        }
        if ranges.iter().all(|(_, weight, _)| *weight == 0.0) {
            return Err(args.expected("a weight above 0"));
        }
        Ok(Self::Histogram(ranges))
    }

    /// One delay.
    pub(super) fn sample(&self, random: impl Fn() -> u64) -> Duration {
        let seconds = match self {
            Self::Fixed(delay) => return *delay,
            Self::Uniform { mean, delta } => {
                let side = 2.0 * chance(random()) - 1.0;
                mean.as_secs_f64() + side * delta.as_secs_f64()
            }
            Self::Normal { mean, deviation } => {
                mean.as_secs_f64() + normal(&random) * deviation.as_secs_f64()
            }
            Self::Histogram(ranges) => of_ranges(ranges, &random),
        };
        Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default()
    }
}

fn of_ranges(ranges: &[(Duration, f64, Duration)], random: impl Fn() -> u64) -> f64 {
    let sum: f64 = ranges.iter().map(|(_, weight, _)| weight).sum();
    let mut left = chance(random()) * sum;
    let mut chosen = None;
    for (from, weight, to) in ranges.iter().filter(|(_, weight, _)| *weight > 0.0) {
        chosen = Some((from.as_secs_f64(), to.as_secs_f64()));
        if left < *weight {
            break;
        }
        left -= weight;
    }
    let (from, to) = chosen.unwrap_or_default();
    from + (to - from) * chance(random())
}

/// A number from 0 to below 1.
pub(in crate::filters) fn chance(random: u64) -> f64 {
    // What a double holds exactly.
    #[expect(clippy::cast_precision_loss, reason = "53 bits have none")]
    let numerator = (random >> 11) as f64;
    numerator / (1_u64 << 53) as f64
}

/// A number of the standard normal distribution, by Box and Muller.
fn normal(random: impl Fn() -> u64) -> f64 {
    // Not 0, which has no logarithm.
    let (one, other) = (1.0 - chance(random()), chance(random()));
    (-2.0 * one.ln()).sqrt() * (TAU * other).cos()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The same numbers each time, which are spread well.
    fn numbers() -> impl Fn() -> u64 {
        let state = Cell::new(1_u64);
        move || {
            let mut next = state.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
            state.set(next);
            next = (next ^ (next >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            next = (next ^ (next >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            next ^ (next >> 31)
        }
    }

    fn samples(spread: &Spread) -> Vec<f64> {
        let random = numbers();
        (0..10_000)
            .map(|_| spread.sample(&random).as_secs_f64())
            .collect()
    }

    fn read(text: &str, read: fn(&mut Args<'_>) -> Result<Spread, ArgsError>) -> Result<Spread, String> {
        let calls = eskip::parse_filters(text).unwrap();
        read(&mut Args::new(&calls[0].args)).map_err(|error| error.0)
    }

    #[test]
    fn uniform_delays_are_about_the_mean_and_no_further() {
        let spread = read(r#"x("100ms", "10ms")"#, Spread::uniform).unwrap();
        let all = samples(&spread);
        assert!(all.iter().all(|delay| (0.09..=0.11).contains(delay)));
        let below = all.iter().filter(|delay| **delay < 0.095).count();
        assert!((2300..2700).contains(&below), "{below}");
    }

    #[test]
    fn normal_delays_are_about_the_mean_and_never_negative() {
        let spread = read(r#"x("10ms", "5ms")"#, Spread::normal).unwrap();
        let all = samples(&spread);
        let near = all.iter().filter(|delay| (0.005..0.015).contains(*delay)).count();
        assert!((6600..7050).contains(&near), "{near}");
        assert!(all.contains(&0.0), "what would be before now is now");
    }

    #[test]
    fn delays_of_a_histogram_are_as_likely_as_its_weights() {
        let spread = read(
            r#"x("0ms", 50, "5ms", 0, "10ms", 30, "15ms", 20, "20ms")"#,
            Spread::histogram,
        )
        .unwrap();
        let all = samples(&spread);
        let within = |from: f64, to: f64| all.iter().filter(|delay| **delay >= from && **delay < to).count();
        assert!((4800..5200).contains(&within(0.0, 0.005)));
        assert_eq!(within(0.005, 0.010), 0);
        assert!((2800..3200).contains(&within(0.010, 0.015)));
        assert!((1800..2200).contains(&within(0.015, 0.020)));
        assert_eq!(within(0.0, 0.020), all.len());
    }

    #[test]
    fn histograms_that_say_nothing_are_refused() {
        for wrong in [
            r"x()",
            r#"x("1ms")"#,
            r#"x("1ms", 1)"#,
            r#"x("1ms", 1, "1ms")"#,
            r#"x("1ms", -1, "2ms")"#,
            r#"x("1ms", 0, "2ms")"#,
            r#"x("1ms", 1, "2ms", 3)"#,
        ] {
            assert!(read(wrong, Spread::histogram).is_err(), "{wrong}");
        }
    }
}
