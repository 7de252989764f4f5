//! `tls internal` or `tls CERTIFICATE KEY`: where a site's certificate comes from.

use std::path::PathBuf;

use super::super::{args::Args, cx::Cx};
use crate::{caddyfile::token::Token, model::CertificateFile};

/// What a `tls` directive says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::adapt) enum SiteTls {
    /// The proxy's own authority issues it.
    Internal,
    /// It is in files.
    Files {
        /// The name by which policies choose it.
        tag: String,
        /// What to load; `None` if another directive loads the same.
        load: Option<CertificateFile>,
    },
}

pub(super) fn read(args: Args<'_>, cx: &mut Cx<'_>) -> Option<SiteTls> {
    for inner in args.block() {
        let name = cx.quote(&inner.name);
        let help = "supported so far: `tls internal` and `tls CERTIFICATE KEY`".to_owned();
        cx.error(
            inner.name.span,
            format!("the option `{name}` of `tls` is not supported yet"),
            help,
        );
    }
    match args.rest() {
        [] if args.block().is_empty() => {
            let help = "write `tls internal`, or `tls CERTIFICATE KEY` with two files".to_owned();
            cx.error(args.name().span, "`tls` needs arguments", help);
            None
        }
        [] => None,
        [one] if one.text == "internal" => Some(SiteTls::Internal),
        [one] => {
            let text = cx.quote(one);
            let help = "write `tls internal`, or `tls CERTIFICATE KEY` with two files".to_owned();
            let message = if one.text.contains('@') || one.text == "force_automate" {
                "certificates from public authorities are not supported yet".to_owned()
            } else {
                format!("unexpected argument `{text}`")
            };
            cx.error(one.span, message, help);
            None
        }
        [certificate, key, surplus @ ..] => {
            cx.surplus(surplus);
            Some(files(certificate, key, cx))
        }
    }
}

/// Each certificate is loaded once, under one tag, however many sites name it.
fn files(certificate: &Token, key: &Token, cx: &mut Cx<'_>) -> SiteTls {
    for file in [certificate, key].into_iter().filter(|file| file.text.is_empty()) {
        cx.error(file.span, "the path is empty", None);
    }
    if let Some((tag, first_key)) = cx.certificates.get(&certificate.text) {
        let (tag, differs) = (tag.clone(), *first_key != key.text);
        if differs {
            let help = "give the same key each time that a certificate is named".to_owned();
            cx.error(key.span, "this certificate was given another key before", help);
        }
        return SiteTls::Files { tag, load: None };
    }
    let tag = format!("cert{}", cx.certificates.len());
    cx.certificates
        .insert(certificate.text.clone(), (tag.clone(), key.text.clone()));
    let load = CertificateFile {
        certificate: PathBuf::from(&certificate.text),
        key: PathBuf::from(&key.text),
        tags: vec![tag.clone()],
    };
    SiteTls::Files {
        tag,
        load: Some(load),
    }
}
