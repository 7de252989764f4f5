//! The instances of a Consul service.

use super::{
    super::{
        decode::{Cx, Object},
        reader::Node,
        scalar::{count, duration, template},
        tls::path,
    },
    text,
};
use crate::{
    check,
    model::{ConsulLocality, ConsulTls, ConsulUpstreams},
};

pub(super) fn consul<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> ConsulUpstreams {
    let service = object.require("service", cx, |node, cx| {
        let text = template(node, cx)?;
        cx.check(node, check::consul_service(&text))?;
        Some(text)
    });
    let token = text(object, "token", cx);
    let token_file = object.get("token_file", cx, |node, cx| {
        cx.check(node, check::consul_token_once(token.is_some()))?;
        path(node, cx)
    });
    ConsulUpstreams {
        address: object.get("address", cx, |node, cx| {
            let text = cx.string(node).filter(|text| !text.trim().is_empty())?;
            cx.check(node, check::consul_address(&text))?;
            Some(text)
        }),
        service: service.unwrap_or_default(),
        refresh: object.get("refresh", cx, duration),
        grace_period: object.get("grace_period", cx, duration),
        locality: object.get("locality", cx, locality),
        token: token.map(Into::into),
        token_file,
        tls: object.get("tls", cx, tls),
        datacenter: text(object, "datacenter", cx),
        namespace: text(object, "namespace", cx),
        partition: text(object, "partition", cx),
        tag: text(object, "tag", cx),
        stale: object.flag("stale", cx),
        timeout: object.get("timeout", cx, duration),
        watch: object.flag("watch", cx),
        weights: object.flag("weights", cx),
    }
}

fn locality<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<ConsulLocality> {
    let mut object = Object::open(node, cx)?;
    let value = |object: &mut Object<'n>, name, cx: &mut Cx<'n, '_>| {
        object.require(name, cx, |node, cx| {
            let text = cx.string(node)?;
            cx.check(node, check::consul_locality(&text))?;
            Some(text)
        })
    };
    let node_meta = value(&mut object, "node_meta", cx);
    let local_value = value(&mut object, "local_value", cx);
    let minimum = object.get("minimum", cx, count);
    object.finish(cx);
    Some(ConsulLocality {
        node_meta: node_meta?,
        local_value: local_value?,
        minimum,
    })
}

fn tls<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<ConsulTls> {
    let mut object = Object::open(node, cx)?;
    let tls = ConsulTls {
        ca: object.get("ca", cx, path),
        client_cert: object.get("client_cert", cx, path),
        client_key: object.get("client_key", cx, path),
        server_name: text(&mut object, "server_name", cx),
        insecure_skip_verify: object.flag("insecure_skip_verify", cx),
    };
    object.finish(cx);
    let pair = check::consul_client(tls.client_cert.is_some(), tls.client_key.is_some());
    cx.check(node, pair)?;
    Some(tls)
}
