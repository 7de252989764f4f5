//! Text -> tokens.
//!
//! Caddy's rules, less three of its surprises: a quote or heredoc that is never closed is an error, a heredoc ends
//! only where its marker begins a line, and a backslash in a comment does not join lines.

use super::{env::Expanded, token::Token};
use crate::source::{Report, Span};

/// All texts of a configuration together have no more tokens than this; one of 10,000 sites has about 100,000.
pub(super) const MAX_TOKENS: usize = 2_000_000;

/// The tokens of `text`, at most `most`. Arguments behind a word like `secret` are masked in every finding.
pub(crate) fn tokens(text: &Expanded<'_>, most: usize, report: &mut Report) -> Vec<Token> {
    let mut lexer = Lexer {
        expanded: text,
        text: text.text(),
        at: text
            .text()
            .strip_prefix('\u{feff}')
            .map_or(0, |rest| text.text().len().saturating_sub(rest.len())),
        line: 1,
        joined: 0,
        tokens: Vec::new(),
        report,
    };
    lexer.run(most);
    let tokens = lexer.tokens;
    mask_secrets(&tokens, report);
    tokens
}

struct Lexer<'e, 'r> {
    expanded: &'e Expanded<'e>,
    text: &'e str,
    at: usize,
    line: usize,
    /// Lines joined by a backslash, to be counted at the next real end of line.
    joined: usize,
    tokens: Vec<Token>,
    report: &'r mut Report,
}

// === impl Lexer ===

