//! Named matchers: `@name path /a /b`, or a block of such lines.

use std::collections::BTreeMap;

use super::cx::Cx;
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::MatcherSet,
    source::Span,
};

const KINDS: [&str; 3] = ["host", "method", "path"];

/// Kinds that Caddy has and Doorway will.
const LATER: [&str; 14] = [
    "client_ip",
    "expression",
    "header",
    "header_regexp",
    "not",
    "path_regexp",
    "protocol",
    "query",
    "remote_ip",
    "tls",
    "url_pattern",
    "vars",
    "vars_regexp",
    "file",
];

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
        let found = self.get(&name.text).map(|(_, set)| set.clone());
        if found.is_none() {
            let text = cx.quote(name);
            let help = format!("define it in this site: `{text} path /example*`");
            cx.error(name.span, format!("the matcher `{text}` is not defined"), help);
        }
        found
    }

    fn get(&self, name: &str) -> Option<&(Span, MatcherSet)> {
        self.own.get(name).or_else(|| self.parent?.get(name))
    }
}

/// Whether a line defines a matcher rather than being a directive.
pub(super) fn is_definition(line: &Line) -> bool {
    line.name.text.starts_with('@')
}

fn define(line: &Line, cx: &mut Cx<'_>) -> MatcherSet {
    let mut set = MatcherSet::default();
    if let Some((kind, args)) = line.args.split_first() {
        condition(kind, args, &mut set, cx);
        cx.no_block(line);
    } else {
        for line in line.block.as_deref().unwrap_or_default() {
            cx.no_block(line);
            condition(&line.name, &line.args, &mut set, cx);
        }
    }
    if line.args.is_empty() && line.block.as_ref().is_none_or(Vec::is_empty) {
        let name = cx.quote(&line.name);
        let help = format!("write a condition behind it: `{name} path /example*`");
        cx.error(line.name.span, "a matcher without a condition", help);
    }
    set
}

/// One condition; several of a kind are one with all their values.
fn condition(kind: &Token, args: &[Token], set: &mut MatcherSet, cx: &mut Cx<'_>) {
    let values = match kind.text.as_str() {
        "host" => set.host.get_or_insert_default(),
        "method" => set.method.get_or_insert_default(),
        "path" => set.path.get_or_insert_default(),
        _ => return unsupported(kind, cx),
    };
    if args.is_empty() {
        let name = cx.quote(kind);
        cx.error(kind.span, format!("`{name}` needs at least one value"), None);
    }
    for arg in args {
        cx.check(arg, check::no_placeholder(&arg.text));
        if kind.text == "host" && values.iter().any(|value| value.eq_ignore_ascii_case(&arg.text)) {
            cx.error(arg.span, "this host is repeated", "remove it".to_owned());
        }
        values.push(arg.text.clone());
    }
}

fn unsupported(kind: &Token, cx: &mut Cx<'_>) {
    if kind.quoted || LATER.contains(&kind.text.as_str()) {
        let name = if kind.quoted {
            "expression".to_owned()
        } else {
            kind.text.clone()
        };
        let help = format!("supported so far: {}", KINDS.join(", "));
        cx.error(
            kind.span,
            format!("the matcher `{name}` is not supported yet"),
            help,
        );
    } else {
        cx.unknown(kind, "matcher", &KINDS);
    }
}
