//! Certificates and connection policies.

use std::path::PathBuf;

use super::{
    decode::{Cx, Object},
    reader::Node,
    upstream::named,
};
use crate::model::{
    Automation, AutomationPolicy, CertificateFile, CertificateSelection, Certificates, Issuer, TlsApp,
    TlsConnectionPolicy, TlsMatcher,
};

pub(super) fn app<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<TlsApp> {
    let mut object = Object::open(node, cx)?;
    let app = TlsApp {
        certificates: object.get("certificates", cx, certificates),
        automation: object.get("automation", cx, automation),
    };
    object.finish(cx);
    Some(app)
}

pub(super) fn connection_policy<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<TlsConnectionPolicy> {
    let mut object = Object::open(node, cx)?;
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
    };
    object.finish(cx);
    Some(policy)
}

fn certificates<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Certificates> {
    let mut object = Object::open(node, cx)?;
    let certificates = Certificates {
        automate: object.strings("automate", cx),
        load_files: object.list("load_files", cx, certificate_file),
    };
    object.finish(cx);
    Some(certificates)
}

fn certificate_file<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<CertificateFile> {
    let path = |node: &'n Node, cx: &mut Cx<'n, '_>| {
        let text = cx.string(node)?;
        if text.is_empty() {
            cx.error(node.span, "the path is empty", None);
        }
        Some(PathBuf::from(text))
    };
    let mut object = Object::open(node, cx)?;
    let certificate = object.require("certificate", cx, path);
    let key = object.require("key", cx, path);
    object.get("format", cx, |node, cx| {
        let format = cx.string(node)?;
        let supported = format.is_empty() || format == "pem";
        cx.check(node, supported.then_some(()).ok_or("only \"pem\" is supported"))
    });
    let tags = object.strings("tags", cx);
    object.finish(cx);
    Some(CertificateFile {
        certificate: certificate?,
        key: key?,
        tags,
    })
}

fn automation<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Automation> {
    let mut object = Object::open(node, cx)?;
    let policies = object.list("policies", cx, automation_policy);
    object.finish(cx);
    Some(Automation { policies })
}

fn automation_policy<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<AutomationPolicy> {
    let mut object = Object::open(node, cx)?;
    let policy = AutomationPolicy {
        subjects: object.strings("subjects", cx),
        issuers: object.list("issuers", cx, |node, cx| {
            named(node, "module", &["internal"], cx, |_, _| Issuer::Internal {})
        }),
    };
    object.finish(cx);
    Some(policy)
}
