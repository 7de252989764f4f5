//! Options of `log`, of a site or global.

use super::{
    Area::Log,
    Support,
    SupportState::{Active, Refused},
    row,
};

pub(super) const ROWS: &[Support] = &[
    row(Log, "output", Active, ""),
    row(Log, "output stdout", Active, ""),
    row(Log, "output stderr", Active, ""),
    row(Log, "output discard", Active, ""),
    row(Log, "output file", Active, "with all ways of rolling"),
    row(
        Log,
        "output net",
        Refused,
        "write to standard output or a file, and let a log shipper send it on",
    ),
    row(Log, "format", Active, ""),
    row(Log, "format json", Active, ""),
    row(Log, "format console", Active, ""),
    row(
        Log,
        "format filter",
        Active,
        "delete, rename, replace, ip_mask, query, cookie, set_cookie, regexp, multi_regexp, hash",
    ),
    row(Log, "format append", Active, ""),
    row(
        Log,
        "format journald",
        Refused,
        "write `format json` to standard error, which systemd keeps as it is",
    ),
    row(
        Log,
        "format transform",
        Refused,
        "it is a plug-in of Caddy; `format filter` and `format append` change fields",
    ),
    row(Log, "level", Active, ""),
    row(Log, "sampling", Active, ""),
    row(Log, "include", Active, "in the global option"),
    row(Log, "exclude", Active, "in the global option"),
    row(Log, "hostnames", Active, "in a site"),
    row(Log, "no_hostname", Active, "in a site"),
    row(
        Log,
        "core",
        Refused,
        "lines are written by `output` and `format`; remove it",
    ),
];
