//! `log [NAME] { output ...; format ...; level ...; sampling ...; hostnames ...; no_hostname }`: an access log.

mod format;
mod output;

use super::super::{
    args::Args,
    cx::Cx,
    values::{Once, block, count, duration, texts},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    model::{Log, LogLevelName, LogSampling},
};

const SUPPORTED: [&str; 6] = [
    "format",
    "hostnames",
    "level",
    "no_hostname",
    "output",
    "sampling",
];
const GLOBAL: [&str; 6] = ["exclude", "format", "include", "level", "output", "sampling"];

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

/// The block of the global option `log`.
pub(in crate::adapt) fn global(lines: &[Line], cx: &mut Cx<'_>) -> Log {
    let (mut include, mut exclude) = (Vec::new(), Vec::new());
    let log = body(lines, cx, |line, cx| match line.name.text.as_str() {
        "include" => include.extend(texts(line, "the name of a logger", cx)),
        "exclude" => exclude.extend(texts(line, "the name of a logger", cx)),
        _ => unsupported(&line.name, &GLOBAL, cx),
    });
    Log {
        include,
        exclude,
        ..log
    }
}

/// The lines that the log of a site and the global option have in common; `other` gets the rest.
fn body(lines: &[Line], cx: &mut Cx<'_>, mut other: impl FnMut(&Line, &mut Cx<'_>)) -> Log {
    let mut log = Log::default();
    let mut once = Once::default();
    for line in lines {
        match line.name.text.as_str() {
            "output" => log.writer = output::read(line, cx),
            "format" => log.encoder = format::read(line, cx),
            "level" => log.level = level(line, cx),
            "sampling" => log.sampling = Some(sampling(line, cx)),
            _ => {
                other(line, cx);
                continue;
            }
        }
        once.note(&line.name, cx);
    }
    log
}

/// An option that the log does not have.
fn unsupported(name: &Token, known: &[&'static str], cx: &mut Cx<'_>) {
    if name.text == "core" {
        let help = "remove it; lines are written by `output` and `format`".to_owned();
        cx.error(name.span, "`core` is not supported in `log`", help);
    } else {
        cx.unknown(name, "option", known);
    }
}

fn level(line: &Line, cx: &mut Cx<'_>) -> Option<LogLevelName> {
    let arg = cx.one(line, "DEBUG, INFO, WARN or ERROR")?;
    cx.check(
        arg,
        LogLevelName::parse(&arg.text).ok_or("expected DEBUG, INFO, WARN, ERROR, PANIC or FATAL"),
    )
}

fn sampling(line: &Line, cx: &mut Cx<'_>) -> LogSampling {
    let mut sampling = LogSampling::default();
    cx.surplus(&line.args);
    let mut once = Once::default();
    for line in block(line) {
        match line.name.text.as_str() {
            "interval" => sampling.interval = duration(line, cx),
            "first" => sampling.first = count(line, cx),
            "thereafter" => sampling.thereafter = count(line, cx),
            _ => cx.unknown(&line.name, "option", &["first", "interval", "thereafter"]),
        }
        once.note(&line.name, cx);
    }
    sampling
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
