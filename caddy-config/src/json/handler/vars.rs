//! Variables of a request.

use std::collections::BTreeSet;

use crate::{
    check,
    json::{
        decode::{Cx, Object},
        reader::{Node, Value as Json},
        scalar::{pattern, template},
    },
    model::{Map, Mapping, Value, Vars},
};

pub(super) fn vars<'n>(object: Object<'n>, cx: &mut Cx<'n, '_>) -> Vars {
    let span = object.span();
    let values = object.rest(cx, value);
    for name in values.keys() {
        if let Err(error) = check::template(name) {
            cx.error(span, error.to_string(), None);
        }
    }
    Vars { values }
}

/// Anything but an object; of lists, those of texts.
pub(in crate::json) fn value<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Value> {
    Some(match &node.value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(text) => Value::Number(cx.check(node, check::plain_number(text))?),
        Json::String(_) => Value::String(template(node, cx)?),
        Json::Array(_) => Value::List(cx.list(node, template)?),
        Json::Object(_) => return cx.wrong_type(node, "a single value or a list of strings"),
    })
}

pub(super) fn map<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> Map {
    let destinations = object.list("destinations", cx, |node, cx| {
        let name = cx.string(node)?;
        cx.check(node, check::map_destination(&name))?;
        Some(name)
    });
    let count = destinations.len();
    let mut seen = BTreeSet::new();
    let map = Map {
        source: object.get("source", cx, template).unwrap_or_default(),
        destinations,
        mappings: object.list("mappings", cx, |node, cx| {
            let mapping = mapping(node, count, cx)?;
            let input = format!("{}~{}", mapping.input, mapping.input_regexp);
            cx.check(
                node,
                seen.insert(input)
                    .then_some(())
                    .ok_or("this input is given twice"),
            )?;
            Some(mapping)
        }),
        defaults: object.list("defaults", cx, template),
    };
    if !map.defaults.is_empty() && map.defaults.len() != count {
        let message = format!("{} defaults for {count} destinations", map.defaults.len());
        cx.error(object.span(), message, None);
    }
    map
}

fn mapping<'n>(node: &'n Node, count: usize, cx: &mut Cx<'n, '_>) -> Option<Mapping> {
    let mut object = Object::open(node, cx)?;
    let mapping = Mapping {
        input: object
            .get("input", cx, |node, cx| cx.string(node))
            .unwrap_or_default(),
        input_regexp: object.get("input_regexp", cx, pattern).unwrap_or_default(),
        outputs: object.list("outputs", cx, value),
    };
    if !mapping.input.is_empty() && !mapping.input_regexp.is_empty() {
        cx.error(node.span, "give either `input` or `input_regexp`", None);
    }
    // Counted as they stand: one that is wrong is reported already.
    let outputs = match object.node("outputs").map(|node| &node.value) {
        Some(Json::Array(outputs)) => outputs.len(),
        _ => mapping.outputs.len(),
    };
    if outputs != count {
        let message = format!("{outputs} outputs for {count} destinations");
        cx.error(node.span, message, None);
    }
    object.finish(cx);
    Some(mapping)
}
