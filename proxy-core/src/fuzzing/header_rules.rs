//! The body of the fuzz target `header_rules`: changes to the fields of a head, beside a plain list of fields that is
//! changed by the same rules.
//!
//! An input is rules, an empty line and fields. A rule is `+name value` (add), `=name value` (set), `-pattern` (delete),
//! `~name|text|with` (replace) or `^name|expression|with` (replace by a regular expression); the name of the last two
//! may be `*`.

use http::Request;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use regex::{Regex, RegexBuilder};

use super::fields::{lines, read};
use crate::memory;
use crate::request::Context;
use crate::routing::header_ops::{self, Beside, HeaderOps, NamePattern, Replacement, Search};
use crate::routing::template::Template;

/// More rules than this are left out: each may make values longer.
const MOST: usize = 8;

/// Longer texts in rules are left out.
const LONGEST: usize = 256;

/// Fields in their order, as anybody would keep them.
type Plain = Vec<(String, Vec<u8>)>;

pub(super) fn check(data: &[u8]) {
    let mut lines = lines(data);
    let mut ops = HeaderOps::default();
    let mut patterns = Vec::new();
    for line in lines.by_ref().take_while(|line| !line.is_empty()).take(MOST) {
        if let Some(pattern) = add(&mut ops, line) {
            patterns.extend(pattern);
        }
    }
    let mut fields = read(lines);
    let cx = context(&fields);
    let expected = changed(plain(&fields), &ops, &patterns, &cx);
    let before = fields.clone();
    ops.apply(&mut Beside {
        cx: &cx,
        fields: &mut fields,
    });
    assert_eq!(sorted(plain(&fields)), sorted(expected), "{ops:?} on {before:?}");
    for name in before.keys().chain(fields.keys()) {
        let same = before.get_all(name).iter().eq(fields.get_all(name));
        let cleared = patterns.iter().any(|pattern| pattern == "*");
        assert!(same || cleared || ops.touches(name), "{name} by {ops:?}");
    }
    let lengths = |fields: &HeaderMap| {
        let all = fields.get_all(header::CONTENT_LENGTH).iter();
        all.cloned().collect::<Vec<_>>()
    };
    assert!(
        fields.get(header::CONTENT_LENGTH).is_none() || lengths(&fields) == lengths(&before),
        "{ops:?} changes a length"
    );
}

/// Adds the rule of `line`; gives the pattern that it deletes by. `None`: it is no rule.
fn add(ops: &mut HeaderOps, line: &[u8]) -> Option<Option<String>> {
    let text = std::str::from_utf8(line)
        .ok()
        .filter(|text| text.len() <= LONGEST)?;
    let mut chars = text.chars();
    let kind = chars.next()?;
    let rest = chars.as_str();
    match kind {
        '+' | '=' => {
            let (name, value) = rest.split_once(' ')?;
            let rule = (changeable(name)?, value.parse().ok()?);
            let list = if kind == '+' { &mut ops.add } else { &mut ops.set };
            list.push(rule);
        }
        '-' => {
            ops.delete.push(NamePattern::parse(rest)?);
            return Some(Some(rest.to_ascii_lowercase()));
        }
        '~' | '^' => {
            let (name, rest) = rest.split_once('|')?;
            let (search, with) = rest.split_once('|')?;
            let field = if name == "*" {
                None
            } else {
                Some(changeable(name)?)
            };
            let search = match kind {
                '~' => Search::Text(search.parse().ok()?),
                _ => Search::Regex(expression(search)?),
            };
            let replace: Template = with.parse().ok()?;
            ops.replace.push(Replacement {
                field,
                search,
                replace,
            });
        }
        _ => return None,
    }
    Some(None)
}

fn expression(text: &str) -> Option<Regex> {
    RegexBuilder::new(text).size_limit(1 << 16).build().ok()
}

/// A field that a configuration may change: those that say how long a message is are the proxy's own.
fn changeable(name: &str) -> Option<HeaderName> {
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    let own = [header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
    (!own.contains(&name)).then_some(name)
}

/// A request with these fields, which placeholders speak of.
fn context(fields: &HeaderMap) -> Context {
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.headers = fields.clone();
    parts.uri = http::Uri::from_static("/a/b%0d%0ac?q=%0aevil%00");
    let host = Some(HeaderValue::from_static("a.test"));
    Context::new(
        parts,
        host,
        Some(memory::CLIENT),
        Some(memory::CLIENT.ip()),
        false,
    )
}

// === the plain list ===

fn changed(mut fields: Plain, ops: &HeaderOps, patterns: &[String], cx: &Context) -> Plain {
    if patterns.iter().any(|pattern| pattern == "*") {
        fields.clear();
    }
    for (name, value) in &ops.add {
        fields.push((name.as_str().to_owned(), value_of(value, cx)));
    }
    for (name, value) in &ops.set {
        fields.retain(|(other, _)| other != name.as_str());
        fields.push((name.as_str().to_owned(), value_of(value, cx)));
    }
    for pattern in patterns.iter().filter(|pattern| *pattern != "*") {
        fields.retain(|(name, _)| !is_meant(pattern, name));
    }
    for rule in &ops.replace {
        let with = rule.replace.render(cx);
        for (name, value) in &mut fields {
            let own = name == "content-length" || name == "transfer-encoding";
            let meant = rule.field.as_ref().map_or(!own, |field| field.as_str() == name);
            let Some(text) = String::from_utf8(value.clone()).ok().filter(|_| meant) else {
                continue;
            };
            let text = match &rule.search {
                Search::Text(search) => text.replace(&search.render(cx), &with),
                Search::Regex(regex) => regex.replace_all(&text, with.as_str()).into_owned(),
            };
            *value = text.into_bytes();
            value.iter_mut().for_each(make_fit);
        }
    }
    fields
}

/// What a template gives, with nothing in it that ends a line.
fn value_of(template: &Template, cx: &Context) -> Vec<u8> {
    let mut value = template.render_bytes(cx);
    value.iter_mut().for_each(make_fit);
    assert_eq!(header_ops::render(template, cx).as_bytes(), value);
    value
}

fn make_fit(byte: &mut u8) {
    if byte.is_ascii_control() && *byte != b'\t' {
        *byte = b' ';
    }
}

/// Whether a pattern means a name: a star at an end stands for anything.
fn is_meant(pattern: &str, name: &str) -> bool {
    let inner = pattern.trim_matches('*');
    match (pattern.starts_with('*'), pattern.ends_with('*')) {
        (true, true) => name.contains(inner),
        (true, false) => name.ends_with(inner),
        (false, true) => name.starts_with(inner),
        (false, false) => name == inner,
    }
}

fn plain(fields: &HeaderMap) -> Plain {
    let all = fields.iter();
    all.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect()
}

/// By names; values of one name stay in their order.
fn sorted(mut fields: Plain) -> Plain {
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields
}
