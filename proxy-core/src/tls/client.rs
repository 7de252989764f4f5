//! TLS towards upstreams: whom the proxy believes, and what it shows of itself.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::server::ParsedCertificate;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::time_provider::TimeProvider;
use rustls::version::{TLS12, TLS13};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use sha2::{Digest as _, Sha256};

use super::TlsError;
use super::files::{self, Facts};
use super::signatures::Signatures;

/// The groups for the exchange of keys that can be chosen, by Caddy's names.
const GROUPS: [(&str, &dyn SupportedKxGroup); 4] = [
    ("secp256r1", aws_lc_rs::kx_group::SECP256R1),
    ("secp384r1", aws_lc_rs::kx_group::SECP384R1),
    ("x25519", aws_lc_rs::kx_group::X25519),
    ("x25519mlkem768", aws_lc_rs::kx_group::X25519MLKEM768),
];

/// How TLS is spoken to upstreams.
#[derive(Clone, Debug)]
pub(crate) struct ClientSettings {
    /// Who may have signed their certificates.
    pub(crate) roots: Roots,
    /// Files with a certificate and its key, which they are shown.
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
    /// Groups for the exchange of keys, in order of preference; empty is the default.
    pub(crate) groups: Vec<String>,
    /// HTTP/2 is offered, and HTTP/1.1 with it if the second is true.
    pub(crate) offers: (bool, bool),
}

/// Who may have signed the certificate of an upstream.
#[derive(Clone, Debug)]
pub(crate) enum Roots {
    /// The authorities of the system.
    System(SystemRoots),
    /// These. An upstream may show one of them itself, too.
    Own(Vec<CertificateDer<'static>>),
    /// Nobody is asked.
    Anybody,
}

/// The authorities that the system trusts.
#[derive(Clone)]
pub(crate) struct SystemRoots(Arc<RootCertStore>);

/// TLS to upstreams, ready for use.
#[derive(Debug)]
pub(crate) struct ClientTls {
    pub(crate) config: Arc<ClientConfig>,
    /// The same, offering HTTP/1.1 alone.
    pub(crate) http1: Arc<ClientConfig>,
    /// A digest of all that it is made of.
    pub(crate) identity: [u8; 32],
}

/// Decides about certificates of upstreams. That an upstream has the key to its certificate is always checked.
#[derive(Debug)]
struct Believing {
    whom: Whom,
    signatures: Signatures,
}

#[derive(Debug)]
enum Whom {
    /// Any certificate will do.
    Anybody,
    /// Authorities, and certificates that it was given themselves.
    Listed {
        /// `None`: the system has none, and nobody is believed.
        authorities: Option<Arc<WebPkiServerVerifier>>,
        own: Vec<CertificateDer<'static>>,
    },
}

// === impl SystemRoots ===

impl SystemRoots {
    /// Reads the disk. What cannot be read is left out.
    pub(crate) fn load() -> Self {
        let mut roots = RootCertStore::empty();
        let _counts = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Self(Arc::new(roots))
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for SystemRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemRoots({})", self.0.len())
    }
}

// === impl Roots ===

impl Roots {
    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
        let (store, own) = match self {
            Self::Anybody => {
                return Ok(Arc::new(Believing {
                    whom: Whom::Anybody,
                    signatures: Signatures::of(provider),
                }));
            }
            Self::System(roots) => (Arc::clone(&roots.0), Vec::new()),
            Self::Own(own) => {
                let mut store = RootCertStore::empty();
                for certificate in own {
                    store.add(certificate.clone())?;
                }
                (Arc::new(store), own.clone())
            }
        };
        let builder = WebPkiServerVerifier::builder_with_provider(store, Arc::clone(provider));
        // It fails if there is no authority, and for nothing else.
        let authorities = builder.build().ok();
        Ok(Arc::new(Believing {
            whom: Whom::Listed { authorities, own },
            signatures: Signatures::of(provider),
        }))
    }

    fn describe(&self, digest: &mut Sha256) {
        match self {
            Self::Anybody => digest.update("anybody"),
            Self::System(roots) => {
                digest.update("system");
                for root in &roots.0.roots {
                    digest.update(&root.subject_public_key_info);
                    digest.update(&root.subject);
                }
            }
            Self::Own(own) => {
                digest.update("own");
                for certificate in own {
                    digest.update(certificate.len().to_be_bytes());
                    digest.update(certificate);
                }
            }
        }
    }
}

// === impl ClientSettings ===

impl ClientSettings {
    /// The settings as they are used. Reads the disk.
    pub(super) fn build(
        &self,
        provider: &CryptoProvider,
        clock: Arc<dyn TimeProvider>,
    ) -> Result<ClientTls, TlsError> {
        let mut provider = provider.clone();
        if !self.groups.is_empty() {
            provider.kx_groups = self.groups.iter().filter_map(|name| group(name)).collect();
        }
        let provider = Arc::new(provider);
        let verifier = self.roots.verifier(&provider)?;
        let shown = match &self.certificate {
            None => None,
            Some((certificate, key)) => Some(files::load(certificate, key, &provider)?.key),
        };
        let identity = self.identity(shown.as_ref());
        let builder = ClientConfig::builder_with_details(provider, clock)
            .with_protocol_versions(&[&TLS13, &TLS12])?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match shown {
            None => builder.with_no_client_auth(),
            Some(key) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(key))),
        };
        config.enable_early_data = false;
        let mut http1 = config.clone();
        http1.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.alpn_protocols = match self.offers {
            (true, true) => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            (true, false) => vec![b"h2".to_vec()],
            (false, _) => vec![b"http/1.1".to_vec()],
        };
        Ok(ClientTls {
            config: Arc::new(config),
            http1: Arc::new(http1),
            identity,
        })
    }

    fn identity(&self, shown: Option<&CertifiedKey>) -> [u8; 32] {
        let mut digest = Sha256::new();
        self.roots.describe(&mut digest);
        digest.update(format!("{:?} {:?}", self.groups, self.offers));
        for certificate in shown.iter().flat_map(|key| &key.cert) {
            digest.update(certificate);
        }
        digest.finalize().into()
    }
}

/// The group of this name, if there is one.
pub(crate) fn group(name: &str) -> Option<&'static dyn SupportedKxGroup> {
    let found = GROUPS.iter().find(|(known, _)| *known == name);
    found.map(|(_, group)| *group)
}

// === impl Believing ===

impl Believing {
    /// A certificate that was configured itself is believed for its names while it is valid. That of an authority counts
    /// for no server otherwise, and what `openssl req -x509` makes is one.
    fn verify_own(
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
        let facts = Facts::read(certificate).ok_or(CertificateError::BadEncoding)?;
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        if now < facts.not_before {
            return Err(CertificateError::NotValidYet.into());
        }
        if now > facts.not_after {
            return Err(CertificateError::Expired.into());
        }
        Ok(ServerCertVerified::assertion())
    }
}

impl ServerCertVerifier for Believing {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Whom::Listed { authorities, own } = &self.whom else {
            return Ok(ServerCertVerified::assertion());
        };
        if own.iter().any(|own| own == end_entity) {
            return Self::verify_own(end_entity, server_name, now);
        }
        let authorities = authorities.as_ref().ok_or(CertificateError::UnknownIssuer)?;
        authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signatures.verify_tls12(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signatures.verify_tls13(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signatures.schemes()
    }
}
