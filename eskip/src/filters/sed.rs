//! Bodies in which what regular expressions match is replaced, as they pass.
//!
//! Of an expression that matches at most n bytes and does not look around, n - 1 bytes are held back, and what is replaced
//! does not depend on where a body is cut. Of any other one everything behind the last match is held back, up to a limit,
//! and a match is one as soon as something stands behind it, even if more bytes would have made it longer. Empty matches
//! are none. Bodies that are compressed pass as they are; a backend that does not see the client's Accept-Encoding does not
//! compress.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderMap, HeaderValue};
use http_body::SizeHint;
use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};

use super::args::{Args, MOST_REGEXP};
use super::body::{BodyRefused, BodySlot, BoxError};
use super::context::FilterContext;
use super::edited::{Edit, edited};
use super::filter::{Filter, Flow, Wants};
use super::headers::Side;
use super::registry::Filters;
use crate::Arg;
use crate::routing::ArgsError;

/// How much of a body is held back at most, unless an argument says otherwise.
const MOST_HELD: usize = 2 << 20;

/// So much is held back before it is looked through again for something that did not match.
const LEAST_LOOK: usize = 8 << 10;

/// Replaces what matches in bodies.
#[derive(Debug)]
struct Sed {
    side: Side,
    rule: Arc<Rule>,
}

#[derive(Debug)]
struct Rule {
    pattern: Regex,
    /// Stands for itself: it has no groups.
    replacement: Bytes,
    /// How long a match may be, if that is all that decides when a piece can go on.
    longest: Option<usize>,
    /// What ends the parts of a body that are edited each for itself.
    delimiter: Option<Finder<'static>>,
    most_held: usize,
    when_full: WhenFull,
}

/// What is done when more would have to be held back than may be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum WhenFull {
    /// It is edited as if it was at its end.
    BestEffort,
    /// The body ends with an error.
    Abort,
}

/// One body on its way.
struct Editor {
    rule: Arc<Rule>,
    side: Side,
    held: Vec<u8>,
    /// How much of what is held has no delimiter in it, or no match unless more comes.
    looked: usize,
}

/// An answer was longer than may be held back.
#[derive(Debug, thiserror::Error)]
#[error("a filter had to hold back more than {most} bytes of a body")]
struct TooMuchHeld {
    most: usize,
}

pub(super) fn add(all: &mut Filters) {
    for (name, side, delimited, does, example) in [
        (
            "sed",
            Side::Response,
            false,
            "replaces what a regular expression matches in the body of the answer; further arguments: how many bytes are held back at most (2 MiB), and \"best-effort\" or \"abort\" for what is done with more; compressed bodies pass as they are",
            r#"sed("http://internal.test", "https://www.example.org")"#,
        ),
        (
            "sedDelim",
            Side::Response,
            true,
            "replaces as `sed` does, in each part of the body that ends with a delimiter",
            r#"sedDelim(/token=\w+/, "token=***", "\n", 65536, "abort")"#,
        ),
        (
            "sedRequest",
            Side::Request,
            false,
            "replaces as `sed` does, in the body of the request",
            r#"sedRequest("foo", "bar", 65536)"#,
        ),
        (
            "sedRequestDelim",
            Side::Request,
            true,
            "replaces as `sedDelim` does, in the body of the request",
            r#"sedRequestDelim("foo", "bar", "\n")"#,
        ),
    ] {
        all.add(name, (does, example), move |args| {
            Sed::create(args, side, delimited)
        });
    }
}

// === impl Sed ===

impl Sed {
    fn create(args: &[Arg], side: Side, delimited: bool) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let pattern = args.regexp()?;
        let replacement = args.text("what replaces it")?;
        let delimiter = if delimited {
            let text = args.text("a delimiter")?.as_bytes();
            (!text.is_empty()).then(|| Finder::new(text).into_owned())
        } else {
            None
        };
        let most_held = if args.has_more() {
            Some(args.whole("how many bytes are held back at most")?)
        } else {
            None
        };
        let when_full = if args.has_more() {
            when_full(&mut args)?
        } else {
            WhenFull::BestEffort
        };
        args.end()?;
        let rule = Rule {
            longest: longest(pattern.as_str()),
            pattern: in_bytes(pattern.as_str())?,
            replacement: Bytes::copy_from_slice(replacement.as_bytes()),
            delimiter,
            most_held: most_held.filter(|most| *most > 0).unwrap_or(MOST_HELD),
            when_full,
        };
        Ok(Self {
            side,
            rule: Arc::new(rule),
        })
    }

    fn edit(&self, body: &mut BodySlot) {
        if body.length() != Some(0) {
            let editor = Editor {
                rule: Arc::clone(&self.rule),
                side: self.side,
                held: Vec::new(),
                looked: 0,
            };
            body.wrap(|body| edited(body, editor));
        }
    }
}

/// Whether a body is compressed: what matched in it would be chance, and what replaced it would break it.
fn is_encoded(headers: &HeaderMap) -> bool {
    let encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    let mut encodings = encodings.map(HeaderValue::as_bytes);
    encodings.any(|encoding| !encoding.eq_ignore_ascii_case(b"identity") && !encoding.is_empty())
}

fn when_full(args: &mut Args<'_>) -> Result<WhenFull, ArgsError> {
    match args.text("best-effort or abort")? {
        "best-effort" => Ok(WhenFull::BestEffort),
        "abort" => Ok(WhenFull::Abort),
        _ => Err(args.expected("best-effort or abort")),
    }
}

