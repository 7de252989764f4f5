//! `tls [EMAIL | internal | force_automate | CERTIFICATE KEY] { ... }`: where a site's certificate comes from, and
//! how its connections are made.

mod client_auth;
mod issuer;

use std::path::PathBuf;

use serde_json::Number;

use self::issuer::external_account;
pub(in crate::adapt) use self::issuer::{http_url, issuer, key_type, preferred_chains};
use super::super::{
    args::Args,
    cx::Cx,
    values::{Once, path},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{
        AcmeIssuer, CertificateFile, CertificateSelection, InternalIssuer, Issuer, KeyType,
        TlsConnectionPolicy, TlsVersion,
    },
    source::Span,
    support::Area,
};

/// What a `tls` directive says.
#[derive(Clone, Debug, Default)]
pub(in crate::adapt) struct SiteTls {
    /// How connections are made; for which, the addresses of the site say.
    pub(in crate::adapt) policy: TlsConnectionPolicy,
    /// What to load, unless another directive loads the same.
    pub(in crate::adapt) files: Vec<CertificateFile>,
    pub(in crate::adapt) folders: Vec<PathBuf>,
    pub(in crate::adapt) issuers: SiteIssuers,
    pub(in crate::adapt) key_type: Option<KeyType>,
    pub(in crate::adapt) renewal_window_ratio: Option<Number>,
    pub(in crate::adapt) on_demand: bool,
    pub(in crate::adapt) reuse_private_keys: bool,
    /// Whether certificates are obtained for each name, even if one that is loaded is good for it.
    pub(in crate::adapt) force_automate: bool,
}

/// Who issues, by a `tls` directive.
#[derive(Clone, Debug, Default)]
pub(in crate::adapt) enum SiteIssuers {
    #[default]
    Unsaid,
    These(Vec<Issuer>),
    /// The public default, but for this.
    Acme(Box<AcmeIssuer>),
}

/// Who issues, on the way: where it is said in short, and each `issuer`.
#[derive(Debug, Default)]
struct Issuance {
    internal: Option<Span>,
    acme: Option<(Span, AcmeIssuer)>,
    listed: Vec<(Span, Issuer)>,
}

// === impl Issuance ===

impl Issuance {
    /// The public default that is changed by what stands in `span`.
    fn acme(&mut self, span: Span) -> &mut AcmeIssuer {
        &mut self.acme.get_or_insert_with(|| (span, AcmeIssuer::default())).1
    }

    /// What is said in short and what is said by `issuer` do not go together.
    fn finish(self, cx: &mut Cx<'_>) -> SiteIssuers {
        let acme = self.acme.as_ref().map(|(span, _)| *span);
        if let Some(span) = self.internal.or(acme).filter(|_| !self.listed.is_empty()) {
            let help = "move it into the block of `issuer`".to_owned();
            cx.error(span, "this and `issuer` both say who issues certificates", help);
        } else if let Some((_, span)) = self.internal.zip(acme) {
            let help = "remove it, or `internal`".to_owned();
            cx.error(
                span,
                "this is for public authorities, and `internal` for the proxy's own",
                help,
            );
        }
        if !self.listed.is_empty() {
            return SiteIssuers::These(self.listed.into_iter().map(|(_, issuer)| issuer).collect());
        }
        match (self.internal, self.acme) {
            (Some(_), _) => SiteIssuers::These(vec![Issuer::Internal(InternalIssuer::default())]),
            (None, Some((_, acme))) => SiteIssuers::Acme(Box::new(acme)),
            (None, None) => SiteIssuers::Unsaid,
        }
    }
}

pub(super) fn read(args: Args<'_>, cx: &mut Cx<'_>) -> Option<SiteTls> {
    let mut tls = SiteTls::default();
    let mut issuance = Issuance::default();
    arguments(args, &mut tls, &mut issuance, cx);
    let mut once = Once::default();
    for line in args.block() {
        if !cx.is_supported(Area::Tls, &line.name) {
            cx.mask_provider(line);
            continue;
        }
        if !matches!(line.name.text.as_str(), "issuer" | "load" | "ca_root") {
            once.note(&line.name, cx);
        }
        option(line, &mut tls, &mut issuance, cx);
    }
    if args.rest().is_empty() && args.block().is_empty() {
        let help = "write `tls internal`, or `tls CERTIFICATE KEY` with two files".to_owned();
        cx.error(args.name().span, "`tls` needs arguments", help);
        return None;
    }
    tls.issuers = issuance.finish(cx);
    Some(tls)
}

fn arguments(args: Args<'_>, tls: &mut SiteTls, issuance: &mut Issuance, cx: &mut Cx<'_>) {
    match args.rest() {
        [] => {}
        [one] => match one.text.as_str() {
            "internal" => issuance.internal = Some(one.span),
            "force_automate" => tls.force_automate = true,
            text if text.contains('@') => issuance.acme(one.span).email = Some(text.to_owned()),
            _ => {
                let text = cx.quote(one);
                let help = "write `tls internal`, or `tls CERTIFICATE KEY` with two files".to_owned();
                cx.error(one.span, format!("unexpected argument `{text}`"), help);
            }
        },
        [certificate, key, surplus @ ..] => {
            cx.surplus(surplus);
            files(certificate, key, tls, cx);
        }
    }
}

