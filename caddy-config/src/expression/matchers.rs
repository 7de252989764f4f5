//! Matchers as functions, such as `path('/api/*')`.

use std::collections::BTreeMap;

use super::{
    ExpressionError,
    compile::Compiler,
    error::at,
    syntax::{Node, Syntax},
};
use crate::{
    check,
    model::{IpMatcher, MatcherSet, RegexpMatcher},
    template::Placeholder,
};

/// The matchers that are functions.
pub(super) const NAMES: [&str; 13] = [
    "client_ip",
    "geo_country",
    "header",
    "header_regexp",
    "host",
    "method",
    "path",
    "path_regexp",
    "protocol",
    "query",
    "remote_ip",
    "vars",
    "vars_regexp",
];

/// The set that a call stands for; `None` if no matcher has this name.
pub(super) fn named(
    compiler: &mut Compiler<'_>,
    name: &str,
    args: &[Syntax],
    start: usize,
) -> Result<Option<MatcherSet>, ExpressionError> {
    let mut set = MatcherSet::default();
    match name {
        "client_ip" => set.client_ip = Some(ranges(args, start)?),
        "geo_country" => set.geo_country = Some(countries(args, start)?),
        "header" => {
            let fields = map(args, start)?;
            set.header = fields
                .into_iter()
                .map(|(field, values)| (field, Some(values)))
                .collect();
        }
        "header_regexp" => set.header_regexp = keyed_regexp(compiler, args, start)?,
        "host" => set.host = Some(texts(args, start)?),
        "method" => set.method = Some(fixed_texts(args, start)?),
        "path" => set.path = Some(texts(args, start)?),
        "path_regexp" => {
            let (pattern, name) = match args {
                [pattern] => (pattern, None),
                [name, pattern] => (pattern, Some(name)),
                _ => {
                    return Err(at(
                        start,
                        "`path_regexp` takes an expression, or a name and an expression",
                    ));
                }
            };
            set.path_regexp = Some(regexp(compiler, pattern, name)?);
        }
        "protocol" => match args {
            [_] => set.protocol = fixed_texts(args, start)?.pop(),
            _ => return Err(at(start, "`protocol` takes one argument, such as `'https'`")),
        },
        "query" => set.query = Some(map(args, start)?),
        "remote_ip" => set.remote_ip = Some(ranges(args, start)?),
        "vars" => set.vars = map(args, start)?,
        "vars_regexp" => set.vars_regexp = keyed_regexp(compiler, args, start)?,
        _ => return Ok(None),
    }
    Ok(Some(set))
}

fn texts(args: &[Syntax], start: usize) -> Result<Vec<String>, ExpressionError> {
    if args.is_empty() {
        return Err(at(start, "a matcher needs at least one argument"));
    }
    args.iter().map(text).collect()
}

/// A text that the matcher sees: literals and placeholders, joined by `+`. Where it matches, the matcher puts the
/// values in.
fn text(arg: &Syntax) -> Result<String, ExpressionError> {
    match &arg.node {
        Node::String(text) => Ok(text.clone()),
        Node::Placeholder(name) => {
            let placeholder = name.parse::<Placeholder>();
            placeholder.map_err(|error| at(arg.start, error.to_string()))?;
            Ok(format!("{{{name}}}"))
        }
        Node::Chain { sign: "+", parts } => parts.iter().map(text).collect(),
        _ => Err(at(arg.start, "arguments of a matcher are texts").help("put quotes around")),
    }
}

fn fixed_texts(args: &[Syntax], start: usize) -> Result<Vec<String>, ExpressionError> {
    let texts = texts(args, start)?;
    for (text, arg) in texts.iter().zip(args) {
        check::no_placeholder(text).map_err(|message| at(arg.start, message))?;
    }
    Ok(texts)
}

fn ranges(args: &[Syntax], start: usize) -> Result<IpMatcher, ExpressionError> {
    let ranges = texts(args, start)?;
    for (range, arg) in ranges.iter().zip(args) {
        check::ip_range(range).map_err(|message| at(arg.start, message))?;
    }
    Ok(IpMatcher { ranges })
}

fn countries(args: &[Syntax], start: usize) -> Result<Vec<String>, ExpressionError> {
    let codes = texts(args, start)?;
    let checked = codes.iter().zip(args);
    checked
        .map(|(code, arg)| check::country(code).map_err(|message| at(arg.start, message)))
        .collect()
}

fn map(args: &[Syntax], start: usize) -> Result<BTreeMap<String, Vec<String>>, ExpressionError> {
    let [
        Syntax {
            node: Node::Map(entries),
            ..
        },
    ] = args
    else {
        return Err(at(start, "this matcher takes a map, such as `{'Key': 'value'}`"));
    };
    let mut map = BTreeMap::new();
    for (key, value) in entries {
        let values = match &value.node {
            Node::List(items) => items.iter().map(text).collect::<Result<_, _>>()?,
            _ => vec![text(value)?],
        };
        if map.insert(text(key)?, values).is_some() {
            return Err(at(key.start, "this key occurs twice"));
        }
    }
    Ok(map)
}

/// `KEY, EXPRESSION`, with a name before if there is one.
fn keyed_regexp(
    compiler: &mut Compiler<'_>,
    args: &[Syntax],
    start: usize,
) -> Result<BTreeMap<String, RegexpMatcher>, ExpressionError> {
    let (name, key, pattern) = match args {
        [key, pattern] => (None, key, pattern),
        [name, key, pattern] => (Some(name), key, pattern),
        _ => {
            return Err(at(
                start,
                "this matcher takes a key and an expression, with a name before if need be",
            ));
        }
    };
    Ok(BTreeMap::from([(text(key)?, regexp(compiler, pattern, name)?)]))
}

fn regexp(
    compiler: &mut Compiler<'_>,
    pattern: &Syntax,
    name: Option<&Syntax>,
) -> Result<RegexpMatcher, ExpressionError> {
    let name = match name {
        Some(name) => Some(text(name)?),
        None => compiler.name.map(str::to_owned),
    };
    let Node::String(text) = &pattern.node else {
        return Err(
            at(pattern.start, "a regular expression that is not a fixed text").help("write it in quotes")
        );
    };
    compiler.regexp(text, pattern.start)?;
    Ok(RegexpMatcher {
        name: name.filter(|name| !name.is_empty()),
        pattern: text.clone(),
    })
}
