//! Global options about certificates.

use std::{path::PathBuf, time::Duration};

use serde_json::Number;

use super::super::{
    cx::Cx,
    directive::{http_url, issuer, key_type, preferred_chains, renewal_window_ratio},
    values::{Once, block, duration, path, text, texts},
};
use crate::{
    caddyfile::parser::Line,
    model::{ChainPreference, ExternalAccount, Issuer, KeyType, OnDemand, OnDemandPermission},
    source::Span,
};

/// What the global options say about certificates.
#[derive(Debug, Default)]
pub(in crate::adapt) struct TlsOptions {
    pub(in crate::adapt) acme_ca: Option<String>,
    pub(in crate::adapt) acme_ca_root: Option<PathBuf>,
    pub(in crate::adapt) acme_eab: Option<ExternalAccount>,
    /// Names to obtain certificates for without a site.
    pub(in crate::adapt) automate_names: Vec<String>,
    pub(in crate::adapt) cert_lifetime: Option<Duration>,
    pub(in crate::adapt) default_sni: Option<String>,
    pub(in crate::adapt) email: Option<String>,
    pub(in crate::adapt) fallback_sni: Option<String>,
    /// Of `cert_issuer`, or of `local_certs`.
    pub(in crate::adapt) issuers: Vec<Issuer>,
    pub(in crate::adapt) key_type: Option<KeyType>,
    pub(in crate::adapt) no_ocsp_stapling: bool,
    pub(in crate::adapt) no_storage_check: bool,
    pub(in crate::adapt) no_storage_clean: bool,
    pub(in crate::adapt) ocsp_interval: Option<Duration>,
    pub(in crate::adapt) on_demand: Option<OnDemand>,
    pub(in crate::adapt) preferred_chains: Option<ChainPreference>,
    pub(in crate::adapt) renew_interval: Option<Duration>,
    pub(in crate::adapt) renewal_window_ratio: Option<Number>,
    pub(in crate::adapt) storage_clean_interval: Option<Duration>,
    /// Where `local_certs` is.
    local: Option<Span>,
}

// === impl TlsOptions ===

impl TlsOptions {
    /// Whether something is said that ACME issuers have unless they say otherwise.
    pub(in crate::adapt) const fn has_acme_defaults(&self) -> bool {
        self.email.is_some() || self.has_acme_defaults_beside_email()
    }

    /// [`TlsOptions::has_acme_defaults`] but for the address, which alone makes no rule for every name.
    pub(in crate::adapt) const fn has_acme_defaults_beside_email(&self) -> bool {
        self.acme_ca.is_some()
            || self.acme_ca_root.is_some()
            || self.acme_eab.is_some()
            || self.preferred_chains.is_some()
    }

    /// All lines are read: `local_certs` is one more way to say who issues.
    pub(super) fn finish(&mut self, cx: &mut Cx<'_>) {
        let Some(span) = self.local else { return };
        if self.issuers.is_empty() {
            self.issuers.push(Issuer::internal());
        } else {
            let help = "remove it, and write `cert_issuer internal`".to_owned();
            cx.error(
                span,
                "`local_certs` and `cert_issuer` both say who issues certificates",
                help,
            );
        }
    }
}

/// Reads one of the options.
pub(super) fn read(line: &Line, options: &mut TlsOptions, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "acme_ca" => options.acme_ca = cx.one(line, "a URL").and_then(|arg| http_url(arg, cx)),
        "acme_ca_root" => {
            let root = cx.one(line, "a path").and_then(|arg| path(arg, cx));
            options.acme_ca_root = root.map(PathBuf::from);
        }
        "acme_eab" => options.acme_eab = external_account(line, cx),
        "cert_issuer" => options.issuers.extend(issuer(line, cx)),
        "cert_lifetime" => options.cert_lifetime = duration(line, cx),
        "default_sni" => options.default_sni = name(line, cx),
        "email" => options.email = text(line, "an address", cx).filter(|email| !email.is_empty()),
        "fallback_sni" => options.fallback_sni = name(line, cx),
        "key_type" => options.key_type = key_type(line, cx),
        "local_certs" => {
            cx.nothing(line);
            options.local = Some(line.name.span);
        }
        "ocsp_interval" => options.ocsp_interval = duration(line, cx),
        "ocsp_stapling" => options.no_ocsp_stapling = off(line, cx),
        "on_demand_tls" => options.on_demand = on_demand(line, cx),
        "preferred_chains" => options.preferred_chains = preferred_chains(line, cx),
        "renew_interval" => options.renew_interval = duration(line, cx),
        "renewal_window_ratio" => options.renewal_window_ratio = renewal_window_ratio(line, cx),
        "storage_check" => options.no_storage_check = off(line, cx),
        "storage_clean_interval" => {
            if line.args.first().is_some_and(|arg| arg.text == "off") {
                options.no_storage_clean = off(line, cx);
            } else {
                options.storage_clean_interval = duration(line, cx);
            }
        }
        "tls_automate_names" => options.automate_names = texts(line, "a name", cx),
        _ => {}
    }
}

