//! Caddyfile text -> a tree of blocks and lines. What the lines mean is the adapter's business.
//!
//! The stages are apart so that each can be read, tested and extended alone: [`env`] puts environment variables
//! into the text, [`lexer`] makes tokens of it, [`parser`] makes the tree. Imports and snippets replace tokens by
//! tokens; their place is between the last two.

pub(crate) mod env;
pub(crate) mod lexer;
pub(crate) mod parser;
pub(crate) mod token;

use self::parser::Block;
use crate::{
    source::{Report, Sources},
    surroundings::Surroundings,
};

/// Reads the first of `sources` and what it imports; what is wrong goes to `report`, and the tree holds what could be
/// made out.
pub(crate) fn read(
    sources: &Sources<'_>,
    surroundings: &dyn Surroundings,
    report: &mut Report,
) -> Vec<Block> {
    let source = sources.first();
    let variable = |name: &str| surroundings.variable(name);
    let text = env::expand(source.text(), source.base(), &variable, report);
    let tokens = lexer::tokens(&text, report);
    parser::parse(tokens, report)
}
