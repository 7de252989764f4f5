//! Upstreams that are found out for each request.

use super::{
    super::{
        decode::{Cx, Object},
        reader::Node,
        scalar::duration,
    },
    consul::consul,
    one_named, text,
    transport::{fallback_delay, resolver},
};
use crate::model::{AUpstreams, DynamicUpstreams, IpVersions, SrvUpstreams};

pub(super) fn dynamic_upstreams<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<DynamicUpstreams> {
    let source = one_named(
        node,
        "source",
        &DynamicUpstreams::NAMES,
        cx,
        |name, object, cx| match name {
            "a" => DynamicUpstreams::A(a(object, cx)),
            "consul" => DynamicUpstreams::Consul(Box::new(consul(object, cx))),
            "multi" => DynamicUpstreams::Multi {
                sources: object.list("sources", cx, dynamic_upstreams),
            },
            "srv" => DynamicUpstreams::Srv(srv(object, cx)),
            _ => DynamicUpstreams::Doors {},
        },
    );
    if source == Some(DynamicUpstreams::Doors {}) {
        cx.note_doors_source(node.span);
    }
    source
}

fn a<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> AUpstreams {
    AUpstreams {
        name: text(object, "name", cx),
        port: text(object, "port", cx),
        refresh: object.get("refresh", cx, duration),
        resolver: object.get("resolver", cx, resolver),
        dial_timeout: object.get("dial_timeout", cx, duration),
        dial_fallback_delay: object.get("dial_fallback_delay", cx, fallback_delay),
        versions: object.get("versions", cx, |node, cx| {
            let mut object = Object::open(node, cx)?;
            let versions = IpVersions {
                ipv4: object.flag("ipv4", cx),
                ipv6: object.flag("ipv6", cx),
            };
            object.finish(cx);
            Some(versions)
        }),
    }
}

fn srv<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> SrvUpstreams {
    SrvUpstreams {
        service: text(object, "service", cx),
        proto: text(object, "proto", cx),
        name: text(object, "name", cx),
        refresh: object.get("refresh", cx, duration),
        grace_period: object.get("grace_period", cx, duration),
        resolver: object.get("resolver", cx, resolver),
        dial_timeout: object.get("dial_timeout", cx, duration),
        dial_fallback_delay: object.get("dial_fallback_delay", cx, fallback_delay),
    }
}
