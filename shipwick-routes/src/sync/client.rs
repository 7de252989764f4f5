//! The requests to the admin API, each over a connection of its own: a load replaces the endpoint, and what is kept open
//! may end with it.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time;

use super::SyncError;
use crate::admin_address::{AdminAddress, AdminTarget};
use crate::text::line;

/// The host over a socket: none, which is what Caddy 2.6 insists on. From 2.7 on it takes `127.0.0.1` as well, from 2.10 on
/// any.
const SOCKET_HOST: &str = "";

/// How much of a refusal is passed on.
const MOST_TEXT: usize = 2048;

/// How long the text of a refusal is waited for, after its status.
const TEXT: Duration = Duration::from_secs(1);

/// How often a request is sent that gets no answer: a proxy that has just loaded something, and replaces its endpoint, may
/// close a connection that it has not looked at. Whatever is asked may be asked twice.
const ATTEMPTS: usize = 3;

/// How long it has for that in between.
const PAUSE: Duration = Duration::from_millis(50);

/// Asks one admin API.
#[derive(Debug)]
pub(super) struct Client {
    admin: AdminAddress,
    timeout: Duration,
}

/// Which file a socket is. Whoever listens anew makes another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SocketFile {
    device: u64,
    inode: u64,
    /// Inodes are used again.
    changed: (i64, i64),
}

/// Something that bytes go through.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

// === impl Client ===

impl Client {
    pub(super) fn new(admin: AdminAddress, timeout: Duration) -> Self {
        Self { admin, timeout }
    }

    pub(super) fn admin(&self) -> &AdminAddress {
        &self.admin
    }

    /// The socket's file, by which a proxy that has started again is noticed without a request; `None` without one.
    pub(super) fn socket_file(&self) -> Option<SocketFile> {
        let AdminTarget::Socket(path) = self.admin.target() else {
            return None;
        };
        let file = path.symlink_metadata().ok()?;
        Some(SocketFile {
            device: file.dev(),
            inode: file.ino(),
            changed: (file.ctime(), file.ctime_nsec()),
        })
    }

    /// Whether the proxy runs a configuration with this `@id`.
    pub(super) async fn has(&self, marker: &str) -> Result<bool, SyncError> {
        let (status, _) = self
            .send(Method::GET, &format!("/id/{marker}"), Bytes::new())
            .await?;
        Ok(status == StatusCode::OK)
    }

    /// Has the proxy run `configuration`.
    pub(super) async fn load(&self, configuration: Vec<u8>) -> Result<(), SyncError> {
        let (status, text) = self.send(Method::POST, "/load", configuration.into()).await?;
        if status == StatusCode::OK {
            return Ok(());
        }
        Err(SyncError::Rejected {
            status: status.as_u16(),
            text: said(&text),
        })
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Vec<u8>), SyncError> {
        let attempts = async {
            let mut left = ATTEMPTS;
            loop {
                left = left.saturating_sub(1);
                let (stream, host) = self.connect().await.map_err(|error| error.to_string())?;
                let request = request(&method, path, &host, body.clone());
                let request = request.map_err(|error| error.to_string())?;
                match exchange(stream, request).await {
                    Err(error) if left > 0 && is_unanswered(&error) => time::sleep(PAUSE).await,
                    outcome => return outcome.map_err(|error| cause(&error)),
                }
            }
        };
        let outcome = time::timeout(self.timeout, attempts).await;
        let outcome = outcome.unwrap_or_else(|_| Err(format!("no answer within {:?}", self.timeout)));
        outcome.map_err(SyncError::Unreachable)
    }

    async fn connect(&self) -> io::Result<(Box<dyn Stream>, String)> {
        match self.admin.target() {
            AdminTarget::Socket(path) => {
                let stream = UnixStream::connect(path).await;
                let stream =
                    stream.map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
                Ok((Box::new(stream), SOCKET_HOST.to_owned()))
            }
            AdminTarget::Tcp(upstream) => {
                let stream = TcpStream::connect((upstream.host(), upstream.port())).await;
                let stream = stream.map_err(|error| io::Error::other(format!("{upstream}: {error}")))?;
                Ok((Box::new(stream), upstream.to_string()))
            }
        }
    }
}

fn request(
    method: &Method,
    path: &str,
    host: &str,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, host)
        .header(CONNECTION, "close");
    if !body.is_empty() {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    request.body(Full::new(body))
}

/// Whether the connection ended before there was an answer.
fn is_unanswered(error: &hyper::Error) -> bool {
    let broken = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
        )
    };
    let source = std::error::Error::source(error);
    error.is_incomplete_message()
        || source
            .and_then(|source| source.downcast_ref())
            .is_some_and(broken)
}

/// Sends `request`; gives the status of the answer and the beginning of its body.
async fn exchange(
    stream: Box<dyn Stream>,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Vec<u8>), hyper::Error> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let answer = async {
        let (head, body) = sender.send_request(request).await?.into_parts();
        // What was said is only shown: a body that is cut has said enough.
        let text = if head.status == StatusCode::OK {
            Vec::new()
        } else {
            beginning(body).await
        };
        Ok((head.status, text))
    };
    let (mut answer, mut connection) = (pin!(answer), pin!(connection));
    let mut open = true;
    loop {
        tokio::select! {
            answer = answer.as_mut() => return answer,
            // How it ended is what the answer says.
            _ended = connection.as_mut(), if open => open = false,
        }
    }
}

async fn beginning(mut body: Incoming) -> Vec<u8> {
    let mut text = Vec::new();
    let until = time::Instant::now() + TEXT;
    while text.len() < MOST_TEXT {
        let Ok(Some(Ok(frame))) = time::timeout_at(until, body.frame()).await else {
            break;
        };
        let Ok(data) = frame.into_data() else { break };
        text.extend(data.into_iter().take(MOST_TEXT.saturating_sub(text.len())));
    }
    text
}

/// What an answer says, without its JSON if it is an admin API's.
fn said(text: &[u8]) -> String {
    let error = serde_json::from_slice::<serde_json::Value>(text).ok();
    let error = error.as_ref().and_then(|body| body.get("error")?.as_str());
    match error {
        Some(error) => line(error, MOST_TEXT),
        None => line(&String::from_utf8_lossy(text), MOST_TEXT),
    }
}

/// What is at the bottom of it, which hyper does not say by itself.
fn cause(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(below) = source {
        text.push_str(&format!(": {below}"));
        source = below.source();
    }
    text
}
