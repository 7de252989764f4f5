//! `pki { ca local { ... } }` and `skip_install_trust`: the proxy's own certificate authority.

use super::super::{
    cx::Cx,
    values::{Once, block, duration, text},
};
use crate::{
    caddyfile::parser::Line,
    model::{CertificateAuthority, PkiApp},
};

/// The authority that internal certificates come from.
const LOCAL: &str = "local";

const OPTIONS: [&str; 4] = ["intermediate_cn", "intermediate_lifetime", "name", "root_cn"];

/// What makes an authority out of keys that exist, and how often it is looked after.
const LATER: [&str; 4] = [
    "intermediate",
    "maintenance_interval",
    "renewal_window_ratio",
    "root",
];

pub(super) fn read(line: &Line, pki: &mut PkiApp, cx: &mut Cx<'_>) {
    cx.surplus(&line.args);
    for line in block(line) {
        if line.name.text != "ca" {
            cx.unknown(&line.name, "option", &["ca"]);
            continue;
        }
        cx.surplus(line.args.get(1..).unwrap_or_default());
        if let Some(other) = line.args.first().filter(|name| name.text != LOCAL) {
            let help = "remove it; certificates of another authority go into `tls`".to_owned();
            cx.error(other.span, "there is one authority, `local`", help);
            continue;
        }
        authority(line, local(pki), cx);
    }
}

/// No authority is put among those that the system trusts.
pub(super) fn skip_install_trust(pki: &mut PkiApp) {
    local(pki).install_trust = Some(false);
}

fn local(pki: &mut PkiApp) -> &mut CertificateAuthority {
    pki.certificate_authorities.entry(LOCAL.to_owned()).or_default()
}

fn authority(line: &Line, authority: &mut CertificateAuthority, cx: &mut Cx<'_>) {
    let mut once = Once::default();
    for line in block(line) {
        once.note(&line.name, cx);
        match line.name.text.as_str() {
            "name" => authority.name = text(line, "a name", cx),
            "root_cn" => authority.root_common_name = text(line, "a common name", cx),
            "intermediate_cn" => authority.intermediate_common_name = text(line, "a common name", cx),
            "intermediate_lifetime" => authority.intermediate_lifetime = duration(line, cx),
            name if LATER.contains(&name) => {
                let help = "remove it: the authority is made, and looked after, by itself".to_owned();
                let name = cx.quote(&line.name);
                cx.error(
                    line.name.span,
                    format!("the option `{name}` of `ca` is not supported"),
                    help,
                );
            }
            _ => cx.unknown(&line.name, "option", &OPTIONS),
        }
    }
}
