//! What the access log says of a request, and what is written down beside a route.
//!
//! There is no tracer: what Skipper makes tags of a span are tags of the request here, which its line in the access log
//! shows.

use http::StatusCode;

use super::args::Args;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::registry::Filters;
use super::settings::AccessLog;
use super::settles::Settles;
use crate::routing::ArgsError;
use crate::routing::predicate::{baggage::baggage_item, claims::token_payload};
use crate::{Arg, Template};

/// `maskAccessLogQuery(keys...)`.
#[derive(Debug)]
struct MaskQuery(Vec<String>);

/// `comment(...)`.
#[derive(Debug)]
struct Comment;

/// `tracingTag` and those that do so when the answer is there.
#[derive(Debug)]
struct Tag {
    when: When,
    name: String,
    value: Template,
}

/// When a tag is set.
#[derive(Debug)]
enum When {
    Request,
    /// When an answer has a status from the first to the second.
    Response(u16, u16),
}

/// A tag with a value that is somewhere else already.
#[derive(Debug)]
struct Copied {
    from: From,
    name: String,
}

#[derive(Debug)]
enum From {
    /// An item of the field Baggage.
    Baggage(String),
    /// A value in the state bag.
    Bag(String),
    /// A claim of the bearer's token, which nobody has verified.
    Claim(String),
}

pub(super) fn add(all: &mut Filters) {
    add_access_log(all);
    add_notes(all);
    add_tags(all);
    add_copies(all);
}

fn add_access_log(all: &mut Filters) {
    all.add(
        "enableAccessLog",
        (
            "gives only answers with these statuses, or with these first digits, a line in the access log",
            "enableAccessLog(4, 50, 200)",
        ),
        |args| access_log(args, true),
    );
    all.add(
        "disableAccessLog",
        (
            "gives all answers but those with these statuses, or first digits, a line in the access log",
            "disableAccessLog(1, 30, 200)",
        ),
        |args| access_log(args, false),
    );
    all.add(
        "accessLogDisabled",
        (
            "deprecated: `disableAccessLog()` and `enableAccessLog()`",
            r#"accessLogDisabled("true")"#,
        ),
        |args| {
            let mut args = Args::new(args);
            let disabled = args.truth()?;
            args.end()?;
            Ok(settles(AccessLog {
                enabled: !disabled,
                statuses: Vec::new(),
            }))
        },
    );
    all.add(
        "maskAccessLogQuery",
        (
            "leaves the values of these keys of the query out of the access log",
            r#"maskAccessLogQuery("token", "signature")"#,
        ),
        |args| {
            let keys = Args::new(args).some_texts("a key")?;
            Ok(MaskQuery(keys.into_iter().map(str::to_owned).collect()))
        },
    );
}

fn add_notes(all: &mut Filters) {
    all.add(
        "comment",
        (
            "does nothing: it is for who reads the route",
            r#"comment("since 2026")"#,
        ),
        |_| Ok(Comment),
    );
    all.add(
        "annotate",
        (
            "puts a value under a key of the route, which other filters read",
            r#"annotate("team", "search")"#,
        ),
        |args| {
            let mut args = Args::new(args);
            let note = (args.text("a key")?.to_owned(), args.text("a value")?.to_owned());
            args.end()?;
            Ok(Settles::new(note, |route, (key, value)| {
                route.annotations.retain(|(known, _)| known != key);
                route.annotations.push((key.clone(), value.clone()));
            }))
        },
    );
}

fn add_tags(all: &mut Filters) {
    all.add(
        "tracingTag",
        (
            "tags the request in the access log; there is no tracer",
            r#"tracingTag("flow", "${request.header.X-Flow-Id}")"#,
        ),
        |args| Tag::create(args, |_| Ok(When::Request)),
    );
    all.add(
        "tracingTagFromResponse",
        (
            "tags the request in the access log when the answer is there; there is no tracer",
            r#"tracingTagFromResponse("version", "${response.header.X-Version}")"#,
        ),
        |args| Tag::create(args, |_| Ok(When::Response(0, u16::MAX))),
    );
    all.add(
        "tracingTagFromResponseIfStatus",
        (
            "tags the request in the access log if the status of its answer is from one to another",
            r#"tracingTagFromResponseIfStatus("error", "true", 500, 599)"#,
        ),
        |args| {
            Tag::create(args, |args| {
                let (least, most) = (args.whole("a status")?, args.whole("a status")?);
                if least > most || most > 599 {
                    return Err(args.expected("a status up to 599, not below the one before"));
                }
                Ok(When::Response(least, most))
            })
        },
    );
    all.add(
        "tracingSpanName",
        (
            "tags the request with a name, as `span` in the access log; there is no tracer",
            r#"tracingSpanName("login")"#,
        ),
        |args| {
            let mut args = Args::new(args);
            let value = args.template("a name")?;
            args.end()?;
            let (when, name) = (When::Request, "span".to_owned());
            Ok(Tag { when, name, value })
        },
    );
}

