//! The arguments of a directive, taken one by one.

use super::{cx::Cx, matcher::Scope};
use crate::{
    caddyfile::{parser::Line, token::Token},
    model::MatcherSet,
};

/// What is left of a directive's arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Args<'l> {
    line: &'l Line,
    rest: &'l [Token],
}

// === impl Args ===

impl<'l> Args<'l> {
    pub(super) fn new(line: &'l Line) -> Self {
        Self {
            line,
            rest: &line.args,
        }
    }

    pub(super) const fn line(&self) -> &'l Line {
        self.line
    }

    pub(super) const fn name(&self) -> &'l Token {
        &self.line.name
    }

    pub(super) fn block(&self) -> &'l [Line] {
        self.line.block.as_deref().unwrap_or_default()
    }

    pub(super) const fn rest(&self) -> &'l [Token] {
        self.rest
    }

    pub(super) fn next(&mut self) -> Option<&'l Token> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// [`Args::next`], with a finding if there is none.
    pub(super) fn required(&mut self, what: &str, cx: &mut Cx<'_>) -> Option<&'l Token> {
        let next = self.next();
        if next.is_none() {
            let name = cx.quote(self.name());
            cx.error(self.name().span, format!("`{name}` needs {what}"), None);
        }
        next
    }

    /// The matcher, if the first argument is one: `*`, `/path` or `@name`. All requests have no set.
    pub(super) fn matcher(&mut self, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Vec<MatcherSet> {
        let Some(first) = self.rest.first() else {
            return Vec::new();
        };
        let set = match first.text.chars().next() {
            Some('*') if first.text == "*" => None,
            Some('/') => {
                cx.check_value(first, crate::check::template(&first.text));
                Some(MatcherSet {
                    path: Some(vec![first.text.clone()]),
                    ..MatcherSet::default()
                })
            }
            Some('@') => scope.find(first, cx),
            _ => return Vec::new(),
        };
        self.next();
        Vec::from_iter(set)
    }

    /// Reports what is left.
    pub(super) fn finish(&self, cx: &mut Cx<'_>) {
        cx.surplus(self.rest);
    }
}
