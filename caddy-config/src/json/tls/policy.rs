//! Rules for connections.

use super::{
    super::{
        decode::{Cx, Object},
        reader::Node,
        upstream::{ca_pool, certificate, named},
    },
    path, text,
};
use crate::{
    check,
    model::{
        CertificateSelection, ClientAuthMode, ClientAuthentication, ClientVerifier, LeafLoader,
        TlsConnectionPolicy, TlsMatcher, TlsVersion,
    },
};

pub(in crate::json) fn connection_policy<'n>(
    node: &'n Node,
    cx: &mut Cx<'n, '_>,
) -> Option<TlsConnectionPolicy> {
    let mut object = Object::open(node, cx)?;
    let help = "Doorway writes no session keys anywhere; capture what is behind it";
    object.refuse("insecure_secrets_log", help, cx);
    object.refuse("drop", "leave the name out: it is refused then", cx);
    let policy = TlsConnectionPolicy {
        matcher: object.get("match", cx, |node, cx| {
            let mut object = Object::open(node, cx)?;
            let sni = object.strings("sni", cx);
            object.finish(cx);
            Some(TlsMatcher { sni })
        }),
        certificate_selection: object.get("certificate_selection", cx, |node, cx| {
            let mut object = Object::open(node, cx)?;
            let any_tag = object.strings("any_tag", cx);
            object.finish(cx);
            Some(CertificateSelection { any_tag })
        }),
        cipher_suites: object.list("cipher_suites", cx, |node, cx| {
            let name = cx.string(node)?;
            cx.check(node, check::cipher(&name))?;
            Some(name)
        }),
        curves: object.list("curves", cx, |node, cx| {
            let name = cx.string(node)?;
            cx.check(node, check::curve(&name))?;
            Some(name)
        }),
        alpn: object.list("alpn", cx, |node, cx| {
            let name = cx.string(node)?;
            cx.check(node, check::alpn(&name))?;
            Some(name)
        }),
        protocol_min: object.get("protocol_min", cx, version),
        protocol_max: object.get("protocol_max", cx, version),
        client_authentication: object.get("client_authentication", cx, client_authentication),
        default_sni: text(&mut object, "default_sni", cx),
        fallback_sni: text(&mut object, "fallback_sni", cx),
    };
    if let Err(message) = check::versions(policy.protocol_min, policy.protocol_max) {
        cx.error(object.span(), message, None);
    }
    object.finish(cx);
    Some(policy)
}

fn version<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<TlsVersion> {
    let name = cx.string(node).filter(|name| !name.is_empty())?;
    let version = TlsVersion::named(&name);
    cx.check(node, version.ok_or("expected \"tls1.2\" or \"tls1.3\""))
}

fn client_authentication<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<ClientAuthentication> {
    let mut object = Object::open(node, cx)?;
    let clients = ClientAuthentication {
        ca: object.get("ca", cx, ca_pool),
        trusted_ca_certs: object.list("trusted_ca_certs", cx, certificate),
        trusted_ca_certs_pem_files: object.list("trusted_ca_certs_pem_files", cx, path),
        trusted_leaf_certs: object.list("trusted_leaf_certs", cx, certificate),
        verifiers: object.list("verifiers", cx, |node, cx| {
            named(node, "verifier", &["leaf"], cx, |object, cx| {
                ClientVerifier::Leaf {
                    leaf_certs_loaders: object.list("leaf_certs_loaders", cx, |node, cx| {
                        named(node, "loader", &["file"], cx, |object, cx| LeafLoader::File {
                            files: object.list("files", cx, path),
                        })
                    }),
                }
            })
        }),
        mode: object.get("mode", cx, |node, cx| {
            let name = cx.string(node).filter(|name| !name.is_empty())?;
            let mode = ClientAuthMode::named(&name);
            cx.check(node, mode.ok_or(check::CLIENT_AUTH_MODES))
        }),
    };
    object.finish(cx);
    Some(clients)
}