fn option(line: &Line, tls: &mut SiteTls, issuance: &mut Issuance, cx: &mut Cx<'_>) {
    let span = line.name.span;
    match line.name.text.as_str() {
        "alpn" => tls.policy.alpn = names(line, "a protocol, such as h2", cx, check::alpn),
        "ca" => issuance.acme(span).ca = cx.one(line, "a URL").and_then(|arg| http_url(arg, cx)),
        "ca_root" => {
            let root = cx.one(line, "a path").and_then(|arg| path(arg, cx));
            issuance
                .acme(span)
                .trusted_roots_pem_files
                .extend(root.map(PathBuf::from));
        }
        "ciphers" => tls.policy.cipher_suites = names(line, "a cipher suite", cx, check::cipher),
        "client_auth" => tls.policy.client_authentication = client_auth::read(line, cx),
        "curves" => tls.policy.curves = names(line, "a group, such as x25519", cx, check::curve),
        "eab" => issuance.acme(span).external_account = external_account(line, cx),
        "issuer" => issuance
            .listed
            .extend(issuer(line, cx).map(|issuer| (span, issuer))),
        "key_type" => tls.key_type = key_type(line, cx),
        "load" => {
            let folders = cx.some(line, "a directory").unwrap_or_default();
            tls.folders.extend(
                folders
                    .iter()
                    .filter_map(|folder| path(folder, cx))
                    .map(PathBuf::from),
            );
        }
        "on_demand" => {
            cx.nothing(line);
            tls.on_demand = true;
        }
        "protocols" => protocols(line, &mut tls.policy, cx),
        "renewal_window_ratio" => tls.renewal_window_ratio = renewal_window_ratio(line, cx),
        "reuse_private_keys" => {
            cx.nothing(line);
            tls.reuse_private_keys = true;
        }
        _ => {}
    }
}

/// Names that each pass a check.
fn names<E: Into<String>>(
    line: &Line,
    what: &str,
    cx: &mut Cx<'_>,
    check: impl Fn(&str) -> Result<(), E>,
) -> Vec<String> {
    let names = cx.some(line, what).unwrap_or_default();
    names
        .iter()
        .filter_map(|name| cx.check(name, check(&name.text).map(|()| name.text.clone())))
        .collect()
}

/// `protocols OLDEST [NEWEST]`.
fn protocols(line: &Line, policy: &mut TlsConnectionPolicy, cx: &mut Cx<'_>) {
    let versions = cx.some(line, "a version, such as tls1.2").unwrap_or_default();
    cx.surplus(versions.get(2..).unwrap_or_default());
    let mut version = |at: usize| {
        let arg: &Token = versions.get(at)?;
        cx.check(
            arg,
            TlsVersion::named(&arg.text).ok_or("expected tls1.2 or tls1.3"),
        )
    };
    (policy.protocol_min, policy.protocol_max) = (version(0), version(1));
    if let (Err(message), Some(newest)) = (
        check::versions(policy.protocol_min, policy.protocol_max),
        versions.get(1),
    ) {
        cx.error(newest.span, message, None);
    }
}

/// `renewal_window_ratio NUMBER`, also of the global options.
pub(in crate::adapt) fn renewal_window_ratio(line: &Line, cx: &mut Cx<'_>) -> Option<Number> {
    let arg = cx.one(line, "a number between 0 and 1")?;
    let ratio = arg.text.parse().ok().and_then(Number::from_f64);
    let fit = ratio.filter(|ratio| check::renewal_window_ratio(ratio).is_ok());
    cx.check(arg, fit.ok_or("expected a number between 0 and 1"))
}

/// Each certificate is loaded once, under one tag, however many sites name it.
fn files(certificate: &Token, key: &Token, tls: &mut SiteTls, cx: &mut Cx<'_>) {
    for file in [certificate, key] {
        path(file, cx);
    }
    let tag = match cx.certificates.get(&certificate.text) {
        Some((tag, first_key)) => {
            let (tag, differs) = (tag.clone(), *first_key != key.text);
            if differs {
                let help = "give the same key each time that a certificate is named".to_owned();
                cx.error(key.span, "this certificate was given another key before", help);
            }
            tag
        }
        None => {
            let tag = format!("cert{}", cx.certificates.len());
            cx.certificates
                .insert(certificate.text.clone(), (tag.clone(), key.text.clone()));
            tls.files.push(CertificateFile {
                certificate: PathBuf::from(&certificate.text),
                key: PathBuf::from(&key.text),
                tags: vec![tag.clone()],
            });
            tag
        }
    };
    tls.policy.certificate_selection = Some(CertificateSelection { any_tag: vec![tag] });
}
