//! Upgraded connections, such as WebSockets: from a 101 on the proxy copies bytes both ways.
//!
//! A client of HTTP/2 asks for a WebSocket with an extended CONNECT (RFC 8441). It becomes the GET of HTTP/1.1 that asks
//! for the same before any route sees it, so that there is one form of it; the 101 becomes a 200 at the very end.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Extensions, Method, Response, StatusCode, Version};
use http1_codec::Stream;
use hyper::ext::Protocol;
use hyper_util::rt::TokioIo;
use sha1::{Digest as _, Sha1};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tracing::debug;

use super::marks::Marks;
use super::target::{self, Rejection};

const SEC_WEBSOCKET_ACCEPT: HeaderName = HeaderName::from_static("sec-websocket-accept");
const SEC_WEBSOCKET_KEY: HeaderName = HeaderName::from_static("sec-websocket-key");

/// What a server adds to the key of a client (RFC 6455, section 1.3).
const ACCEPT_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// An upgrade that a client asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    protocol: HeaderValue,
    websocket: bool,
    /// The key that is sent for a client that has none.
    key: Option<HeaderValue>,
}

/// Makes an extended CONNECT the request that asks for the same over HTTP/1.1.
///
/// # Errors
///
/// Any other CONNECT is refused, and so is any protocol but WebSocket.
pub(super) fn take_connect(parts: &mut Parts) -> Result<(), Rejection> {
    let Some(protocol) = parts.extensions.get::<Protocol>() else {
        return Err(target::refuse(
            StatusCode::METHOD_NOT_ALLOWED,
            "CONNECT is not served",
        ));
    };
    if !protocol.as_str().eq_ignore_ascii_case("websocket") {
        return Err(target::refuse(
            StatusCode::NOT_IMPLEMENTED,
            "the protocol of a CONNECT is not served",
        ));
    }
    parts.method = Method::GET;
    let headers = &mut parts.headers;
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    // Neither belongs to HTTP/2 (RFC 8441, section 5).
    headers.remove(SEC_WEBSOCKET_KEY);
    headers.remove(SEC_WEBSOCKET_ACCEPT);
    Ok(())
}

/// What a client of HTTP/2 that asked for an upgrade is told: a 101 is a 200 without the fields of HTTP/1.1. `false` if
/// the answer would look like one that opens a tunnel, and does not.
pub(crate) fn answer_connect(response: &mut Response<crate::body::Body>) -> bool {
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return !response.status().is_success();
    }
    *response.status_mut() = StatusCode::OK;
    for name in [header::CONNECTION, header::UPGRADE, SEC_WEBSOCKET_ACCEPT] {
        response.headers_mut().remove(name);
    }
    true
}

// === impl Wanted ===

impl Wanted {
    /// The upgrade that the request asks for. Only a GET of HTTP/1.1 without a body can, or one that was an extended
    /// CONNECT: anything else is answered as if the client had not asked, which RFC 9110, section 7.8 allows.
    pub(crate) fn of(parts: &Parts, marks: Marks, has_body: bool, was_connect: bool) -> Option<Self> {
        let asks = marks.any(Marks::UPGRADE)
            && parts.method == Method::GET
            && (parts.version == Version::HTTP_11 || was_connect)
            && !has_body
            && http1_codec::connection_has(&parts.headers, b"upgrade");
        let protocol = parts.headers.get(header::UPGRADE).filter(|_| asks)?;
        // An upgrade of the proxy's own protocol is not for upstreams to accept.
        if protocol
            .as_bytes()
            .get(..2)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"h2"))
        {
            return None;
        }
        Some(Self {
            protocol: protocol.clone(),
            websocket: was_connect || parts.headers.contains_key(SEC_WEBSOCKET_KEY),
            key: was_connect.then(new_key).flatten(),
        })
    }

    /// Asks the upstream for the same, after the hop-by-hop fields were removed.
    pub(crate) fn ask(&self, headers: &mut HeaderMap) {
        self.say(headers);
        if let Some(key) = &self.key {
            headers.insert(SEC_WEBSOCKET_KEY, key.clone());
        }
    }

    /// Names the protocol, in a request or in the answer that grants it.
    pub(crate) fn say(&self, headers: &mut HeaderMap) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, self.protocol.clone());
    }

    /// Whether a 101 with `headers` is an answer to this and to nothing else.
    pub(crate) fn is_granted_by(&self, headers: &HeaderMap) -> bool {
        let same = headers.get(header::UPGRADE).is_some_and(|granted| {
            self.protocol
                .as_bytes()
                .split(|byte| *byte == b',')
                .any(|wanted| wanted.trim_ascii().eq_ignore_ascii_case(granted.as_bytes()))
        });
        let mut accepts = headers.get_all(SEC_WEBSOCKET_ACCEPT).iter();
        let accepted = match (accepts.next(), &self.key) {
            (None, _) => !self.websocket,
            (Some(_), None) => true,
            // The client cannot look at it.
            (Some(accept), Some(key)) => accept.as_bytes() == accept_of(key.as_bytes()).as_bytes(),
        };
        same && accepted
    }
}

/// A random key (RFC 6455, section 4.1). It is no secret: it shows that the upstream read this request.
fn new_key() -> Option<HeaderValue> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    HeaderValue::try_from(STANDARD.encode(bytes)).ok()
}

/// What a server answers to `key` (RFC 6455, section 4.2.2).
fn accept_of(key: &[u8]) -> String {
    STANDARD.encode(
        Sha1::new()
            .chain_update(key)
            .chain_update(ACCEPT_SUFFIX)
            .finalize(),
    )
}

