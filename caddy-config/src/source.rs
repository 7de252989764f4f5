//! The text being read, and the findings collected on the way.

use std::{ops::Range, sync::Arc};

use crate::diagnostic::{Diagnostic, Diagnostics, Excerpt, Place, Severity};

/// Texts longer than this are refused; a configuration of 10,000 sites has about 2 MiB.
pub(crate) const MAX_TEXT: usize = 32 * 1024 * 1024;

/// Findings beyond this many are only counted.
const MAX_FINDINGS: usize = 100;

/// Characters of a source line that are shown.
const EXCERPT: usize = 100;

/// Characters of a source line that are shown before the place, at most.
const EXCERPT_BEFORE: usize = 60;

/// Longest quotation of the source in a message.
const QUOTED: usize = 60;

/// A range of bytes of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// One text with its name.
#[derive(Debug)]
pub(crate) struct Source<'t> {
    name: Arc<str>,
    text: &'t str,
    line_starts: Vec<usize>,
}

/// Collects findings, then gives them their places.
#[derive(Debug, Default)]
pub(crate) struct Report {
    findings: Vec<Finding>,
    left_out: usize,
    errors: bool,
    secrets: Vec<Span>,
}

#[derive(Debug)]
struct Finding {
    severity: Severity,
    span: Span,
    path: Option<String>,
    message: String,
    help: Option<String>,
}

// === impl Span ===

impl Span {
    pub(crate) const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

// === impl Source ===

impl<'t> Source<'t> {
    pub(crate) fn new(name: &str, text: &'t str) -> Self {
        let after_line_feeds = text.match_indices('\n').map(|(at, _)| at.saturating_add(1));
        Self {
            name: name.into(),
            text,
            line_starts: std::iter::once(0).chain(after_line_feeds).collect(),
        }
    }

    pub(crate) const fn text(&self) -> &'t str {
        self.text
    }

    /// The text at `span`, shortened for a message.
    pub(crate) fn quote(&self, span: Span) -> String {
        short(self.text.get(span.range()).unwrap_or_default())
    }

    /// The number of the line that `span` begins on.
    pub(crate) fn line_of(&self, span: Span) -> usize {
        self.line_starts.partition_point(|&at| at <= span.start)
    }

    /// Where `needle` is written within `span`.
    pub(crate) fn find(&self, needle: &str, span: Span) -> Option<Span> {
        let at = self.text.get(span.range())?.find(needle)?;
        let start = span.start.saturating_add(at);
        Some(Span::new(start, start.saturating_add(needle.len())))
    }

    /// Where a `{$NAME}` is written on the same line behind `span`.
    pub(crate) fn variable_behind(&self, span: Span) -> Option<Span> {
        let line = self.text.get(span.end..)?.lines().next()?;
        let at = line.find("{$")?;
        let length = line.get(at..)?.find('}')?.saturating_add(1);
        let start = span.end.saturating_add(at);
        Some(Span::new(start, start.saturating_add(length)))
    }

    fn place(&self, span: Span, secrets: &[Span]) -> Place {
        let start = span.start.min(self.text.len());
        let line = self.line_starts.partition_point(|&at| at <= start);
        let line_start = self
            .line_starts
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or_default();
        let rest = self.text.get(line_start..).unwrap_or_default();
        let content = rest.lines().next().unwrap_or_default();
        let before = self
            .text
            .get(line_start..start)
            .unwrap_or_default()
            .chars()
            .count();
        let marked = self.text.get(start..span.end).unwrap_or_default();
        let marked = marked.lines().next().unwrap_or_default().chars().count();
        let excerpt = excerpt(content, line_start, before, marked, secrets);
        Place {
            file: Arc::clone(&self.name),
            line,
            column: before.saturating_add(1),
            excerpt,
        }
    }
}

// === impl Report ===

impl Report {
    pub(crate) fn error(&mut self, span: Span, message: impl Into<String>, help: impl Into<Option<String>>) {
        self.push(Severity::Error, span, None, message.into(), help.into());
    }

    pub(crate) fn error_at(&mut self, span: Span, path: String, message: String, help: Option<String>) {
        self.push(Severity::Error, span, Some(path), message, help);
    }

    pub(crate) fn warn(&mut self, span: Span, message: impl Into<String>, help: impl Into<Option<String>>) {
        self.push(Severity::Warning, span, None, message.into(), help.into());
    }

    /// What stands at `span` is not shown in any source line.
    pub(crate) fn mask(&mut self, span: Span) {
        self.secrets.push(span);
    }

    /// Whether further findings are only counted, so that their words need not be chosen.
    pub(crate) const fn is_full(&self) -> bool {
        self.findings.len() >= MAX_FINDINGS
    }

    pub(crate) const fn has_errors(&self) -> bool {
        self.errors
    }

    /// The value with its warnings, or all that is wrong (warnings too).
    pub(crate) fn finish<T>(
        self,
        value: T,
        source: &Source<'_>,
    ) -> Result<(T, Vec<Diagnostic>), Diagnostics> {
        let (errors, left_out) = (self.errors, self.left_out);
        let items = self.into_diagnostics(source);
        if errors {
            Err(Diagnostics { items, left_out })
        } else {
            Ok((value, items))
        }
    }

    fn into_diagnostics(mut self, source: &Source<'_>) -> Vec<Diagnostic> {
        self.findings.sort_by_key(|finding| finding.span);
        let secrets = self.secrets;
        let placed = self.findings.into_iter().map(|finding| Diagnostic {
            severity: finding.severity,
            place: source.place(finding.span, &secrets),
            path: finding.path,
            message: finding.message,
            help: finding.help,
        });
        placed.collect()
    }

    fn push(
        &mut self,
        severity: Severity,
        span: Span,
        path: Option<String>,
        message: String,
        help: Option<String>,
    ) {
        self.errors |= severity == Severity::Error;
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(Finding {
                severity,
                span,
                path,
                message,
                help,
            });
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }
}

/// The part of a line around its mark, secrets masked and control characters made harmless.
fn excerpt(content: &str, line_start: usize, before: usize, marked: usize, secrets: &[Span]) -> Excerpt {
    let skip = before.saturating_sub(EXCERPT_BEFORE);
    let line = line_start..line_start.saturating_add(content.len());
    let secrets: Vec<&Span> = secrets
        .iter()
        .filter(|span| span.start < line.end && line.start < span.end)
        .collect();
    let hidden = |at: usize| {
        let at = line_start.saturating_add(at);
        secrets.iter().any(|span| span.range().contains(&at))
    };
    let shown = content.char_indices().skip(skip).take(EXCERPT);
    let text: String = shown
        .map(|(at, c)| if hidden(at) { '*' } else { visible(c) })
        .collect();
    let before = before.saturating_sub(skip);
    let room = EXCERPT.saturating_sub(before).max(1);
    Excerpt {
        text,
        before,
        marked: marked.clamp(1, room),
    }
}

/// The first line of a text, as much of it as fits into a message, without control characters.
pub(crate) fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(QUOTED).map(visible).collect();
    let whole = line.chars().nth(QUOTED).is_none() && line.len() == text.trim_end().len();
    if !whole {
        short.push_str("...");
    }
    short
}

/// A character that a terminal prints as such.
fn visible(c: char) -> char {
    let harmless = c == '\t' || !c.is_control();
    if harmless { c } else { char::REPLACEMENT_CHARACTER }
}
