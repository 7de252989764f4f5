//! What stands for the placeholders of TLS.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caddy_config::{ClientCertificatePart, SanKind, TlsPart};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};
use x509_parser::x509::X509Name;

use crate::facts::TlsFacts;
use crate::request::Context;

/// How many characters of base64 stand in a line of PEM.
const LINE: usize = 64;

/// Writes the value; nothing without TLS.
pub(super) fn part(part: &TlsPart, cx: &Context, out: &mut String) {
    let Some(tls) = cx.facts.as_ref().and_then(|facts| facts.tls.as_deref()) else {
        return;
    };
    match part {
        TlsPart::Version => out.push_str(tls.version),
        TlsPart::CipherSuite => out.push_str(tls.cipher_suite),
        TlsPart::Resumed => out.push_str(if tls.resumed { "true" } else { "false" }),
        TlsPart::Proto => out.push_str(&tls.proto),
        TlsPart::ProtoMutual => out.push_str("true"),
        TlsPart::ServerName => out.push_str(&tls.server_name),
        TlsPart::Ech => out.push_str("false"),
        TlsPart::Client(part) => client(*part, tls, out),
    }
}

fn client(part: ClientCertificatePart, tls: &TlsFacts, out: &mut String) {
    let Some(der) = tls.client.as_ref().map(|client| client.der.as_slice()) else {
        return;
    };
    let Ok((_, certificate)) = X509Certificate::from_der(der) else {
        return;
    };
    match part {
        ClientCertificatePart::DerBase64 => out.push_str(&STANDARD.encode(der)),
        ClientCertificatePart::Pem => pem(der, out),
        ClientCertificatePart::Fingerprint => hex(&sha256(der), out),
        ClientCertificatePart::PublicKey => hex(certificate.public_key().raw, out),
        ClientCertificatePart::PublicKeySha256 => hex(&sha256(certificate.public_key().raw), out),
        ClientCertificatePart::Issuer => name(certificate.issuer(), out),
        ClientCertificatePart::Subject => name(certificate.subject(), out),
        ClientCertificatePart::Serial => out.push_str(&certificate.serial.to_string()),
        ClientCertificatePart::San { kind, index } => {
            let names = alternative_names(&certificate, kind);
            match index {
                Some(index) => out.push_str(names.get(index).map_or("", String::as_str)),
                None => {
                    out.push('[');
                    out.push_str(&names.join(" "));
                    out.push(']');
                }
            }
        }
    }
}

fn alternative_names(certificate: &X509Certificate<'_>, kind: SanKind) -> Vec<String> {
    let extension = certificate.subject_alternative_name().ok().flatten();
    let names = extension
        .iter()
        .flat_map(|extension| &extension.value.general_names);
    names
        .filter_map(|name| match (kind, name) {
            (SanKind::DnsNames, GeneralName::DNSName(name))
            | (SanKind::Emails, GeneralName::RFC822Name(name))
            | (SanKind::Uris, GeneralName::URI(name)) => Some((*name).to_owned()),
            (SanKind::Ips, GeneralName::IPAddress(bytes)) => address(bytes),
            _ => None,
        })
        .collect()
}

fn address(bytes: &[u8]) -> Option<String> {
    match bytes.len() {
        4 => Some(std::net::Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).to_string()),
        16 => Some(std::net::Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string()),
        _ => None,
    }
}

/// As RFC 2253 has it: the most special part first.
fn name(name: &X509Name<'_>, out: &mut String) {
    let sets: Vec<String> = name
        .iter()
        .map(|set| {
            let parts: Vec<String> = set
                .iter()
                .map(|part| {
                    let kind = x509_parser::objects::oid2abbrev(
                        part.attr_type(),
                        x509_parser::objects::oid_registry(),
                    );
                    let kind = kind.map_or_else(|_| part.attr_type().to_id_string(), str::to_owned);
                    format!("{kind}={}", escaped(part.as_str().unwrap_or_default()))
                })
                .collect();
            parts.join("+")
        })
        .collect();
    for (index, set) in sets.iter().rev().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(set);
    }
}

fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for (index, c) in value.char_indices() {
        let at_edge = index == 0 || index + c.len_utf8() == value.len();
        if ",+\"\\<>;".contains(c) || (c == ' ' && at_edge) || (c == '#' && index == 0) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn pem(der: &[u8], out: &mut String) {
    out.push_str("-----BEGIN CERTIFICATE-----\n");
    let text = STANDARD.encode(der);
    for line in text.as_bytes().chunks(LINE) {
        out.push_str(&String::from_utf8_lossy(line));
        out.push('\n');
    }
    out.push_str("-----END CERTIFICATE-----\n");
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    // The hash of a suite that every connection may use: no other library is needed for it.
    let suite = rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let hash = suite.tls13().map(|suite| suite.common.hash_provider.hash(bytes));
    hash.map(|hash| hash.as_ref().to_vec()).unwrap_or_default()
}

fn hex(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        let written = write!(out, "{byte:02x}");
        debug_assert!(written.is_ok(), "a String takes all text");
    }
}
