//! Tokens -> blocks and lines. Imports are carried out on the way, where they stand.
//!
//! A mistake is reported and stepped over, so that one does not hide the next.

use super::{
    import_args::Given,
    imports::{self, Imports},
    token::Token,
};
use crate::source::Span;

/// Deeper nesting is refused; what people write stays below ten. Each level is four of the JSON, which common
/// readers refuse beyond 128.
const MAX_NESTING: usize = 24;

/// A block at the top of the file.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) kind: Kind,
    /// The addresses of a site; the name of a named route; nothing for options.
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
    /// `&(name)`: a route to invoke.
    NamedRoute,
}

/// A word, its arguments, and perhaps a block of lines.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: Token,
    pub(crate) args: Vec<Token>,
    pub(crate) block: Option<Vec<Self>>,
}

struct Parser<'p, 't> {
    /// The next one last.
    tokens: Vec<Token>,
    /// The last token taken without its text, to see line ends.
    last: Option<Token>,
    imports: Imports<'p, 't>,
    /// Too much was imported: what follows from the sudden end is not reported.
    exhausted: bool,
}

/// The blocks of a file, its snippets put in place.
pub(super) fn parse(mut imports: Imports<'_, '_>) -> Vec<Block> {
    let mut tokens = imports.first_tokens();
    tokens.reverse();
    let mut parser = Parser {
        tokens,
        last: None,
        imports,
        exhausted: false,
    };
    let mut blocks = Vec::new();
    while let Some(token) = parser.peek() {
        if token.closes() {
            let span = token.span;
            parser.next();
            parser.error(
                span,
                "nothing is open that this brace could close",
                "remove it, or add the `{`",
            );
        } else if parser.at_import() {
            parser.import(0);
        } else {
            blocks.extend(parser.block());
        }
    }
    blocks
}

// === impl Parser ===

impl Parser<'_, '_> {
    /// One block; nothing if it only defines a snippet.
    fn block(&mut self) -> Option<Block> {
        if let Some(open) = self.next_if(Token::opens) {
            return Some(Block {
                kind: Kind::Options,
                keys: Vec::new(),
                lines: self.braced(&open, 1),
                braced: true,
                span: open.span,
            });
        }
        let (keys, open) = self.keys();
        let open = open.or_else(|| self.next_if(Token::opens));
        let span = keys.first().map_or_else(Span::default, |key| key.span);
        let name = match keys.as_slice() {
            [key] if key.text.ends_with(')') => Some(key),
            _ => None,
        };
        if let Some(key) = name.filter(|key| key.text.starts_with('(')) {
            self.snippet(key, open);
            return None;
        }
        let named_route = name.is_some_and(|key| key.text.starts_with("&("));
        if named_route && open.is_none() {
            let help = "put `{` behind it, and a line `}` behind its directives";
            self.error(span, "a named route without braces", help);
        }
        let braced = open.is_some();
        let lines = match open {
            Some(open) => self.braced(&open, 1),
            None if named_route => Vec::new(),
            None => self.unbraced(),
        };
        let kind = if named_route { Kind::NamedRoute } else { Kind::Site };
        Some(Block {
            kind,
            keys,
            lines,
            braced,
            span,
        })
    }

    /// Keeps the tokens of a snippet for its imports.
    fn snippet(&mut self, key: &Token, open: Option<Token>) {
        let Some(open) = open else {
            let help = "put `{` behind it, and a line `}` behind its lines";
            return self.error(key.span, "a snippet without braces", help);
        };
        let tokens = self.raw_block(&open);
        self.imports.define(key, tokens);
    }

    /// Whether an import stands next, at the beginning of a line.
    fn at_import(&self) -> bool {
        self.at_line_start() && self.peek().is_some_and(|token| token.text == "import")
    }

    /// Carries out the import that stands next, `depth` blocks deep: what it brings stands next then.
    fn import(&mut self, depth: usize) {
        let Some(word) = self.next() else { return };
        let target = self.same_line_word();
        let mut args = Vec::new();
        while let Some(arg) = self.same_line_word() {
            args.push(arg);
        }
        let open = if self.at_line_start() { None } else { self.next() };
        let block = open.map(|open| self.raw_block(&open)).unwrap_or_default();
        let given = Given::new(args, block).unwrap_or_else(|span| {
            let help = "begin each block in the block of an import with a name";
            self.error(span, "a block without a name", help);
            Given::default()
        });
        let line = imports::Line { word, target, given };
        match self.imports.carry_out(&line, depth == 0) {
            Ok(tokens) => self.tokens.extend(tokens.into_iter().rev()),
            Err(imports::Exhausted) => {
                self.exhausted = true;
                self.tokens.clear();
            }
        }
    }

    fn same_line_word(&mut self) -> Option<Token> {
        let next = self.peek()?;
        if self.at_line_start() || next.opens() {
            return None;
        }
        self.next()
    }

    /// The tokens up to the brace that closes `open`, which goes too.
    fn raw_block(&mut self, open: &Token) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut depth: usize = 1;
        while let Some(token) = self.next() {
            if token.opens() {
                depth = depth.saturating_add(1);
            } else if token.closes() {
                depth = depth.saturating_sub(1);
            }
            if depth == 0 {
                return tokens;
            }
            tokens.push(token);
        }
        self.error(open.span, "this block is never closed", "add a line `}`");
        tokens
    }

    /// Addresses up to the opening brace, which is returned, or to the end of the line.
    fn keys(&mut self) -> (Vec<Token>, Option<Token>) {
        let mut keys = Vec::new();
        let mut more = false;
        loop {
            if self.peek().is_none_or(|token| token.closes()) {
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
            if more && self.at_import() {
                self.import(0);
                continue;
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
        while self.peek().is_some_and(|token| !token.closes()) {
            if self.at_import() {
                self.import(1);
            } else {
                lines.push(self.line(0));
            }
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
            match self.peek() {
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
                Some(_) if self.at_import() => self.import(depth),
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
        while let Some(next) = self.peek() {
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
            if self.peek().is_some_and(Token::closes) {
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

    fn peek(&self) -> Option<&Token> {
        self.tokens.last()
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.pop();
        self.last = token.as_ref().map(Token::place);
        token
    }

    fn next_if(&mut self, wanted: impl Fn(&Token) -> bool) -> Option<Token> {
        self.peek().is_some_and(wanted).then(|| self.next()).flatten()
    }

    fn at_line_start(&self) -> bool {
        let last = self.last.as_ref();
        self.peek()
            .is_none_or(|next| last.is_none_or(|last| next.is_on_new_line_after(last)))
    }

    fn next_on_same_line(&self) -> Option<Span> {
        if self.at_line_start() {
            None
        } else {
            self.peek().map(|token| token.span)
        }
    }

    fn error(&mut self, span: Span, message: &str, help: &str) {
        if !self.exhausted {
            self.imports.report.error(span, message, help.to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
