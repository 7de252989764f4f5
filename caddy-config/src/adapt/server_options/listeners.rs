//! `listener_wrappers { ... }`: what stands between a socket and HTTP.

use super::super::{
    cx::Cx,
    values::{Once, block, duration},
};
use crate::{
    caddyfile::parser::Line,
    check,
    model::{IpRange, ListenerWrapper, ProxyProtocol, ProxyProtocolFallback},
    support::Area,
};

pub(super) fn wrappers(line: &Line, cx: &mut Cx<'_>) -> Vec<ListenerWrapper> {
    cx.surplus(&line.args);
    let mut wrappers = Vec::new();
    for inner in block(line) {
        if cx.is_refused(Area::ServerOption, &line.name, &inner.name) {
            continue;
        }
        let wrapper = match inner.name.text.as_str() {
            "proxy_protocol" => ListenerWrapper::ProxyProtocol(proxy_protocol(inner, cx)),
            "tls" => {
                cx.nothing(inner);
                ListenerWrapper::Tls {}
            }
            _ => {
                cx.unknown(&inner.name, "listener wrapper", &["proxy_protocol", "tls"]);
                continue;
            }
        };
        if let Err(error) = check::next_wrapper(&wrappers, &wrapper) {
            cx.error(inner.name.span, error.0, error.1.to_owned());
        }
        wrappers.push(wrapper);
    }
    wrappers
}

fn proxy_protocol(line: &Line, cx: &mut Cx<'_>) -> ProxyProtocol {
    const OPTIONS: [&str; 4] = ["allow", "deny", "fallback_policy", "timeout"];
    cx.surplus(&line.args);
    let mut protocol = ProxyProtocol::default();
    let mut once = Once::default();
    for line in block(line) {
        match line.name.text.as_str() {
            "allow" => protocol.allow.extend(ranges(line, cx)),
            "deny" => protocol.deny.extend(ranges(line, cx)),
            "fallback_policy" => {
                protocol.fallback_policy = cx
                    .one(line, "ignore, use, reject, require or skip")
                    .and_then(|arg| {
                        let policy = ProxyProtocolFallback::named(&arg.text);
                        cx.check(arg, policy.ok_or("expected ignore, use, reject, require or skip"))
                    })
                    .filter(|policy| *policy != ProxyProtocolFallback::Ignore);
            }
            "timeout" => protocol.timeout = duration(line, cx),
            _ => cx.unknown(&line.name, "option", &OPTIONS),
        }
        if matches!(line.name.text.as_str(), "fallback_policy" | "timeout") {
            once.note(&line.name, cx);
        }
    }
    protocol
}

fn ranges(line: &Line, cx: &mut Cx<'_>) -> Vec<IpRange> {
    let message = "expected an IP address or a network such as 10.0.0.0/8";
    let args = cx.some(line, "a network, such as 10.0.0.0/8").unwrap_or_default();
    args.iter()
        .filter_map(|arg| cx.check(arg, arg.text.parse::<IpRange>().map_err(|_| message)))
        .collect()
}
