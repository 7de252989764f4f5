//! Who issues certificates.

use super::{
    super::{
        decode::{Cx, Object},
        reader::Node,
        scalar::{duration, port},
        upstream::one_named,
    },
    path, text,
};
use crate::{
    check,
    model::{
        AcmeChallenge, AcmeChallenges, AcmeIssuer, ChainPreference, ExternalAccount, InternalIssuer, Issuer,
    },
};

pub(super) fn issuer<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Issuer> {
    one_named(
        node,
        "module",
        &["acme", "internal"],
        cx,
        |name, object, cx| match name {
            "acme" => Issuer::Acme(Box::new(acme(object, cx))),
            _ => Issuer::Internal(InternalIssuer {
                ca: object.get("ca", cx, |node, cx| {
                    let name = cx.string(node).filter(|name| !name.is_empty())?;
                    cx.check(node, check::authority(&name))?;
                    Some(name)
                }),
                lifetime: object.get("lifetime", cx, duration),
                sign_with_root: object.flag("sign_with_root", cx),
            }),
        },
    )
}

fn acme<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> AcmeIssuer {
    object.refuse("network_proxy", "authorities are reached directly; remove it", cx);
    AcmeIssuer {
        ca: text(object, "ca", cx),
        test_ca: text(object, "test_ca", cx),
        email: text(object, "email", cx),
        profile: text(object, "profile", cx),
        account_key: text(object, "account_key", cx).map(Into::into),
        external_account: object.get("external_account", cx, |node, cx| {
            let mut object = Object::open(node, cx)?;
            let key_id = object.require("key_id", cx, |node, cx| cx.string(node));
            let mac_key = object.require("mac_key", cx, |node, cx| cx.string(node));
            object.finish(cx);
            Some(ExternalAccount {
                key_id: key_id?,
                mac_key: mac_key?.into(),
            })
        }),
        acme_timeout: object.get("acme_timeout", cx, duration),
        challenges: object.get("challenges", cx, challenges),
        trusted_roots_pem_files: object.list("trusted_roots_pem_files", cx, path),
        preferred_chains: object.get("preferred_chains", cx, |node, cx| {
            let mut object = Object::open(node, cx)?;
            let chains = ChainPreference {
                smallest: object.get("smallest", cx, |node, cx| cx.boolean(node)),
                root_common_name: object.strings("root_common_name", cx),
                any_common_name: object.strings("any_common_name", cx),
            };
            object.finish(cx);
            Some(chains)
        }),
        certificate_lifetime: object.get("certificate_lifetime", cx, duration),
    }
}

fn challenges<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<AcmeChallenges> {
    let mut object = Object::open(node, cx)?;
    object.refuse("dns", "Doorway has no plug-ins for DNS providers; remove it", cx);
    object.refuse("distributed", "challenges are always shared; remove it", cx);
    let challenges = AcmeChallenges {
        http: object.get("http", cx, challenge),
        tls_alpn: object.get("tls-alpn", cx, challenge),
        bind_host: text(&mut object, "bind_host", cx),
    };
    object.finish(cx);
    Some(challenges)
}

fn challenge<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<AcmeChallenge> {
    let mut object = Object::open(node, cx)?;
    let challenge = AcmeChallenge {
        disabled: object.flag("disabled", cx),
        alternate_port: object.get("alternate_port", cx, port),
    };
    object.finish(cx);
    Some(challenge)
}
