//! Who issues when it is not said in full: the public default, and what global options add.

use super::{
    super::{
        directive::{Binding, Interface},
        options::Options,
    },
    draft::{Draft, Issuers, is_tailscale},
};
use crate::model::{AcmeChallenge, AcmeChallenges, AcmeIssuer, Issuer};

/// The second of the public default.
const ZEROSSL: &str = "https://acme.zerossl.com/v2/DV90";

/// Let's Encrypt, and with an account's address also ZeroSSL.
fn public(email: Option<&String>) -> Vec<AcmeIssuer> {
    let first = AcmeIssuer {
        email: email.cloned(),
        ..AcmeIssuer::default()
    };
    let second = email.map(|_| AcmeIssuer {
        ca: Some(ZEROSSL.to_owned()),
        ..first.clone()
    });
    std::iter::once(first).chain(second).collect()
}

fn acme(issuer: AcmeIssuer) -> Issuer {
    Issuer::Acme(Box::new(issuer))
}

/// The ACME issuers of the global options, or the public default, with what a `tls` directive says.
pub(super) fn of_site(said: &AcmeIssuer, options: &Options) -> Vec<Issuer> {
    let global = options.tls.issuers.iter().filter_map(|issuer| match issuer {
        Issuer::Acme(issuer) => Some(AcmeIssuer::clone(issuer)),
        Issuer::Internal(_) => None,
    });
    let mut templates: Vec<AcmeIssuer> = global.collect();
    if templates.is_empty() {
        templates = match said.ca {
            Some(_) => vec![AcmeIssuer::default()],
            None => public(said.email.as_ref()),
        };
    }
    let changed = |template: AcmeIssuer| {
        let mut roots = template.trusted_roots_pem_files;
        for root in &said.trusted_roots_pem_files {
            if !roots.contains(root) {
                roots.push(root.clone());
            }
        }
        acme(AcmeIssuer {
            ca: said.ca.clone().or(template.ca),
            email: said.email.clone().or(template.email),
            external_account: said.external_account.clone().or(template.external_account),
            trusted_roots_pem_files: roots,
            ..template
        })
    };
    templates.into_iter().map(changed).collect()
}

/// Challenges are answered where the site listens.
pub(super) fn bind(issuers: &mut [Issuer], binding: &Binding) {
    for issuer in issuers {
        if let Issuer::Acme(issuer) = issuer {
            bind_host(&mut issuer.challenges, Some(binding));
        }
    }
}

fn bind_host(challenges: &mut Option<AcmeChallenges>, binding: Option<&Binding>) {
    let host = binding
        .and_then(|binding| binding.interfaces.first())
        .map(|interface| match interface {
            Interface::Host(host) => host.clone(),
            Interface::Unix(socket) => socket.to_string(),
        });
    if let Some(host) = host.filter(|host| !host.is_empty()) {
        challenges.get_or_insert_default().bind_host.get_or_insert(host);
    }
}

/// What global options say about ACME, for policies and issuers that say nothing else.
pub(super) fn fill_in(policies: &mut [Draft], options: &Options) {
    let tls = &options.tls;
    for policy in policies {
        let all_public = policy
            .subjects
            .iter()
            .all(|name| policy.is_public(name) && !is_tailscale(name));
        if tls.has_acme_defaults() && policy.issuers == Issuers::Unsaid && all_public {
            // A certain authority is the only one.
            let default = match tls.acme_ca {
                Some(_) => vec![AcmeIssuer::default()],
                None => public(tls.email.as_ref()),
            };
            policy.issuers = Issuers::These(default.into_iter().map(acme).collect());
        }
        if let Issuers::These(issuers) = &mut policy.issuers {
            for issuer in issuers {
                if let Issuer::Acme(issuer) = issuer {
                    fill_in_one(issuer, options);
                }
            }
        }
    }
}

fn fill_in_one(issuer: &mut AcmeIssuer, options: &Options) {
    let tls = &options.tls;
    let or = |said: &mut Option<String>, global: &Option<String>| {
        if said.is_none() {
            said.clone_from(global);
        }
    };
    or(&mut issuer.email, &tls.email);
    or(&mut issuer.ca, &tls.acme_ca);
    if let Some(root) = &tls.acme_ca_root
        && !issuer.trusted_roots_pem_files.contains(root)
    {
        issuer.trusted_roots_pem_files.push(root.clone());
    }
    if issuer.external_account.is_none() {
        issuer.external_account.clone_from(&tls.acme_eab);
    }
    if issuer.preferred_chains.is_none() {
        issuer.preferred_chains.clone_from(&tls.preferred_chains);
    }
    if let Some(port) = options.http_port {
        alternate_port(&mut issuer.challenges.get_or_insert_default().http, port);
    }
    if let Some(port) = options.https_port {
        alternate_port(&mut issuer.challenges.get_or_insert_default().tls_alpn, port);
    }
    bind_host(&mut issuer.challenges, options.default_bind.first());
    issuer.certificate_lifetime = issuer.certificate_lifetime.or(tls.cert_lifetime);
}

fn alternate_port(challenge: &mut Option<AcmeChallenge>, port: u16) {
    challenge
        .get_or_insert_default()
        .alternate_port
        .get_or_insert(port);
}
