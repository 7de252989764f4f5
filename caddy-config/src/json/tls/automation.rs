//! How certificates are obtained.

use super::super::{
    decode::{Cx, Object},
    reader::{Node, Value},
    scalar::duration,
    upstream::named,
};
use super::issuer::issuer;
use crate::{
    check,
    model::{Automation, AutomationPolicy, KeyType, OnDemand, OnDemandPermission},
};

pub(super) fn automation<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Automation> {
    let mut object = Object::open(node, cx)?;
    let automation = Automation {
        policies: object.list("policies", cx, policy),
        on_demand: object.get("on_demand", cx, on_demand),
        ocsp_interval: object.get("ocsp_interval", cx, duration),
        renew_interval: object.get("renew_interval", cx, duration),
        storage_clean_interval: object.get("storage_clean_interval", cx, duration),
    };
    object.finish(cx);
    Some(automation)
}

fn policy<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<AutomationPolicy> {
    let mut object = Object::open(node, cx)?;
    for (name, help) in [
        (
            "get_certificate",
            "certificates come from files or from an issuer",
        ),
        (
            "must_staple",
            "responses are not stapled, so such a certificate would be refused",
        ),
        ("ocsp_overrides", "responses are not stapled; remove it"),
        (
            "storage",
            "all certificates are kept in the storage of the document; remove it",
        ),
    ] {
        object.refuse(name, help, cx);
    }
    let policy = AutomationPolicy {
        subjects: object.strings("subjects", cx),
        issuers: object.list("issuers", cx, issuer),
        renewal_window_ratio: object.get("renewal_window_ratio", cx, |node, cx| {
            let Value::Number(text) = &node.value else {
                return cx.wrong_type(node, "a number");
            };
            let ratio = cx.check(node, check::plain_number(text))?;
            cx.check(node, check::renewal_window_ratio(&ratio).map(|()| ratio.clone()))
        }),
        key_type: object.get("key_type", cx, |node, cx| {
            let name = cx.string(node).filter(|name| !name.is_empty())?;
            let kind = KeyType::named(&name);
            let message = || format!("expected one of {}", KeyType::NAMES.join(", "));
            cx.check(node, kind.ok_or_else(message))
        }),
        on_demand: object.flag("on_demand", cx),
        reuse_private_keys: object.flag("reuse_private_keys", cx),
        disable_ocsp_stapling: object.flag("disable_ocsp_stapling", cx),
    };
    object.finish(cx);
    Some(policy)
}

fn on_demand<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<OnDemand> {
    let mut object = Object::open(node, cx)?;
    object.refuse(
        "ask",
        "write \"permission\": {\"module\": \"http\", \"endpoint\": URL}",
        cx,
    );
    object.refuse("rate_limit", "let the service that is asked count; remove it", cx);
    let on_demand = OnDemand {
        permission: object.get("permission", cx, |node, cx| {
            named(node, "module", &["http"], cx, |object, cx| {
                OnDemandPermission::Http {
                    endpoint: object
                        .require("endpoint", cx, |node, cx| {
                            let url = cx.string(node)?;
                            cx.check(node, check::http_url(&url))?;
                            Some(url)
                        })
                        .unwrap_or_default(),
                }
            })
        }),
    };
    object.finish(cx);
    Some(on_demand)
}
