//! Predicates of the header field `Forwarded` (RFC 7239).

use http::header::FORWARDED;
use regex::Regex;

use super::{Predicate, Predicates, regexp, texts, wanted};
use crate::routing::Asked;

/// `ForwardedHost(/re/)`.
#[derive(Debug)]
struct ForwardedHost(Regex);

/// `ForwardedProtocol("https")`.
#[derive(Debug)]
struct ForwardedProtocol(String);

pub(super) fn add(all: &mut Predicates) {
    all.add(
        "ForwardedHost",
        (
            "the last host of the field Forwarded matches a regular expression",
            r#"ForwardedHost(/^example[.]org$/)"#,
        ),
        |args| {
            let [text] = texts(args, "one regular expression")?;
            Ok(ForwardedHost(regexp(text)?))
        },
    );
    all.add(
        "ForwardedProtocol",
        (
            "the last protocol of the field Forwarded is http or https",
            r#"ForwardedProtocol("https")"#,
        ),
        |args| match texts(args, "http or https")? {
            [scheme @ ("http" | "https")] => Ok(ForwardedProtocol(scheme.to_owned())),
            _ => wanted("http or https"),
        },
    );
}

/// The last value of a parameter in the whole chain.
fn last<'r>(asked: &Asked<'r>, name: &str) -> Option<&'r str> {
    let pairs = asked.values(&FORWARDED).flat_map(|value| value.split([',', ';']));
    let pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    let values = pairs.filter(|(given, _)| given.trim().eq_ignore_ascii_case(name));
    values.map(|(_, value)| value.trim().trim_matches('"')).last()
}

impl Predicate for ForwardedHost {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        last(asked, "host").is_some_and(|host| self.0.is_match(host))
    }
}

impl Predicate for ForwardedProtocol {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        last(asked, "proto").is_some_and(|scheme| scheme.eq_ignore_ascii_case(&self.0))
    }
}
