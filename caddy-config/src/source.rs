//! The texts being read, and where in them something stands.

mod report;

use std::{borrow::Cow, ops::Range, path::Path, sync::Arc};

pub(crate) use self::report::Report;
use crate::{
    diagnostic::{Excerpt, Place},
    surroundings::Inputs,
};

/// Texts longer than this are refused, also all files of one configuration together; a configuration of 10,000
/// sites has about 2 MiB.
pub(crate) const MAX_TEXT: usize = 32 * 1024 * 1024;

/// Characters of a source line that are shown.
const EXCERPT: usize = 100;

/// Characters of a source line that are shown before the place, at most.
const EXCERPT_BEFORE: usize = 60;

/// Longest quotation of the source in a message.
const QUOTED: usize = 60;

/// A range of bytes of the texts, and by which import it came to where it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) import: ImportId,
}

/// One carrying out of an `import`; zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ImportId(u32);

/// The text of the configuration and those that it imports. Their bytes are numbered through.
#[derive(Debug)]
pub(crate) struct Sources<'t> {
    /// In order of their numbers; never empty.
    texts: Vec<Source<'t>>,
    imports: Vec<ImportLine>,
    /// What was looked at to read the texts.
    pub(crate) inputs: Inputs,
}

/// One text with its name.
#[derive(Debug)]
pub(crate) struct Source<'t> {
    name: Arc<str>,
    text: Cow<'t, str>,
    /// The number of its first byte.
    base: usize,
    /// Counted from the beginning of this text.
    line_starts: Vec<usize>,
}

/// An import that was carried out, or the block of one that was put in place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImportLine {
    /// Where what is imported is named; of a block, where it was put.
    pub(crate) target: Span,
    /// From there to the last argument: any of that may be in the tokens that it led to.
    pub(crate) args: Span,
    /// The import that the tokens were written by. Of a block, that of the text that the block stands in.
    pub(crate) written: ImportId,
    /// What was imported, by a number of its own; nothing of a block.
    pub(crate) origin: Option<usize>,
}

// === impl Span ===

impl Span {
    pub(crate) const fn new(start: usize, end: usize) -> Self {
        Self {
            start,
            end,
            import: ImportId(0),
        }
    }

    /// The same place, come to by an import.
    pub(crate) const fn by(self, import: ImportId) -> Self {
        Self { import, ..self }
    }

    /// Whether both are the same place, by whatever import.
    pub(crate) const fn is_same_place(self, other: Self) -> bool {
        self.start == other.start && self.end == other.end
    }

    fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

// === impl Sources ===

impl<'t> Sources<'t> {
    pub(crate) fn new(name: &str, text: &'t str) -> Self {
        Self {
            texts: vec![Source::new(name, Cow::Borrowed(text), 0)],
            imports: Vec::new(),
            inputs: Inputs::default(),
        }
    }

    /// The text that everything begins with.
    pub(crate) fn first(&self) -> &Source<'t> {
        self.texts.first().expect("there is a text from the start")
    }

    /// The text at `span`, shortened for a message.
    pub(crate) fn quote(&self, span: Span) -> String {
        short(self.get(span).unwrap_or_default())
    }

    /// The byte that `span` begins with.
    pub(crate) fn first_byte(&self, span: Span) -> Option<u8> {
        self.get(span)?.bytes().next()
    }

    /// The number of the line that `span` begins on, with the name of its file unless that is the first.
    pub(crate) fn line_of(&self, span: Span) -> String {
        let Some(source) = self.of(span) else {
            return String::new();
        };
        let start = span.start.saturating_sub(source.base);
        let line = source.line_starts.partition_point(|&at| at <= start);
        if source.base == 0 {
            line.to_string()
        } else {
            format!("{line} of {}", source.name)
        }
    }

    /// Where `needle` is written within `span`.
    pub(crate) fn find(&self, needle: &str, span: Span) -> Option<Span> {
        let start = span.start.saturating_add(self.get(span)?.find(needle)?);
        Some(Span::new(start, start.saturating_add(needle.len())).by(span.import))
    }

    /// Where `needle` is written within `span` for the time behind `before` others.
    pub(crate) fn find_behind(&self, needle: &str, before: usize, span: Span) -> Option<Span> {
        let (at, _) = self.get(span)?.match_indices(needle).nth(before)?;
        let start = span.start.saturating_add(at);
        Some(Span::new(start, start.saturating_add(needle.len())).by(span.import))
    }

