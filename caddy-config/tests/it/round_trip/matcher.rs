//! Matchers of every kind.

use std::collections::BTreeMap;

use caddy_config::{Expression, IpMatcher, MatcherSet, RegexpMatcher};
use proptest::{
    collection::{btree_map, btree_set, vec},
    option,
    prelude::*,
    sample::select,
};

use super::{name, range, value};

/// Text with placeholders, or without.
pub(super) fn template() -> impl Strategy<Value = String> {
    let placeholder = prop_oneof![
        Just("{http.request.uri.path}"),
        Just("{http.vars.x}"),
        Just("{env.X}"),
        Just("{own}"),
        Just("{http.regexp.re.1}"),
    ];
    prop_oneof![
        value(),
        (value(), placeholder, value())
            .prop_map(|(before, placeholder, behind)| format!("{before}{placeholder}{behind}"))
    ]
}

/// [`template`], but never empty: an empty text is as good as none.
pub(super) fn template_word() -> impl Strategy<Value = String> {
    template().prop_filter("empty", |text| !text.is_empty())
}

pub(super) fn pattern() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z/]{1,6}", Just(r"^/a(\d+)(?P<x>[^/]*)\z".to_owned())]
}

pub(super) fn matcher_set() -> impl Strategy<Value = MatcherSet> {
    one_set().prop_recursive(2, 6, 2, |inner| {
        (one_set(), vec(inner, 0..3)).prop_map(|(set, not)| MatcherSet { not, ..set })
    })
}

fn one_set() -> impl Strategy<Value = MatcherSet> {
    let hosts = btree_set("[a-z]{1,8}", 0..3).prop_map(|hosts| hosts.into_iter().collect());
    let about_request = (
        option::of(hosts),
        option::of(vec(name(), 0..3)),
        option::of(vec(template(), 0..3)),
        option::of(regexp()),
        option::of(prop_oneof![Just("https".to_owned()), name()]),
        option::of(keyed_templates()),
    );
    let about_peer = (
        option::of(ranges()),
        option::of(ranges()),
        option::of(expression()),
        option::of(vec(select(vec!["DE", "AT", "ZZ"]).prop_map(str::to_owned), 0..3)),
    );
    let fields = btree_map(name(), option::of(vec(template(), 0..3)), 0..3);
    let about_fields = (fields, keyed_regexps(), keyed_templates(), keyed_regexps());
    (about_request, about_peer, about_fields).prop_map(|(request, peer, fields)| MatcherSet {
        host: request.0,
        method: request.1,
        path: request.2,
        path_regexp: request.3,
        protocol: request.4,
        query: request.5,
        client_ip: peer.0,
        remote_ip: peer.1,
        expression: peer.2,
        geo_country: peer.3,
        header: fields.0,
        header_regexp: fields.1,
        vars: fields.2,
        vars_regexp: fields.3,
        not: Vec::new(),
    })
}

fn keyed_templates() -> impl Strategy<Value = BTreeMap<String, Vec<String>>> {
    btree_map(template(), vec(template(), 0..3), 0..3)
}

fn keyed_regexps() -> impl Strategy<Value = BTreeMap<String, RegexpMatcher>> {
    btree_map(name(), regexp(), 0..2)
}

fn regexp() -> impl Strategy<Value = RegexpMatcher> {
    (option::of(name()), prop_oneof![pattern(), Just(String::new())])
        .prop_map(|(name, pattern)| RegexpMatcher { name, pattern })
}

fn ranges() -> impl Strategy<Value = IpMatcher> {
    let range = prop_oneof![
        range().prop_map(|range| range.to_string()),
        Just("{env.NET}".to_owned())
    ];
    vec(range, 0..3).prop_map(|ranges| IpMatcher { ranges })
}

fn expression() -> impl Strategy<Value = Expression> {
    let expr = prop_oneof![
        Just("{http.request.method} in ['GET', \"HEAD\"]"),
        Just("path('/a*') && !host(\"b\") || {own} != null"),
        Just("header_regexp('X-A', '^<a>') == ({http.request.port} > 80)"),
    ];
    (expr, option::of(name())).prop_map(|(expr, name)| Expression {
        expr: expr.to_owned(),
        name,
    })
}
