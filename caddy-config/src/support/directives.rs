//! Directives.

use super::{
    Area::Directive,
    Support,
    SupportState::{Active, Refused},
    row,
};

/// What to do instead of serving files.
const NO_FILES: &str = "Doorway serves no files; run a file server and `reverse_proxy` to it";

pub(super) const ROWS: &[Support] = &[
    row(Directive, "abort", Active, ""),
    row(Directive, "basic_auth", Active, ""),
    row(Directive, "bind", Active, ""),
    row(
        Directive,
        "doors_geo",
        Active,
        "with `redirect_scheme` and `status`, which doors-caddy does not have",
    ),
    row(Directive, "doors_handler", Active, ""),
    row(Directive, "encode", Active, "zstd, br and gzip"),
    row(Directive, "error", Active, ""),
    row(
        Directive,
        "eskip",
        Active,
        "routes in Skipper's language, which Caddy does not have",
    ),
    row(Directive, "forward_auth", Active, ""),
    row(Directive, "handle", Active, ""),
    row(Directive, "handle_errors", Active, ""),
    row(Directive, "handle_path", Active, ""),
    row(Directive, "header", Active, ""),
    row(Directive, "invoke", Active, ""),
    row(Directive, "log", Active, ""),
    row(Directive, "log_skip", Active, ""),
    row(Directive, "map", Active, ""),
    row(Directive, "method", Active, ""),
    row(Directive, "metrics", Active, ""),
    row(Directive, "redir", Active, ""),
    row(Directive, "request_body", Active, ""),
    row(Directive, "request_header", Active, ""),
    row(Directive, "respond", Active, ""),
    row(Directive, "reverse_proxy", Active, ""),
    row(Directive, "rewrite", Active, ""),
    row(Directive, "route", Active, ""),
    row(Directive, "tls", Active, ""),
    row(Directive, "uri", Active, ""),
    row(Directive, "vars", Active, ""),
    row(
        Directive,
        "acme_server",
        Refused,
        "Doorway issues no certificates to others; run an ACME server and `reverse_proxy` to it",
    ),
    row(Directive, "file_server", Refused, NO_FILES),
    row(
        Directive,
        "php_fastcgi",
        Refused,
        "Doorway does not speak FastCGI; run a web server beside PHP and `reverse_proxy` to it",
    ),
    row(
        Directive,
        "push",
        Refused,
        "browsers no longer take pushed responses; remove it",
    ),
    row(Directive, "root", Refused, NO_FILES),
    row(
        Directive,
        "templates",
        Refused,
        "Doorway renders no templates; let the upstream do it",
    ),
    row(Directive, "try_files", Refused, NO_FILES),
];
