//! Predicates that hold for a share of the requests.

use super::{Predicate, Predicates, wanted};
use crate::{Arg, routing::Asked};

/// `Traffic(share)` and `Traffic(share, "cookie", "group")`.
#[derive(Debug)]
struct Traffic {
    share: f64,
    /// A cookie, and its value for those who are in.
    sticky: Option<(String, String)>,
}

/// `TrafficSegment(from, to)`: of one number that the whole request has.
#[derive(Debug)]
struct TrafficSegment(f64, f64);

pub(super) fn add(all: &mut Predicates) {
    all.add(
        "Traffic",
        (
            "by chance, for a share of the requests, unless they have a cookie that decides it",
            r#"Traffic(0.3, "canary", "B")"#,
        ),
        |args| {
            let what = "a share from 0 to 1, and perhaps the name of a cookie and its value";
            let (share, sticky) = match args {
                [Arg::Number(share)] => (*share, None),
                [Arg::Number(share), Arg::Text(cookie), Arg::Text(group)] => {
                    (*share, Some((cookie.clone(), group.clone())))
                }
                _ => return wanted(what),
            };
            if !(0.0..=1.0).contains(&share) {
                return wanted(what);
            }
            Ok(Traffic { share, sticky })
        },
    );
    all.add(
        "TrafficSegment",
        (
            "the request's random number, the same for all routes, is from one to below another",
            r#"TrafficSegment(0, 0.3)"#,
        ),
        |args| match args {
            [Arg::Number(from), Arg::Number(to)] if 0.0 <= *from && from <= to && *to <= 1.0 => {
                Ok(TrafficSegment(*from, *to))
            }
            _ => wanted("two numbers from 0 to 1, the first not above the second"),
        },
    );
}

impl Predicate for Traffic {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        let decided = self.sticky.as_ref().and_then(|(cookie, group)| {
            let value = asked.cookies(cookie).next()?;
            Some(value == group)
        });
        decided.unwrap_or_else(|| (asked.dice.0)() < self.share)
    }
}

impl Predicate for TrafficSegment {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        self.0 <= asked.chance && asked.chance < self.1
    }
}
