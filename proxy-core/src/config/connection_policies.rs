//! How the connections of a server's TLS are made, from its policies.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use caddy_config as model;
use model::{CaPool, ClientAuthMode, ClientVerifier, LeafLoader, TlsVersion};
use rustls_pki_types::CertificateDer;

use super::compile::Compiler;
use super::error::BuildError;
use crate::http::server::HttpSettings;
use crate::tls::{self, ClientAuth, Terms, TlsError, TlsPlan, TlsPolicy, TlsSite, Versions};

/// The groups that `curves` can name, with their codes.
const GROUPS: [(&str, u16); 4] = [
    ("x25519mlkem768", 0x11ec),
    ("x25519", 0x001d),
    ("secp256r1", 0x0017),
    ("secp384r1", 0x0018),
];

/// Protocols that `alpn` may name as in Caddy, though nothing of them comes by these connections.
const ELSEWHERE: [&str; 2] = ["h3", "acme-tls/1"];

/// The plans of one server's listeners. They differ only in the protocols on offer, which most share.
#[derive(Debug, Default)]
pub(super) struct Plans(Vec<(HttpSettings, Option<Arc<TlsPlan>>)>);

/// Client authentication that was read already, by its JSON: files are read once for all sites that name them.
type Known = HashMap<String, Option<Arc<ClientAuth>>>;

/// Whether clients show certificates anywhere.
pub(super) fn ask_clients(server: &model::Server) -> bool {
    let mut policies = server.tls_connection_policies.iter().flatten();
    policies.any(|policy| active_clients(policy).is_some())
}

/// What the policies say. Without any, there is one that says nothing.
pub(super) fn compile(
    compiler: &mut Compiler<'_>,
    policies: &[model::TlsConnectionPolicy],
) -> Vec<TlsPolicy> {
    if policies.is_empty() {
        return vec![TlsPolicy::default()];
    }
    let mut known = Known::new();
    policies
        .iter()
        .map(|policy| self::policy(compiler, policy, &mut known))
        .collect()
}

// === impl Plans ===

impl Plans {
    /// The plan for listeners with these settings.
    pub(super) fn of(
        &mut self,
        compiler: &mut Compiler<'_>,
        http: HttpSettings,
        sites: &[TlsSite],
        policies: &[TlsPolicy],
    ) -> Option<Arc<TlsPlan>> {
        if let Some((_, made)) = self.0.iter().find(|(known, _)| *known == http) {
            return made.clone();
        }
        let policies = spoken(compiler, http, policies);
        let made = match compiler.surroundings.certificates.plan(sites, &policies) {
            Ok(plan) => Some(Arc::new(plan)),
            Err(found) => {
                for error in found {
                    tls_error(compiler, error);
                }
                None
            }
        };
        self.0.push((http, made.clone()));
        made
    }
}

/// The policies with the protocols that a listener speaks.
fn spoken(compiler: &mut Compiler<'_>, http: HttpSettings, policies: &[TlsPolicy]) -> Vec<TlsPolicy> {
    let mut served: Vec<&[u8]> = Vec::new();
    if http.http2 {
        served.push(b"h2");
    }
    if http.http1 {
        served.push(b"http/1.1");
    }
    let mut policies = policies.to_vec();
    for policy in &mut policies {
        let alpn = &mut policy.terms.alpn;
        if alpn.is_empty() {
            *alpn = served.iter().map(|protocol| protocol.to_vec()).collect();
            continue;
        }
        alpn.retain(|protocol| served.contains(&protocol.as_slice()));
        if alpn.is_empty() {
            compiler.unsupported::<()>(
                "`alpn` names no protocol that the server speaks",
                "name one of its `protocols`: h2 for h2, http/1.1 for h1",
            );
        }
    }
    policies
}

fn policy(compiler: &mut Compiler<'_>, policy: &model::TlsConnectionPolicy, known: &mut Known) -> TlsPolicy {
    let matcher = policy.matcher.as_ref().filter(|matcher| !matcher.sni.is_empty());
    let names = matcher.map(|matcher| {
        let lower = |name: &String| name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        matcher.sni.iter().map(lower).collect::<Vec<_>>()
    });
    let said = names.iter().flatten();
    let replaced = said.chain(&policy.default_sni).chain(&policy.fallback_sni);
    if replaced.into_iter().any(|name| name.contains('{')) {
        compiler.unsupported::<()>(
            "a placeholder in the name of a TLS connection",
            "write the name, or {$NAME} for a variable of the environment",
        );
    }
    let name = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
    let terms = Terms {
        versions: match (policy.protocol_min, policy.protocol_max) {
            (Some(TlsVersion::Tls13), _) => Versions::Only13,
            (_, Some(TlsVersion::Tls12)) => Versions::Only12,
            _ => Versions::Both,
        },
        cipher_suites: cipher_suites(compiler, &policy.cipher_suites),
        groups: groups(compiler, &policy.curves),
        alpn: alpn(compiler, &policy.alpn),
        clients: active_clients(policy).and_then(|clients| {
            // A value that cannot be written is no key, and is read each time.
            let Ok(key) = serde_json::to_string(clients) else {
                return self::clients(compiler, clients);
            };
            let known = known.entry(key);
            known.or_insert_with(|| self::clients(compiler, clients)).clone()
        }),
        default_name: name(&policy.default_sni),
        fallback_name: name(&policy.fallback_sni),
    };
    TlsPolicy { names, terms }
}

fn active_clients(policy: &model::TlsConnectionPolicy) -> Option<&model::ClientAuthentication> {
    let clients = policy.client_authentication.as_ref();
    clients.filter(|clients| clients.is_active())
}