    /// Where a `{$NAME}` is written on the same line behind `span`.
    pub(crate) fn variable_behind(&self, span: Span) -> Option<Span> {
        let source = self.of(span)?;
        let end = span.end.saturating_sub(source.base);
        let line = source.text.get(end..)?.lines().next()?;
        let at = line.find("{$")?;
        let length = line.get(at..)?.find('}')?.saturating_add(1);
        let start = span.end.saturating_add(at);
        Some(Span::new(start, start.saturating_add(length)).by(span.import))
    }

    /// The written text at `span`.
    fn get(&self, span: Span) -> Option<&str> {
        let source = self.of(span)?;
        let range = span.start.saturating_sub(source.base)..span.end.saturating_sub(source.base);
        source.text.get(range)
    }

    /// The text that `span` begins in.
    fn of(&self, span: Span) -> Option<&Source<'t>> {
        let behind = self.texts.partition_point(|source| source.base <= span.start);
        self.texts.get(behind.checked_sub(1)?)
    }

    /// File, line and column alone.
    pub(crate) fn bare_place(&self, span: Span) -> Place {
        let place = self.place(span, &[]);
        Place {
            excerpt: Excerpt::default(),
            ..place
        }
    }

    fn place(&self, span: Span, secrets: &[Span]) -> Place {
        let source = self.of(span).unwrap_or_else(|| self.first());
        source.place(span, secrets)
    }

    /// The text that `span` begins in, as a path to find others from.
    pub(crate) fn path_of(&self, span: Span) -> &Path {
        Path::new(self.of(span).map_or("", |source| &source.name))
    }

    /// How many bytes all texts have.
    pub(crate) fn length(&self) -> usize {
        self.texts.iter().map(|source| source.text.len()).sum()
    }

    /// Adds a text, which is the last then.
    pub(crate) fn add(&mut self, name: &str, text: String) {
        let end = self.last().base.saturating_add(self.last().text.len());
        // One more, so that the end of a text is not the beginning of the next.
        let base = end.saturating_add(1);
        self.texts.push(Source::new(name, Cow::Owned(text), base));
    }

    pub(crate) fn last(&self) -> &Source<'t> {
        self.texts.last().expect("there is a text from the start")
    }

    pub(crate) fn add_import(&mut self, line: ImportLine) -> ImportId {
        self.imports.push(line);
        ImportId(u32::try_from(self.imports.len()).unwrap_or(u32::MAX))
    }

    /// What was imported to write at `id`: the nearest first.
    pub(crate) fn origins(&self, id: ImportId) -> impl Iterator<Item = (usize, ImportLine)> {
        let mut at = id;
        std::iter::from_fn(move || {
            loop {
                let line = self.import(at)?;
                at = line.written;
                if let Some(origin) = line.origin {
                    return Some((origin, line));
                }
            }
        })
    }

    /// Where the arguments of the import stand that what is written at `span` may have been made of.
    fn arguments_in(&self, span: Span) -> Option<Span> {
        let written = self.get(span)?;
        let (_, line) = self.origins(span.import).next()?;
        written.contains("{args").then_some(line.args)
    }

    /// The imports that led to `span`, the nearest first.
    fn imports(&self, span: Span, secrets: &[Span]) -> Vec<Place> {
        let mut imports = Vec::new();
        let mut at = span.import;
        while let Some(line) = self.import(at) {
            imports.push(self.place(line.target, secrets));
            at = line.target.import;
        }
        imports
    }

    fn import(&self, id: ImportId) -> Option<ImportLine> {
        let index = usize::try_from(id.0).ok()?.checked_sub(1)?;
        self.imports.get(index).copied()
    }
}

// === impl Source ===

impl<'t> Source<'t> {
    fn new(name: &str, text: Cow<'t, str>, base: usize) -> Self {
        let after_line_feeds = text.match_indices('\n').map(|(at, _)| at.saturating_add(1));
        Self {
            name: name.into(),
            line_starts: std::iter::once(0).chain(after_line_feeds).collect(),
            text,
            base,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The number of its first byte among those of all texts.
    pub(crate) const fn base(&self) -> usize {
        self.base
    }

    fn place(&self, span: Span, secrets: &[Span]) -> Place {
        let start = span.start.saturating_sub(self.base).min(self.text.len());
        let end = span.end.saturating_sub(self.base);
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
        let marked = self.text.get(start..end).unwrap_or_default();
        let marked = marked.lines().next().unwrap_or_default().chars().count();
        let from = self.base.saturating_add(line_start);
        Place {
            file: Arc::clone(&self.name),
            line,
            column: before.saturating_add(1),
            excerpt: excerpt(content, from, before, marked, secrets),
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
