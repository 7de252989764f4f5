//! Values of fields that regular expressions match: changed, or dropped.

use std::borrow::Cow;

use http::header::{self, HeaderName, HeaderValue};
use regex::Regex;

use super::args::Args;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::headers::{Side, retain, text};
use super::registry::Filters;
use crate::Arg;
use crate::routing::ArgsError;

/// Replaces what matches in each value.
#[derive(Debug)]
struct Modify {
    side: Side,
    name: HeaderName,
    pattern: Regex,
    replacement: String,
}

/// Drops the values that match.
#[derive(Debug)]
struct DropMatching {
    side: Side,
    name: HeaderName,
    pattern: Regex,
}

pub(super) fn add(all: &mut Filters) {
    for (name, side, about) in [
        (
            "modRequestHeader",
            Side::Request,
            (
                "replaces what matches a regular expression in the values of a field of the request",
                r#"modRequestHeader("Accept-Language", /^de-(AT|CH)$/, "de")"#,
            ),
        ),
        (
            "modResponseHeader",
            Side::Response,
            (
                "replaces what matches a regular expression in the values of a field of the answer",
                r#"modResponseHeader("Location", /^http:/, "https:")"#,
            ),
        ),
    ] {
        all.add(name, about, move |args| Modify::create(args, side));
    }
    for (name, side, about) in [
        (
            "dropRequestHeaderRegexp",
            Side::Request,
            (
                "removes those values of a field of the request that match a regular expression",
                r#"dropRequestHeaderRegexp("X-Tag", /^internal-/)"#,
            ),
        ),
        (
            "dropRequestHeaderValueRegexp",
            Side::Request,
            (
                "another name of `dropRequestHeaderRegexp`",
                r#"dropRequestHeaderValueRegexp("X-Tag", /^internal-/)"#,
            ),
        ),
        (
            "dropResponseHeaderRegexp",
            Side::Response,
            (
                "removes those values of a field of the answer that match a regular expression",
                r#"dropResponseHeaderRegexp("Link", /rel=preload/)"#,
            ),
        ),
        (
            "dropResponseHeaderValueRegexp",
            Side::Response,
            (
                "another name of `dropResponseHeaderRegexp`",
                r#"dropResponseHeaderValueRegexp("Link", /rel=preload/)"#,
            ),
        ),
    ] {
        all.add(name, about, move |args| DropMatching::create(args, side));
    }
}

// === impl Modify ===

impl Modify {
    fn create(args: &[Arg], side: Side) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (name, pattern) = (args.field_name()?, args.regexp()?);
        let replacement = args.text("what replaces it")?.to_owned();
        args.end()?;
        Ok(Self {
            side,
            name,
            pattern,
            replacement,
        })
    }

    fn run(&self, cx: &mut FilterContext<'_>) -> Flow {
        if self.side == Side::Request && self.name == header::HOST {
            // It is set even if nothing matches: whoever names it wants the backend to be told it.
            let host = self.side.first(&self.name, cx);
            if let Some(host) = host {
                let changed = self.change(&host).unwrap_or(host);
                self.side.set(&self.name, changed, cx);
            }
        } else if let Some(fields) = self.side.fields(cx)
            && let header::Entry::Occupied(mut entry) = fields.entry(&self.name)
        {
            for value in entry.iter_mut() {
                if let Some(changed) = self.change(value) {
                    *value = changed;
                }
            }
        }
        Flow::Next
    }

    /// The new value; `None` if nothing matches, or nothing that a field can hold came out.
    fn change(&self, value: &HeaderValue) -> Option<HeaderValue> {
        match self.pattern.replace_all(text(value)?, self.replacement.as_str()) {
            Cow::Borrowed(_) => None,
            Cow::Owned(changed) => HeaderValue::try_from(changed).ok(),
        }
    }
}

impl Filter for Modify {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn wants(&self) -> Wants {
        self.side.wants()
    }
}

// === impl DropMatching ===

impl DropMatching {
    fn create(args: &[Arg], side: Side) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (name, pattern) = (args.field_name()?, args.regexp()?);
        args.end()?;
        Ok(Self { side, name, pattern })
    }

    fn run(&self, cx: &mut FilterContext<'_>) -> Flow {
        let stays = |value: &HeaderValue| !text(value).is_some_and(|text| self.pattern.is_match(text));
        if let Some(fields) = self.side.fields(cx) {
            retain(fields, &self.name, stays);
        }
        Flow::Next
    }
}

impl Filter for DropMatching {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn wants(&self) -> Wants {
        self.side.wants()
    }
}

#[cfg(test)]
mod tests {
    use crate::filters::trial::Trial;

    #[test]
    fn what_matches_in_a_value_is_replaced() {
        let mut trial = Trial::get("/")
            .with("x", "a-b-c")
            .with("x", "d")
            .answered_with("y", "http://a/");
        trial.run(
            r#"modRequestHeader("X", /(\w)-(?P<n>\w)/, "${n}$1") -> modResponseHeader("Y", /^http:/, "https:") ->
            modRequestHeader("Z", /.*/, "never")"#,
        );
        assert_eq!(trial.field("x"), ["ba-c", "d"]);
        assert_eq!(trial.answer_field("y"), ["https://a/"]);
        assert!(trial.field("z").is_empty());
    }

    #[test]
    fn a_group_that_is_not_there_is_empty() {
        let mut trial = Trial::get("/").with("x", "a-b");
        trial.run(r#"modRequestHeader("X", /(\w)-/, "[$1x$$]")"#);
        assert_eq!(trial.field("x"), ["[$]b"]);
    }

    #[test]
    fn the_host_of_the_client_can_be_changed() {
        let mut trial = Trial::get("/");
        trial.request(r#"modRequestHeader("Host", /^www\./, "")"#);
        assert_eq!(trial.field("host"), ["example.org"]);
        trial.request(r#"modRequestHeader("Host", /example/, " ")"#);
        assert_eq!(trial.field("host"), ["example.org"]);
        let mut trial = Trial::get("/");
        trial.request(r#"modRequestHeader("Host", /none/, "")"#);
        assert_eq!(trial.field("host"), ["www.example.org"]);
    }

    #[test]
    fn a_value_that_no_field_can_hold_is_not_set() {
        let mut trial = Trial::get("/").with("x", "a b");
        trial.request("modRequestHeader(\"X\", / /, \"\\n\")");
        assert_eq!(trial.field("x"), ["a b"]);
    }

    #[test]
    fn values_that_match_are_dropped() {
        let mut trial = Trial::get("/").with("x", "a1").with("x", "b").with("x", "a2");
        trial = trial.answered_with("y", "a1").answered_with("z", "a1");
        trial.run(
            r#"dropRequestHeaderRegexp("X", /^a\d$/) -> dropResponseHeaderRegexp("Y", /^a/) ->
            dropResponseHeaderValueRegexp("Z", /b/) -> dropRequestHeaderValueRegexp("Z", /b/)"#,
        );
        assert_eq!(trial.field("x"), ["b"]);
        assert!(trial.answer_field("y").is_empty());
        assert_eq!(trial.answer_field("z"), ["a1"]);
    }

    #[test]
    fn what_is_no_regular_expression_is_a_mistake() {
        assert!(
            Trial::mistake(r#"modRequestHeader("X", "(", "")"#)
                .contains("argument 2 is no regular expression")
        );
    }
}
