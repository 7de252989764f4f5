//! One HTTP/2 connection to an upstream, shared by many requests.

use std::error::Error as _;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Uri, header};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tracing::debug;

use super::channel::{Fate, SendFailure};
use crate::body::{Body, OnEnd};
use crate::error::{Failure, Reason};
use crate::request::{self, may_repeat};
use crate::tasks::{StreamExecutor, Tasks};

/// A dead upstream is found by a PING that stays unanswered for this long.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// What one answer may send before its client takes it, and all answers of a connection together. Answers that
/// nobody reads must not use up what the others need.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 64 * 1024 * 1024;

/// The most streams at once until the upstream has told its own limit.
const MOST_STREAMS: usize = 100;

/// A connection that takes requests until it is closed or full.
#[derive(Clone, Debug)]
pub(crate) struct Http2 {
    sender: http2::SendRequest<Body>,
    streams: Arc<Streams>,
}

/// A place for one stream on a connection.
#[derive(Debug)]
pub(crate) struct Place {
    sender: http2::SendRequest<Body>,
    stream: OpenStream,
    shared: bool,
}

#[derive(Debug)]
struct Streams {
    open: AtomicUsize,
    most: AtomicUsize,
}

/// Counts until dropped.
#[derive(Debug)]
struct OpenStream(Arc<Streams>);

// === impl Http2 ===

impl Http2 {
    /// Begins HTTP/2 on a new connection and takes the first place on it.
    pub(crate) async fn open<I>(io: I, tasks: &Tasks) -> Result<(Self, Place), Failure>
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut builder = http2::Builder::new(StreamExecutor);
        builder
            .timer(TokioTimer::new())
            .initial_max_send_streams(MOST_STREAMS)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT);
        let (sender, connection) = builder.handshake(TokioIo::new(io)).await.map_err(failure)?;
        let streams = Arc::new(Streams {
            open: AtomicUsize::new(0),
            most: AtomicUsize::new(MOST_STREAMS),
        });
        let told = Arc::clone(&streams);
        tasks.spawn("upstream", async move {
            let mut connection = pin!(connection);
            let ended = std::future::poll_fn(|cx| {
                let ended: Poll<_> = Pin::as_mut(&mut connection).poll(cx);
                told.most
                    .store(connection.current_max_send_streams(), Ordering::Relaxed);
                ended
            });
            if let Err(error) = ended.await {
                debug!(%error, "upstream connection ended");
            }
        });
        let opened = Self { sender, streams };
        let place = opened.place(false);
        Ok((opened, place))
    }

    /// A place for one more request, unless the connection is closed or full: a request that waits for a place
    /// waits for as long as those that have one, and streams of Doors pages last.
    pub(crate) fn take(&self) -> Option<Place> {
        self.has_room().then(|| self.place(true))
    }

    /// Whether [`Http2::take`] gives a place now.
    pub(crate) fn has_room(&self) -> bool {
        let Streams { open, most } = &*self.streams;
        !self.is_closed() && open.load(Ordering::Relaxed) < most.load(Ordering::Relaxed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Whether no request is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.streams.open.load(Ordering::Relaxed) == 0
    }

    fn place(&self, shared: bool) -> Place {
        self.streams.open.fetch_add(1, Ordering::Relaxed);
        Place {
            sender: self.sender.clone(),
            stream: OpenStream(Arc::clone(&self.streams)),
            shared,
        }
    }
}

// === impl Place ===

impl Place {
    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn send(
        mut self,
        mut request: Box<Request<Body>>,
        added: &[(HeaderName, HeaderValue)],
    ) -> Result<Response<Body>, SendFailure> {
        let repeats = self.shared && may_repeat(&request);
        let copy = repeats.then(|| request::copy(&request)).flatten();
        for (name, value) in added {
            request.headers_mut().append(name, value.clone());
        }
        set_authority(&mut request);
        let mut error = match self.sender.try_send_request(*request).await {
            Ok(response) => return self.accept(response),
            Err(error) => error,
        };
        let fate = match (error.take_message(), copy) {
            (Some(mut unsent), _) => {
                for (name, _) in added {
                    remove_last(unsent.headers_mut(), name);
                }
                Fate::Unsent(Box::new(unsent))
            }
            (None, Some(copy)) if is_unanswered(error.error()) => Fate::Repeatable(copy),
            (None, _) => Fate::Sent,
        };
        Err(SendFailure {
            fate,
            failure: failure(error.into_error()),
        })
    }
}

