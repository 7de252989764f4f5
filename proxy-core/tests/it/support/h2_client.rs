//! An HTTP/2 client for the tests: prior knowledge in the clear, or over TLS by ALPN; every stream in the test's
//! hands.

use std::future::poll_fn;
use std::net::SocketAddr;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::ext::Protocol;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use super::tls;
use super::wait::{eventually, within};

/// One HTTP/2 connection to the proxy.
pub(crate) struct H2 {
    send: SendRequest<Bytes>,
    connection: AbortOnDropHandle<Result<(), h2::Error>>,
    origin: String,
}

/// One open stream: what is sent on it and what comes back.
pub(crate) struct Stream {
    pub(crate) body: SendStream<Bytes>,
    response: ResponseFuture,
}

/// A whole response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

// === impl H2 ===

impl H2 {
    /// Connects with prior knowledge; requests are for `host`.
    pub(crate) async fn clear(addr: SocketAddr, host: &str) -> Self {
        let stream = within("connecting", TcpStream::connect(addr))
            .await
            .expect("the listener accepts");
        Self::over(stream, format!("http://{host}")).await
    }

    /// Connects over TLS, which must choose h2; requests are for `host`.
    pub(crate) async fn tls(addr: SocketAddr, host: &str) -> Self {
        let stream = tls::connect(addr, host, &[b"h2"]).await;
        assert_eq!(
            stream.get_ref().1.alpn_protocol(),
            Some(b"h2".as_slice()),
            "ALPN chooses h2"
        );
        Self::over(stream, format!("https://{host}")).await
    }

    /// Speaks over `stream`; requests are for `origin`, a URL without a path.
    pub(crate) async fn over(stream: impl super::wire::Stream + 'static, origin: String) -> Self {
        if let Some(tcp) = stream.tcp() {
            tcp.set_nodelay(true).expect("the socket is open");
        }
        let (send, connection) = within("the h2 handshake", h2::client::handshake(stream))
            .await
            .expect("speaks h2");
        Self {
            send,
            connection: AbortOnDropHandle::new(tokio::spawn(connection)),
            origin,
        }
    }

    /// A request for `path` on this connection's host.
    pub(crate) fn request(&self, method: Method, path: &str) -> http::request::Builder {
        Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.origin))
    }

    /// Opens a stream with this request; `ended` says that no body follows.
    pub(crate) async fn open(&mut self, request: Request<()>, ended: bool) -> Stream {
        let stream = self.try_open(request, ended).await;
        stream.expect("the connection takes another stream")
    }

    /// Opens a stream unless the connection is closed or closing.
    pub(crate) async fn try_open(&mut self, request: Request<()>, ended: bool) -> Result<Stream, h2::Error> {
        within("room for a stream", poll_fn(|cx| self.send.poll_ready(cx))).await?;
        let (response, body) = self.send.send_request(request, ended)?;
        Ok(Stream { body, response })
    }

    /// Asks for a tunnel of `protocol` (RFC 8441), with these fields. The proxy must have said that it knows how.
    pub(crate) async fn tunnel(&mut self, protocol: &str, path: &str, fields: &[(&str, &str)]) -> Stream {
        let mut request = self.request(Method::CONNECT, path);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let mut request = request.body(()).expect("a valid request");
        request.extensions_mut().insert(Protocol::from(protocol));
        eventually("the proxy's settings", async || {
            self.send.is_extended_connect_protocol_enabled().then_some(())
        })
        .await;
        self.open(request, false).await
    }

    /// Sends a GET and reads the whole response.
    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        let request = self.request(Method::GET, path).body(()).expect("a valid request");
        self.open(request, true).await.answer().await
    }

    /// Waits for the end of the connection: the reason of its GOAWAY, if there was one with an error.
    pub(crate) async fn closed(self) -> Option<Reason> {
        let Self { send, connection, .. } = self;
        drop(send);
        let ended = within("the end of the h2 connection", connection)
            .await
            .expect("the driver does not panic");
        ended.err().and_then(|error| error.reason())
    }
}

// === impl Stream ===

impl Stream {
    /// Sends one piece of the body.
    pub(crate) fn send(&mut self, bytes: impl Into<Bytes>) {
        self.body
            .send_data(bytes.into(), false)
            .expect("the stream is open");
    }

    /// Sends one piece of the body as soon as the other side has room for it.
    pub(crate) async fn send_when_ready(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.body.reserve_capacity(bytes.len());
            let room = within("room for a piece", poll_fn(|cx| self.body.poll_capacity(cx))).await;
            let room = room
                .expect("the stream is open")
                .expect("the stream is not reset");
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.send(Bytes::copy_from_slice(now));
            bytes = later;
        }
    }

    /// Ends the body.
    pub(crate) fn finish(&mut self) {
        self.body
            .send_data(Bytes::new(), true)
            .expect("the stream is open");
    }

    /// Gives the stream up, as a browser does when the page goes away.
    pub(crate) fn cancel(mut self) {
        self.body.send_reset(Reason::CANCEL);
    }

    /// The next interim response, if one comes before the final one.
    pub(crate) async fn interim(&mut self) -> Option<Response<()>> {
        let next = within(
            "an interim response",
            poll_fn(|cx| self.response.poll_informational(cx)),
        )
        .await;
        next.map(|response| response.expect("the stream is not reset"))
    }

    /// The head of the response and its body.
    pub(crate) async fn response(&mut self) -> Response<RecvStream> {
        self.try_response().await.expect("the stream is not reset")
    }

    /// The head of the response, or how the stream was reset.
    pub(crate) async fn try_response(&mut self) -> Result<Response<RecvStream>, h2::Error> {
        within("a response", &mut self.response).await
    }

    /// The whole response.
    pub(crate) async fn answer(mut self) -> Answer {
        let (head, mut stream) = self.response().await.into_parts();
        let (body, _) = read(&mut stream).await.expect("the body is whole");
        Answer {
            status: head.status,
            headers: head.headers,
            body,
        }
    }

    /// Waits until the other side resets the stream while it is still being sent to.
    pub(crate) async fn until_reset(&mut self) -> Reason {
        let reset = within("a reset of the stream", poll_fn(|cx| self.body.poll_reset(cx))).await;
        reset.expect("the stream is reset by its peer")
    }
}

/// The next piece of a body that is not empty, or none at its clean end.
pub(crate) async fn piece(stream: &mut RecvStream) -> Option<Bytes> {
    let mut piece = Bytes::new();
    while piece.is_empty() {
        piece = within("a piece of a body", stream.data())
            .await?
            .expect("the body is not cut");
    }
    stream
        .flow_control()
        .release_capacity(piece.len())
        .expect("what came can be released");
    Some(piece)
}

/// The rest of a body and its trailers, or how it was cut.
pub(crate) async fn read(stream: &mut RecvStream) -> Result<(Vec<u8>, Option<HeaderMap>), h2::Error> {
    let mut body = Vec::new();
    while let Some(piece) = within("a piece of a body", stream.data()).await {
        let piece = piece?;
        stream.flow_control().release_capacity(piece.len())?;
        body.extend_from_slice(&piece);
    }
    let trailers = within("the end of a body", stream.trailers()).await?;
    Ok((body, trailers))
}