fn cipher_suites(compiler: &mut Compiler<'_>, names: &[String]) -> Vec<u16> {
    let mut codes = Vec::new();
    for name in names {
        match tls::cipher_suite(name) {
            Some(code) if codes.contains(&code) => {}
            Some(code) => codes.push(code),
            None => compiler.wrong("not a cipher suite of TLS 1.2 that is spoken", name),
        }
    }
    codes
}

fn groups(compiler: &mut Compiler<'_>, names: &[String]) -> Vec<u16> {
    let mut codes = Vec::new();
    for name in names {
        let code = GROUPS
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, code)| *code);
        match code.filter(|code| tls::group(*code).is_some()) {
            Some(code) if codes.contains(&code) => {}
            Some(code) => codes.push(code),
            None => compiler.unsupported(
                &format!("the group {name} of `curves`"),
                "write x25519mlkem768, x25519, secp256r1 or secp384r1",
            ),
        }
    }
    codes
}

fn alpn(compiler: &mut Compiler<'_>, names: &[String]) -> Vec<Vec<u8>> {
    let mut protocols = Vec::new();
    for name in names {
        let is_known = matches!(name.as_str(), "h2" | "http/1.1") || ELSEWHERE.contains(&name.as_str());
        if is_known {
            protocols.push(name.clone().into_bytes());
        } else {
            compiler.unsupported::<()>(
                &format!("the protocol {name} of `alpn`"),
                "write h2 and http/1.1, or one of them",
            );
        }
    }
    protocols
}

// === clients ===

/// What clients must show; `None` if that cannot be had.
fn clients(compiler: &mut Compiler<'_>, clients: &model::ClientAuthentication) -> Option<Arc<ClientAuth>> {
    let errors = compiler.errors.len();
    let authorities = authorities(compiler, clients);
    let leaves = leaves(compiler, clients);
    let mode = clients.effective_mode();
    let verified = matches!(
        mode,
        ClientAuthMode::VerifyIfGiven | ClientAuthMode::RequireAndVerify
    );
    if compiler.errors.len() > errors {
        return None;
    }
    if verified && authorities.is_empty() && leaves.is_empty() {
        return compiler.unsupported(
            "`client_auth` verifies certificates but names nobody that they may come from",
            "write `trust_pool file PATH`, or `mode require` to accept any",
        );
    }
    Some(Arc::new(ClientAuth {
        // As in Caddy: one of a list cannot be shown by a client that shows nothing.
        mandatory: !leaves.is_empty()
            || matches!(mode, ClientAuthMode::Require | ClientAuthMode::RequireAndVerify),
        verified,
        authorities,
        leaves,
    }))
}

fn authorities(
    compiler: &mut Compiler<'_>,
    clients: &model::ClientAuthentication,
) -> Vec<CertificateDer<'static>> {
    let is_said_twice = clients.ca.is_some()
        && !(clients.trusted_ca_certs.is_empty() && clients.trusted_ca_certs_pem_files.is_empty());
    if is_said_twice {
        return compiler.unsupported(
            "`client_authentication` names its authorities in two ways",
            "write all of them in `ca`",
        );
    }
    let (mut files, mut inline) = (&clients.trusted_ca_certs_pem_files, &clients.trusted_ca_certs);
    match &clients.ca {
        None => {}
        Some(CaPool::File { pem_files }) => files = pem_files,
        Some(CaPool::Inline { trusted_ca_certs }) => inline = trusted_ca_certs,
        Some(_) => {
            return compiler.unsupported(
                "`client_auth` with the authorities of the system, by which anybody with a public certificate would pass",
                "name your own with `trust_pool file PATH`",
            );
        }
    }
    let mut authorities = decoded(compiler, inline);
    if !authorities.iter().all(tls::may_issue) {
        tls_error(compiler, TlsError::NotAuthority);
    }
    for file in files {
        authorities.extend(read(compiler, file, tls::client_authorities));
    }
    authorities
}

/// One list for all that are named in the old way, and one for each verifier.
fn leaves(
    compiler: &mut Compiler<'_>,
    clients: &model::ClientAuthentication,
) -> Vec<Vec<CertificateDer<'static>>> {
    let mut lists = Vec::new();
    if !clients.trusted_leaf_certs.is_empty() {
        lists.push(decoded(compiler, &clients.trusted_leaf_certs));
    }
    for verifier in &clients.verifiers {
        let ClientVerifier::Leaf { leaf_certs_loaders } = verifier else {
            compiler.unsupported::<()>("this verifier of `client_auth`", "write `verifier leaf`");
            continue;
        };
        let mut list = Vec::new();
        for loader in leaf_certs_loaders {
            let LeafLoader::File { files } = loader else {
                compiler.unsupported::<()>("this loader of `verifier leaf`", "write `file PATH`");
                continue;
            };
            for file in files {
                list.extend(read(compiler, file, tls::certificates));
            }
        }
        lists.push(list);
    }
    lists
}

fn decoded(compiler: &mut Compiler<'_>, texts: &[String]) -> Vec<CertificateDer<'static>> {
    let mut certificates = Vec::with_capacity(texts.len());
    for text in texts {
        match tls::decode(text) {
            Ok(certificate) => certificates.push(certificate),
            Err(error) => tls_error(compiler, error),
        }
    }
    certificates
}

fn read(
    compiler: &mut Compiler<'_>,
    path: &Path,
    read: impl Fn(&Path) -> Result<Vec<CertificateDer<'static>>, tls::FileError>,
) -> Vec<CertificateDer<'static>> {
    read(path).unwrap_or_else(|error| {
        tls_error(compiler, error.into());
        Vec::new()
    })
}

fn tls_error(compiler: &mut Compiler<'_>, error: TlsError) {
    let error = BuildError::tls(&compiler.server, error);
    compiler.errors.push(error);
}
