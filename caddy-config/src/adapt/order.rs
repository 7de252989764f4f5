//! The order in which the directives of a block run, whatever order they are written in.

/// First runs first. `doors_handler` stands where doors-caddy puts it. Directives that are not supported yet keep
/// their places, so that adding one is no change of order.
const ORDER: [&str; 39] = [
    "tracing",
    "map",
    "vars",
    "fs",
    "root",
    "log_append",
    "skip_log",
    "log_skip",
    "log_name",
    "header",
    "copy_response_headers",
    "request_body",
    "timeouts",
    "redir",
    "method",
    "rewrite",
    "uri",
    "try_files",
    "basicauth",
    "basic_auth",
    "forward_auth",
    "request_header",
    "encode",
    "push",
    "intercept",
    "templates",
    "invoke",
    "handle",
    "handle_path",
    "route",
    "abort",
    "error",
    "copy_response",
    "respond",
    "metrics",
    "doors_handler",
    "reverse_proxy",
    "php_fastcgi",
    "file_server",
];

/// The place of a directive; smaller runs earlier.
pub(super) fn position(directive: &str) -> usize {
    ORDER
        .iter()
        .position(|name| *name == directive)
        .unwrap_or(ORDER.len())
}
