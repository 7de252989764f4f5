//! https: authorities, names, and certificates of clients.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use consul_upstreams::{ConsulUpstreams, LookupError, Settings, Tls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use rustls_pki_types::PrivateKeyDer;
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

use crate::fake::{Consul, Instance};
use crate::support::{Source, settings};

/// An authority, and what it signed.
struct Secure {
    directory: TempDir,
    ca: CertifiedIssuer<'static, KeyPair>,
}

impl Secure {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        fs::write(directory.path().join("ca.pem"), ca.pem()).unwrap();
        Self { directory, ca }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A certificate for `name`, and its key.
    fn sign(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.ca).unwrap(), key)
    }

    /// A Consul whose certificate is for `name`.
    async fn consul(&self, name: &str, wants_clients: bool) -> Consul {
        let (certificate, key) = self.sign(name);
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = if wants_clients {
            let mut roots = RootCertStore::empty();
            roots.add(self.ca.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = builder
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let consul = Consul::start_tls(TlsAcceptor::from(Arc::new(config))).await;
        consul.set("api", [Instance::at("192.0.2.1", 80)]);
        consul
    }
}

async fn found(consul: &Consul, tls: Tls) -> Result<Vec<String>, LookupError> {
    let source = Source::new(&Settings {
        tls,
        ..settings(&consul.address)
    });
    source.addresses("api").await
}

#[tokio::test]
async fn the_authority_is_the_one_that_is_named() {
    let secure = Secure::new();
    let consul = secure.consul("127.0.0.1", false).await;
    let with = |ca| Tls { ca, ..Tls::default() };
    assert_eq!(
        found(&consul, with(Some(secure.path("ca.pem")))).await.unwrap(),
        ["192.0.2.1:80"]
    );
    let of_system = found(&consul, with(None)).await;
    assert!(
        matches!(of_system, Err(LookupError::Unreachable(_))),
        "{of_system:?}"
    );
    let other = found(&consul, with(Some(Secure::new().path("ca.pem")))).await;
    assert!(other.is_err() || consul.targets().len() == 1);

    let whole = Tls {
        ca_path: Some(secure.directory.path().into()),
        ..Tls::default()
    };
    assert_eq!(found(&consul, whole).await.unwrap(), ["192.0.2.1:80"]);
    let any = Tls {
        insecure: true,
        ..Tls::default()
    };
    assert_eq!(found(&consul, any).await.unwrap(), ["192.0.2.1:80"]);
}

#[tokio::test]
async fn the_certificate_may_be_for_another_name_that_is_given() {
    let secure = Secure::new();
    let consul = secure.consul("server.dc1.consul", false).await;
    let with = |server_name: Option<&str>| Tls {
        ca: Some(secure.path("ca.pem")),
        server_name: server_name.map(str::to_owned),
        ..Tls::default()
    };
    assert!(found(&consul, with(None)).await.is_err());
    assert!(found(&consul, with(Some("client.dc1.consul"))).await.is_err());
    assert_eq!(
        found(&consul, with(Some("server.dc1.consul"))).await.unwrap(),
        ["192.0.2.1:80"]
    );
    let host = consul.address.strip_prefix("https://").unwrap();
    assert_eq!(consul.requests()[0].fields["host"], host);
}

/// It would be what is dialled, in place of the address that is configured.
#[tokio::test]
async fn an_address_is_no_name_of_a_server_unless_it_is_the_one_that_is_asked() {
    let secure = Secure::new();
    let consul = secure.consul("127.0.0.1", false).await;
    let with = |server_name: &str| Tls {
        ca: Some(secure.path("ca.pem")),
        server_name: Some(server_name.to_owned()),
        ..Tls::default()
    };
    assert_eq!(found(&consul, with("127.0.0.1")).await.unwrap(), ["192.0.2.1:80"]);
    for other in ["127.0.0.2", "::1", "2001:db8::1"] {
        let settings = Settings {
            tls: with(other),
            ..settings(&consul.address)
        };
        let refused = ConsulUpstreams::try_new(&settings, 0).unwrap_err();
        assert_eq!(refused.errors()[0].field(), "tls.server_name", "{other}");
    }
}

#[tokio::test]
async fn a_client_s_certificate_is_shown_to_who_wants_one() {
    let secure = Secure::new();
    let consul = secure.consul("127.0.0.1", true).await;
    let (certificate, key) = secure.sign("client");
    fs::write(secure.path("client.pem"), certificate.pem()).unwrap();
    fs::write(secure.path("key.pem"), key.serialize_pem()).unwrap();
    let ca = Some(secure.path("ca.pem"));
    assert!(
        found(
            &consul,
            Tls {
                ca: ca.clone(),
                ..Tls::default()
            }
        )
        .await
        .is_err()
    );
    let own = Tls {
        ca,
        client_cert: Some(secure.path("client.pem")),
        client_key: Some(secure.path("key.pem")),
        ..Tls::default()
    };
    assert_eq!(found(&consul, own).await.unwrap(), ["192.0.2.1:80"]);
}

#[tokio::test]
async fn certificates_are_read_again_when_they_change() {
    let secure = Secure::new();
    let consul = secure.consul("127.0.0.1", true).await;
    let sign = |secure: &Secure, name: &str| {
        let (certificate, key) = secure.sign(name);
        (certificate.pem(), key.serialize_pem())
    };
    let write = |(certificate, key): &(String, String)| {
        fs::write(secure.path("client.pem"), certificate).unwrap();
        fs::write(secure.path("key.pem"), key).unwrap();
    };
    // As one that has expired.
    write(&sign(&Secure::new(), "client"));
    let source = Source::new(&Settings {
        tls: Tls {
            ca: Some(secure.path("ca.pem")),
            client_cert: Some(secure.path("client.pem")),
            client_key: Some(secure.path("key.pem")),
            ..Tls::default()
        },
        ..settings(&consul.address)
    });
    assert!(source.addresses("old").await.is_err());
    write(&sign(&secure, "a-client-with-a-longer-name"));
    assert_eq!(source.addresses("api").await.unwrap(), ["192.0.2.1:80"]);
    // While they are of no use, or away, the last ones are used.
    fs::write(secure.path("key.pem"), "half of").unwrap();
    assert_eq!(source.addresses("api").await.unwrap(), ["192.0.2.1:80"]);
    fs::remove_file(secure.path("ca.pem")).unwrap();
    assert_eq!(source.addresses("api").await.unwrap(), ["192.0.2.1:80"]);
}

#[test]
fn files_that_are_not_there_or_hold_nothing_are_named() {
    let secure = Secure::new();
    fs::write(secure.path("empty.pem"), "").unwrap();
    for (tls, field) in [
        (
            Tls {
                ca: Some("/nowhere.pem".into()),
                ..Tls::default()
            },
            "tls.ca",
        ),
        (
            Tls {
                ca: Some(secure.path("empty.pem")),
                ..Tls::default()
            },
            "tls.ca",
        ),
        (
            Tls {
                ca_path: Some("/nowhere".into()),
                ..Tls::default()
            },
            "tls.ca_path",
        ),
        (
            Tls {
                ca: Some(secure.path("ca.pem")),
                client_cert: Some(secure.path("ca.pem")),
                client_key: Some(secure.path("empty.pem")),
                ..Tls::default()
            },
            "tls.client_key",
        ),
    ] {
        let settings = Settings {
            tls,
            ..settings("https://127.0.0.1:1")
        };
        let error = ConsulUpstreams::try_new(&settings, 1).unwrap_err();
        assert_eq!(error.errors()[0].field(), field, "{error}");
    }
}
