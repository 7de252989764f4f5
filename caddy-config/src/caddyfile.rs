//! Caddyfile text -> a tree of blocks and lines. What the lines mean is the adapter's business.
//!
//! The stages are apart so that each can be read, tested and extended alone: [`env`] puts environment variables
//! into a text, [`lexer`] makes tokens of it, [`parser`] makes the tree, for which [`imports`] puts the tokens of
//! snippets and files in the place of imports.

pub(crate) mod env;
pub(crate) mod format;
mod glob;
mod import_args;
mod imports;
pub(crate) mod lexer;
pub(crate) mod parser;
pub(crate) mod token;

use self::{imports::Imports, parser::Block};
use crate::{
    source::{Report, Sources},
    surroundings::Surroundings,
};

/// Reads the first of `sources` and what it imports; what is wrong goes to `report`, and the tree holds what could be
/// made out.
pub(crate) fn read(
    sources: &mut Sources<'_>,
    surroundings: &dyn Surroundings,
    report: &mut Report,
) -> Vec<Block> {
    parser::parse(Imports::new(sources, surroundings, report))
}
