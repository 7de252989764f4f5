//! `health_...` and `fail_duration` and the like: how it is found out which upstreams can be taken.

use super::super::super::{
    cx::Cx,
    values::{block, count, duration, text},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{ActiveChecks, HealthChecks, PassiveChecks},
};

pub(super) fn read(line: &Line, checks: &mut HealthChecks, cx: &mut Cx<'_>) {
    if line.name.text.starts_with("health_") {
        active(line, checks.active.get_or_insert_default(), cx);
    } else {
        passive(line, checks.passive.get_or_insert_default(), cx);
    }
}

fn active(line: &Line, checks: &mut ActiveChecks, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "health_body" => {
            let pattern = cx.one(line, "a regular expression");
            checks.expect_body = pattern.filter(|arg| !arg.text.is_empty()).map(|arg| {
                cx.check_regex(arg, &arg.text);
                arg.text.clone()
            });
        }
        "health_fails" => checks.fails = count(line, cx),
        "health_follow_redirects" => {
            cx.nothing(line);
            checks.follow_redirects = true;
        }
        "health_headers" => headers(line, checks, cx),
        "health_interval" => checks.interval = duration(line, cx),
        "health_method" => {
            checks.method = cx.one(line, "a method").map(|arg| {
                cx.check(arg, check::method(&arg.text));
                arg.text.clone()
            });
        }
        "health_passes" => checks.passes = count(line, cx),
        "health_path" => {
            let help = "write `health_uri`, which may have a query too".to_owned();
            cx.warn(line.name.span, "`health_path` is old", help);
            checks.path = target(line, cx);
        }
        "health_port" => {
            checks.port = cx.one(line, "a port").and_then(|arg| {
                let port = arg.text.parse().ok().filter(|port: &u16| *port != 0);
                cx.check(arg, port.ok_or("expected a port from 1 to 65535"))
            });
        }
        "health_request_body" => {
            checks.body = text(line, "a body", cx).filter(|body| !body.is_empty());
        }
        "health_status" => {
            checks.expect_status = cx
                .one(line, "a status, such as 200, or a class, such as 2xx")
                .and_then(|arg| status(arg, cx));
        }
        "health_tcp" => {
            cx.nothing(line);
            checks.tcp = true;
        }
        "health_timeout" => checks.timeout = duration(line, cx),
        "health_upstream" => {
            checks.upstream = cx.one(line, "host:port").and_then(|arg| {
                cx.check(arg, check::health_upstream(&arg.text))?;
                Some(arg.text.clone())
            });
        }
        "health_uri" => checks.uri = target(line, cx),
        _ => {}
    }
}

fn passive(line: &Line, checks: &mut PassiveChecks, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "fail_duration" => checks.fail_duration = duration(line, cx),
        "max_fails" => checks.max_fails = count(line, cx),
        "unhealthy_latency" => checks.unhealthy_latency = duration(line, cx),
        "unhealthy_request_count" => checks.unhealthy_request_count = count(line, cx),
        "unhealthy_status" => {
            for arg in cx
                .some(line, "a status, such as 503, or a class, such as 5xx")
                .unwrap_or_default()
            {
                checks.unhealthy_status.extend(status(arg, cx));
            }
        }
        _ => {}
    }
}

/// A path, with a query perhaps.
fn target(line: &Line, cx: &mut Cx<'_>) -> Option<String> {
    let arg = cx.one(line, "a path, such as /health")?;
    if !arg.text.starts_with('/') {
        cx.error(arg.span, "a path begins with `/`", None);
    }
    Some(arg.text.clone())
}

/// A status, or for `Nxx` the digit of its class.
pub(super) fn status(arg: &Token, cx: &mut Cx<'_>) -> Option<u16> {
    let class = arg.text.strip_suffix("xx").filter(|class| class.len() == 1);
    let number = class.unwrap_or(&arg.text).parse::<u16>().ok();
    let number = number.filter(|number| check::is_status_or_class(*number));
    cx.check(
        arg,
        number.ok_or("expected a status, such as 200, or a class, such as 2xx"),
    )
}

/// A block of `FIELD VALUE...`.
fn headers(line: &Line, checks: &mut ActiveChecks, cx: &mut Cx<'_>) {
    cx.surplus(&line.args);
    for line in block(line) {
        cx.no_block(line);
        cx.check(&line.name, check::field_name(&line.name.text));
        let values = checks.headers.entry(line.name.text.clone()).or_default();
        if line.args.is_empty() {
            values.push(String::new());
        }
        for arg in &line.args {
            cx.check_value(arg, check::health_value(&arg.text));
            values.push(arg.text.clone());
        }
    }
}

/// What says how to check does not turn active checks on, as in Caddy.
pub(super) fn warn_of_useless(name: &Token, checks: Option<&HealthChecks>, cx: &mut Cx<'_>) {
    let Some(active) = checks.and_then(|checks| checks.active.as_ref()) else {
        return;
    };
    // What was wrong may be what is missing.
    if !active.is_on() && !cx.has_errors() {
        let help = "add `health_uri`, such as `health_uri /`".to_owned();
        cx.warn(
            name.span,
            "its upstreams are not checked without `health_uri`",
            help,
        );
    }
}