/// The same expression for bytes that need not be text.
fn in_bytes(pattern: &str) -> Result<Regex, ArgsError> {
    let built = RegexBuilder::new(pattern).size_limit(MOST_REGEXP).build();
    built.map_err(|error| ArgsError(error.to_string()))
}

/// How long a match is at most, of an expression that does not look at what is around a match.
fn longest(pattern: &str) -> Option<usize> {
    let parsed = regex_syntax::parse(pattern).ok()?;
    let properties = parsed.properties();
    let longest = properties.maximum_len()?;
    properties.look_set().is_empty().then_some(longest)
}

impl Filter for Sed {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if self.side == Side::Request && !is_encoded(&cx.request.headers) {
            self.edit(cx.request_body);
        }
        Flow::Next
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        if self.side == Side::Response
            && let Some(answer) = &mut cx.response
            && !is_encoded(answer.headers)
        {
            self.edit(answer.body);
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        self.side.wants()
    }
}

// === impl Rule ===

impl Rule {
    /// The first match at or behind a place that is not empty.
    fn find(&self, data: &[u8], from: usize) -> Option<(usize, usize)> {
        let mut from = from;
        while from < data.len() {
            let found = self.pattern.find_at(data, from)?;
            if !found.is_empty() {
                return Some((found.start(), found.end()));
            }
            from = found.end().saturating_add(1);
        }
        None
    }

    /// Replaces all matches.
    fn replace(&self, data: &[u8], edited: &mut Vec<u8>) {
        let mut done = 0;
        while let Some((start, end)) = self.find(data, done) {
            edited.extend(data.get(done..start).unwrap_or_default());
            edited.extend(&self.replacement);
            done = end;
        }
        edited.extend(data.get(done..).unwrap_or_default());
    }
}

// === impl Editor ===

impl Editor {
    /// Edits the parts that are whole.
    fn delimited(&mut self, delimiter: &Finder<'static>, out: &mut Vec<u8>) {
        let mut done = 0;
        let mut from = self.looked;
        while let Some(found) = self.held.get(from..).and_then(|rest| delimiter.find(rest)) {
            let end = from
                .saturating_add(found)
                .saturating_add(delimiter.needle().len());
            self.rule
                .replace(self.held.get(done..end).unwrap_or_default(), out);
            (done, from) = (end, end);
        }
        self.held.drain(..done);
        // A delimiter may have begun at the end.
        let begun = delimiter.needle().len().saturating_sub(1);
        self.looked = self.held.len().saturating_sub(begun);
    }

    /// Edits what no further bytes can change.
    fn decided(&mut self, out: &mut Vec<u8>) {
        let (rule, length) = (Arc::clone(&self.rule), self.held.len());
        let mut done = 0;
        // Where the first match would begin that further bytes may change.
        let open = loop {
            let found = rule.find(&self.held, done);
            match (rule.longest, found) {
                (Some(longest), found) => {
                    // What begins before this is whole, whether it matches or not.
                    let limit = length.saturating_sub(longest.saturating_sub(1)).max(done);
                    if found.is_none_or(|(start, _)| start >= limit) {
                        break limit;
                    }
                }
                (None, None) => break done,
                (None, Some((start, end))) if end == length => break start,
                (None, Some(_)) => {}
            }
            let Some((start, end)) = found else { break done };
            out.extend(self.held.get(done..start).unwrap_or_default());
            out.extend(&rule.replacement);
            done = end;
        };
        out.extend(self.held.get(done..open).unwrap_or_default());
        self.held.drain(..open);
        self.looked = self.held.len();
    }

    /// Whether it is worth to look again. An expression with long matches sees all that is held each time, so that must
    /// have grown by as much as it was.
    fn is_worth_a_look(&self) -> bool {
        self.rule.delimiter.is_some()
            || self.rule.longest.is_some_and(|longest| longest <= LEAST_LOOK)
            || self.held.len() >= self.looked.saturating_mul(2).min(self.rule.most_held)
            || self.looked < LEAST_LOOK
    }

    /// Makes room if too much is held.
    fn relieve(&mut self, out: &mut Vec<u8>) -> Result<(), BoxError> {
        let most = self.rule.most_held;
        if self.held.len() <= most {
            return Ok(());
        }
        match (self.rule.when_full, self.side) {
            (WhenFull::BestEffort, _) => {
                self.rule.replace(&self.held, out);
                self.held.clear();
                self.looked = 0;
                Ok(())
            }
            (WhenFull::Abort, Side::Request) => Err(BodyRefused::new(StatusCode::PAYLOAD_TOO_LARGE).into()),
            (WhenFull::Abort, Side::Response) => Err(TooMuchHeld { most }.into()),
        }
    }
}

impl Edit for Editor {
    fn push(&mut self, piece: Bytes) -> Result<Bytes, BoxError> {
        self.held.extend_from_slice(&piece);
        let mut out = Vec::new();
        if self.is_worth_a_look() {
            let rule = Arc::clone(&self.rule);
            match &rule.delimiter {
                Some(delimiter) => self.delimited(delimiter, &mut out),
                None => self.decided(&mut out),
            }
        }
        self.relieve(&mut out)?;
        Ok(out.into())
    }

    fn finish(&mut self) -> Result<Bytes, BoxError> {
        let mut out = Vec::new();
        self.rule.replace(&self.held, &mut out);
        self.held.clear();
        Ok(out.into())
    }

    fn length(&self, _before: SizeHint) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests;