fn off(line: &Line, cx: &mut Cx<'_>) -> bool {
    let arg = cx.one(line, "`off`");
    arg.is_some_and(|arg| {
        cx.check(arg, (arg.text == "off").then_some(()).ok_or("expected `off`"))
            .is_some()
    })
}

/// The name of a host, or an address.
fn name(line: &Line, cx: &mut Cx<'_>) -> Option<String> {
    text(line, "a name", cx).filter(|name| !name.is_empty())
}

/// `acme_eab { key_id NAME; mac_key KEY }`; the key is hidden in findings.
fn external_account(line: &Line, cx: &mut Cx<'_>) -> Option<ExternalAccount> {
    line.args.iter().for_each(|arg| cx.mask(arg));
    let mut once = Once::default();
    let (mut key_id, mut mac_key) = (None, None);
    for inner in block(line) {
        once.note(&inner.name, cx);
        match inner.name.text.as_str() {
            "key_id" => key_id = text(inner, "a name", cx),
            "mac_key" => {
                inner.args.iter().for_each(|arg| cx.mask(arg));
                mac_key = text(inner, "a key", cx);
            }
            _ => cx.unknown(&inner.name, "option", &["key_id", "mac_key"]),
        }
    }
    if key_id.is_none() || mac_key.is_none() || !line.args.is_empty() {
        let help = "write a block with `key_id NAME` and `mac_key KEY`".to_owned();
        cx.error(line.name.span, "`acme_eab` needs a name and a key", help);
    }
    Some(ExternalAccount {
        key_id: key_id?,
        mac_key: mac_key?.into(),
    })
}

/// `on_demand_tls { ask URL }`, or `permission http URL`.
fn on_demand(line: &Line, cx: &mut Cx<'_>) -> Option<OnDemand> {
    cx.surplus(&line.args);
    let mut endpoint = None;
    let mut once = Once::default();
    for inner in block(line) {
        match inner.name.text.as_str() {
            "ask" => {
                once.note(&inner.name, cx);
                endpoint = cx.one(inner, "a URL").and_then(|arg| http_url(arg, cx));
            }
            "permission" => {
                once.note(&inner.name, cx);
                endpoint = permission(inner, cx);
            }
            "burst" | "interval" => {
                let name = cx.quote(&inner.name);
                let help = "let the service that is asked count; remove it".to_owned();
                cx.error(
                    inner.name.span,
                    format!("the option `{name}` is not supported"),
                    help,
                );
            }
            _ => cx.unknown(&inner.name, "option", &["ask", "permission"]),
        }
    }
    if block(line).is_empty() {
        let help = "write `on_demand_tls { ask http://127.0.0.1:9000/check }`".to_owned();
        cx.error(
            line.name.span,
            "nobody is asked whether a name may have a certificate",
            help,
        );
    }
    Some(OnDemand {
        permission: Some(OnDemandPermission::Http { endpoint: endpoint? }),
    })
}

/// `permission http URL`.
fn permission(line: &Line, cx: &mut Cx<'_>) -> Option<String> {
    cx.no_block(line);
    let (module, args) = line.args.split_first().or_else(|| {
        cx.error(line.name.span, "`permission` needs a module: `http`", None);
        None
    })?;
    if module.text != "http" {
        cx.unknown(module, "permission", &["http"]);
        return None;
    }
    let (endpoint, surplus) = args.split_first().or_else(|| {
        cx.error(module.span, "`http` needs a URL", None);
        None
    })?;
    cx.surplus(surplus);
    http_url(endpoint, cx)
}
