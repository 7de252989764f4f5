//! Certificates and connection policies.

mod automation;
mod issuer;
mod policy;

use std::path::PathBuf;

use self::automation::automation;
pub(super) use self::policy::connection_policy;
use super::{
    decode::{Cx, Object},
    reader::Node,
};
use crate::{
    check,
    model::{CertificateFile, Certificates, TlsApp},
};

pub(super) fn app<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<TlsApp> {
    let mut object = Object::open(node, cx)?;
    for (name, help) in [
        ("dns", "Doorway has no plug-ins for DNS providers; remove it"),
        ("encrypted_client_hello", "it needs a DNS provider; remove it"),
        (
            "resolvers",
            "it is for DNS challenges, which Doorway does not solve; remove it",
        ),
        (
            "session_tickets",
            "keys of tickets are made and changed by themselves; remove it",
        ),
        ("cache", "remove it: all certificates are kept in memory"),
    ] {
        object.refuse(name, help, cx);
    }
    let app = TlsApp {
        certificates: object.get("certificates", cx, certificates),
        automation: object.get("automation", cx, automation),
        disable_ocsp_stapling: object.flag("disable_ocsp_stapling", cx),
        disable_storage_check: object.flag("disable_storage_check", cx),
        disable_storage_clean: object.flag("disable_storage_clean", cx),
    };
    object.finish(cx);
    Some(app)
}

fn certificates<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Certificates> {
    let mut object = Object::open(node, cx)?;
    for name in ["load_pem", "load_storage"] {
        object.refuse(
            name,
            "write the certificate and the key to files, for `load_files`",
            cx,
        );
    }
    let certificates = Certificates {
        automate: object.strings("automate", cx),
        load_files: object.list("load_files", cx, certificate_file),
        load_folders: object.list("load_folders", cx, path),
    };
    object.finish(cx);
    Some(certificates)
}

fn certificate_file<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<CertificateFile> {
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

/// The path of a file or a directory.
pub(super) fn path<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<PathBuf> {
    let text = cx.string(node)?;
    if text.is_empty() {
        cx.error(node.span, "the path is empty", None);
        return None;
    }
    cx.check(node, check::no_placeholder(&text))?;
    Some(PathBuf::from(text))
}

/// A text that may be absent; an empty one is.
fn text<'n>(object: &mut Object<'n>, name: &'static str, cx: &mut Cx<'n, '_>) -> Option<String> {
    object
        .get(name, cx, |node, cx| cx.string(node))
        .filter(|text| !text.is_empty())
}
