//! TLS towards the proxy: a client that takes any certificate and reports what it was shown.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, SupportedKxGroup, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, HandshakeKind, RootCertStore, SignatureScheme,
    SupportedCipherSuite, SupportedProtocolVersion,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::identity::Identity;
use super::wait::within;
use super::wire::{Message, Wire};

/// A client whose settings are the test's own. It takes any certificate, and resumes sessions if it can.
#[derive(Clone)]
pub(crate) struct Client {
    provider: CryptoProvider,
    versions: Vec<&'static SupportedProtocolVersion>,
    alpn: Vec<Vec<u8>>,
    identity: Option<Identity>,
    config: OnceLock<Arc<ClientConfig>>,
}

/// Takes every certificate, but still checks that the server holds its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

/// Shakes hands as `host`, offering the protocols in `alpn`; any certificate will do.
pub(crate) async fn connect(addr: SocketAddr, host: &str, alpn: &[&[u8]]) -> TlsStream<TcpStream> {
    let stream = within("connecting", TcpStream::connect(addr)).await;
    over(stream.expect("the listener accepts"), host, alpn).await
}

/// The same over an open connection.
pub(crate) async fn over(stream: TcpStream, host: &str, alpn: &[&[u8]]) -> TlsStream<TcpStream> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider has the default versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    shake_hands(Arc::new(config), stream, host)
        .await
        .expect("the handshake succeeds")
}

/// Shakes hands as `host`, trusting only `root`.
pub(crate) async fn connect_trusting(
    root: CertificateDer<'static>,
    addr: SocketAddr,
    host: &str,
    alpn: &[&[u8]],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(root).expect("a valid root");
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = within("connecting", TcpStream::connect(addr)).await?;
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    shake_hands(Arc::new(config), stream, host).await
}

async fn shake_hands(
    config: Arc<ClientConfig>,
    stream: TcpStream,
    host: &str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(host.to_owned()).expect("a valid server name");
    within(
        "the TLS handshake",
        TlsConnector::from(config).connect(name, stream),
    )
    .await
}

// === impl Client ===

impl Client {
    /// One that shows no certificate.
    pub(crate) fn new() -> Self {
        Self {
            provider: aws_lc_rs::default_provider(),
            versions: vec![&TLS13, &TLS12],
            alpn: vec![b"http/1.1".to_vec()],
            identity: None,
            config: OnceLock::new(),
        }
    }

    /// Shows this certificate to whoever asks for one.
    pub(crate) fn showing(self, identity: &Identity) -> Self {
        self.change(|client| client.identity = Some(identity.clone()))
    }

    /// Speaks only this version.
    pub(crate) fn version(self, version: &'static SupportedProtocolVersion) -> Self {
        self.change(|client| client.versions = vec![version])
    }

    /// Offers these protocols.
    pub(crate) fn alpn(self, alpn: &[&[u8]]) -> Self {
        self.change(|client| client.alpn = alpn.iter().map(|protocol| protocol.to_vec()).collect())
    }

    /// Offers these groups.
    pub(crate) fn groups(self, groups: &[&'static dyn SupportedKxGroup]) -> Self {
        self.change(|client| client.provider.kx_groups = groups.to_vec())
    }

    /// Offers these cipher suites.
    pub(crate) fn suites(self, suites: &[SupportedCipherSuite]) -> Self {
        self.change(|client| client.provider.cipher_suites = suites.to_vec())
    }

    /// Shakes hands as `host`; an address is not sent as a name. With TLS 1.3 a client learns only later that its
    /// certificate was refused.
    pub(crate) async fn connect(
        &self,
        addr: SocketAddr,
        host: &str,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = within("connecting", TcpStream::connect(addr)).await?;
        self.over(stream, host).await
    }

    /// The same over an open connection.
    pub(crate) async fn over(&self, stream: TcpStream, host: &str) -> std::io::Result<TlsStream<TcpStream>> {
        // One for all connections: a session is only resumed by the configuration that it was begun with.
        let config = self.config.get_or_init(|| Arc::new(self.configure()));
        shake_hands(Arc::clone(config), stream, host).await
    }

    fn configure(&self) -> ClientConfig {
        let provider = Arc::new(self.provider.clone());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&self.versions)
            .expect("the provider has these versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)));
        let mut config = match &self.identity {
            Some(Identity { chain, key }) => builder
                .with_client_auth_cert(chain.clone(), key.clone_key())
                .expect("the key is that of the certificate"),
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols.clone_from(&self.alpn);
        config
    }

    fn change(mut self, change: impl FnOnce(&mut Self)) -> Self {
        self.config = OnceLock::new();
        change(&mut self);
        self
    }

    /// Asks `host` for `/` over a new connection that is opened as `name`; the answer, and how hands were shaken.
    pub(crate) async fn ask(
        &self,
        addr: SocketAddr,
        name: &str,
        host: &str,
    ) -> std::io::Result<(Message, HandshakeKind)> {
        let stream = self.connect(addr, name).await?;
        let kind = stream.get_ref().1.handshake_kind().expect("hands were shaken");
        let mut wire = Wire::over(stream);
        wire.try_send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"))
            .await?;
        let answer = within("an answer or an alert", wire.try_answer_to("GET")).await?;
        Ok((answer, kind))
    }
}

// === impl AnyCertificate ===

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
