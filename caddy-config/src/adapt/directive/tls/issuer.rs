//! `issuer acme|internal ...`, also as the global option `cert_issuer`.

use std::path::PathBuf;

use super::super::super::{
    cx::Cx,
    values::{Once, block, duration, path, text},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{AcmeChallenges, AcmeIssuer, ChainPreference, ExternalAccount, InternalIssuer, Issuer, KeyType},
    support::Area,
};

const ACME: [&str; 13] = [
    "alt_http_port",
    "alt_tlsalpn_port",
    "dir",
    "disable_http_challenge",
    "disable_tlsalpn_challenge",
    "eab",
    "email",
    "lifetime",
    "preferred_chains",
    "profile",
    "test_dir",
    "timeout",
    "trusted_roots",
];

/// What of an ACME issuer is about DNS challenges.
const DNS: [&str; 6] = [
    "dns",
    "dns_challenge_override_domain",
    "dns_ttl",
    "propagation_delay",
    "propagation_timeout",
    "resolvers",
];

const INTERNAL: [&str; 3] = ["ca", "lifetime", "sign_with_root"];

/// Reads what stands behind the name of the option, and its block.
pub(in crate::adapt) fn issuer(line: &Line, cx: &mut Cx<'_>) -> Option<Issuer> {
    let Some((kind, args)) = line.args.split_first() else {
        let name = cx.quote(&line.name);
        cx.error(
            line.name.span,
            format!("`{name}` needs `acme` or `internal`"),
            None,
        );
        return None;
    };
    if cx.is_refused(Area::Tls, &line.name, kind) {
        cx.mask_provider(line);
        return None;
    }
    match kind.text.as_str() {
        "acme" => Some(Issuer::Acme(Box::new(acme(args, block(line), cx)))),
        "internal" => {
            cx.surplus(args);
            Some(Issuer::Internal(internal(block(line), cx)))
        }
        _ => {
            cx.unknown(kind, "issuer", &["acme", "internal"]);
            None
        }
    }
}

fn internal(lines: &[Line], cx: &mut Cx<'_>) -> InternalIssuer {
    let mut issuer = InternalIssuer::default();
    let mut once = Once::default();
    for line in lines {
        once.note(&line.name, cx);
        match line.name.text.as_str() {
            "ca" => {
                let name = cx.one(line, "a name");
                issuer.ca = name
                    .filter(|name| cx.check(name, check::authority(&name.text)).is_some())
                    .map(|name| name.text.clone());
            }
            "lifetime" => issuer.lifetime = duration(line, cx),
            "sign_with_root" => {
                cx.nothing(line);
                issuer.sign_with_root = true;
            }
            _ => cx.unknown(&line.name, "option", &INTERNAL),
        }
    }
    issuer
}

fn acme(args: &[Token], lines: &[Line], cx: &mut Cx<'_>) -> AcmeIssuer {
    let mut issuer = AcmeIssuer::default();
    if let Some((directory, surplus)) = args.split_first() {
        issuer.ca = http_url(directory, cx);
        cx.surplus(surplus);
    }
    let mut once = Once::default();
    for line in lines {
        once.note(&line.name, cx);
        acme_option(line, &mut issuer, cx);
    }
    issuer
}

fn acme_option(line: &Line, issuer: &mut AcmeIssuer, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "alt_http_port" => {
            let port = port(line, cx);
            challenges(issuer).http.get_or_insert_default().alternate_port = port;
        }
        "alt_tlsalpn_port" => {
            let port = port(line, cx);
            challenges(issuer).tls_alpn.get_or_insert_default().alternate_port = port;
        }
        "dir" => issuer.ca = cx.one(line, "a URL").and_then(|arg| http_url(arg, cx)),
        "disable_http_challenge" => {
            cx.nothing(line);
            challenges(issuer).http.get_or_insert_default().disabled = true;
        }
        "disable_tlsalpn_challenge" => {
            cx.nothing(line);
            challenges(issuer).tls_alpn.get_or_insert_default().disabled = true;
        }
        "eab" => issuer.external_account = external_account(line, cx),
        "email" => issuer.email = text(line, "an address", cx),
        "lifetime" => issuer.certificate_lifetime = duration(line, cx),
        "preferred_chains" => issuer.preferred_chains = preferred_chains(line, cx),
        "profile" => issuer.profile = text(line, "a profile", cx),
        "test_dir" => issuer.test_ca = cx.one(line, "a URL").and_then(|arg| http_url(arg, cx)),
        "timeout" => issuer.acme_timeout = duration(line, cx),
        "trusted_roots" => {
            let files = cx.some(line, "a path").unwrap_or_default();
            issuer
                .trusted_roots_pem_files
                .extend(files.iter().filter_map(|file| path(file, cx)).map(PathBuf::from));
        }
        name if DNS.contains(&name) => {
            cx.is_supported(Area::Tls, &line.name);
            cx.mask_provider(line);
        }
        _ => cx.unknown(&line.name, "option", &ACME),
    }
}

