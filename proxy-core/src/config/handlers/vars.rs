//! `vars` and `map`: variables.

use std::sync::Arc;

use caddy_config as model;

use crate::config::compile::Compiler;
use crate::routing::map::{Input, Map, Mapping, Output};
use crate::routing::routes::Destinations;
use crate::routing::slots::{VARS, Value};
use crate::routing::vars::{Assign, Given, Name};

pub(super) fn assignments(compiler: &mut Compiler<'_>, vars: &model::Vars) -> Box<[Assign]> {
    let assign = |(name, value): (&String, &model::Value)| {
        let name = compiler.value(name);
        Assign {
            name: match name.as_static() {
                Some(name) => Name::Fixed(compiler.slots.of(&format!("{VARS}{name}"))),
                None => Name::Rendered(name, Arc::clone(&compiler.names)),
            },
            value: match value {
                model::Value::Null => Given::Fixed(Value::Null),
                model::Value::Bool(value) => Given::Fixed(Value::Bool(*value)),
                model::Value::Number(value) => Given::Fixed(Value::Number(value.clone())),
                model::Value::List(values) => Given::Fixed(Value::List(values.clone().into())),
                model::Value::String(text) => {
                    let template = compiler.value(text);
                    match template.as_static() {
                        Some(text) => Given::Fixed(Value::text(text)),
                        None => Given::Rendered(template),
                    }
                }
            },
        }
    };
    vars.values.iter().map(assign).collect()
}

pub(super) fn map(compiler: &mut Compiler<'_>, map: &model::Map) -> Option<Destinations> {
    let slots = map
        .destinations
        .iter()
        .map(|name| {
            compiler
                .slots
                .of(name.trim_start_matches('{').trim_end_matches('}'))
        })
        .collect();
    let mappings = map
        .mappings
        .iter()
        .map(|mapping| self::mapping(compiler, mapping));
    let mappings: Option<_> = mappings.collect();
    Some(Destinations {
        map: Arc::new(Map {
            mappings: mappings?,
            source: compiler.value(&map.source),
            defaults: map.defaults.iter().map(|text| compiler.value(text)).collect(),
        }),
        slots,
    })
}

fn mapping(compiler: &mut Compiler<'_>, mapping: &model::Mapping) -> Option<Mapping> {
    let is_regexp = !mapping.input_regexp.is_empty();
    let mut output = |value: &model::Value| {
        let text = match value {
            model::Value::Null => return None,
            model::Value::Bool(value) => value.to_string(),
            model::Value::Number(value) => value.to_string(),
            model::Value::String(text) => text.clone(),
            model::Value::List(values) => format!("[{}]", values.join(" ")),
        };
        Some(if is_regexp {
            Output::Expand(text)
        } else {
            Output::Template(compiler.value(&text))
        })
    };
    let outputs = mapping.outputs.iter().map(&mut output).collect();
    Some(Mapping {
        outputs,
        input: if is_regexp {
            Input::Like(compiler.regex(&mapping.input_regexp)?)
        } else {
            Input::Exactly(mapping.input.clone())
        },
    })
}
