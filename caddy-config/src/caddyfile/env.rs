//! `{$NAME}` and `{$NAME:default}`: environment variables, put into the text before anything else looks at it.
//!
//! So a value may hold several arguments, quotes or whole blocks. It is not searched again. Every byte of the
//! result knows where in the written text it came from, and messages show that, never the value.

use std::borrow::Cow;

use crate::source::{MAX_TEXT, Report, Span};

/// Looks up a variable; `None` if it is not set.
pub(crate) type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

/// The text with its variables replaced.
#[derive(Debug)]
pub(crate) struct Expanded<'t> {
    text: Cow<'t, str>,
    /// Where the written text begins among all texts, and the import that it was read for.
    at: Span,
    /// In order; each reaches to the start of the next. Empty if nothing was replaced.
    pieces: Vec<Piece>,
}

/// A run of the expanded text.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: usize,
    origin: Span,
    /// Whether it stands for a variable, so that all of it comes from all of `origin`.
    replaced: bool,
}

/// Replaces the variables of `text`, which begins at `at` among all texts.
pub(crate) fn expand<'t>(
    text: &'t str,
    at: Span,
    environment: Environment<'_>,
    report: &mut Report,
) -> Expanded<'t> {
    let mut out = String::new();
    let mut pieces = Vec::new();
    let mut copied = 0;
    for reference in references(text) {
        let value = environment(reference.name);
        if value.is_none() && reference.default.is_none() {
            let message = format!(
                "the environment variable `{}` is not set, so this is empty",
                reference.name
            );
            // Words for findings that are only counted would cost a search each.
            let help = (!report.is_full_of_warnings()).then(|| way_out(text, &reference));
            report.warn(shifted(reference.span, at), message, help);
        }
        let value = value.as_deref().or(reference.default).unwrap_or_default();
        let between = Span::new(copied, reference.span.start);
        pieces.push(Piece {
            start: out.len(),
            origin: between,
            replaced: false,
        });
        out.push_str(text.get(between.start..between.end).unwrap_or_default());
        pieces.push(Piece {
            start: out.len(),
            origin: reference.span,
            replaced: true,
        });
        out.push_str(value);
        copied = reference.span.end;
        if out.len() > MAX_TEXT {
            report.error(
                shifted(reference.span, at),
                format!("the text grows beyond {MAX_TEXT} bytes here"),
                None,
            );
            break;
        }
    }
    if pieces.is_empty() {
        return unexpanded(text, at);
    }
    pieces.push(Piece {
        start: out.len(),
        origin: Span::new(copied, text.len()),
        replaced: false,
    });
    out.push_str(text.get(copied..).unwrap_or_default());
    Expanded {
        text: Cow::Owned(out),
        at,
        pieces,
    }
}

/// `text` with its variables as they are written.
pub(crate) const fn unexpanded(text: &str, at: Span) -> Expanded<'_> {
    Expanded {
        text: Cow::Borrowed(text),
        at,
        pieces: Vec::new(),
    }
}

// === impl Expanded ===

impl Expanded<'_> {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Where the written text has what stands at `span` here.
    pub(crate) fn origin(&self, span: Span) -> Span {
        let last = span.end.saturating_sub(1).max(span.start);
        let start = self
            .piece(span.start)
            .map_or(span.start, |piece| piece.origin_of(span.start, false));
        let end = self
            .piece(last)
            .map_or(span.end, |piece| piece.origin_of(span.end, true));
        shifted(Span::new(start, end.max(start)), self.at)
    }

    fn piece(&self, at: usize) -> Option<Piece> {
        let index = self.pieces.partition_point(|piece| piece.start <= at);
        self.pieces.get(index.checked_sub(1)?).copied()
    }
}

// === impl Piece ===

impl Piece {
    fn origin_of(self, at: usize, is_end: bool) -> usize {
        match (self.replaced, is_end) {
            (true, false) => self.origin.start,
            (true, true) => self.origin.end,
            (false, _) => self.origin.start.saturating_add(at.saturating_sub(self.start)),
        }
    }
}

const fn shifted(span: Span, by: Span) -> Span {
    let (start, end) = (
        span.start.saturating_add(by.start),
        span.end.saturating_add(by.start),
    );
    Span::new(start, end).by(by.import)
}

