//! Tokens: the words of a Caddyfile.

use crate::source::Span;

/// A word, a quoted text, or a brace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// Without quotes, escapes resolved.
    pub(crate) text: String,
    /// Where it is written, with its quotes.
    pub(crate) span: Span,
    /// In quotes, backquotes or a heredoc: never a brace of the structure.
    pub(crate) quoted: bool,
    /// The line it begins on. Lines joined by a backslash count as one.
    pub(crate) line: usize,
    /// The line it ends on.
    pub(crate) last_line: usize,
}

// === impl Token ===

impl Token {
    /// Whether it opens a block.
    pub(crate) fn opens(&self) -> bool {
        !self.quoted && self.text == "{"
    }

    /// Whether it closes a block.
    pub(crate) fn closes(&self) -> bool {
        !self.quoted && self.text == "}"
    }

    /// The same without its text, which may be large.
    pub(crate) const fn place(&self) -> Self {
        Self {
            text: String::new(),
            ..*self
        }
    }

    /// Whether it begins a line, `before` being the token before it. What one import put in place never stands on a
    /// line with what another did.
    pub(crate) fn is_on_new_line_after(&self, before: &Self) -> bool {
        before.span.import != self.span.import || before.last_line < self.line
    }
}
