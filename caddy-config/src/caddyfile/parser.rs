//! Tokens -> blocks and lines.
//!
//! A mistake is reported and stepped over, so that one does not hide the next.

use super::token::Token;
use crate::source::{Report, Span};

/// Deeper nesting is refused; what people write stays below ten. Each level is four of the JSON, which common
/// readers refuse beyond 128.
const MAX_NESTING: usize = 24;

/// A block at the top of the file.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) kind: Kind,
    /// The addresses of a site; the name of a snippet or named route; nothing for options.
    pub(crate) keys: Vec<Token>,
    pub(crate) lines: Vec<Line>,
    pub(crate) braced: bool,
    /// What to point at when the block as a whole is meant.
    pub(crate) span: Span,
}

/// What a block at the top is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Global options.
    Options,
    /// A site.
    Site,
    /// `(name)`: lines to import.
    Snippet,
    /// `&(name)`: a route to invoke.
    NamedRoute,
    /// `import ...`: not a block, but stands in the place of one.
    Import,
}

/// A word, its arguments, and perhaps a block of lines.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: Token,
    pub(crate) args: Vec<Token>,
    pub(crate) block: Option<Vec<Self>>,
}

struct Parser<'r> {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    /// Where the last token taken ended, to see line ends.
    last: Option<Token>,
    report: &'r mut Report,
}

/// The blocks of a file.
pub(crate) fn parse(tokens: Vec<Token>, report: &mut Report) -> Vec<Block> {
    let mut parser = Parser {
        tokens: tokens.into_iter().peekable(),
        last: None,
        report,
    };
    let mut blocks = Vec::new();
    while let Some(token) = parser.tokens.peek() {
        if token.closes() {
            let span = token.span;
            parser.next();
            parser.error(
                span,
                "nothing is open that this brace could close",
                "remove it, or add the `{`",
            );
        } else {
            blocks.push(parser.block());
        }
    }
    blocks
}

// === impl Parser ===

