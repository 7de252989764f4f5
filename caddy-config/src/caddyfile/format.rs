//! One way to lay out a Caddyfile: that of `caddy fmt`.
//!
//! Only white space is added or removed, in one pass over the characters: what is quoted, escaped, commented or in a
//! heredoc is copied. Some texts Caddy lays out so that they mean something else, such as a block that begins with a
//! backquote; these are left as they are.

use super::{
    env,
    lexer::{self, is_marker},
    token::Token,
};
use crate::{
    diagnostic::Diagnostic,
    source::{MAX_TEXT, Report, Sources, Span},
};

/// Deeper blocks are not indented further.
const MAX_INDENT: usize = 10;

/// A Caddyfile laid out as `caddy fmt` does: one tab for each level, one space between words, at most one blank line.
/// A text for which that would change its meaning, or would not be the last word, is returned as it is; so is one that
/// is too long to be a configuration.
///
/// ```
/// let text = "example.com{\n  respond   hello\n}";
/// assert_eq!(caddy_config::format(text), "example.com {\n\trespond hello\n}\n");
/// ```
#[must_use]
pub fn format(text: &str) -> String {
    if text.len() > MAX_TEXT {
        return text.to_owned();
    }
    let formatted = laid_out(text);
    if formatted == text {
        return formatted;
    }
    if means_the_same(text, &formatted) && laid_out(&formatted) == formatted {
        formatted
    } else {
        text.to_owned()
    }
}

/// The warning that a Caddyfile is not laid out as [`format()`] would, at the first place where it is not. How lines
/// end does not matter.
#[must_use]
pub fn unformatted(file_name: &str, text: &str) -> Option<Diagnostic> {
    let text = text.replace("\r\n", "\n");
    let formatted = format(&text);
    if formatted == text {
        return None;
    }
    let same = text.chars().zip(formatted.chars()).take_while(|(a, b)| a == b);
    let at = same.map(|(c, _)| c.len_utf8()).sum();
    let mut report = Report::default();
    // Only so that the line that is shown has no secret.
    lexer::tokens(
        &env::unexpanded(&text, Span::default()),
        lexer::MAX_TOKENS,
        &mut report,
    );
    let mut report = report.without_findings();
    let message = "this is not laid out in the usual way";
    let help = "`doorway fmt --overwrite` does that; nothing depends on it".to_owned();
    report.warn(Span::new(at, at), message, help);
    let (_, warnings) = report.finish((), &Sources::new(file_name, &text)).ok()?;
    warnings.into_iter().next()
}

fn laid_out(text: &str) -> String {
    let mut layout = Layout::default();
    for c in text.trim().chars() {
        layout.take(c);
    }
    layout.finish()
}

/// Whether two texts have the same words, each on a line with the same others. Where lines end beside braces is what
/// a layout may change.
fn means_the_same(a: &str, b: &str) -> bool {
    // Words do not show all of it: not comments, nor what is never closed.
    if !visible(a).eq(visible(b)) {
        return false;
    }
    let (a, b) = (words(a), words(b));
    let pairs = || a.iter().zip(&b);
    let lines = pairs().zip(pairs().skip(1)).all(|((a, b), (next_a, next_b))| {
        let at_brace = |token: &Token| token.opens() || token.closes();
        let breaks = (next_a.is_on_new_line_after(a), next_b.is_on_new_line_after(b));
        breaks.0 == breaks.1 || at_brace(a) || at_brace(next_a)
    });
    // Of more, not all were looked at.
    let all = a.len() == b.len() && a.len() < lexer::MAX_TOKENS;
    lines && all && pairs().all(|(a, b)| a.text == b.text && a.quoted == b.quoted)
}

fn visible(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !c.is_whitespace())
}

/// The tokens of a text. A brace at the end of a word counts as one of its own, as a layout makes it one: in a valid
/// Caddyfile there is none.
fn words(text: &str) -> Vec<Token> {
    let report = &mut Report::default();
    let mut words = Vec::new();
    for token in lexer::tokens(&env::unexpanded(text, Span::default()), lexer::MAX_TOKENS, report) {
        let end = match &token.text {
            text if token.quoted => text.len(),
            text if text.ends_with('{') => text.len().saturating_sub(1),
            text if text.contains('{') => text.len(),
            text => text.trim_end_matches('}').len(),
        };
        let (word, braces) = token.text.split_at_checked(end).unwrap_or_default();
        let parts = std::iter::once(word).filter(|word| !word.is_empty() || token.quoted);
        let braces = braces.split_inclusive(['{', '}']);
        let parts: Vec<String> = parts.chain(braces).map(str::to_owned).collect();
        words.extend(parts.into_iter().map(|text| Token {
            text,
            ..token.place()
        }));
    }
    words
}

