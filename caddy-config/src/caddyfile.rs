//! Caddyfile text -> a tree of blocks and lines. What the lines mean is the adapter's business.
//!
//! The stages are apart so that each can be read, tested and extended alone: [`env`] puts environment variables
//! into the text, [`lexer`] makes tokens of it, [`parser`] makes the tree. Imports and snippets replace tokens by
//! tokens; their place is between the last two.

pub(crate) mod env;
pub(crate) mod lexer;
pub(crate) mod parser;
pub(crate) mod token;

use self::{env::Environment, parser::Block};
use crate::source::{Report, Source};

/// Reads `source`; what is wrong goes to `report`, and the tree holds what could be made out.
pub(crate) fn read(source: &Source<'_>, environment: Environment<'_>, report: &mut Report) -> Vec<Block> {
    let text = env::expand(source.text(), environment, report);
    let tokens = lexer::tokens(&text, report);
    parser::parse(tokens, report)
}
