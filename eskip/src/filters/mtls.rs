//! Certificates of clients: checked, and passed on.

mod name;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderName, HeaderValue, StatusCode};
use ipnet::IpNet;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use self::name::DistinguishedName;
use super::args::Args;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::refusal::refusal;
use super::registry::Filters;
use crate::Arg;
use crate::routing::ArgsError;

/// The field in which a certificate is passed on.
const CERTIFICATE: HeaderName = HeaderName::from_static("x-forwarded-tls-client-cert");

/// `tlsPassClientCertificates()`.
#[derive(Debug)]
struct Pass;

/// `mtlsAuthn()` and those that look into the certificate.
#[derive(Debug)]
enum Check {
    /// There is one.
    Shown,
    /// Its subject has one of these common names.
    CommonName(Vec<String>),
    /// Who issued it has one of these names.
    Issuer(Vec<DistinguishedName>),
    /// It is for one of these hosts, in lower case.
    Dns(Vec<String>),
    /// It is for an address in one of these networks.
    Networks(Vec<IpNet>),
    /// It is for one of these URIs.
    Uri(Vec<String>),
}

/// A name that a certificate is for.
enum Named<'c> {
    Dns(&'c str),
    Address(IpAddr),
    Uri(&'c str),
}

pub(super) fn add(all: &mut Filters) {
    all.add(
        "tlsPassClientCertificates",
        (
            "passes the client's certificate on in X-Forwarded-Tls-Client-Cert, as base64 of its DER",
            "tlsPassClientCertificates()",
        ),
        |args| {
            Args::new(args).end()?;
            Ok(Pass)
        },
    );
    all.add(
        "mtlsAuthn",
        (
            "refuses clients that have shown no certificate, with status 403",
            "mtlsAuthn()",
        ),
        |args| {
            Args::new(args).end()?;
            Ok(Check::Shown)
        },
    );
    all.add(
        "mtlsCN",
        (
            "refuses clients unless the common name in their certificate is one of these",
            r#"mtlsCN("billing", "orders")"#,
        ),
        |args| Ok(Check::CommonName(each(args, "a common name", text)?)),
    );
    all.add(
        "mtlsIssuerDN",
        (
            "refuses clients unless who issued their certificate has one of these names",
            r#"mtlsIssuerDN("CN=My CA,O=My Org,C=DE")"#,
        ),
        |args| {
            let what = "a distinguished name, such as `CN=My CA,O=My Org`";
            Ok(Check::Issuer(each(args, what, DistinguishedName::parse)?))
        },
    );
    add_alternative_names(all);
}

fn add_alternative_names(all: &mut Filters) {
    all.add(
        "mtlsSanDNS",
        (
            "refuses clients unless their certificate is for one of these hosts",
            r#"mtlsSanDNS("client.example.org")"#,
        ),
        |args| {
            let lower = |host: &str| text(host).map(|host| host.to_ascii_lowercase());
            Ok(Check::Dns(each(args, "a host", lower)?))
        },
    );
    all.add(
        "mtlsSanIP",
        (
            "refuses clients unless their certificate is for one of these addresses",
            r#"mtlsSanIP("10.0.0.7", "2001:db8::7")"#,
        ),
        |args| {
            let address = |address: &str| address.parse::<IpAddr>().ok().map(IpNet::from);
            Ok(Check::Networks(each(args, "an address", address)?))
        },
    );
    all.add(
        "mtlsSanCIDR",
        (
            "refuses clients unless their certificate is for an address in one of these networks",
            r#"mtlsSanCIDR("10.0.0.0/8")"#,
        ),
        |args| {
            let network = |network: &str| network.parse().ok();
            Ok(Check::Networks(each(args, "a network", network)?))
        },
    );
    all.add(
        "mtlsSanURI",
        (
            "refuses clients unless their certificate is for one of these URIs",
            r#"mtlsSanURI("spiffe://example.org/billing")"#,
        ),
        |args| Ok(Check::Uri(each(args, "a URI", text)?)),
    );
}

/// One argument or more, each read by itself.
fn each<T>(args: &[Arg], what: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, ArgsError> {
    let texts = Args::new(args).some_texts(what)?;
    let all = texts.into_iter().map(|text| {
        let read = read(text);
        read.ok_or_else(|| ArgsError(format!("{text:?} is not {what}")))
    });
    all.collect()
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

// === impl Pass ===

impl Filter for Pass {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        // What a client wrote there itself says nothing of it.
        cx.request.headers.remove(CERTIFICATE);
        let encoded = cx
            .exchange
            .client_certificate
            .as_ref()
            .map(|der| STANDARD.encode(der));
        if let Some(value) = encoded.and_then(|encoded| HeaderValue::try_from(encoded).ok()) {
            cx.request.headers.insert(CERTIFICATE, value);
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

// === impl Check ===

impl Check {
    fn passes(&self, der: &[u8]) -> bool {
        let Ok((_, certificate)) = X509Certificate::from_der(der) else {
            return false;
        };
        match self {
            Self::Shown => true,
            Self::CommonName(names) => {
                // Of several the last one counts, which is the most special.
                let name = certificate.subject().iter_common_name().last();
                let name = name.and_then(|name| name.as_str().ok());
                name.is_some_and(|name| names.iter().any(|listed| listed == name))
            }
            Self::Issuer(names) => {
                let issuer = DistinguishedName::of_certificate(certificate.issuer());
                issuer.is_some_and(|issuer| names.contains(&issuer))
            }
            Self::Dns(_) | Self::Networks(_) | Self::Uri(_) => self.has_name(&certificate),
        }
    }

    /// Whether one of the names that the certificate is for is listed.
    fn has_name(&self, certificate: &X509Certificate<'_>) -> bool {
        let extension = certificate.subject_alternative_name().ok().flatten();
        let names = extension
            .iter()
            .flat_map(|extension| &extension.value.general_names);
        let mut names = names.filter_map(Named::of);
        names.any(|name| match (self, name) {
            (Self::Dns(hosts), Named::Dns(name)) => hosts.iter().any(|host| host.eq_ignore_ascii_case(name)),
            (Self::Networks(networks), Named::Address(address)) => {
                networks.iter().any(|network| network.contains(&address))
            }
            (Self::Uri(uris), Named::Uri(name)) => uris.iter().any(|uri| uri == name),
            _ => false,
        })
    }
}

impl Filter for Check {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let certificate = cx.exchange.client_certificate.as_deref();
        if certificate.is_some_and(|der| self.passes(der)) {
            Flow::Next
        } else {
            Flow::serve(refusal(StatusCode::FORBIDDEN))
        }
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

// === impl Named ===

impl<'c> Named<'c> {
    fn of(name: &'c GeneralName<'c>) -> Option<Self> {
        match name {
            GeneralName::DNSName(name) => Some(Self::Dns(name)),
            GeneralName::URI(name) => Some(Self::Uri(name)),
            GeneralName::IPAddress(bytes) => address(bytes).map(Self::Address),
            _ => None,
        }
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = || Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into());
    let v6 = || Some(IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)).to_canonical());
    v4().or_else(v6)
}

#[cfg(test)]
mod tests;
