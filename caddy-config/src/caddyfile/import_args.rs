//! What an import puts into the tokens that it brings: `{args[0]}`, `{args[1:]}`, `{block}`, `{blocks.name}`.

use std::collections::HashMap;

use super::token::Token;
use crate::source::Span;

/// What stands behind the name in an `import` line.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) args: Vec<Token>,
    /// The tokens of the block, without its braces.
    pub(super) block: Vec<Token>,
    /// The lines of the block by their first words: the rest of each line, and of its own block.
    pub(super) blocks: HashMap<String, Vec<Token>>,
}

/// What a token is to be replaced by.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Replacement<'g> {
    /// The same token with this text.
    Text(String),
    /// These arguments, as if they were written in its place.
    Arguments(&'g [Token]),
    /// These tokens, each on the line that it stands on.
    Block(&'g [Token]),
}

/// The number of an argument has fewer characters, with its brackets.
const MAX_INDEX: usize = 50;

/// A reference to an argument that there is not, in words.
pub(super) type Complaint = String;

// === impl Given ===

impl Given {
    /// Takes the block apart. A block without a name in it is an error at the place that is returned.
    pub(super) fn new(args: Vec<Token>, block: Vec<Token>) -> Result<Self, Span> {
        let mut blocks = HashMap::new();
        let mut rest = block.as_slice();
        while let Some((name, behind)) = rest.split_first() {
            if name.opens() {
                return Err(name.span);
            }
            let same_line = behind.iter().scan(name, |last, token| {
                let goes_on = !token.is_on_new_line_after(last) && !token.opens();
                *last = token;
                goes_on.then_some(())
            });
            let (args, behind) = behind.split_at_checked(same_line.count()).unwrap_or_default();
            let mut part = args.to_vec();
            let last = args.last().unwrap_or(name);
            rest = match behind.split_first() {
                Some((open, behind)) if open.opens() && !open.is_on_new_line_after(last) => {
                    let (inner, behind) = behind.split_at_checked(end_of_block(behind)).unwrap_or_default();
                    part.extend_from_slice(inner);
                    behind.get(1..).unwrap_or_default()
                }
                _ => behind,
            };
            blocks.insert(name.text.clone(), part);
        }
        Ok(Self { args, block, blocks })
    }

    /// What to put in the place of a token with this text; nothing to leave it as it is.
    pub(super) fn replacement(&self, text: &str, complaints: &mut Vec<Complaint>) -> Option<Replacement<'_>> {
        if !text.contains('{') {
            return None;
        }
        self.block(text)
            .map(Replacement::Block)
            .or_else(|| self.range(text, complaints).map(Replacement::Arguments))
            .or_else(|| self.text(text, complaints).map(Replacement::Text))
    }

    /// What `{block}` and `{blocks.name}` stand for.
    pub(super) fn block(&self, text: &str) -> Option<&[Token]> {
        let name = text.strip_prefix("{block")?.strip_suffix('}')?;
        if name.is_empty() {
            return Some(&self.block);
        }
        let tokens = self.blocks.get(name.strip_prefix("s.")?);
        Some(tokens.map_or(&[], Vec::as_slice))
    }

    /// What `{args[1:2]}` stands for.
    fn range(&self, text: &str, complaints: &mut Vec<Complaint>) -> Option<&[Token]> {
        let (start, end) = text.strip_prefix("{args[")?.strip_suffix("]}")?.split_once(':')?;
        let count = self.args.len();
        let index = |text: &str, default| match text {
            "" => Some(default),
            text => text.parse().ok(),
        };
        let range = index(start, 0).zip(index(end, count));
        let args = range.and_then(|(start, end)| self.args.get(start..end));
        if args.is_none() {
            complaints.push(self.outside(text));
        }
        args
    }

    /// The text with what `{args[0]}` in it stands for. A backslash before a brace goes, as from all texts with
    /// placeholders.
    fn text(&self, text: &str, complaints: &mut Vec<Complaint>) -> Option<String> {
        let mut out = String::new();
        let (mut copied, mut at): (usize, usize) = (0, 0);
        while let Some(found) = text.get(at..).and_then(|rest| rest.find(['{', '}'])) {
            let brace = at.saturating_add(found);
            at = brace.saturating_add(1);
            let before = text.get(copied..brace).unwrap_or_default();
            if let Some(plain) = before.strip_suffix('\\') {
                out.push_str(plain);
                copied = brace;
            } else if let Some((value, length)) =
                self.named(text.get(brace..).unwrap_or_default(), complaints)
            {
                out.push_str(before);
                out.push_str(value);
                copied = brace.saturating_add(length);
                at = copied;
            }
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        (out != text).then_some(out)
    }

    /// The argument that a `{args[0]}` at the beginning of `text` names, and the length of that.
    fn named(&self, text: &str, complaints: &mut Vec<Complaint>) -> Option<(&str, usize)> {
        let inner = text.strip_prefix("{args")?;
        // Numbers are short, so that a text full of openings is not searched again and again.
        let end = inner.bytes().take(MAX_INDEX).position(|byte| byte == b'}')?;
        let inner = inner.get(..end)?;
        let old = inner.strip_prefix('.');
        let number = match old {
            Some(number) => number,
            None => inner.strip_prefix('[')?.strip_suffix(']')?,
        };
        let written = format!("{{args{inner}}}");
        if number.contains(':') {
            complaints.push(format!(
                "`{written}` stands for several words only as a word of its own"
            ));
            return None;
        }
        let Ok(index) = number.parse::<usize>() else {
            complaints.push(format!("`{written}` is not the number of an argument"));
            return None;
        };
        let Some(arg) = self.args.get(index) else {
            complaints.push(self.outside(&written));
            return None;
        };
        if old.is_some() {
            complaints.push(format!("`{written}` is the old form of `{{args[{number}]}}`"));
        }
        Some((&arg.text, written.len()))
    }

    fn outside(&self, written: &str) -> Complaint {
        match self.args.len() {
            0 => format!("`{written}` stands for nothing: the import has no arguments"),
            1 => format!("`{written}` stands for nothing: the import has only one argument"),
            count => format!("`{written}` stands for nothing: the import has only {count} arguments"),
        }
    }
}

/// The number of tokens before the brace that closes what is open.
fn end_of_block(tokens: &[Token]) -> usize {
    let mut open: usize = 1;
    let closing = tokens.iter().position(|token| {
        if token.opens() {
            open = open.saturating_add(1);
        } else if token.closes() {
            open = open.saturating_sub(1);
        }
        open == 0
    });
    closing.unwrap_or(tokens.len())
}

#[cfg(test)]
mod tests {
    use super::{Given, Replacement};
    use crate::{caddyfile::token::Token, source::Span};

    fn token(text: &str) -> Token {
        Token {
            text: text.to_owned(),
            span: Span::default(),
            quoted: false,
            line: 1,
            last_line: 1,
        }
    }

    fn given() -> Given {
        Given {
            args: ["a", "b c"].map(token).into(),
            block: vec![token("whole")],
            blocks: [("x.y".to_owned(), vec![token("part")])].into(),
        }
    }

    fn replaced(text: &str) -> (String, Vec<String>) {
        let given = given();
        let mut complaints = Vec::new();
        let words = |tokens: &[Token]| {
            tokens
                .iter()
                .map(|token| token.text.as_str())
                .collect::<Vec<_>>()
                .join("|")
        };
        let out = match given.replacement(text, &mut complaints) {
            None => text.to_owned(),
            Some(Replacement::Text(text)) => text,
            Some(Replacement::Arguments(tokens)) => format!("args {}", words(tokens)),
            Some(Replacement::Block(tokens)) => format!("block {}", words(tokens)),
        };
        (out, complaints)
    }

    #[test]
    fn references_are_replaced_as_caddy_replaces_them() {
        for (text, expected) in [
            ("x", "x"),
            ("{args[0]}", "a"),
            ("x{args[1]}y{args[0]}", "xb cya"),
            ("{args[+0]}{args[00]}", "aa"),
            ("{{args[0]}}", "{a}"),
            ("{a{args[1]}b}", "{ab cb}"),
            ("{xargs[0]}{args[0].y}", "{xargs[0]}{args[0].y}"),
            ("\\{args[0]}", "{args[0]}"),
            ("{args[0]\\}", "{args[0]}"),
            ("\\{x\\} \\x", "{x} \\x"),
            ("{args[0}", "{args[0}"),
            ("{args[:]}", "args a|b c"),
            ("{args[1:]}", "args b c"),
            ("{args[:1]}", "args a"),
            ("{args[1:1]}", "args "),
            ("{block}", "block whole"),
            ("{blocks.x.y}", "block part"),
            ("{blocks.none}", "block "),
            ("x{block}", "x{block}"),
            ("{blocks}", "{blocks}"),
        ] {
            assert_eq!(replaced(text), (expected.to_owned(), vec![]), "{text}");
        }
    }

    #[test]
    fn a_reference_to_nothing_stays_and_is_told() {
        for (text, expected) in [
            (
                "{args[2]}",
                "`{args[2]}` stands for nothing: the import has only 2 arguments",
            ),
            (
                "{args[1:3]}",
                "`{args[1:3]}` stands for nothing: the import has only 2 arguments",
            ),
            (
                "{args[2:1]}",
                "`{args[2:1]}` stands for nothing: the import has only 2 arguments",
            ),
            ("{args[-1]}", "`{args[-1]}` is not the number of an argument"),
            ("{args[]}", "`{args[]}` is not the number of an argument"),
            ("{args.x}", "`{args.x}` is not the number of an argument"),
            (
                "x{args[:]}",
                "`{args[:]}` stands for several words only as a word of its own",
            ),
        ] {
            let (out, complaints) = replaced(text);
            assert_eq!(
                (out.as_str(), complaints.first().map(String::as_str)),
                (text, Some(expected))
            );
        }
        assert_eq!(
            replaced("{args.0}"),
            (
                "a".to_owned(),
                vec!["`{args.0}` is the old form of `{args[0]}`".to_owned()]
            )
        );
    }

    #[test]
    fn a_text_full_of_openings_is_searched_once() {
        let text = "{args[".repeat(100_000);
        assert_eq!(replaced(&text), (text.clone(), vec![]));
    }
}