/// Removes the field that was appended last.
fn remove_last(headers: &mut HeaderMap, name: &HeaderName) {
    let mut values: Vec<HeaderValue> = headers.get_all(name).iter().cloned().collect();
    values.pop();
    headers.remove(name);
    for value in values {
        headers.append(name, value);
    }
}

impl Place {
    /// Checks what h2 does not: that an answer has one length at most (RFC 9110, section 8.6).
    fn accept(self, mut response: Response<Incoming>) -> Result<Response<Body>, SendFailure> {
        match check_length(response.headers_mut()) {
            Ok(()) => Ok(response.map(|body| Body::from(body).on_end(Box::new(self.stream)))),
            Err(failure) => Err(SendFailure {
                fate: Fate::Sent,
                failure,
            }),
        }
    }
}

fn check_length(headers: &mut HeaderMap) -> Result<(), Failure> {
    http1_codec::plain_length(headers).map_err(|error| Failure::from(Reason::BadResponse).with_source(error))
}

fn failure(error: hyper::Error) -> Failure {
    if error.is_user() {
        return Failure::of_body(error.into());
    }
    let reason = if error.is_parse() {
        Reason::BadResponse
    } else {
        Reason::Closed
    };
    Failure::from(reason).with_source(error)
}

/// Whether the connection ended under the request, or the upstream says that it did not look at it (RFC 9113,
/// section 8.7). Any other reset is an answer of a kind.
fn is_unanswered(error: &hyper::Error) -> bool {
    let Some(source) = error.source() else {
        return false;
    };
    if let Some(error) = source.downcast_ref::<h2::Error>() {
        error.is_go_away() || error.is_io() || error.reason() == Some(h2::Reason::REFUSED_STREAM)
    } else {
        source.is::<io::Error>()
    }
}

/// HTTP/2 has the host in `:authority`, which a request must carry if it was made to a host (RFC 9113,
/// section 8.3.1).
fn set_authority(request: &mut Request<Body>) {
    let Some(host) = request.headers().get(header::HOST) else {
        return;
    };
    let Ok(authority) = Authority::try_from(host.as_bytes()) else {
        return;
    };
    let mut parts = request.uri().clone().into_parts();
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Some(authority);
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
        request.headers_mut().remove(header::HOST);
    }
}

// === impl OpenStream ===

impl OnEnd for OpenStream {
    fn end(self: Box<Self>, _: bool) {}
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::DuplexStream;

    use super::*;

