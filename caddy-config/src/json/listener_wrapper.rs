//! What stands between a listening socket and HTTP.

use super::{
    decode::{Cx, Object},
    reader::Node,
    scalar::{duration, ip_range},
    upstream::one_named,
};
use crate::{
    check,
    model::{ListenerWrapper, ProxyProtocol, ProxyProtocolFallback},
};

pub(super) fn listener_wrappers<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Vec<ListenerWrapper>> {
    let mut wrappers = Vec::new();
    cx.list(node, |node, cx| {
        let wrapper = one_named(
            node,
            "wrapper",
            &["proxy_protocol", "tls"],
            cx,
            |name, object, cx| match name {
                "tls" => ListenerWrapper::Tls {},
                _ => ListenerWrapper::ProxyProtocol(proxy_protocol(object, cx)),
            },
        )?;
        if let Err((message, help)) = check::next_wrapper(&wrappers, &wrapper) {
            cx.error(node.span, message, help.to_owned());
        }
        wrappers.push(wrapper);
        Some(())
    })?;
    Some(wrappers)
}

fn proxy_protocol<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> ProxyProtocol {
    ProxyProtocol {
        timeout: object.get("timeout", cx, duration),
        allow: object.list("allow", cx, ip_range),
        deny: object.list("deny", cx, ip_range),
        fallback_policy: object
            .get("fallback_policy", cx, |node, cx| {
                let name = cx.string(node)?;
                let policy = ProxyProtocolFallback::named(&name);
                cx.check(
                    node,
                    policy.ok_or("expected \"IGNORE\", \"USE\", \"REJECT\", \"REQUIRE\" or \"SKIP\""),
                )
            })
            .filter(|policy| *policy != ProxyProtocolFallback::Ignore),
    }
}
