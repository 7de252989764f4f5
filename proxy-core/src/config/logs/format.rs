//! The form of lines, and what is changed in them.

use caddy_config as model;
use regex::Regex;
use serde_json::Value;

use crate::config::compile::Compiler;
use crate::log::{DurationFormat, Filter, Filters, Format, ItemAction, Keys, LevelFormat, TimeFormat};

/// Something that is wrong with a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) what: &'static str,
    pub(super) value: String,
}

/// Compiles a form; without one, lines are for people on a terminal, else JSON.
pub(super) fn compile(
    compiler: &mut Compiler<'_>,
    encoder: Option<&model::LogEncoder>,
    is_terminal: bool,
) -> Result<Format, Vec<Wrong>> {
    match encoder {
        None if is_terminal => Ok(Format::console(LevelFormat::Colour)),
        None => Ok(Format::json()),
        Some(model::LogEncoder::Json(line)) => with(Format::json(), line),
        Some(model::LogEncoder::Console(line)) => with(Format::console(LevelFormat::Colour), line),
        Some(model::LogEncoder::Filter(filter)) => {
            let wrapped = compile(compiler, filter.wrap.as_deref(), is_terminal);
            let filters = filters(filter);
            let (mut format, filters) = both(wrapped, filters)?;
            format.filters.get_or_insert_default().add(filters);
            Ok(format)
        }
        Some(model::LogEncoder::Append(append)) => {
            let wrapped = compile(compiler, append.wrap.as_deref(), is_terminal);
            let (mut format, fields) = both(wrapped, fields(compiler, append))?;
            format.append.extend(fields);
            Ok(format)
        }
        Some(_) => Err(vec![Wrong {
            what: "a form that this version does not know",
            value: String::new(),
        }]),
    }
}

fn both<A, B>(a: Result<A, Vec<Wrong>>, b: Result<B, Vec<Wrong>>) -> Result<(A, B), Vec<Wrong>> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (a, b) => {
            let mut wrong = a.err().unwrap_or_default();
            wrong.extend(b.err().unwrap_or_default());
            Err(wrong)
        }
    }
}

// === lines ===

fn with(format: Format, line: &model::LineFormat) -> Result<Format, Vec<Wrong>> {
    let mut wrong = Vec::new();
    let Keys {
        level,
        time,
        name,
        message,
    } = format.keys;
    let key = |wanted: &Option<String>, usual: String| wanted.clone().unwrap_or(usual);
    let duration = line.duration_format.as_deref().unwrap_or_default();
    let duration = DurationFormat::named(duration).unwrap_or_else(|| {
        wrong.push(Wrong {
            what: "`duration_format` is one of seconds, ms, ns and string",
            value: duration.to_owned(),
        });
        DurationFormat::default()
    });
    let level_format = match line.level_format.as_deref() {
        None | Some("") => format.level,
        Some("lower") => LevelFormat::Lower,
        Some("upper") => LevelFormat::Upper,
        Some("color") => LevelFormat::Colour,
        Some(other) => {
            wrong.push(Wrong {
                what: "`level_format` is one of lower, upper and color",
                value: other.to_owned(),
            });
            format.level
        }
    };
    if !wrong.is_empty() {
        return Err(wrong);
    }
    Ok(Format {
        keys: Keys {
            level: key(&line.level_key, level),
            time: key(&line.time_key, time),
            name: key(&line.name_key, name),
            message: key(&line.message_key, message),
        },
        time: match line.time_format.as_deref() {
            None | Some("") if line.time_local && format.time.is_text() => {
                TimeFormat::named("wall_milli", true)
            }
            None | Some("") => format.time,
            Some(name) => TimeFormat::named(name, line.time_local),
        },
        duration,
        level: level_format,
        line_end: line
            .line_ending
            .clone()
            .filter(|end| !end.is_empty())
            .unwrap_or(format.line_end),
        ..Format::json()
    }
    .in_style(format.style))
}

// === filter ===

fn filters(encoder: &model::FilterEncoder) -> Result<Filters, Vec<Wrong>> {
    let mut wrong = Vec::new();
    let mut filters = Vec::new();
    for (path, filter) in &encoder.fields {
        match self::filter(filter) {
            Ok(filter) => filters.push((path.clone(), filter)),
            Err(found) => wrong.push(found),
        }
    }
    if wrong.is_empty() {
        Ok(Filters::new(filters))
    } else {
        Err(wrong)
    }
}

fn filter(filter: &model::LogFilter) -> Result<Filter, Wrong> {
    Ok(match filter {
        model::LogFilter::Cookie { actions } => Filter::Cookie(self::actions(actions)),
        model::LogFilter::Delete {} => Filter::Delete,
        model::LogFilter::Hash {} => Filter::Hash,
        model::LogFilter::IpMask(mask) => Filter::IpMask(mask.ipv4_cidr, mask.ipv6_cidr),
        model::LogFilter::MultiRegexp { operations } => {
            Filter::Regexp(operations.iter().map(regexp).collect::<Result<_, _>>()?)
        }
        model::LogFilter::Query { actions } => Filter::Query(self::actions(actions)),
        model::LogFilter::Regexp(operation) => Filter::Regexp(vec![regexp(operation)?]),
        model::LogFilter::Rename { name } => Filter::Rename(name.clone()),
        model::LogFilter::Replace { value } => Filter::Replace(value.clone()),
        model::LogFilter::SetCookie { actions } => Filter::SetCookie(self::actions(actions)),
        _ => {
            return Err(Wrong {
                what: "a filter that this version does not know",
                value: String::new(),
            });
        }
    })
}

fn regexp(operation: &model::RegexpFilter) -> Result<(Regex, String), Wrong> {
    match Regex::new(&operation.regexp) {
        Ok(regex) => Ok((regex, operation.value.clone())),
        Err(_) => Err(Wrong {
            what: "not a regular expression",
            value: operation.regexp.clone(),
        }),
    }
}

fn actions(actions: &[model::FilterAction]) -> Vec<(String, ItemAction)> {
    actions
        .iter()
        .map(|action| {
            let does = match action {
                model::FilterAction::Delete { .. } => ItemAction::Delete,
                model::FilterAction::Hash { .. } => ItemAction::Hash,
                model::FilterAction::Replace { value, .. } => ItemAction::Replace(value.clone()),
            };
            (action.name().to_owned(), does)
        })
        .collect()
}

// === append ===

fn fields(
    compiler: &mut Compiler<'_>,
    encoder: &model::AppendEncoder,
) -> Result<Vec<(String, Value)>, Vec<Wrong>> {
    let mut wrong = Vec::new();
    let mut fields = Vec::new();
    for (key, value) in &encoder.fields {
        let value = serde_json::to_value(value).unwrap_or_default();
        let value = match &value {
            Value::String(text) if text.contains('{') => {
                let fixed = compiler.template(text).as_static().map(Value::from);
                fixed.unwrap_or_else(|| {
                    wrong.push(Wrong {
                        what: "an appended field that is not the same for every line",
                        value: text.clone(),
                    });
                    Value::Null
                })
            }
            _ => value,
        };
        fields.push((key.clone(), value));
    }
    if wrong.is_empty() { Ok(fields) } else { Err(wrong) }
}
