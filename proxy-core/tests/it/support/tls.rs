//! TLS towards the proxy: a client that takes any certificate and reports what it was shown.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::wait::within;

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
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider has the default versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    shake_hands(config, stream, host, alpn)
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
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = within("connecting", TcpStream::connect(addr)).await?;
    shake_hands(config, stream, host, alpn).await
}

async fn shake_hands(
    mut config: ClientConfig,
    stream: TcpStream,
    host: &str,
    alpn: &[&[u8]],
) -> std::io::Result<TlsStream<TcpStream>> {
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    let name = ServerName::try_from(host.to_owned()).expect("a valid server name");
    within(
        "the TLS handshake",
        TlsConnector::from(Arc::new(config)).connect(name, stream),
    )
    .await
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
