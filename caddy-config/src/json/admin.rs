//! The administration endpoint, storage, and authorities.

use std::path::PathBuf;

use super::{
    decode::{Cx, Object},
    reader::{Node, Value},
    scalar::duration,
    upstream::named,
};
use crate::{
    check,
    model::{Admin, AdminConfig, CertificateAuthority, PkiApp, Storage},
};

pub(super) fn admin<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Admin> {
    let mut object = Object::open(node, cx)?;
    for (name, help) in [
        ("identity", "a certificate of its own is for `remote`; remove it"),
        (
            "remote",
            "let a unix socket or a loopback address be reached by SSH, or through a site with `basic_auth`",
        ),
    ] {
        object.refuse(name, help, cx);
    }
    let admin = Admin {
        disabled: object.flag("disabled", cx),
        listen: object.get("listen", cx, |node, cx| {
            let text = cx.string(node).filter(|text| !text.is_empty())?;
            match check::admin_address(&text) {
                Ok(()) => Some(text),
                Err((message, help)) => {
                    cx.error(node.span, message, help.to_owned());
                    None
                }
            }
        }),
        enforce_origin: object.flag("enforce_origin", cx),
        origins: object.strings("origins", cx),
        config: object.get("config", cx, config),
    };
    object.finish(cx);
    Some(admin)
}

fn config<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<AdminConfig> {
    let mut object = Object::open(node, cx)?;
    let help = "let a program ask for the configuration, and POST it to /load";
    for name in ["load", "load_delay"] {
        object.refuse(name, help, cx);
    }
    let config = AdminConfig {
        persist: object.get("persist", cx, |node, cx| cx.boolean(node)),
    };
    object.finish(cx);
    Some(config)
}

pub(super) fn storage<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Storage> {
    named(node, "module", &["file_system"], cx, |object, cx| {
        Storage::FileSystem {
            root: object.get("root", cx, |node, cx| {
                let path = cx.string(node).filter(|path| !path.is_empty())?;
                cx.check(node, check::no_placeholder(&path))?;
                Some(PathBuf::from(path))
            }),
        }
    })
}

pub(super) fn pki<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<PkiApp> {
    let mut object = Object::open(node, cx)?;
    let pki = PkiApp {
        certificate_authorities: object
            .get("certificate_authorities", cx, |node, cx| {
                if let Value::Object(members) = &node.value {
                    for member in members.iter().filter(|member| member.key != "local") {
                        let message = "there is one authority, `local`";
                        cx.error(member.key_span, message, "remove the others".to_owned());
                    }
                }
                cx.map(node, authority)
            })
            .unwrap_or_default(),
    };
    object.finish(cx);
    Some(pki)
}

fn authority<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<CertificateAuthority> {
    let mut object = Object::open(node, cx)?;
    let help = "the authority is made by itself; a certificate that another one issued goes into `tls`";
    for name in ["root", "intermediate", "storage"] {
        object.refuse(name, help, cx);
    }
    let mut text = |name, cx: &mut Cx<'n, '_>| {
        object
            .get(name, cx, |node, cx| cx.string(node))
            .filter(|text| !text.is_empty())
    };
    let mut authority = CertificateAuthority {
        name: text("name", cx),
        root_common_name: text("root_common_name", cx),
        intermediate_common_name: text("intermediate_common_name", cx),
        ..CertificateAuthority::default()
    };
    authority.intermediate_lifetime = object.get("intermediate_lifetime", cx, duration);
    authority.install_trust = object.get("install_trust", cx, |node, cx| cx.boolean(node));
    object.finish(cx);
    Some(authority)
}
