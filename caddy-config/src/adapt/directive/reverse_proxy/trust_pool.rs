//! `trust_pool file|inline|system ...`: authorities that are believed.

use std::path::PathBuf;

use super::super::super::{
    cx::Cx,
    values::{block, path},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::CaPool,
};

/// Pools of Caddy that Doorway does not have.
const REFUSED: [&str; 5] = ["combined", "http", "pki_intermediate", "pki_root", "storage"];

/// Reads what stands behind the name of the option, and its block.
pub(in crate::adapt::directive) fn trust_pool(line: &Line, cx: &mut Cx<'_>) -> Option<CaPool> {
    let Some((kind, args)) = line.args.split_first() else {
        let name = cx.quote(&line.name);
        let message = format!("`{name}` needs a pool, such as `file ca.pem`");
        cx.error(line.name.span, message, None);
        return None;
    };
    match kind.text.as_str() {
        "file" => Some(file(kind, args, line, cx)),
        "inline" => {
            cx.surplus(args);
            let mut trusted_ca_certs = Vec::new();
            for inner in block(line) {
                if inner.name.text == "trust_der" {
                    certificates(inner, &mut trusted_ca_certs, cx);
                } else {
                    cx.unknown(&inner.name, "option", &["trust_der"]);
                }
            }
            if trusted_ca_certs.is_empty() && block(line).is_empty() {
                cx.error(kind.span, "`inline` needs a `trust_der`", None);
            }
            Some(CaPool::Inline { trusted_ca_certs })
        }
        "system" => {
            cx.surplus(args);
            cx.no_block(line);
            Some(CaPool::System {})
        }
        name if REFUSED.contains(&name) => {
            let text = cx.quote(kind);
            let help = "write `file` with the certificates in PEM form".to_owned();
            cx.error(kind.span, format!("the pool `{text}` is not supported"), help);
            None
        }
        _ => {
            cx.unknown(kind, "pool", &CaPool::NAMES);
            None
        }
    }
}

/// `file [PATH...] { pem_file PATH... }`.
fn file(kind: &Token, args: &[Token], line: &Line, cx: &mut Cx<'_>) -> CaPool {
    let mut files: Vec<&Token> = args.iter().collect();
    for inner in block(line) {
        if inner.name.text == "pem_file" {
            files.extend(cx.some(inner, "a path").unwrap_or_default());
        } else {
            cx.unknown(&inner.name, "option", &["pem_file"]);
        }
    }
    if files.is_empty() {
        cx.error(kind.span, "`file` needs a path", None);
    }
    CaPool::File {
        pem_files: files
            .into_iter()
            .filter_map(|file| path(file, cx))
            .map(PathBuf::from)
            .collect(),
    }
}

/// Certificates in DER form, in base64.
pub(in crate::adapt::directive) fn certificates(line: &Line, into: &mut Vec<String>, cx: &mut Cx<'_>) {
    for arg in cx
        .some(line, "a certificate in DER form, in base64")
        .unwrap_or_default()
    {
        if cx.check(arg, check::base64(&arg.text)).is_some() {
            into.push(arg.text.clone());
        }
    }
}
