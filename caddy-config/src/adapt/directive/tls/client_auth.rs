//! `client_auth { mode ...; trust_pool ...; trusted_leaf_cert ...; verifier ... }`: what clients must show.

use std::path::PathBuf;

use super::super::{
    super::{
        cx::Cx,
        values::{Once, block, path},
    },
    reverse_proxy::{certificates, trust_pool},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{CaPool, ClientAuthMode, ClientAuthentication, ClientVerifier, LeafLoader},
    source::Span,
};

const OPTIONS: [&str; 7] = [
    "mode",
    "trust_pool",
    "trusted_ca_cert",
    "trusted_ca_cert_file",
    "trusted_leaf_cert",
    "trusted_leaf_cert_file",
    "verifier",
];

/// What is written in the old way.
#[derive(Debug, Default)]
struct Old {
    /// Where it is written first.
    span: Option<Span>,
    certificates: Vec<String>,
    files: Vec<PathBuf>,
}

pub(super) fn read(line: &Line, cx: &mut Cx<'_>) -> Option<ClientAuthentication> {
    cx.surplus(&line.args);
    let mut clients = ClientAuthentication::default();
    let (mut authorities, mut leaf_files) = (Old::default(), Old::default());
    let mut once = Once::default();
    for inner in block(line) {
        let span = inner.name.span;
        match inner.name.text.as_str() {
            "mode" => {
                once.note(&inner.name, cx);
                clients.mode = mode(inner, cx);
            }
            "trust_pool" => {
                once.note(&inner.name, cx);
                clients.ca = trust_pool(inner, cx);
            }
            "trusted_ca_cert" => {
                authorities.span.get_or_insert(span);
                certificates(inner, &mut authorities.certificates, cx);
            }
            "trusted_ca_cert_file" => {
                authorities.span.get_or_insert(span);
                authorities.files.extend(file(inner, cx));
            }
            "trusted_leaf_cert" => certificates(inner, &mut clients.trusted_leaf_certs, cx),
            "trusted_leaf_cert_file" => {
                leaf_files.span.get_or_insert(span);
                leaf_files.files.extend(file(inner, cx));
            }
            "verifier" => clients.verifiers.extend(verifier(inner, cx)),
            _ => cx.unknown(&inner.name, "option", &OPTIONS),
        }
    }
    old_authorities(authorities, &mut clients, cx);
    old_leaf_files(leaf_files, &mut clients, cx);
    if block(line).is_empty() {
        let help = "write `client_auth { mode require }`, or remove it".to_owned();
        cx.error(line.name.span, "`client_auth` asks for nothing", help);
    }
    Some(clients)
}

fn mode(line: &Line, cx: &mut Cx<'_>) -> Option<ClientAuthMode> {
    let arg = cx.one(line, "a mode, such as require_and_verify")?;
    cx.check(
        arg,
        ClientAuthMode::named(&arg.text).ok_or(check::CLIENT_AUTH_MODES),
    )
}

fn file(line: &Line, cx: &mut Cx<'_>) -> Option<PathBuf> {
    let arg = cx.one(line, "a path")?;
    path(arg, cx).map(PathBuf::from)
}

/// `trusted_ca_cert` and `trusted_ca_cert_file`. Caddy reads the files when it adapts; here they are named, and so read
/// anew with each reload.
fn old_authorities(old: Old, clients: &mut ClientAuthentication, cx: &mut Cx<'_>) {
    let Some(span) = old.span else { return };
    if clients.ca.is_some() || !old.certificates.is_empty() && !old.files.is_empty() {
        let help = "write one `trust_pool file PATH...` with all of them".to_owned();
        cx.error(span, "the authorities are given in two ways", help);
        return;
    }
    let help = "write `trust_pool file PATH...`, or `trust_pool inline { trust_der ... }`".to_owned();
    cx.warn(span, "this way of naming authorities is out of date", help);
    clients.ca = Some(if old.files.is_empty() {
        CaPool::Inline {
            trusted_ca_certs: old.certificates,
        }
    } else {
        CaPool::File { pem_files: old.files }
    });
}

/// `trusted_leaf_cert_file`, read as `verifier leaf file`.
fn old_leaf_files(old: Old, clients: &mut ClientAuthentication, cx: &mut Cx<'_>) {
    let Some(span) = old.span else { return };
    if !clients.trusted_leaf_certs.is_empty() || !clients.verifiers.is_empty() {
        let help = "write one `verifier leaf { file PATH... }` with all of them".to_owned();
        cx.error(span, "the certificates of clients are given in two ways", help);
        return;
    }
    clients.verifiers.push(ClientVerifier::Leaf {
        leaf_certs_loaders: vec![LeafLoader::File { files: old.files }],
    });
}

/// `verifier leaf [file PATH...] { file PATH... }`.
fn verifier(line: &Line, cx: &mut Cx<'_>) -> Option<ClientVerifier> {
    let (kind, args) = line.args.split_first().or_else(|| {
        cx.error(line.name.span, "`verifier` needs a kind: `leaf`", None);
        None
    })?;
    if kind.text != "leaf" {
        cx.unknown(kind, "verifier", &["leaf"]);
        return None;
    }
    let mut leaf_certs_loaders = Vec::new();
    if let Some((loader, files)) = args.split_first() {
        leaf_certs_loaders.extend(loaders(loader, files, cx));
    }
    for inner in block(line) {
        cx.no_block(inner);
        leaf_certs_loaders.extend(loaders(&inner.name, &inner.args, cx));
    }
    if args.is_empty() && block(line).is_empty() {
        cx.error(kind.span, "`leaf` needs a `file`", None);
    }
    Some(ClientVerifier::Leaf { leaf_certs_loaders })
}

fn loaders(loader: &Token, files: &[Token], cx: &mut Cx<'_>) -> Option<LeafLoader> {
    match loader.text.as_str() {
        "file" => {
            if files.is_empty() {
                cx.error(loader.span, "`file` needs a path", None);
            }
            let files = files.iter().filter_map(|file| path(file, cx));
            Some(LeafLoader::File {
                files: files.map(PathBuf::from).collect(),
            })
        }
        "folder" | "pem" | "storage" => {
            let text = cx.quote(loader);
            let help = "write `file` with certificates in PEM form".to_owned();
            cx.error(loader.span, format!("the loader `{text}` is not supported"), help);
            None
        }
        _ => {
            cx.unknown(loader, "loader", &["file"]);
            None
        }
    }
}
