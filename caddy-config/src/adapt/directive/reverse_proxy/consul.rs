//! `dynamic consul { ... }`: the instances of a Consul service.

use std::path::PathBuf;

use super::super::super::{
    cx::Cx,
    values::{Once, block, count, duration, path},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{ConsulLocality, ConsulTls, ConsulUpstreams},
};

const OPTIONS: [&str; 16] = [
    "address",
    "datacenter",
    "grace_period",
    "locality",
    "namespace",
    "partition",
    "refresh",
    "service",
    "stale",
    "tag",
    "timeout",
    "tls",
    "token",
    "token_file",
    "watch",
    "weights",
];

pub(super) fn read(kind: &Token, args: &[Token], line: &Line, cx: &mut Cx<'_>) -> ConsulUpstreams {
    cx.surplus(args);
    let mut source = ConsulUpstreams::default();
    let mut once = Once::default();
    for inner in block(line) {
        option(&mut source, inner, cx);
        once.note(&inner.name, cx);
    }
    if source.service.is_empty() && !block(line).iter().any(|inner| inner.name.text == "service") {
        let help = "name one, such as `service api`, or a placeholder".to_owned();
        cx.error(kind.span, "the service is required", help);
    }
    source
}

fn option(source: &mut ConsulUpstreams, line: &Line, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "address" => source.address = checked(line, "an address", check::consul_address, cx),
        "service" => {
            let service = checked(line, "a name", check::consul_service, cx);
            if let Some(arg) = line.args.first().filter(|_| service.is_some()) {
                cx.check_value(arg, check::template(&arg.text));
            }
            source.service = service.unwrap_or_default();
        }
        "refresh" => source.refresh = duration(line, cx),
        "grace_period" => source.grace_period = duration(line, cx),
        "timeout" => source.timeout = duration(line, cx),
        "locality" => source.locality = locality(line, cx),
        "token" => {
            if let Some(arg) = cx.one(line, "a token") {
                cx.mask(arg);
                cx.check(&line.name, check::consul_token_once(source.token_file.is_some()));
                source.token = Some(arg.text.clone().into());
            }
        }
        "token_file" => {
            cx.check(&line.name, check::consul_token_once(source.token.is_some()));
            source.token_file = file(line, cx);
        }
        "tls" => source.tls = Some(tls(line, cx)),
        "datacenter" => source.datacenter = checked(line, "a datacenter", check::consul_locality, cx),
        "namespace" => source.namespace = checked(line, "a namespace", check::consul_locality, cx),
        "partition" => source.partition = checked(line, "a partition", check::consul_locality, cx),
        "tag" => source.tag = checked(line, "a tag", check::consul_locality, cx),
        "stale" => source.stale = switch(line, cx),
        "watch" => source.watch = switch(line, cx),
        "weights" => source.weights = switch(line, cx),
        _ => cx.unknown(&line.name, "option", &OPTIONS),
    }
}

fn locality(line: &Line, cx: &mut Cx<'_>) -> Option<ConsulLocality> {
    cx.surplus(&line.args);
    let (mut node_meta, mut local_value, mut minimum) = (None, None, None);
    let mut once = Once::default();
    for inner in block(line) {
        match inner.name.text.as_str() {
            "node_meta" => node_meta = Some(checked(inner, "a field", check::consul_locality, cx)),
            "local_value" => local_value = Some(checked(inner, "a value", check::consul_locality, cx)),
            "minimum" => minimum = count(inner, cx),
            _ => cx.unknown(&inner.name, "option", &["local_value", "minimum", "node_meta"]),
        }
        once.note(&inner.name, cx);
    }
    for (name, is_given) in [
        ("node_meta", node_meta.is_some()),
        ("local_value", local_value.is_some()),
    ] {
        if !is_given {
            cx.error(line.name.span, format!("`locality` needs `{name}`"), None);
        }
    }
    Some(ConsulLocality {
        node_meta: node_meta??,
        local_value: local_value??,
        minimum,
    })
}

fn tls(line: &Line, cx: &mut Cx<'_>) -> ConsulTls {
    const OPTIONS: [&str; 5] = [
        "ca",
        "client_cert",
        "client_key",
        "insecure_skip_verify",
        "server_name",
    ];
    cx.surplus(&line.args);
    let mut tls = ConsulTls::default();
    let mut once = Once::default();
    for inner in block(line) {
        match inner.name.text.as_str() {
            "ca" => tls.ca = file(inner, cx),
            "client_cert" => tls.client_cert = file(inner, cx),
            "client_key" => tls.client_key = file(inner, cx),
            "insecure_skip_verify" => tls.insecure_skip_verify = switch(inner, cx),
            "server_name" => tls.server_name = checked(inner, "a name", check::consul_locality, cx),
            _ => cx.unknown(&inner.name, "option", &OPTIONS),
        }
        once.note(&inner.name, cx);
    }
    let pair = check::consul_client(tls.client_cert.is_some(), tls.client_key.is_some());
    cx.check(&line.name, pair);
    tls
}

fn checked(
    line: &Line,
    what: &str,
    check: impl FnOnce(&str) -> Result<(), &'static str>,
    cx: &mut Cx<'_>,
) -> Option<String> {
    let arg = cx.one(line, what)?;
    cx.check(arg, check(&arg.text))?;
    Some(arg.text.clone())
}

fn file(line: &Line, cx: &mut Cx<'_>) -> Option<PathBuf> {
    let arg = cx.one(line, "a file")?;
    path(arg, cx).map(Into::into)
}

fn switch(line: &Line, cx: &mut Cx<'_>) -> bool {
    let Some(arg) = cx.one(line, "`on` or `off`") else {
        return false;
    };
    match arg.text.as_str() {
        "on" => return true,
        "off" => {}
        _ => cx.unknown(arg, "value", &["on", "off"]),
    }
    false
}
