//! One request over a connection of its own.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use caddy_config::{HostPort, ListenAddress};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{self, HeaderValue};
use hyper::{Method, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time;

/// How long a connection may take to open.
const CONNECT: Duration = Duration::from_secs(5);

/// How long an answer may take: a large configuration is loaded within it.
const ANSWER: Duration = Duration::from_secs(120);

/// The longest answer.
const MAX_BODY: usize = 100 * 1024 * 1024;

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    method: Method,
    path: String,
    fields: Vec<(&'static str, String)>,
    body: Bytes,
    patience: Duration,
}

/// What is answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
    etag: Option<String>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failed {
    /// Nobody listens there.
    Silence(String),
    Other(String),
}

// === impl Request ===

impl Request {
    pub(crate) fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            fields: Vec::new(),
            body: Bytes::new(),
            patience: ANSWER,
        }
    }

    /// Whose answer may take so long, or as long as others may.
    pub(crate) fn patient(mut self, patience: Duration) -> Self {
        self.patience = patience.max(ANSWER);
        self
    }

    /// With a body of JSON.
    pub(crate) fn with_json(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.with("content-type", "application/json".to_owned())
    }

    /// With one more field.
    pub(crate) fn with(mut self, name: &'static str, value: String) -> Self {
        self.fields.push((name, value));
        self
    }
}

// === impl Answer ===

impl Answer {
    /// The version of what is answered, in its quotes.
    pub(crate) fn etag(&self) -> Option<&str> {
        self.etag.as_deref()
    }
}

// === impl Failed ===

impl Failed {
    pub(super) fn is_silence(&self) -> bool {
        matches!(self, Self::Silence(_))
    }

    pub(super) fn stranger(address: &ListenAddress) -> Self {
        Self::Other(format!(
            "what listens on {address} is not Doorway, perhaps Caddy; say with --address where it is to be asked"
        ))
    }

    fn new(address: &ListenAddress, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
                Self::Silence(format!("nothing listens on {address}"))
            }
            _ => Self::Other(format!("cannot connect to {address}: {error}")),
        }
    }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Silence(text) | Self::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failed {}

/// Sends `request` to the admin API at `address`.
pub(super) async fn send(address: &ListenAddress, request: Request) -> Result<Answer, Failed> {
    let first = send_as(address, &request, false).await?;
    // An endpoint that wants an origin from everybody says so.
    if first.status != StatusCode::FORBIDDEN {
        return Ok(first);
    }
    send_as(address, &request, true).await
}

async fn send_as(address: &ListenAddress, request: &Request, with_origin: bool) -> Result<Answer, Failed> {
    let failed = |error: io::Error| Failed::new(address, &error);
    match address {
        ListenAddress::Tcp(tcp) => {
            let (to, host) = reachable(tcp);
            let opening = TcpStream::connect((to.host().to_owned(), to.port()));
            let stream = within(address, CONNECT, opening).await?.map_err(failed)?;
            exchange(address, stream, request, &host, with_origin).await
        }
        ListenAddress::Unix(socket) => {
            let path = match socket.path().strip_prefix('@') {
                Some(name) => format!("\0{name}"),
                None => socket.path().to_owned(),
            };
            let opening = UnixStream::connect(path);
            let stream = within(address, CONNECT, opening).await?.map_err(failed)?;
            // Over a socket there are no origins, and whoever may connect to it may ask. Caddy 2.6 wants no host.
            exchange(address, stream, request, "", false).await
        }
    }
}

async fn exchange(
    address: &ListenAddress,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    request: &Request,
    host: &str,
    with_origin: bool,
) -> Result<Answer, Failed> {
    let failed = |error: hyper::Error| Failed::Other(format!("the connection to {address} failed: {error}"));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let mut head = hyper::Request::builder()
        .method(request.method.clone())
        .uri(&request.path)
        .header(header::HOST, host)
        .header(header::CONNECTION, HeaderValue::from_static("close"));
    if with_origin {
        head = head.header(header::ORIGIN, format!("http://{host}"));
    }
    for (name, value) in &request.fields {
        head = head.header(*name, value);
    }
    let message = head
        .body(Full::new(request.body.clone()))
        .map_err(|error| Failed::Other(format!("this cannot be asked: {error}")))?;
    let asking = async {
        let (head, body) = sender.send_request(message).await.map_err(failed)?.into_parts();
        #[expect(
            clippy::disallowed_methods,
            reason = "limited: whoever listens there may be anybody"
        )]
        let body = Limited::new(body, MAX_BODY).collect().await;
        let body = body.map_err(|error| Failed::Other(format!("the answer of {address} is cut: {error}")))?;
        let etag = head.headers.get(header::ETAG).and_then(|etag| etag.to_str().ok());
        Ok(Answer {
            etag: etag.map(str::to_owned),
            status: head.status,
            body: String::from_utf8_lossy(&body.to_bytes()).into_owned(),
        })
    };
    let (mut asking, mut connection) = (pin!(asking), pin!(connection));
    let mut open = true;
    let both = async {
        loop {
            tokio::select! {
                answer = asking.as_mut() => return answer,
                // How it ended is what the answer says.
                _ended = connection.as_mut(), if open => open = false,
            }
        }
    };
    within(address, request.patience, both).await?
}

async fn within<T>(
    address: &ListenAddress,
    time: Duration,
    work: impl Future<Output = T>,
) -> Result<T, Failed> {
    time::timeout(time, work)
        .await
        .map_err(|_| Failed::Other(format!("{address} does not answer within {} s", time.as_secs())))
}

/// Where an address that is listened on can be reached, and the host to name there.
fn reachable(address: &HostPort) -> (HostPort, String) {
    let everywhere = address.host().is_empty() || address.ip().is_some_and(|ip| ip.is_unspecified());
    if !everywhere {
        return (address.clone(), address.to_string());
    }
    let loopback = if address.ip().is_some_and(|ip| ip.is_ipv4()) || address.host().is_empty() {
        Ipv4Addr::LOCALHOST.to_string()
    } else {
        Ipv6Addr::LOCALHOST.to_string()
    };
    // As it is written, since that is the origin which such an endpoint allows.
    (HostPort::new(loopback, address.port()), address.to_string())
}
