//! When a backend that fails is left alone.

use std::time::Duration;

use super::args::Args;
use super::registry::Filters;
use super::settings::{Breaker, BreakerKind};
use super::settles::Settles;
use crate::routing::ArgsError;

pub(super) fn add(all: &mut Filters) {
    all.add(
        "consecutiveBreaker",
        (
            "leaves the backend alone for a time after so many failures in a row",
            r#"consecutiveBreaker(5, "30s", 2, "1h")"#,
        ),
        |args| {
            let mut args = Args::new(args);
            let failures = count(&mut args, "a number of failures")?;
            breaker(args, BreakerKind::Consecutive { failures })
        },
    );
    all.add(
        "rateBreaker",
        (
            "leaves the backend alone for a time after so many failures among the last requests",
            r#"rateBreaker(30, 300, "30s", 2, "1h")"#,
        ),
        |args| {
            let mut args = Args::new(args);
            let failures = count(&mut args, "a number of failures")?;
            let window = count(&mut args, "a number of requests")?;
            breaker(args, BreakerKind::Rate { failures, window })
        },
    );
    all.add(
        "disableBreaker",
        ("has no breaker for the backend", "disableBreaker()"),
        |args| {
            Args::new(args).end()?;
            Ok(settles(Breaker {
                kind: Some(BreakerKind::Disabled),
                ..Breaker::default()
            }))
        },
    );
}

/// What stands behind the kind. Zero is what is not said.
fn breaker(mut args: Args<'_>, kind: BreakerKind) -> Result<Settles<Breaker>, ArgsError> {
    let mut breaker = Breaker {
        kind: Some(kind),
        ..Breaker::default()
    };
    if args.has_more() {
        breaker.timeout = time(&mut args)?;
    }
    if args.has_more() {
        breaker.half_open = Some(args.whole("a number of requests")?).filter(|count| *count > 0);
    }
    if args.has_more() {
        breaker.idle_ttl = time(&mut args)?;
    }
    args.end()?;
    Ok(settles(breaker))
}

fn settles(breaker: Breaker) -> Settles<Breaker> {
    Settles::new(breaker, |route, breaker| route.breaker = Some(*breaker))
}

fn count(args: &mut Args<'_>, what: &str) -> Result<u32, ArgsError> {
    match args.whole(what)? {
        0 => Err(args.expected(what)),
        count => Ok(count),
    }
}

fn time(args: &mut Args<'_>) -> Result<Option<Duration>, ArgsError> {
    let time = args.duration("a length of time")?;
    Ok(Some(time).filter(|time| !time.is_zero()))
}

// === impl Breaker ===

impl Breaker {
    /// These settings, and for what they leave open those that are less specific: of the host for those of a route, of
    /// the whole proxy for those of a host.
    #[must_use]
    pub fn over(self, less_specific: Self) -> Self {
        Self {
            kind: self.kind.or(less_specific.kind),
            timeout: self.timeout.or(less_specific.timeout),
            half_open: self.half_open.or(less_specific.half_open),
            idle_ttl: self.idle_ttl.or(less_specific.idle_ttl),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::trial::Trial;

    fn of(text: &str) -> Breaker {
        Trial::settings(text).breaker.unwrap()
    }

    #[test]
    fn failures_in_a_row_or_among_the_last_requests_open_a_breaker() {
        let kind = Some(BreakerKind::Consecutive { failures: 5 });
        assert_eq!(
            of("consecutiveBreaker(5)"),
            Breaker {
                kind,
                ..Breaker::default()
            }
        );
        assert_eq!(
            of(r#"consecutiveBreaker(5, "4m", 45, 300000)"#),
            Breaker {
                kind,
                timeout: Some(Duration::from_secs(240)),
                half_open: Some(45),
                idle_ttl: Some(Duration::from_secs(300)),
            }
        );
        let kind = Some(BreakerKind::Rate {
            failures: 30,
            window: 300,
        });
        assert_eq!(
            of(r#"rateBreaker(30, 300, "4m", 45, "5m")"#),
            Breaker {
                kind,
                timeout: Some(Duration::from_secs(240)),
                half_open: Some(45),
                idle_ttl: Some(Duration::from_secs(300)),
            }
        );
    }

    #[test]
    fn zero_leaves_a_setting_to_others() {
        let breaker = of(r#"consecutiveBreaker(5, 0, 0, "0s")"#);
        assert_eq!(breaker, of("consecutiveBreaker(5)"));
    }

    #[test]
    fn the_last_breaker_of_a_route_counts() {
        let breaker = of(r#"rateBreaker(1, 2, "1s") -> disableBreaker()"#);
        assert_eq!(breaker, of("disableBreaker()"));
        assert_eq!(breaker.kind, Some(BreakerKind::Disabled));
    }

    #[test]
    fn breakers_without_a_number_of_failures_are_mistakes() {
        for wrong in [
            "consecutiveBreaker()",
            "consecutiveBreaker(0)",
            "consecutiveBreaker(1.5)",
            r#"consecutiveBreaker(1, "x")"#,
            r#"consecutiveBreaker(1, "1s", 1, "1s", 1)"#,
            "rateBreaker(1)",
            "rateBreaker(1, 0)",
            r#"rateBreaker(1, 2, "1s", 1, "1s", 1)"#,
            "disableBreaker(1)",
        ] {
            assert!(
                Trial::mistake(wrong).starts_with("invalid_filter_params"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn the_kind_is_taken_as_a_whole_and_the_rest_one_by_one() {
        let route = Breaker {
            timeout: Some(Duration::from_secs(1)),
            ..Breaker::default()
        };
        let host = of(r#"consecutiveBreaker(5, "2s", 3)"#);
        let proxy = of(r#"rateBreaker(30, 300, "4s", 4, "5s")"#);
        assert_eq!(
            route.over(host).over(proxy),
            Breaker {
                kind: Some(BreakerKind::Consecutive { failures: 5 }),
                timeout: Some(Duration::from_secs(1)),
                half_open: Some(3),
                idle_ttl: Some(Duration::from_secs(5)),
            }
        );
        assert_eq!(route.over(proxy).kind, proxy.kind);
        assert_eq!(
            of("disableBreaker()").over(proxy).kind,
            Some(BreakerKind::Disabled)
        );
        assert_eq!(Breaker::default().over(proxy), proxy);
    }
}
