//! `eskip [matcher] { ... }`: answers requests by routes in Skipper's language.
//!
//! Routes come from `file PATH...`, ``inline `ROUTES` ``, `url URL...` and `source NAME...`; the rest says what Skipper is told by flags.

use super::super::{
    args::Args,
    cx::Cx,
    values::{self, Once},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{Eskip, EskipTextError, Handler},
};

/// Where routes come from. Each may be given again, and so may what is behind them.
const SOURCES: [&str; 4] = ["file", "inline", "source", "url"];

const REPEATABLE: [&str; 6] = [
    "breaker",
    "clone_route",
    "default_filters_append",
    "default_filters_prepend",
    "disabled_filters",
    "edit_route",
];

const SUBDIRECTIVES: [&str; 20] = [
    "breaker",
    "clone_route",
    "default_filters_append",
    "default_filters_prepend",
    "default_status",
    "disabled_filters",
    "edit_route",
    "file",
    "forward_backend",
    "ignore_trailing_slash",
    "inline",
    "insecure",
    "max_loopbacks",
    "normalize_host",
    "passive_health_check",
    "poll",
    "preserve_host",
    "source",
    "tokeninfo_url",
    "url",
];

pub(super) fn read(args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    args.finish(cx);
    let mut eskip = Eskip::default();
    let mut once = Once::default();
    for line in args.block() {
        let name = line.name.text.as_str();
        if !SOURCES.contains(&name) && !REPEATABLE.contains(&name) {
            once.note(&line.name, cx);
        }
        if !source(&mut eskip, line, cx) && !about_routes(&mut eskip, line, cx) {
            about_requests(&mut eskip, line, cx);
        }
    }
    let is_source = |line: &Line| SOURCES.contains(&line.name.text.as_str());
    if !args.block().iter().any(is_source) {
        let help = "add a line such as `file routes.eskip`, ``inline `* -> <shunt>` `` or `url https://a.test/routes`";
        cx.error(args.name().span, "`eskip` needs routes", help.to_owned());
    }
    Some(Handler::Eskip(Box::new(eskip)))
}

/// Where routes come from; `false` if the line is about something else.
fn source(eskip: &mut Eskip, line: &Line, cx: &mut Cx<'_>) -> bool {
    match line.name.text.as_str() {
        "file" => {
            let files = cx.some(line, "a file").unwrap_or_default();
            eskip
                .files
                .extend(files.iter().filter_map(|arg| values::path(arg, cx)));
        }
        "inline" => {
            eskip
                .inline
                .extend(values::text(line, "routes, in backquotes", cx));
        }
        "url" => {
            for arg in cx.some(line, "a URL").unwrap_or_default() {
                let url = check::download_url(&arg.text).map(|()| arg.text.clone());
                eskip.urls.extend(cx.check(arg, url));
            }
        }
        "source" => {
            for arg in cx.some(line, "the name of a source").unwrap_or_default() {
                let name = check::routes_source(&arg.text).map(|()| arg.text.clone());
                eskip.sources.extend(cx.check(arg, name));
            }
        }
        "poll" => {
            let poll = values::exact_duration(line, cx).zip(line.args.first());
            eskip.poll = poll.and_then(|(poll, arg)| cx.check(arg, check::not_zero(poll)));
        }
        _ => return false,
    }
    true
}

/// What is done to routes; `false` if the line is about something else.
fn about_routes(eskip: &mut Eskip, line: &Line, cx: &mut Cx<'_>) -> bool {
    const FILTERS: &str = "filters, such as `flowId() -> compress()`, in backquotes";
    match line.name.text.as_str() {
        "default_filters_prepend" => eskip
            .default_filters_prepend
            .extend(values::text(line, FILTERS, cx)),
        "default_filters_append" => eskip
            .default_filters_append
            .extend(values::text(line, FILTERS, cx)),
        "edit_route" => eskip.edit_routes.extend(edit(line, cx)),
        "clone_route" => eskip.clone_routes.extend(edit(line, cx)),
        "disabled_filters" => {
            for arg in cx.some(line, "the name of a filter").unwrap_or_default() {
                let name = check::filter_name(&arg.text).map(|()| arg.text.clone());
                eskip.disabled_filters.extend(cx.check(arg, name));
            }
        }
        _ => return false,
    }
    true
}

/// What is done with requests.
fn about_requests(eskip: &mut Eskip, line: &Line, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "preserve_host" => eskip.preserve_host = switch(line, cx),
        "normalize_host" => eskip.normalize_host = switch(line, cx),
        "ignore_trailing_slash" => eskip.ignore_trailing_slash = switch(line, cx),
        "insecure" => eskip.insecure = switch(line, cx),
        "max_loopbacks" => {
            let most = checked(line, "a number, or -1 for none", check::max_loopbacks, cx);
            eskip.max_loopbacks = most.flatten();
        }
        "default_status" => {
            eskip.default_status = checked(line, "a status, such as 404", check::default_status, cx);
        }
        "forward_backend" => {
            let read = |text: &str| check::forward_backend(text).map(|()| text.to_owned());
            eskip.forward_backend = checked(line, "an address", read, cx);
        }
        "tokeninfo_url" => {
            let read = |text: &str| check::download_url(text).map(|()| text.to_owned());
            eskip.tokeninfo_url = checked(line, "a URL", read, cx);
        }
        "breaker" => {
            let what = "settings, such as `type=rate,failures=30,window=300`";
            eskip.breakers.extend(settings(line, what, cx));
        }
        "passive_health_check" => {
            let what = "settings, such as `period=1s,min-requests=10,max-drop-probability=0.9`";
            eskip.passive_health = settings(line, what, cx);
        }
        _ => cx.unknown(&line.name, "subdirective", &SUBDIRECTIVES),
    }
}

fn edit(line: &Line, cx: &mut Cx<'_>) -> Option<String> {
    let arg = cx.one(line, "a change, such as `/Source/ClientIP/`")?;
    let pattern = cx.check(arg, check::edit(&arg.text))?;
    cx.check_regex(arg, pattern);
    Some(arg.text.clone())
}

/// `NAME [on|off]`.
fn switch(line: &Line, cx: &mut Cx<'_>) -> bool {
    cx.no_block(line);
    let [value, surplus @ ..] = line.args.as_slice() else {
        return true;
    };
    cx.surplus(surplus);
    match value.text.as_str() {
        "on" => return true,
        "off" => {}
        _ => cx.unknown(value, "value", &["on", "off"]),
    }
    false
}

fn checked<T>(
    line: &Line,
    what: &str,
    read: impl FnOnce(&str) -> Result<T, &'static str>,
    cx: &mut Cx<'_>,
) -> Option<T> {
    let arg = cx.one(line, what)?;
    cx.check(arg, read(&arg.text))
}

/// Settings as Skipper's flags have them, in one word.
fn settings<T>(line: &Line, what: &str, cx: &mut Cx<'_>) -> Option<T>
where
    T: std::str::FromStr<Err = EskipTextError>,
{
    let arg: &Token = cx.one(line, what)?;
    let read = arg.text.parse();
    read.map_err(|error: EskipTextError| cx.error(arg.span, error.to_string(), error.help()))
        .ok()
}
