//! Upstreams that speak TLS, and the authority that signs their certificates.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;
use rustls::{HandshakeKind, RootCertStore, ServerConfig};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::task::AbortOnDropHandle;

use super::wait::{Changes, within};
use super::wire::Wire;

/// An authority, with its certificate in a file.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

/// A certificate and its key.
pub(crate) struct Leaf {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: KeyPair,
}

/// An upstream that answers every request over TLS with 200, and keeps what it saw.
pub(crate) struct Secure {
    addr: SocketAddr,
    shared: Arc<Shared>,
    _serving: AbortOnDropHandle<()>,
}

/// A request that reached a [`Secure`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Which connection it came on, counted from 0.
    pub(crate) connection: usize,
    /// `h2` or `http/1.1`.
    pub(crate) protocol: String,
    pub(crate) server_name: Option<String>,
    pub(crate) resumed: bool,
    /// Certificates that the client showed.
    pub(crate) shown: usize,
    /// The Host, or the authority.
    pub(crate) host: String,
    pub(crate) scheme: Option<String>,
}

struct Shared {
    acceptor: TlsAcceptor,
    seen: Mutex<Seen>,
    changes: Changes,
}

#[derive(Default)]
struct Seen {
    requests: Vec<Request>,
    accepted: usize,
    /// Handshakes that failed.
    failed: Vec<String>,
}

// === impl Authority ===

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer =
            CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a root");
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).expect("the folder can be written to");
        Self { issuer, folder }
    }

    /// The file with its certificate.
    pub(crate) fn file(&self) -> String {
        self.folder.path().join("ca.pem").display().to_string()
    }

    /// The certificate.
    pub(crate) fn root(&self) -> CertificateDer<'static> {
        self.issuer.der().clone()
    }

    /// A certificate for these names and addresses.
    pub(crate) fn sign(&self, names: &[&str]) -> Leaf {
        self.sign_with(names, |_| {})
    }

    /// One that has expired.
    pub(crate) fn sign_expired(&self, names: &[&str]) -> Leaf {
        self.sign_with(names, |params| {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        })
    }

    fn sign_with(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Leaf {
        let key = KeyPair::generate().expect("a key");
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Leaf {
            certificate: certificate.der().clone(),
            key,
        }
    }

    /// Files with a certificate for the proxy to show, and its key.
    pub(crate) fn client_files(&self) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(["proxy.test".to_owned()]).expect("a name");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let file = |name: &str, text: &str| {
            let path = self.folder.path().join(name);
            std::fs::write(&path, text).expect("the folder can be written to");
            path
        };
        (
            file("client.pem", &certificate.pem()),
            file("client.key", &key.serialize_pem()),
        )
    }

    /// Where other files may be put.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

// === impl Leaf ===

impl Leaf {
    /// What a server that has it does, offering these protocols.
    pub(crate) fn server(self, alpn: &[&str], clients_of: Option<&Authority>) -> ServerConfig {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("the provider has the default versions");
        let builder = match clients_of {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.root()).expect("a root");
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().expect("one root"))
            }
        };
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).expect("a key");
        let mut config = builder
            .with_single_cert(vec![self.certificate], key)
            .expect("the key is that of the certificate");
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        config
    }
}

// === impl Secure ===

impl Secure {
    /// An upstream with this certificate that speaks both versions of HTTP.
    pub(crate) async fn start(leaf: Leaf) -> Self {
        Self::with(leaf.server(&["h2", "http/1.1"], None)).await
    }

    /// An upstream with this configuration.
    pub(crate) async fn with(config: ServerConfig) -> Self {
        Self::at((Ipv4Addr::LOCALHOST, 0).into(), config).await
    }

    /// The same at an address.
    pub(crate) async fn at(addr: SocketAddr, config: ServerConfig) -> Self {
        let listener = TcpListener::bind(addr).await.expect("a free port");
        let addr = listener.local_addr().expect("bound");
        let shared = Arc::new(Shared {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            seen: Mutex::default(),
            changes: Changes::new(),
        });
        let serving = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self {
            addr,
            shared,
            _serving: AbortOnDropHandle::new(serving),
        }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Every request so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.look(|seen| seen.requests.clone())
    }

    /// The last request.
    pub(crate) fn last(&self) -> Request {
        self.requests().pop().expect("a request came")
    }

    /// How many connections were accepted.
    pub(crate) fn accepted(&self) -> usize {
        self.shared.look(|seen| seen.accepted)
    }

    /// Waits for a handshake to fail, and says why.
    pub(crate) async fn failure(&self) -> String {
        let failed = || self.shared.look(|seen| seen.failed.first().cloned());
        self.shared.changes.until("a handshake that fails", failed).await
    }
}

// === impl Shared ===

impl Shared {
    fn look<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, request: Request) {
        self.look(|seen| seen.requests.push(request));
        self.changes.announce();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.expect("the listener is open");
        let number = shared.look(|seen| {
            seen.accepted += 1;
            seen.accepted - 1
        });
        connections.spawn(converse(stream, number, Arc::clone(&shared)));
    }
}

async fn converse(stream: TcpStream, connection: usize, shared: Arc<Shared>) {
    let stream = match shared.acceptor.accept(stream).await {
        Ok(stream) => stream,
        Err(error) => {
            shared.look(|seen| seen.failed.push(error.to_string()));
            shared.changes.announce();
            return;
        }
    };
    let tls = stream.get_ref().1;
    let protocol = tls.alpn_protocol().unwrap_or(b"http/1.1");
    let request = Request {
        connection,
        protocol: String::from_utf8_lossy(protocol).into_owned(),
        server_name: tls.server_name().map(ToOwned::to_owned),
        resumed: tls.handshake_kind() == Some(HandshakeKind::Resumed),
        shown: tls.peer_certificates().map_or(0, <[_]>::len),
        host: String::new(),
        scheme: None,
    };
    if request.protocol == "h2" {
        many(stream, request, &shared).await;
    } else {
        one_by_one(stream, request, &shared).await;
    }
}

async fn one_by_one(stream: TlsStream<TcpStream>, connection: Request, shared: &Shared) {
    let mut wire = Wire::over(stream);
    while let Ok(message) = wire.try_request().await {
        shared.note(Request {
            host: message.head.field("host").unwrap_or_default(),
            ..connection.clone()
        });
        if message.head.has("upgrade") {
            let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
            wire.send(head).await;
            let (bytes, _) = wire.more().await;
            wire.send(bytes).await;
            return;
        }
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    }
}

async fn many(stream: TlsStream<TcpStream>, connection: Request, shared: &Shared) {
    let mut server = h2::server::handshake(stream).await.expect("an HTTP/2 client");
    while let Some(Ok((request, mut answer))) = server.accept().await {
        let uri = request.uri();
        shared.note(Request {
            host: uri.authority().map(ToString::to_string).unwrap_or_default(),
            scheme: uri.scheme_str().map(ToOwned::to_owned),
            ..connection.clone()
        });
        let mut body = answer
            .send_response(http::Response::new(()), false)
            .expect("the stream is open");
        body.send_data(Bytes::from_static(b"ok"), true)
            .expect("the stream is open");
    }
}

/// Shakes hands with the client behind `stream`.
pub(crate) async fn accept(stream: TcpStream, config: &Arc<ServerConfig>) -> TlsStream<TcpStream> {
    let acceptor = TlsAcceptor::from(Arc::clone(config));
    within("a handshake", acceptor.accept(stream))
        .await
        .expect("the handshake succeeds")
}
