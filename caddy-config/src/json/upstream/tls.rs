//! TLS to upstreams, and whom one believes there.

use super::{
    super::{
        decode::{Cx, Object},
        reader::Node,
        scalar::duration,
        tls::path,
    },
    one_named, text,
};
use crate::{
    check,
    model::{CaPool, Renegotiation, UpstreamTls},
};

pub(super) fn upstream_tls<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<UpstreamTls> {
    let mut object = Object::open(node, cx)?;
    let tls = UpstreamTls {
        root_ca_pool: object.list("root_ca_pool", cx, certificate),
        root_ca_pem_files: object.list("root_ca_pem_files", cx, path),
        ca: object.get("ca", cx, ca_pool),
        client_certificate_file: object.get("client_certificate_file", cx, path),
        client_certificate_key_file: object.get("client_certificate_key_file", cx, path),
        client_certificate_automate: text(&mut object, "client_certificate_automate", cx),
        insecure_skip_verify: object.flag("insecure_skip_verify", cx),
        handshake_timeout: object.get("handshake_timeout", cx, duration),
        server_name: text(&mut object, "server_name", cx),
        renegotiation: object.get("renegotiation", cx, |node, cx| {
            let name = cx.string(node).filter(|name| !name.is_empty())?;
            let known = Renegotiation::named(&name);
            cx.check(node, known.ok_or("expected \"never\", \"once\" or \"freely\""))
        }),
        except_ports: object.list("except_ports", cx, |node, cx| {
            let text = cx.string(node)?;
            cx.check(node, check::port_text(&text))?;
            Some(text)
        }),
        curves: object.list("curves", cx, |node, cx| {
            let name = cx.string(node)?;
            cx.check(node, check::curve(&name))?;
            Some(name)
        }),
    };
    object.finish(cx);
    Some(tls)
}

/// Authorities that are believed.
pub(in crate::json) fn ca_pool<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<CaPool> {
    one_named(
        node,
        "provider",
        &CaPool::NAMES,
        cx,
        |name, object, cx| match name {
            "file" => CaPool::File {
                pem_files: object.list("pem_files", cx, path),
            },
            "inline" => CaPool::Inline {
                trusted_ca_certs: object.list("trusted_ca_certs", cx, certificate),
            },
            _ => CaPool::System {},
        },
    )
}

/// A certificate in DER form, in base64.
pub(in crate::json) fn certificate<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    let text = cx.string(node)?;
    cx.check(node, check::base64(&text))?;
    Some(text)
}