/// A client's connection, once its 101 is written.
pub(crate) enum OnUpgrade {
    /// Of this proxy's own server.
    Own(http1_codec::server::OnUpgrade),
    /// Of a server on hyper that the proxy is mounted in.
    Hyper(hyper::upgrade::OnUpgrade),
    /// One stream of a connection of HTTP/2.
    Stream(hyper::upgrade::OnUpgrade),
}

/// A stream of HTTP/2 as a byte stream. A reset ends both directions, which hyper tells of one that writes only.
#[derive(Debug)]
struct ClientStream {
    io: TokioIo<hyper::upgrade::Upgraded>,
    /// How often the end has been waited with, so that what else belongs to a reset is heard of.
    waited: u8,
}

/// How many turns of the other tasks a reset needs at most to be heard of by both directions.
const TURNS: u8 = 4;

// === impl OnUpgrade ===

impl OnUpgrade {
    /// What the server of the request has put beside it, if its connection can be upgraded.
    pub(crate) fn of(extensions: &mut Extensions) -> Option<Self> {
        let is_stream = extensions.remove::<Protocol>().is_some();
        let own = extensions.remove().map(Self::Own);
        own.or_else(|| {
            let kind = if is_stream { Self::Stream } else { Self::Hyper };
            extensions.remove().map(kind)
        })
    }

    /// Whether it is one stream of a connection, whose answer is that to an extended CONNECT.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self, Self::Stream(_))
    }

    async fn connection(self) -> Option<Box<dyn Stream>> {
        match self {
            Self::Own(own) => own.await.map(|connection| Box::new(connection) as _),
            Self::Hyper(hyper) => hyper
                .await
                .ok()
                .map(|connection| Box::new(TokioIo::new(connection)) as _),
            Self::Stream(stream) => stream.await.ok().map(|stream| {
                Box::new(ClientStream {
                    io: TokioIo::new(stream),
                    waited: 0,
                }) as _
            }),
        }
    }
}

// === impl ClientStream ===

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        if buf.filled().len() > before {
            return Poll::Ready(Ok(()));
        }
        // A reset by its client looks like a clean end, until its other direction has heard of it.
        if self.waited < TURNS {
            self.waited += 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        match Pin::new(&mut self.io).poll_flush(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// Copies bytes both ways until both directions have ended or one side broke. What either side sent right
/// behind the handshake comes first.
///
/// `buffer` is how many bytes of each direction are held at most.
pub(crate) async fn tunnel(client: OnUpgrade, mut upstream: impl Stream, buffer: usize) {
    let Some(mut client) = client.connection().await else {
        debug!("the client left before its connection was upgraded");
        return;
    };
    match tokio::io::copy_bidirectional_with_sizes(&mut client, &mut upstream, buffer, buffer).await {
        Ok((from_client, from_upstream)) => debug!(from_client, from_upstream, "tunnel ended"),
        Err(error) => debug!(%error, "tunnel broke"),
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn parts(method: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn wanted(parts: &Parts, has_body: bool) -> Option<Wanted> {
        Wanted::of(parts, Marks::of(&parts.headers), has_body, false)
    }

    const ASKS: [(&str, &str); 3] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-key", "x"),
    ];

    #[test]
    fn only_a_get_that_says_connection_upgrade_asks_for_one() {
        assert!(wanted(&parts("GET", &ASKS), false).is_some());
        assert!(wanted(&parts("GET", &ASKS), true).is_none());
        assert!(wanted(&parts("POST", &ASKS), false).is_none());
        assert!(wanted(&parts("GET", &ASKS[1..]), false).is_none());
        assert!(wanted(&parts("GET", &[ASKS[0], ("upgrade", "h2c")]), false).is_none());
        let mut old = parts("GET", &ASKS);
        old.version = Version::HTTP_10;
        assert!(wanted(&old, false).is_none());
    }

    #[test]
    fn the_key_that_the_proxy_made_must_be_answered() {
        let mut parts = parts("GET", &ASKS[..2]);
        parts.version = Version::HTTP_2;
        let marks = Marks::of(&parts.headers);
        let mut wanted = Wanted::of(&parts, marks, false, true).unwrap();
        assert!(wanted.key.is_some());
        // The example of RFC 6455, section 1.3.
        wanted.key = Some(HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ=="));
        let granted = |accept: &'static str| {
            wanted.is_granted_by(
                &self::parts(
                    "GET",
                    &[("upgrade", "websocket"), ("sec-websocket-accept", accept)],
                )
                .headers,
            )
        };
        assert!(granted("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        assert!(!granted("s3pPLMBiTxaQ9kYGzzhZRbK+xOO="));
        assert!(Wanted::of(&parts, marks, false, false).is_none());
    }

    #[test]
    fn a_101_must_grant_what_was_asked_for() {
        let wanted = wanted(&parts("GET", &ASKS), false).unwrap();
        let granted = |headers: &[(&str, &str)]| wanted.is_granted_by(&parts("GET", headers).headers);
        assert!(granted(&[
            ("upgrade", "websocket"),
            ("sec-websocket-accept", "y")
        ]));
        assert!(!granted(&[("upgrade", "websocket")]));
        assert!(!granted(&[("upgrade", "other"), ("sec-websocket-accept", "y")]));
        assert!(!granted(&[("sec-websocket-accept", "y")]));
    }
}