fn add_copies(all: &mut Filters) {
    all.add(
        "tracingBaggageToTag",
        (
            "tags the request in the access log with an item of its field Baggage",
            r#"tracingBaggageToTag("tenant", "customer")"#,
        ),
        |args| Copied::create(args, From::Baggage),
    );
    all.add(
        "stateBagToTag",
        (
            "tags the request in the access log with what other filters left in the state bag",
            r#"stateBagToTag("auth-user", "user")"#,
        ),
        |args| Copied::create(args, From::Bag),
    );
    all.add(
        "unverifiedAuditLog",
        (
            "puts a claim of the bearer token, which nobody has verified, into the access log",
            r#"unverifiedAuditLog("sub")"#,
        ),
        |args| {
            let mut args = Args::new(args);
            let claim = if args.has_more() {
                args.text("a claim")?
            } else {
                "sub"
            };
            args.end()?;
            let (from, name) = (From::Claim(claim.to_owned()), "unverified_audit".to_owned());
            Ok(Copied { from, name })
        },
    );
}

fn access_log(args: &[Arg], enabled: bool) -> Result<Settles<AccessLog>, ArgsError> {
    let mut args = Args::new(args);
    let mut statuses = Vec::new();
    while args.has_more() {
        let what = "a status, or its first one or two digits";
        let status = args.whole(what)?;
        if !(1..600).contains(&status) {
            return Err(args.expected(what));
        }
        statuses.push(status);
    }
    Ok(settles(AccessLog { enabled, statuses }))
}

fn settles(log: AccessLog) -> Settles<AccessLog> {
    Settles::new(log, |route, log| route.access_log = Some(log.clone()))
}

// === impl MaskQuery ===

impl Filter for MaskQuery {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let masked = &mut cx.exchange.masked_query;
        for key in &self.0 {
            // The same route may come again through a loopback.
            if !masked.contains(key) {
                masked.push(key.clone());
            }
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

// === impl Comment ===

impl Filter for Comment {
    fn wants(&self) -> Wants {
        Wants::NONE
    }
}

// === impl Tag ===

impl Tag {
    fn create(
        args: &[Arg],
        when: impl FnOnce(&mut Args<'_>) -> Result<When, ArgsError>,
    ) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (name, value) = (args.text("a name")?.to_owned(), args.template("a value")?);
        let when = when(&mut args)?;
        args.end()?;
        Ok(Self { when, name, value })
    }

    fn set(&self, cx: &mut FilterContext<'_>) {
        let filled = cx.fill(&self.value);
        if filled.complete {
            cx.exchange.tag(&self.name, filled.text);
        }
    }
}

impl Filter for Tag {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if matches!(self.when, When::Request) {
            self.set(cx);
        }
        Flow::Next
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        let status = cx.response.as_ref().map(|answer| *answer.status);
        if status.is_some_and(|status| self.when.has(status)) {
            self.set(cx);
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        match (&self.when, self.value.as_literal()) {
            (When::Request, _) => Wants::REQUEST,
            (When::Response(..), Some(_)) => Wants::RESPONSE,
            (When::Response(..), None) => Wants::RESPONSE.and_head(),
        }
    }
}

// === impl When ===

impl When {
    fn has(&self, status: StatusCode) -> bool {
        match self {
            Self::Request => false,
            Self::Response(least, most) => (*least..=*most).contains(&status.as_u16()),
        }
    }
}

// === impl Copied ===

impl Copied {
    fn create(args: &[Arg], from: fn(String) -> From) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let key = name(&mut args)?;
        let tag = if args.has_more() { name(&mut args)? } else { key };
        args.end()?;
        Ok(Self {
            from: from(key.to_owned()),
            name: tag.to_owned(),
        })
    }
}

fn name<'a>(args: &mut Args<'a>) -> Result<&'a str, ArgsError> {
    let what = "a name";
    let name = args.text(what)?;
    if name.is_empty() {
        return Err(args.expected(what));
    }
    Ok(name)
}

impl Filter for Copied {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if let Some(value) = self.from.value(cx).filter(|value| !value.is_empty()) {
            cx.exchange.tag(&self.name, value);
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

// === impl From ===

impl From {
    fn value(&self, cx: &FilterContext<'_>) -> Option<String> {
        match self {
            Self::Baggage(name) => baggage_item(&cx.request.headers, name).map(|value| value.into_owned()),
            Self::Bag(name) => cx.exchange.bag.get(name).map(str::to_owned),
            Self::Claim(name) => {
                let claims = token_payload(&cx.request.headers)?;
                Some(claims.get(name)?.as_str()?.to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests;