fn challenges(issuer: &mut AcmeIssuer) -> &mut AcmeChallenges {
    issuer.challenges.get_or_insert_default()
}

fn port(line: &Line, cx: &mut Cx<'_>) -> Option<u16> {
    let arg = cx.one(line, "a port")?;
    let port = arg.text.parse().ok().filter(|port: &u16| *port != 0);
    cx.check(arg, port.ok_or("expected a port from 1 to 65535"))
}

/// `key_type NAME`, also of the global options.
pub(in crate::adapt) fn key_type(line: &Line, cx: &mut Cx<'_>) -> Option<KeyType> {
    let arg = cx.one(line, "a kind of keys, such as p256")?;
    let message = || format!("expected one of {}", KeyType::NAMES.join(", "));
    cx.check(arg, KeyType::named(&arg.text).ok_or_else(message))
}

/// `preferred_chains smallest`, or `preferred_chains { root_common_name NAME...; any_common_name NAME... }`.
pub(in crate::adapt) fn preferred_chains(line: &Line, cx: &mut Cx<'_>) -> Option<ChainPreference> {
    let mut chains = ChainPreference::default();
    if let Some((smallest, surplus)) = line.args.split_first() {
        cx.surplus(surplus);
        cx.no_block(line);
        if smallest.text == "smallest" {
            chains.smallest = Some(true);
        } else {
            cx.unknown(smallest, "argument", &["smallest"]);
        }
        return Some(chains);
    }
    let mut once = Once::default();
    for inner in block(line) {
        once.note(&inner.name, cx);
        let names = |cx: &mut Cx<'_>| {
            let names = cx.some(inner, "a name").unwrap_or_default();
            names.iter().map(|name| name.text.clone()).collect()
        };
        match inner.name.text.as_str() {
            "any_common_name" => chains.any_common_name = names(cx),
            "root_common_name" => chains.root_common_name = names(cx),
            _ => cx.unknown(&inner.name, "option", &["any_common_name", "root_common_name"]),
        }
    }
    let both = !chains.any_common_name.is_empty() && !chains.root_common_name.is_empty();
    if both || block(line).is_empty() {
        let message = if both {
            "only one of the two is possible"
        } else {
            "nothing is preferred"
        };
        let help = "write `smallest`, or a block with `root_common_name` or `any_common_name`".to_owned();
        cx.error(line.name.span, message, help);
    }
    Some(chains)
}

/// `NAME KEY`; the key is hidden in findings.
pub(super) fn external_account(line: &Line, cx: &mut Cx<'_>) -> Option<ExternalAccount> {
    cx.no_block(line);
    line.args
        .get(1..)
        .unwrap_or_default()
        .iter()
        .for_each(|key| cx.mask(key));
    let [key_id, mac_key, surplus @ ..] = line.args.as_slice() else {
        let name = cx.quote(&line.name);
        cx.error(line.name.span, format!("`{name}` needs a name and a key"), None);
        return None;
    };
    cx.surplus(surplus);
    Some(ExternalAccount {
        key_id: key_id.text.clone(),
        mac_key: mac_key.text.clone().into(),
    })
}

/// The URL of a service.
pub(in crate::adapt) fn http_url(arg: &Token, cx: &mut Cx<'_>) -> Option<String> {
    cx.check(arg, check::http_url(&arg.text).map(|()| arg.text.clone()))
}