/// Where the text stands, and what is written of it.
#[derive(Debug)]
struct Layout {
    out: String,
    last: Option<char>,
    mode: Mode,
    quotes: Quotes,
    /// Whether white space stands before the next character, or nothing.
    space: bool,
    /// Whether nothing is written on this line yet.
    line_start: bool,
    /// Line feeds that are read and not yet written.
    line_feeds: usize,
    nesting: usize,
    brace: Option<Brace>,
    /// Whether the word being read began with a brace, or is one.
    in_brace: bool,
    /// Whether the `<` of this word is escaped.
    no_heredoc: bool,
    word: String,
    /// The first word of the line being read.
    first_word: String,
    /// Whether the line before is an import outside of all blocks.
    after_import: bool,
}

/// What the next character is part of.
#[derive(Debug, PartialEq, Eq)]
enum Mode {
    Plain,
    Comment,
    /// A backslash stands before it.
    Escaped,
    /// Behind `<<`.
    Marker(String),
    /// A heredoc, with the characters of its line that could be its marker.
    Heredoc(String, Vec<char>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotes {
    None,
    Double,
    Back,
    /// A backquote within double quotes.
    BackInDouble,
}

/// An opening brace that is read and not yet written: it may open a block, or begin a word.
#[derive(Clone, Copy, Debug)]
struct Brace {
    /// Whether white space stands before it on its line.
    space: bool,
    /// Whether it begins a line.
    own_line: bool,
}

// === impl Layout ===

impl Default for Layout {
    fn default() -> Self {
        Self {
            out: String::new(),
            last: None,
            mode: Mode::Plain,
            quotes: Quotes::None,
            space: true,
            line_start: true,
            line_feeds: 0,
            nesting: 0,
            brace: None,
            in_brace: false,
            no_heredoc: false,
            word: String::new(),
            first_word: String::new(),
            after_import: false,
        }
    }
}

impl Layout {
    fn take(&mut self, c: char) {
        let second = self.quotes == Quotes::None && self.space && self.last == Some('<') && c == '<';
        let in_heredoc = matches!(self.mode, Mode::Marker(_) | Mode::Heredoc(..));
        if second && !in_heredoc && !self.no_heredoc {
            self.write(c);
            self.mode = Mode::Marker(String::new());
            self.space = false;
        } else if !self.heredoc(c) {
            if self.last == Some('<') {
                self.space = false;
            }
            self.outside_heredocs(c);
        }
    }

    /// Takes a character of a heredoc or of its beginning; whether it was one.
    fn heredoc(&mut self, c: char) -> bool {
        match &mut self.mode {
            Mode::Marker(marker) if c == '\n' => {
                let is_heredoc = !marker.is_empty() && marker.chars().all(is_marker);
                self.mode = if is_heredoc {
                    Mode::Heredoc(std::mem::take(marker), Vec::new())
                } else {
                    self.line_start = true;
                    Mode::Plain
                };
                self.write(c);
                true
            }
            Mode::Marker(marker) if !c.is_whitespace() => {
                marker.push(c);
                self.write(c);
                true
            }
            Mode::Heredoc(marker, line) => {
                // The end is looked for within a line, wherever the marker stands before white space.
                let excess = line.len().saturating_sub(marker.chars().count());
                line.drain(..excess);
                let ends = c.is_whitespace() && marker.chars().eq(line.iter().copied());
                line.push(c);
                if c == '\n' {
                    line.clear();
                }
                if ends {
                    self.mode = Mode::Plain;
                    return false;
                }
                self.write(c);
                true
            }
            Mode::Marker(_) => {
                self.mode = Mode::Plain;
                false
            }
            Mode::Plain | Mode::Comment | Mode::Escaped => false,
        }
    }

    fn outside_heredocs(&mut self, c: char) {
        match self.mode {
            Mode::Comment if c == '\n' => {
                self.mode = Mode::Plain;
                self.space = true;
                self.next_line();
            }
            Mode::Comment => self.write(c),
            Mode::Escaped => {
                self.no_heredoc |= c == '<';
                self.mode = Mode::Plain;
                self.write(c);
            }
            _ if c == '\\' => {
                if std::mem::take(&mut self.space) {
                    self.write(' ');
                }
                self.write(c);
                self.mode = Mode::Escaped;
            }
            _ => {
                if !self.quoted(c) {
                    self.unquoted(c);
                }
            }
        }
    }

    /// Takes a character that is in quotes, or that begins some; whether it was one.
    fn quoted(&mut self, c: char) -> bool {
        self.quotes = match (self.quotes, c) {
            (Quotes::None, '`') => Quotes::Back,
            (Quotes::Back, '`') => Quotes::None,
            (Quotes::Double, '`') => Quotes::BackInDouble,
            (Quotes::BackInDouble, '`') => Quotes::Double,
            (Quotes::Double, '"') => {
                self.quotes = Quotes::None;
                self.write(c);
                return true;
            }
            (Quotes::BackInDouble, '"') => Quotes::None,
            // The quote itself is a plain character, and what is in it is not.
            (Quotes::None, '"') if self.space => Quotes::Double,
            (quotes, _) => quotes,
        };
        match self.quotes {
            Quotes::Double if c != '"' => {
                self.write(c);
                true
            }
            Quotes::Back | Quotes::BackInDouble => {
                if c == '`' && self.space && !self.line_start {
                    self.write(' ');
                }
                self.write(c);
                self.space = false;
                true
            }
            Quotes::Double | Quotes::None => false,
        }
    }

    fn unquoted(&mut self, c: char) {
        if c.is_whitespace() {
            self.white_space(c);
        } else {
            self.plain(c);
        }
    }

    fn white_space(&mut self, c: char) {
        self.end_word();
        self.space = true;
        self.no_heredoc = false;
        if c != '\n' {
            return;
        }
        let own_line = self.brace.is_some_and(|brace| brace.own_line);
        if !self.first_word.is_empty() {
            self.after_import = self.nesting == 0 && self.first_word == "import";
        } else if !own_line {
            self.after_import = false;
        }
        self.first_word.clear();
        self.line_feeds = self.line_feeds.saturating_add(1);
    }

    fn plain(&mut self, c: char) {
        let space = std::mem::take(&mut self.space);
        if c == '#' {
            self.mode = Mode::Comment;
        }
        if space || c == '{' {
            self.open();
        }
        match c {
            '{' => self.brace(space),
            '}' if space || !self.in_brace => self.close(),
            _ => self.character(c, space),
        }
    }

    /// Writes the brace that was read as one that opens a block.
    fn open(&mut self) {
        let Some(brace) = self.brace.take() else { return };
        self.in_brace = false;
        self.set_apart();
        if brace.own_line && self.after_import {
            if self.last != Some('\n') {
                self.next_line();
            }
            self.indent();
        } else if self.line_start {
            self.indent();
        } else if !brace.space || !self.last.is_some_and(char::is_whitespace) {
            self.write(' ');
        }
        self.write('{');
        self.next_line();
        self.line_feeds = 0;
        if self.nesting < MAX_INDENT {
            self.nesting = self.nesting.saturating_add(1);
        }
    }

    fn brace(&mut self, space: bool) {
        self.end_word();
        let brace = Brace {
            space: space && !self.line_start,
            own_line: self.line_feeds > 0,
        };
        if brace.space && !brace.own_line {
            self.write(' ');
        }
        self.in_brace = true;
        self.brace = Some(brace);
    }

    fn close(&mut self) {
        self.end_word();
        if self.last != Some('\n') {
            self.next_line();
        }
        self.nesting = self.nesting.saturating_sub(1);
        self.indent();
        self.write('}');
        self.line_feeds = 0;
    }

    fn character(&mut self, c: char, space: bool) {
        for _ in 0..self.line_feeds.min(2) {
            self.next_line();
        }
        self.line_feeds = 0;
        if self.line_start {
            self.indent();
            self.set_apart();
        }
        if !self.line_start && space {
            self.write(' ');
        }
        if self.brace.take().is_some() {
            self.write('{');
        }
        // The next character tells whether this begins a heredoc.
        self.space = space && c == '<';
        self.word.push(c);
        self.write(c);
        self.line_start = false;
    }

    /// A blank line behind a block that stands in no other.
    fn set_apart(&mut self) {
        if self.nesting == 0 && self.last == Some('}') {
            self.next_line();
            self.next_line();
        }
    }

    fn end_word(&mut self) {
        if self.first_word.is_empty() {
            std::mem::swap(&mut self.first_word, &mut self.word);
        }
        self.word.clear();
    }

    fn indent(&mut self) {
        for _ in 0..self.nesting {
            self.write('\t');
        }
    }

    fn next_line(&mut self) {
        self.write('\n');
        self.line_start = true;
    }

    fn write(&mut self, c: char) {
        self.out.push(c);
        self.last = Some(c);
    }

    fn finish(mut self) -> String {
        self.open();
        let mut out = self.out.trim().to_owned();
        out.push('\n');
        out
    }
}

#[cfg(test)]
mod tests;