/// One `{$NAME:default}`.
struct Reference<'t> {
    span: Span,
    name: &'t str,
    default: Option<&'t str>,
}

/// Every reference in order. What is not in the form of one, such as `{$}`, is text.
fn references(text: &str) -> impl Iterator<Item = Reference<'_>> {
    let mut from: usize = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from.saturating_add(text.get(from..)?.find("{$")?);
            from = start.saturating_add(2);
            let rest = text.get(from..)?;
            // A name ends soon, so that a text full of openings is not searched again and again.
            let name_end = rest.find(|c: char| c.is_whitespace() || "{$\"`:}".contains(c))?;
            let (name, behind) = rest.split_at_checked(name_end)?;
            let end = match behind.chars().next() {
                Some('}') => name_end,
                Some(':') => name_end.saturating_add(behind.find('}')?),
                _ => continue,
            };
            if !name.is_empty() {
                let default = rest.get(name_end.saturating_add(1)..end);
                let span = Span::new(start, from.saturating_add(end).saturating_add(1));
                from = span.end;
                return Some(Reference { span, name, default });
            }
        }
    })
}

/// How to give an unset variable a value. A secret has no business in the file, not even as a default.
fn way_out(text: &str, reference: &Reference<'_>) -> String {
    let name = reference.name;
    let before = text.get(..reference.span.start).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    if line.trim().trim_end_matches(['"', '`']).trim_end() == "secret" {
        format!(
            "set it to the SECRET of the Doors app; for a new one: `{name}=$(doorway token secret) doorway run`"
        )
    } else {
        format!("set it, or write a default: `{{${name}:default}}`")
    }
}

#[cfg(test)]
mod tests {
    use super::{Expanded, expand};
    use crate::source::{Report, Sources, Span};

    fn value(name: &str) -> Option<String> {
        match name {
            "A" => Some("one two".to_owned()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("{$A}".to_owned()),
            _ => None,
        }
    }

    fn expanded(text: &str) -> Expanded<'_> {
        expand(text, Span::default(), &value, &mut Report::default())
    }

    #[test]
    fn values_and_defaults_take_the_place_of_references() {
        let cases = [
            ("x {$A} y", "x one two y"),
            ("{$A:no}{$B:yes}{$EMPTY:no}|", "one twoyes|"),
            ("{$B:a:b}", "a:b"),
            ("{$NESTED}", "{$A}"),
            ("# {$A}", "# one two"),
            ("{$}", "{$}"),
            ("{$A", "{$A"),
            ("{$ A}{$A}", "{$ A}one two"),
            ("a {$\n} {$A}", "a {$\n} one two"),
            ("no", "no"),
        ];
        for (text, expected) in cases {
            assert_eq!(expanded(text).text(), expected, "{text}");
        }
    }

    #[test]
    fn a_place_in_the_result_leads_back_to_the_written_text() {
        let result = expanded("ab {$A} cd{$EMPTY} {$B:x}z");
        assert_eq!(result.text(), "ab one two cd xz");
        let origin = |text: &str| {
            let start = result.text().find(text).unwrap();
            let span = result.origin(Span::new(start, start + text.len()));
            (span.start, span.end)
        };
        assert_eq!(origin("ab"), (0, 2));
        assert_eq!(origin("one"), (3, 7));
        assert_eq!(origin("two"), (3, 7));
        assert_eq!(origin("cd"), (8, 10));
        assert_eq!(origin("xz"), (19, 26));
    }

    #[test]
    fn a_variable_that_is_not_set_is_a_warning() {
        let text = "a\n {$NOPE}";
        let mut report = Report::default();
        assert_eq!(expand(text, Span::default(), &value, &mut report).text(), "a\n ");
        let (_, warnings) = report.finish((), &Sources::new("t", text)).unwrap();
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0]
                .to_string()
                .starts_with("t:2:2: warning: the environment variable `NOPE` is not set")
        );
    }

    #[test]
    fn a_text_that_grows_without_bound_is_refused() {
        let text = "{$BIG}".repeat(100);
        let mut report = Report::default();
        let big = "x".repeat(1 << 20);
        let result = expand(&text, Span::default(), &|_| Some(big.clone()), &mut report);
        assert!(result.text().len() < 40 << 20);
        assert!(report.has_errors());
    }
}