impl Parser<'_> {
    fn block(&mut self) -> Block {
        if let Some(open) = self.tokens.next_if(Token::opens) {
            let lines = self.braced(&open, 1);
            return Block {
                kind: Kind::Options,
                keys: Vec::new(),
                lines,
                braced: true,
                span: open.span,
            };
        }
        if self.tokens.peek().is_some_and(|token| token.text == "import") {
            let line = self.line(0);
            let span = line.name.span;
            return Block {
                kind: Kind::Import,
                keys: Vec::new(),
                lines: vec![line],
                braced: false,
                span,
            };
        }
        let (keys, open) = self.keys();
        let span = keys.first().map_or_else(Span::default, |key| key.span);
        let (lines, braced) = match open.or_else(|| self.tokens.next_if(Token::opens)) {
            Some(open) => (self.braced(&open, 1), true),
            None => (self.unbraced(), false),
        };
        Block {
            kind: kind(&keys),
            keys,
            lines,
            braced,
            span,
        }
    }

    /// Addresses up to the opening brace, which is returned, or to the end of the line.
    fn keys(&mut self) -> (Vec<Token>, Option<Token>) {
        let mut keys = Vec::new();
        let mut more = false;
        loop {
            if self.tokens.peek().is_none_or(|token| token.closes()) {
                if more {
                    let span = self.last.as_ref().map_or_else(Span::default, |token| token.span);
                    self.error(
                        span,
                        "another address is missing behind the comma",
                        "remove the comma",
                    );
                }
                return (keys, None);
            }
            if !more && !keys.is_empty() && self.at_line_start() {
                return (keys, None);
            }
            let Some(mut token) = self.next() else {
                return (keys, None);
            };
            if token.opens() {
                if more {
                    self.error(
                        token.span,
                        "another address is missing behind the comma",
                        "remove the comma",
                    );
                }
                return (keys, Some(token));
            }
            let glued = !token.quoted && token.text.ends_with('{');
            if glued {
                self.error(
                    token.span,
                    "a brace directly behind an address",
                    "put a space before the `{`",
                );
                token.text.pop();
            }
            more = self.key(token.clone(), &mut keys);
            if glued {
                return (keys, Some(token));
            }
        }
    }

    /// Takes one address; whether a comma behind it asks for another.
    fn key(&mut self, mut token: Token, keys: &mut Vec<Token>) -> bool {
        let more = token.text.ends_with(',');
        if more {
            token.text.pop();
        }
        if token.text.contains(',') {
            let help = "put a space behind the comma: each address is a word of its own";
            self.error(token.span, "a comma inside an address", help);
        } else if !token.text.is_empty() {
            keys.push(token);
        } else if !more {
            self.error(
                token.span,
                "an empty address",
                "write `:80` for every host on port 80",
            );
        }
        more
    }

    /// The lines of a site without braces: the rest of the file.
    fn unbraced(&mut self) -> Vec<Line> {
        let mut lines = Vec::new();
        while self.tokens.peek().is_some_and(|token| !token.closes()) {
            lines.push(self.line(0));
        }
        lines
    }

    /// The lines behind `open`, with the closing brace.
    fn braced(&mut self, open: &Token, depth: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        if let Some(span) = self.next_on_same_line() {
            self.error(
                span,
                "text behind `{` on the same line",
                "put a line break behind the `{`",
            );
        }
        loop {
            match self.tokens.peek() {
                None => {
                    self.error(open.span, "this block is never closed", "add a line `}`");
                    return lines;
                }
                Some(token) if token.closes() => {
                    self.next();
                    return lines;
                }
                Some(_) if depth > MAX_NESTING => {
                    let help = "are closing braces missing above?";
                    self.error(
                        open.span,
                        &format!("blocks nested more than {MAX_NESTING} deep"),
                        help,
                    );
                    self.skip_block();
                    return lines;
                }
                Some(_) => lines.push(self.line(depth)),
            }
        }
    }

    /// One line, with its block. There is a token.
    fn line(&mut self, depth: usize) -> Line {
        let name = self.next().unwrap_or_else(|| Token {
            text: String::new(),
            span: Span::default(),
            quoted: false,
            line: 0,
            last_line: 0,
        });
        let mut line = Line {
            name,
            args: Vec::new(),
            block: None,
        };
        if line.name.opens() {
            self.error(
                line.name.span,
                "a block without a name",
                "put the name before the `{`, on the same line",
            );
            line.block = Some(self.braced(&line.name, depth.saturating_add(1)));
            return line;
        }
        while let Some(next) = self.tokens.peek() {
            let begins_line = self
                .last
                .as_ref()
                .is_none_or(|last| next.is_on_new_line_after(last));
            let span = next.span;
            if next.opens() {
                if begins_line {
                    let help = "move it to the end of the line before";
                    self.error(span, "this brace stands on a line of its own", help);
                }
                self.block_of(&mut line, depth);
                return line;
            }
            if begins_line {
                return line;
            }
            if next.closes() {
                self.error(
                    span,
                    "a closing brace behind other text",
                    "put it on a line of its own",
                );
                return line;
            }
            self.argument(&mut line);
        }
        line
    }

    fn argument(&mut self, line: &mut Line) {
        let Some(token) = self.next() else { return };
        if token.text == "{}" && !token.quoted && self.at_line_start() {
            let help = "leave the braces out, or put the `}` on the next line";
            self.error(token.span, "`{}` is a word, not an empty block", help);
        } else {
            line.args.push(token);
        }
    }

    fn block_of(&mut self, line: &mut Line, depth: usize) {
        let Some(open) = self.next() else { return };
        line.block = Some(self.braced(&open, depth.saturating_add(1)));
        let mut told = false;
        while let Some(span) = self.next_on_same_line() {
            if self.tokens.peek().is_some_and(Token::closes) {
                self.error(
                    span,
                    "a closing brace behind other text",
                    "put it on a line of its own",
                );
                return;
            }
            if !told {
                self.error(
                    span,
                    "text behind `}` on the same line",
                    "put a line break behind the `}`",
                );
            }
            told = true;
            self.next();
        }
    }

    /// Steps over the rest of a block, with its closing brace.
    fn skip_block(&mut self) {
        let mut open: usize = 1;
        while let Some(token) = self.next() {
            if token.opens() {
                open = open.saturating_add(1);
            } else if token.closes() {
                open = open.saturating_sub(1);
            }
            if open == 0 {
                return;
            }
        }
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.next();
        // Only its lines and its place are needed; its text may be large.
        self.last = token.as_ref().map(|token| Token {
            text: String::new(),
            ..token.clone()
        });
        token
    }

    fn at_line_start(&mut self) -> bool {
        let last = self.last.as_ref();
        self.tokens
            .peek()
            .is_none_or(|next| last.is_none_or(|last| next.is_on_new_line_after(last)))
    }

    fn next_on_same_line(&mut self) -> Option<Span> {
        if self.at_line_start() {
            None
        } else {
            self.tokens.peek().map(|token| token.span)
        }
    }

    fn error(&mut self, span: Span, message: &str, help: &str) {
        self.report.error(span, message, help.to_owned());
    }
}

fn kind(keys: &[Token]) -> Kind {
    let name = match keys {
        [key] => key.text.as_str(),
        _ => "",
    };
    if !name.ends_with(')') {
        Kind::Site
    } else if name.starts_with('(') {
        Kind::Snippet
    } else if name.starts_with("&(") {
        Kind::NamedRoute
    } else {
        Kind::Site
    }
}

#[cfg(test)]
mod tests;