impl<'e> Lexer<'e, '_> {
    fn run(&mut self, most: usize) {
        loop {
            self.skip_space();
            match self.peek() {
                None => return,
                Some(_) if self.tokens.len() >= most => {
                    let message = format!("the configuration has more than {MAX_TOKENS} words");
                    let here = Span::new(self.at, self.at.saturating_add(1));
                    return self.error(here, &message, "is this file a configuration?");
                }
                Some('"') => self.quoted(),
                Some('`') => self.raw(),
                Some(_) => match self.heredoc_marker() {
                    Some(marker) => self.heredoc(marker),
                    None => self.word(),
                },
            }
        }
    }

    /// Skips white space, comments and joined lines.
    fn skip_space(&mut self) {
        while let Some(c) = self.peek() {
            match c {
                '\n' => self.line_feed(),
                '#' => self.skip_while(|c| c != '\n'),
                '\\' if self.joins_lines() => {
                    self.skip_while(|c| c != '\n');
                    self.bump();
                    self.joined = self.joined.saturating_add(1);
                }
                c if c.is_whitespace() => self.bump(),
                _ => return,
            }
        }
    }

    /// A token without quotes.
    fn word(&mut self) {
        let (start, line) = (self.at, self.line);
        let mut text = String::new();
        let mut end = start;
        while let Some(c) = self.peek() {
            match c {
                '\r' => {
                    self.bump();
                    continue;
                }
                c if c.is_whitespace() => break,
                '\\' if self.joins_lines() => break,
                '\\' => self.escape(&mut text),
                c => {
                    text.push(c);
                    self.bump();
                }
            }
            end = self.at;
        }
        if text.contains('\0') {
            self.error(Span::new(start, end), "a NUL character", "remove it");
        }
        self.push(text, Span::new(start, end), false, line);
    }

    /// A backslash in a word stays, except before `<`, where it stands against a heredoc.
    fn escape(&mut self, text: &mut String) {
        self.bump();
        match self.peek() {
            Some('<') => {
                text.push('<');
                self.bump();
            }
            Some(c) if !c.is_whitespace() => {
                text.push('\\');
                text.push(c);
                self.bump();
            }
            _ => text.push('\\'),
        }
    }

    /// `"..."`: may span lines; `\"` is a quote, every other backslash stays.
    fn quoted(&mut self) {
        let (start, line) = (self.at, self.line);
        self.bump();
        let mut text = String::new();
        loop {
            match self.peek() {
                None => {
                    self.unclosed(start, "this quote is never closed", "add the closing `\"`");
                    break;
                }
                Some('"') => {
                    self.bump();
                    break;
                }
                Some('\\') => {
                    self.bump();
                    let next = self.peek();
                    if next != Some('"') {
                        text.push('\\');
                    }
                    self.take(next, &mut text);
                }
                next => self.take(next, &mut text),
            }
        }
        self.push(text, Span::new(start, self.at), true, line);
    }

    /// Backquotes: may span lines; nothing is special.
    fn raw(&mut self) {
        let (start, line) = (self.at, self.line);
        self.bump();
        let mut text = String::new();
        loop {
            match self.peek() {
                None => {
                    self.unclosed(
                        start,
                        "this backquote is never closed",
                        "add the closing backquote",
                    );
                    break;
                }
                Some('`') => {
                    self.bump();
                    break;
                }
                next => self.take(next, &mut text),
            }
        }
        self.push(text, Span::new(start, self.at), true, line);
    }

    /// The marker, if a heredoc begins here: `<<`, a name, and the end of the line.
    fn heredoc_marker(&mut self) -> Option<&'e str> {
        let rest = self.rest().strip_prefix("<<")?;
        let (marker, behind) = rest.split_at_checked(rest.find(char::is_whitespace)?)?;
        if !behind.trim_start_matches('\r').starts_with('\n') {
            return None;
        }
        if !marker.is_empty() && marker.chars().all(is_marker) {
            return Some(marker);
        }
        let span = Span::new(self.at, self.at.saturating_add(2).saturating_add(marker.len()));
        let help = "a heredoc begins with `<<` and a name of letters, digits, `-` and `_`; \
                    for a word that begins with `<<`, write `\\<<`";
        self.error(span, "this is not the marker of a heredoc", help);
        None
    }

    fn heredoc(&mut self, marker: &'e str) {
        let (start, line) = (self.at, self.line);
        self.skip_while(|c| c != '\n');
        let head = Span::new(start, self.at);
        self.line_feed();
        let mut lines: Vec<(usize, &str)> = Vec::new();
        loop {
            let content = self.rest().split('\n').next().unwrap_or_default();
            let trimmed = content.trim_start();
            if trimmed
                .strip_prefix(marker)
                .is_some_and(|rest| !rest.starts_with(is_marker))
            {
                let indent = content.strip_suffix(trimmed).unwrap_or_default();
                self.at = self.at.saturating_add(indent.len()).saturating_add(marker.len());
                let text = self.heredoc_text(&lines, indent);
                return self.push(text, Span::new(start, self.at), true, line);
            }
            lines.push((self.at, content.strip_suffix('\r').unwrap_or(content)));
            self.skip_while(|c| c != '\n');
            if self.peek().is_none() {
                let message = format!("this heredoc is never closed: no line begins with `{marker}`");
                self.error(head, &message, &format!("end it with a line `{marker}`"));
                return;
            }
            self.line_feed();
        }
    }

    /// The lines without the white space that stands before the closing marker.
    fn heredoc_text(&mut self, lines: &[(usize, &str)], indent: &str) -> String {
        let mut out = Vec::new();
        for (at, line) in lines {
            let stripped = line.strip_prefix(indent);
            if stripped.is_none() && !line.is_empty() {
                let span = Span::new(*at, at.saturating_add(line.len()));
                let help = "begin the line with the same white space as the line of the closing marker";
                self.error(
                    span,
                    "this line is indented less than the end of its heredoc",
                    help,
                );
            }
            out.push(stripped.unwrap_or_default());
        }
        out.join("\n").replace('\r', "")
    }

    /// Copies one character of a quoted text.
    fn take(&mut self, c: Option<char>, text: &mut String) {
        match c {
            Some('\n') => self.line_feed(),
            Some(_) => self.bump(),
            None => return,
        }
        text.extend(c);
    }

    fn line_feed(&mut self) {
        self.bump();
        self.line = self.line.saturating_add(1).saturating_add(self.joined);
        self.joined = 0;
    }

    /// Whether a backslash stands at the end of its line.
    fn joins_lines(&self) -> bool {
        let behind = self
            .rest()
            .strip_prefix('\\')
            .map(|rest| rest.trim_start_matches('\r'));
        behind.is_some_and(|rest| rest.starts_with('\n'))
    }

    fn push(&mut self, text: String, span: Span, quoted: bool, line: usize) {
        let span = self.expanded.origin(span);
        self.tokens.push(Token {
            text,
            span,
            quoted,
            line,
            last_line: self.line,
        });
    }

    fn unclosed(&mut self, start: usize, message: &str, help: &str) {
        self.error(Span::new(start, start.saturating_add(1)), message, help);
    }

    fn error(&mut self, span: Span, message: &str, help: &str) {
        self.report
            .error(self.expanded.origin(span), message, help.to_owned());
    }

    fn rest(&self) -> &'e str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) {
        self.at = self.at.saturating_add(self.peek().map_or(0, char::len_utf8));
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at = self
            .at
            .saturating_add(rest.find(|c| !wanted(c)).unwrap_or(rest.len()));
    }
}

pub(super) const fn is_marker(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Hides the arguments of every line like `secret ...`.
pub(super) fn mask_secrets(tokens: &[Token], report: &mut Report) {
    let mut secret_line = None;
    let mut before: Option<&Token> = None;
    for token in tokens {
        let begins = before.is_none_or(|before| token.is_on_new_line_after(before) || before.opens());
        let named = token
            .text
            .get(..6)
            .is_some_and(|text| text.eq_ignore_ascii_case("secret"));
        if begins {
            secret_line = None;
        } else if secret_line.is_some() && !token.opens() {
            report.mask(token.span);
        }
        if named && secret_line.is_none() {
            secret_line = Some(token.line);
        }
        before = Some(token);
    }
}

#[cfg(test)]
mod tests;
