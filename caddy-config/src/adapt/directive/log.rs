//! `log [NAME] { output ...; format ...; level ...; hostnames ...; no_hostname }`: an access log.

use std::path::PathBuf;

use super::super::{args::Args, cx::Cx};
use crate::{
    caddyfile::{parser::Line, token::Token},
    model::{Log, LogEncoder, LogLevel, LogWriter},
    source::Span,
};

const SUPPORTED: [&str; 5] = ["format", "hostnames", "level", "no_hostname", "output"];
const GLOBAL: [&str; 5] = ["exclude", "format", "include", "level", "output"];

/// What a `log` directive of a site says.
#[derive(Clone, Debug, Default)]
pub(in crate::adapt) struct SiteLog {
    /// Empty for the default logger.
    pub(in crate::adapt) name: String,
    /// `None` if the directive changes nothing about the logger.
    pub(in crate::adapt) log: Option<Log>,
    /// The hosts that are logged, instead of those of the site.
    pub(in crate::adapt) hostnames: Vec<String>,
    /// Whether no host is logged here by itself.
    pub(in crate::adapt) no_hostname: bool,
}

pub(super) fn read(mut args: Args<'_>, cx: &mut Cx<'_>) -> SiteLog {
    let name = args.next().map(|name| name.text.clone());
    args.finish(cx);
    let mut site = SiteLog::default();
    let log = body(args.block(), cx, |line, cx| match line.name.text.as_str() {
        "hostnames" => {
            let names = cx.some(line, "a host").unwrap_or_default();
            site.hostnames.extend(names.iter().map(|name| name.text.clone()));
        }
        "no_hostname" => {
            cx.nothing(line);
            site.no_hostname = true;
        }
        "include" | "exclude" => {
            let name = cx.quote(&line.name);
            let help = "it belongs into the global option `log`".to_owned();
            cx.error(
                line.name.span,
                format!("`{name}` is not possible in the log of a site"),
                help,
            );
        }
        _ => unsupported(&line.name, &SUPPORTED, cx),
    });
    let changed = log != Log::default();
    site.name = name.unwrap_or_else(|| if changed { cx.next_log() } else { String::new() });
    site.log = changed.then_some(log).map(|mut log| {
        log.include = vec![format!("http.log.access.{}", site.name)];
        log
    });
    site
}

/// The lines that the log of a site and the global option have in common; `other` gets the rest.
pub(in crate::adapt) fn body(
    lines: &[Line],
    cx: &mut Cx<'_>,
    mut other: impl FnMut(&Line, &mut Cx<'_>),
) -> Log {
    let mut log = Log::default();
    let mut seen: Vec<(&str, Span)> = Vec::new();
    for line in lines {
        let name = line.name.text.as_str();
        match name {
            "output" => log.writer = writer(line, cx),
            "format" => log.encoder = encoder(line, cx),
            "level" => log.level = level(line, cx),
            _ => {
                other(line, cx);
                continue;
            }
        }
        if let Some((_, first)) = seen.iter().find(|(seen, _)| *seen == name) {
            cx.twice(&line.name, *first);
        }
        seen.push((name, line.name.span));
    }
    log
}

/// An option that neither kind of log has.
pub(super) fn unsupported(name: &Token, known: &[&'static str], cx: &mut Cx<'_>) {
    if matches!(name.text.as_str(), "sampling" | "core") {
        let text = cx.quote(name);
        cx.error(name.span, format!("`{text}` is not supported yet in `log`"), None);
    } else {
        cx.unknown(name, "option", known);
    }
}

/// An option of the global `log` that no log has.
pub(in crate::adapt) fn unsupported_global(name: &Token, cx: &mut Cx<'_>) {
    unsupported(name, &GLOBAL, cx);
}

fn writer(line: &Line, cx: &mut Cx<'_>) -> Option<LogWriter> {
    let (kind, rest) = kind(line, "stdout, stderr, discard or file", cx)?;
    if kind.text == "file" {
        let Some((path, surplus)) = rest.split_first() else {
            cx.error(kind.span, "`file` needs a path", None);
            return None;
        };
        cx.surplus(surplus);
        if path.text.is_empty() {
            cx.error(path.span, "the path is empty", None);
        }
        for inner in line.block.iter().flatten() {
            let name = cx.quote(&inner.name);
            let help = "remove it; rotate the file with logrotate and copytruncate until then".to_owned();
            cx.error(
                inner.name.span,
                format!("the option `{name}` of a log file is not supported yet"),
                help,
            );
        }
        return Some(LogWriter::File {
            filename: PathBuf::from(&path.text),
        });
    }
    let writer = match kind.text.as_str() {
        "stdout" => LogWriter::Stdout {},
        "stderr" => LogWriter::Stderr {},
        "discard" => LogWriter::Discard {},
        _ => {
            cx.unknown(kind, "output", &["discard", "file", "stderr", "stdout"]);
            return None;
        }
    };
    cx.no_block(line);
    cx.surplus(rest);
    Some(writer)
}

fn encoder(line: &Line, cx: &mut Cx<'_>) -> Option<LogEncoder> {
    let (kind, rest) = kind(line, "console or json", cx)?;
    cx.surplus(rest);
    for inner in line.block.iter().flatten() {
        let name = cx.quote(&inner.name);
        cx.error(
            inner.name.span,
            format!("the option `{name}` of a log format is not supported yet"),
            None,
        );
    }
    match kind.text.as_str() {
        "console" => Some(LogEncoder::Console {}),
        "json" => Some(LogEncoder::Json {}),
        _ => {
            cx.unknown(kind, "format", &["console", "json"]);
            None
        }
    }
}

fn level(line: &Line, cx: &mut Cx<'_>) -> Option<LogLevel> {
    let arg = cx.one(line, "DEBUG, INFO, WARN or ERROR")?;
    cx.check(
        arg,
        LogLevel::named(&arg.text).ok_or("expected DEBUG, INFO, WARN or ERROR"),
    )
}

/// The first argument, which says what the rest means.
fn kind<'l>(line: &'l Line, what: &str, cx: &mut Cx<'_>) -> Option<(&'l Token, &'l [Token])> {
    let kind = line.args.split_first();
    if kind.is_none() {
        let name = cx.quote(&line.name);
        cx.error(line.name.span, format!("`{name}` needs {what}"), None);
    }
    kind
}
