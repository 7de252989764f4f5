//! Predicates of the host.

use std::borrow::Cow;

use regex::Regex;

use super::{Predicate, Predicates, regexp, some_texts, texts};
use crate::routing::{Asked, hosts};

/// `Host(/re/)`.
#[derive(Debug)]
struct Host {
    expression: Expression,
    hosts: Option<Vec<String>>,
}

#[derive(Debug)]
enum Expression {
    /// One that is not needed to tell.
    Known(hosts::Known),
    Regexp(Regex),
}

/// `HostAny("a", "b:8080")`: the very host, with its port.
#[derive(Debug)]
struct HostAny(Vec<String>);

pub(super) fn add(all: &mut Predicates) {
    all.add(
        "Host",
        (
            "the Host, with its port, matches a regular expression",
            r#"Host(/^www[.]example[.]org$/)"#,
        ),
        |args| {
            let [text] = texts(args, "one regular expression")?;
            let text = any_label(text);
            let expression = match hosts::Known::of_regexp(&text) {
                Some(known) => Expression::Known(known),
                None => Expression::Regexp(regexp(&text)?),
            };
            Ok(Host {
                expression,
                hosts: hosts::of_regexp(&text),
            })
        },
    );
    all.add(
        "HostAny",
        (
            "the Host, with its port, is one of these",
            r#"HostAny("example.org", "example.org:8080")"#,
        ),
        |args| {
            let hosts = some_texts(args, "one or more hosts")?;
            Ok(HostAny(hosts.into_iter().map(str::to_owned).collect()))
        },
    );
}

/// `*.example.org`, which is no regular expression, is any one label before the rest.
fn any_label(text: &str) -> Cow<'_, str> {
    match text.strip_prefix("*.") {
        Some(rest) => format!(r"^[^.:]+[.]{}[.]?(:[0-9]+)?$", regex::escape(rest)).into(),
        None => text.into(),
    }
}

impl Predicate for Host {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        match &self.expression {
            Expression::Known(known) => known.matches(asked.host),
            Expression::Regexp(regexp) => regexp.is_match(asked.host),
        }
    }

    fn hosts(&self) -> Option<Vec<String>> {
        self.hosts.clone()
    }
}

impl Predicate for HostAny {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        self.0.iter().any(|host| host == asked.host)
    }

    fn hosts(&self) -> Option<Vec<String>> {
        Some(self.0.iter().map(|host| hosts::name(host).into_owned()).collect())
    }
}
