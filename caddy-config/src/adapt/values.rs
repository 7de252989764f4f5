//! Lines with one value of a certain form, and settings that may occur once.

use std::{collections::BTreeMap, time::Duration};

use super::cx::Cx;
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::Value,
    source::Span,
    units,
};

/// The settings of a block that were seen.
#[derive(Debug, Default)]
pub(super) struct Once<'l>(BTreeMap<&'l str, Span>);

// === impl Once ===

impl<'l> Once<'l> {
    /// Reports a setting that was seen before.
    pub(super) fn note(&mut self, name: &'l Token, cx: &mut Cx<'_>) {
        match self.0.get(name.text.as_str()) {
            Some(first) => cx.twice(name, *first),
            None => drop(self.0.insert(&name.text, name.span)),
        }
    }
}

/// The lines in a directive's braces.
pub(super) fn block(line: &Line) -> &[Line] {
    line.block.as_deref().unwrap_or_default()
}

/// `NAME DURATION`; zero is as good as not said.
pub(super) fn duration(line: &Line, cx: &mut Cx<'_>) -> Option<Duration> {
    exact_duration(line, cx).filter(|duration| !duration.is_zero())
}

/// [`duration`] where zero means something.
pub(super) fn exact_duration(line: &Line, cx: &mut Cx<'_>) -> Option<Duration> {
    let arg = cx.one(line, "a duration, such as 10s")?;
    parse_duration(arg, cx)
}

pub(super) fn parse_duration(arg: &Token, cx: &mut Cx<'_>) -> Option<Duration> {
    let duration = units::duration(&arg.text);
    cx.check(arg, duration.ok_or("expected a duration, such as 10s"))
}

/// `NAME NUMBER`; zero is as good as not said.
pub(super) fn count(line: &Line, cx: &mut Cx<'_>) -> Option<u32> {
    let arg = cx.one(line, "a number")?;
    let count = arg.text.parse::<u32>().map_err(|_| "expected a whole number");
    cx.check(arg, count).filter(|count| *count != 0)
}

/// `NAME TEXT`.
pub(super) fn text(line: &Line, what: &str, cx: &mut Cx<'_>) -> Option<String> {
    cx.one(line, what).map(|arg| arg.text.clone())
}

/// A word that writes a number, true or false stands for it, unless it is quoted.
pub(super) fn scalar(arg: &Token, cx: &mut Cx<'_>) -> Option<Value> {
    let text = arg.text.as_str();
    if arg.quoted {
        return Some(Value::String(text.to_owned()));
    }
    match check::go_number(text) {
        Some(Ok(number)) => return Some(Value::Number(number)),
        Some(Err(message)) => {
            cx.error(
                arg.span,
                message,
                "to keep it as it is written, put quotes around".to_owned(),
            );
            return None;
        }
        None => {}
    }
    Some(match text {
        "t" | "T" | "true" | "TRUE" | "True" => Value::Bool(true),
        "f" | "F" | "false" | "FALSE" | "False" => Value::Bool(false),
        _ => Value::String(text.to_owned()),
    })
}

/// The path of a file.
pub(super) fn path(arg: &Token, cx: &mut Cx<'_>) -> Option<String> {
    cx.check(arg, check::file(&arg.text).map(|()| arg.text.clone()))
}

/// A list of texts, at least one.
pub(super) fn texts(line: &Line, what: &str, cx: &mut Cx<'_>) -> Vec<String> {
    let args = cx.some(line, what).unwrap_or_default();
    args.iter().map(|arg| arg.text.clone()).collect()
}

/// `NAME SIZE` in bytes; zero is as good as not said.
pub(super) fn size(line: &Line, cx: &mut Cx<'_>) -> Option<u64> {
    let arg = cx.one(line, "a size, such as 32KiB")?;
    let size = units::size(&arg.text).filter(|size| u32::try_from(*size).is_ok());
    cx.check(arg, size.ok_or("expected a size, such as 32KiB"))
        .filter(|size| *size != 0)
}
