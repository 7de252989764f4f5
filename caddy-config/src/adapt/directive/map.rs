//! `map [matcher] SOURCE {NAME}... { INPUT OUTPUT...; ~EXPRESSION OUTPUT...; default OUTPUT... }`: sets variables
//! after what another value is.

use std::collections::BTreeMap;

use super::super::{args::Args, cx::Cx, values::scalar};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{Handler, Map, Mapping, Value},
    source::Span,
    template::{Part, Placeholder, Template},
};

pub(super) fn read(mut args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    let source = args.required("a source and a destination", cx)?;
    cx.check_value(source, check::template(&source.text));
    let mut map = Map {
        source: source.text.clone(),
        ..Map::default()
    };
    for destination in args.rest() {
        cx.check(destination, check::map_destination(&destination.text));
        map.destinations.push(destination.text.clone());
    }
    if map.destinations.is_empty() {
        let help = "write a name in braces behind the source: `{backend}`".to_owned();
        cx.error(args.name().span, "`map` needs a destination", help);
    }
    let mut seen = BTreeMap::new();
    for line in args.block() {
        cx.no_block(line);
        if line.name.text == "default" {
            defaults(line, &mut map, cx);
        } else {
            let mapping = mapping(line, map.destinations.len(), &mut seen, cx);
            map.mappings.push(mapping);
        }
    }
    Some(Handler::Map(map))
}

fn defaults(line: &Line, map: &mut Map, cx: &mut Cx<'_>) {
    if !map.defaults.is_empty() {
        cx.error(line.name.span, "`default` is given twice", None);
    }
    let count = map.destinations.len();
    map.defaults = fitting(&line.args, count, cx)
        .iter()
        .map(|arg| {
            cx.check_value(arg, check::template(&arg.text));
            arg.text.clone()
        })
        .collect();
    map.defaults.resize(count, String::new());
}

fn mapping(line: &Line, count: usize, seen: &mut BTreeMap<String, Span>, cx: &mut Cx<'_>) -> Mapping {
    let input = &line.name;
    match seen.get(&input.text) {
        Some(first) => cx.twice(input, *first),
        None => {
            seen.insert(input.text.clone(), input.span);
        }
    }
    let mut mapping = Mapping::default();
    if let Some(expression) = input.text.strip_prefix('~') {
        cx.check_regex(input, expression);
        mapping.input_regexp = expression.to_owned();
    } else {
        mapping.input.clone_from(&input.text);
    }
    for arg in fitting(&line.args, count, cx) {
        cx.check_value(arg, check::template(&arg.text));
        if !mapping.input_regexp.is_empty() {
            warn_of_placeholder(arg, cx);
        }
        let value = match arg.text.as_str() {
            "-" => Value::Null,
            _ => scalar(arg, cx).unwrap_or(Value::Null),
        };
        mapping.outputs.push(value);
    }
    mapping.outputs.resize(count, Value::Null);
    mapping
}

/// What an expression's groups put into a value could be a placeholder of the client's, so none is replaced there.
fn warn_of_placeholder(arg: &Token, cx: &mut Cx<'_>) {
    let Ok(template) = arg.text.parse::<Template>() else {
        return;
    };
    let own = |part: &Part| matches!(part, Part::Placeholder(placeholder) if !matches!(placeholder, Placeholder::Variable(_)));
    if template.parts().iter().any(own) {
        let help = "only groups such as `${1}` are; for placeholders, compare with a text".to_owned();
        cx.warn(
            arg.span,
            "no placeholder is replaced in the value of an expression",
            help,
        );
    }
}

/// As many values as there are destinations; more are reported.
fn fitting<'a>(args: &'a [Token], count: usize, cx: &mut Cx<'_>) -> &'a [Token] {
    let (fitting, surplus) = args.split_at_checked(count).unwrap_or((args, &[]));
    if let Some(first) = surplus.first() {
        let message = format!("more values than destinations, which are {count}");
        cx.error(first.span, message, None);
    }
    fitting
}
