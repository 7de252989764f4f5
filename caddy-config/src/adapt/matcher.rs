//! Named matchers: `@name path /a /b`, or a block of such lines.

mod conditions;

use std::collections::BTreeMap;

use self::conditions::Conditions;
use super::cx::Cx;
use crate::{
    caddyfile::{parser::Line, token::Token},
    model::MatcherSet,
    source::Span,
};

/// The named matchers that a block sees: its own and those around it.
#[derive(Debug, Default)]
pub(super) struct Scope<'p> {
    parent: Option<&'p Self>,
    own: BTreeMap<String, (Span, MatcherSet)>,
}

// === impl Scope ===

impl<'p> Scope<'p> {
    /// The scope of a block with these lines.
    pub(super) fn new(parent: Option<&'p Self>, lines: &[Line], cx: &mut Cx<'_>) -> Self {
        let mut scope = Scope {
            parent,
            own: BTreeMap::new(),
        };
        for line in lines.iter().filter(|line| is_definition(line)) {
            if let Some((first, _)) = scope.get(&line.name.text) {
                cx.twice(&line.name, *first);
            }
            let set = define(line, cx);
            scope.own.insert(line.name.text.clone(), (line.name.span, set));
        }
        scope
    }

    /// The matcher that `name` stands for. If there is none, that is reported.
    pub(super) fn find(&self, name: &Token, cx: &mut Cx<'_>) -> Option<MatcherSet> {
        if let Some((_, set)) = self.get(&name.text) {
            return cx.copy(name, set);
        }
        let text = cx.quote(name);
        let help = format!("define it in this site: `{text} path /example*`");
        cx.error(name.span, format!("the matcher `{text}` is not defined"), help);
        None
    }

    fn get(&self, name: &str) -> Option<&(Span, MatcherSet)> {
        self.own.get(name).or_else(|| self.parent?.get(name))
    }
}

/// Whether a line defines a matcher rather than being a directive.
pub(super) fn is_definition(line: &Line) -> bool {
    line.name.text.starts_with('@')
}

/// What a definition stands for: a condition on its line, lines of them in a block, or one expression in quotes.
fn define(line: &Line, cx: &mut Cx<'_>) -> MatcherSet {
    let own_name = line.name.text.strip_prefix('@').unwrap_or_default();
    read(line, Conditions::new(Some(own_name)), cx)
}

/// [`define`] for a line that takes conditions itself, without a name.
pub(super) fn conditions(line: &Line, cx: &mut Cx<'_>) -> MatcherSet {
    read(line, Conditions::new(None), cx)
}

fn read(line: &Line, mut set: Conditions<'_>, cx: &mut Cx<'_>) -> MatcherSet {
    match line.args.split_first() {
        Some((expression, rest)) if expression.quoted => {
            cx.surplus(rest);
            cx.no_block(line);
            set.expression(expression.span, std::slice::from_ref(expression), cx);
        }
        Some((kind, args)) => set.condition(kind, args, line.block.as_deref(), cx),
        None => {
            for line in line.block.as_deref().unwrap_or_default() {
                set.condition(&line.name, &line.args, line.block.as_deref(), cx);
            }
        }
    }
    if line.args.is_empty() && line.block.as_ref().is_none_or(Vec::is_empty) {
        let name = cx.quote(&line.name);
        let help = format!("write a condition behind it: `{name} path /example*`");
        cx.error(line.name.span, "a matcher without a condition", help);
    }
    set.finish()
}
