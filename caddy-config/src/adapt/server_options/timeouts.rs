//! `timeouts { ... }`: how long clients may take.

use super::super::{
    cx::Cx,
    values::{Once, block, duration, parse_duration, size},
};
use crate::{caddyfile::parser::Line, model::Server};

const TIMEOUTS: [&str; 7] = [
    "idle",
    "read_body",
    "read_body_idle",
    "read_header",
    "write",
    "write_idle",
    "write_max_chunk",
];

pub(super) fn read(line: &Line, server: &mut Server, cx: &mut Cx<'_>) {
    cx.surplus(&line.args);
    let mut once = Once::default();
    for line in block(line) {
        match line.name.text.as_str() {
            "idle" => server.idle_timeout = duration(line, cx),
            "read_body" => server.read_timeout = duration(line, cx),
            "read_body_idle" => (server.read_idle_timeout, server.read_min_rate) = with_rate(line, cx),
            "read_header" => server.read_header_timeout = duration(line, cx),
            "write" => server.write_timeout = duration(line, cx),
            "write_idle" => (server.write_idle_timeout, server.write_min_rate) = with_rate(line, cx),
            "write_max_chunk" => server.max_write_chunk = size(line, cx),
            _ => cx.unknown(&line.name, "timeout", &TIMEOUTS),
        }
        once.note(&line.name, cx);
    }
}

/// `DURATION [BYTES_PER_SECOND]`.
fn with_rate(line: &Line, cx: &mut Cx<'_>) -> (Option<std::time::Duration>, Option<u32>) {
    let args = cx.some(line, "a duration, such as 10s").unwrap_or_default();
    let (wanted, surplus) = args.split_at_checked(2).unwrap_or((args, &[]));
    cx.surplus(surplus);
    let duration = wanted.first().and_then(|arg| parse_duration(arg, cx));
    let rate = wanted.get(1).and_then(|arg| {
        let rate = arg.text.parse::<u32>();
        cx.check(arg, rate.map_err(|_| "expected bytes per second, a whole number"))
    });
    (
        duration.filter(|duration| !duration.is_zero()),
        rate.filter(|rate| *rate != 0),
    )
}