    #[test]
    fn an_answer_has_one_plain_length() {
        let length = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::CONTENT_LENGTH, HeaderValue::from_static(value));
            }
            check_length(&mut headers).map(|()| headers)
        };
        for bad in [&["5", "6"][..], &["5, 5"], &["+5"], &[""]] {
            assert_eq!(length(bad).unwrap_err().reason, Reason::BadResponse, "{bad:?}");
        }
        let headers = length(&["05", "05"]).unwrap();
        assert_eq!(
            headers.get_all("content-length").iter().collect::<Vec<_>>(),
            ["5"]
        );
    }

    #[test]
    fn the_field_that_came_last_is_removed_and_no_other() {
        let mut headers = HeaderMap::new();
        for hop in ["1.1 a", "1.1 b", "1.1 doorway"] {
            headers.append(header::VIA, HeaderValue::from_static(hop));
        }
        remove_last(&mut headers, &header::VIA);
        assert_eq!(
            headers.get_all(header::VIA).iter().collect::<Vec<_>>(),
            ["1.1 a", "1.1 b"]
        );
    }

    type Server = h2::server::Connection<DuplexStream, bytes::Bytes>;

    #[tokio::test]
    async fn connections_that_nobody_needs_are_not_kept() {
        let pool = crate::upstream::pool::Pool::default();
        let address = "127.0.0.1:1".parse().unwrap();
        let mut servers = Vec::new();
        for _ in 0..3 {
            let (connection, place, server) = opened(10).await;
            pool.share(address, connection, crate::upstream::pool::PoolLimits::default());
            servers.push(server);
            drop(place);
        }
        for server in servers.iter_mut().skip(1) {
            let end = server.accept().await;
            assert!(
                !matches!(end, Some(Ok(_))),
                "no request comes, the connection ends"
            );
        }
        assert!(
            pool.take(address, crate::upstream::channel::Protocol::H2c)
                .is_some()
        );
    }

    /// A connection to an upstream that allows `most` streams at once, with the first place on it.
    async fn opened(most: u32) -> (Http2, Place, Server) {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let mut settings = h2::server::Builder::new();
        settings.max_concurrent_streams(most);
        let tasks = Tasks::default();
        let (opened, server) = tokio::join!(Http2::open(near, &tasks), settings.handshake(far));
        let (connection, place) = opened.unwrap();
        (connection, place, server.unwrap())
    }

    fn get() -> Box<Request<Body>> {
        Box::new(
            Request::get("/")
                .header("host", "a.test")
                .body(Body::empty())
                .unwrap(),
        )
    }

    async fn answered(place: Place, server: &mut Server) -> Response<Body> {
        let answer = async {
            let (_, mut answer) = server.accept().await.unwrap().unwrap();
            let mut body = answer.send_response(Response::new(()), false).unwrap();
            let more = std::future::poll_fn(|cx| server.poll_closed(cx));
            tokio::select! {
                _ = more => unreachable!("the connection stays open"),
                () = tokio::task::yield_now() => {}
            }
            body.send_data("ok".into(), true).unwrap();
            server.accept().await;
        };
        tokio::select! {
            response = place.send(get(), &[]) => response.unwrap(),
            () = answer => unreachable!("no other request comes"),
        }
    }

    #[tokio::test]
    async fn a_full_connection_gives_no_place_until_an_answer_has_ended() {
        let (connection, place, mut server) = opened(1).await;
        // The limit is told with the first answer.
        let response = answered(place, &mut server).await;
        assert!(connection.take().is_none(), "its body is not read yet");
        assert!(!connection.is_idle());
        drop(response);
        assert!(connection.is_idle());
        let place = connection.take();
        assert!(place.is_some());
        assert!(connection.take().is_none());
    }

    #[tokio::test]
    async fn a_request_that_is_given_up_leaves_its_place() {
        let (connection, place, _server) = opened(1).await;
        let mut sending = Box::pin(place.send(get(), &[]));
        tokio::select! {
            biased;
            _ = sending.as_mut() => unreachable!("nobody answers"),
            () = tokio::task::yield_now() => {}
        }
        assert!(!connection.is_idle());
        drop(sending);
        assert!(connection.is_idle());
    }

    #[tokio::test]
    async fn a_connection_that_ends_under_a_request_was_stale_if_it_was_shared() {
        for shared in [false, true] {
            let (connection, first, mut server) = opened(10).await;
            let place = if shared { connection.take().unwrap() } else { first };
            let ends = async move {
                let _request = server.accept().await.unwrap().unwrap();
                drop(server);
            };
            let (result, ()) = tokio::join!(place.send(get(), &[]), ends);
            let repeatable = matches!(result.unwrap_err().fate, Fate::Repeatable(_));
            assert_eq!(repeatable, shared);
        }
    }

    #[tokio::test]
    async fn only_a_refused_stream_was_not_looked_at() {
        for (reason, stale) in [
            (h2::Reason::REFUSED_STREAM, true),
            (h2::Reason::INTERNAL_ERROR, false),
        ] {
            let (connection, _first, mut server) = opened(10).await;
            let resets = async {
                let (_, mut answer) = server.accept().await.unwrap().unwrap();
                answer.send_reset(reason);
                server.accept().await;
            };
            let result = tokio::select! {
                result = connection.take().unwrap().send(get(), &[]) => result,
                () = resets => unreachable!("no other request comes"),
            };
            let repeatable = matches!(result.unwrap_err().fate, Fate::Repeatable(_));
            assert_eq!(repeatable, stale, "{reason}");
        }
    }
}
