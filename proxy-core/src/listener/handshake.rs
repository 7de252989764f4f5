//! The handshake of TLS, and what is told to those who begin none.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use rustls::server::Acceptor;
use rustls::{CipherSuite, HandshakeKind, ProtocolVersion, ServerConnection};
use rustls_pki_types::CertificateDer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::socket::Socket;
use crate::facts::{Admission, ClientCertificate, TlsFacts};
use crate::tls::TlsPlan;

/// How a connection may begin if it is plain HTTP: as many bytes as the head of a record of TLS has.
const METHODS: [&[u8]; 9] = [
    b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO", b"DELET", b"PATCH", b"CONNE", b"TRACE",
];
const RECORD_HEAD: usize = 5;

/// More than a usual first message of a client has.
const FIRST_MESSAGE: usize = 2048;

/// How much of a request in plain HTTP is read.
const REST: u64 = 64 * 1024;

/// What Caddy says to a client that speaks plain HTTP.
const PLAIN: &[u8] = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// How a connection began.
pub(super) enum Opened {
    Secured(Box<TlsStream<Socket>>, Admission),
    /// In plain HTTP: it was told, and is over.
    Told,
}

/// Reads the client's first message and goes through the handshake. `terms` tells on which terms, and how often they had
/// changed; it is asked once the message is there, which may be long after the accept.
///
/// # Errors
///
/// Whatever ends the connection before it is secured; the client was sent an alert where there is one for it.
pub(super) async fn shake_hands(
    terms: impl Fn() -> Option<(Arc<TlsPlan>, u64)>,
    mut stream: Socket,
) -> io::Result<Opened> {
    let first = first_message(&mut stream).await?;
    if METHODS.iter().any(|method| first.starts_with(method)) {
        tell(stream).await?;
        return Ok(Opened::Told);
    }
    stream.give_back(first);
    let begun = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
    // The listener speaks no TLS any more.
    let (plan, terms) = terms().ok_or(io::ErrorKind::ConnectionAborted)?;
    let hello = begun.client_hello();
    let config = Arc::clone(plan.choose(hello.server_name()));
    let admission = Admission {
        terms,
        clients: plan.clients(hello.server_name()).cloned(),
    };
    let stream = begun.into_stream(config).await?;
    Ok(Opened::Secured(Box::new(stream), admission))
}

/// Answers plain HTTP. What the client still sends is read, since the system resets a connection that is closed before
/// that, and takes the answer with it.
async fn tell(mut stream: Socket) -> io::Result<()> {
    stream.write_all(PLAIN).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(REST), &mut tokio::io::sink()).await?;
    Ok(())
}

/// Reads the head of the first record, and what comes with it.
async fn first_message(stream: &mut Socket) -> io::Result<Bytes> {
    let mut first = BytesMut::with_capacity(FIRST_MESSAGE);
    while first.len() < RECORD_HEAD {
        if stream.read_buf(&mut first).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(first.freeze())
}

/// What a handshake agreed on, as Caddy tells it.
pub(super) fn facts(session: &ServerConnection) -> TlsFacts {
    let suite = session.negotiated_cipher_suite().map(|suite| suite.suite());
    let version = session.protocol_version();
    TlsFacts {
        version: match version {
            Some(ProtocolVersion::TLSv1_2) => "tls1.2",
            Some(ProtocolVersion::TLSv1_3) => "tls1.3",
            _ => "",
        },
        version_number: version.map_or(0, u16::from),
        cipher_suite: match suite {
            // The standard does not say the version.
            Some(CipherSuite::TLS13_AES_128_GCM_SHA256) => "TLS_AES_128_GCM_SHA256",
            Some(CipherSuite::TLS13_AES_256_GCM_SHA384) => "TLS_AES_256_GCM_SHA384",
            Some(CipherSuite::TLS13_CHACHA20_POLY1305_SHA256) => "TLS_CHACHA20_POLY1305_SHA256",
            Some(other) => other.as_str().unwrap_or_default(),
            None => "",
        },
        cipher_suite_number: suite.map_or(0, u16::from),
        resumed: session.handshake_kind() == Some(HandshakeKind::Resumed),
        proto: String::from_utf8_lossy(session.alpn_protocol().unwrap_or_default()).into_owned(),
        server_name: session.server_name().unwrap_or_default().to_owned(),
        client: session
            .peer_certificates()
            .and_then(<[_]>::first)
            .map(client_certificate),
    }
}

fn client_certificate(certificate: &CertificateDer<'_>) -> ClientCertificate {
    let der = certificate.to_vec();
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else {
        return ClientCertificate {
            der,
            ..ClientCertificate::default()
        };
    };
    // Of several, Caddy takes the last one.
    let common_name = parsed.subject().iter_common_name().last();
    ClientCertificate {
        common_name: common_name
            .and_then(|name| name.as_str().ok())
            .unwrap_or_default()
            .to_owned(),
        serial: parsed.serial.to_string(),
        der,
    }
}
