//! Matchers.

use super::{
    Area::Matcher,
    Support,
    SupportState::{Active, Refused},
    row,
};

pub(super) const ROWS: &[Support] = &[
    row(Matcher, "path", Active, ""),
    row(Matcher, "path_regexp", Active, ""),
    row(Matcher, "host", Active, ""),
    row(Matcher, "method", Active, ""),
    row(Matcher, "header", Active, ""),
    row(Matcher, "header_regexp", Active, ""),
    row(Matcher, "query", Active, ""),
    row(Matcher, "protocol", Active, ""),
    row(Matcher, "remote_ip", Active, ""),
    row(Matcher, "client_ip", Active, ""),
    row(
        Matcher,
        "geo_country",
        Active,
        "Doorway's own: the country of the client's address, such as `geo_country DE AT`",
    ),
    row(Matcher, "vars", Active, ""),
    row(Matcher, "vars_regexp", Active, ""),
    row(Matcher, "not", Active, ""),
    row(Matcher, "expression", Active, ""),
    row(
        Matcher,
        "file",
        Refused,
        "Doorway serves no files and looks for none; choose by path or header",
    ),
    row(
        Matcher,
        "tls",
        Refused,
        "early data is not taken, so every handshake is complete; to ask for TLS, write `protocol https`",
    ),
    row(
        Matcher,
        "url_pattern",
        Refused,
        "write `path`, `path_regexp`, `host` or `query`",
    ),
];
