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
use http1_codec::HeadLimits;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Notify;
use tracing::debug;

use super::channel::{Fate, SendFailure};
use super::transport::Connected;
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

/// How many bytes of a request may wait for an upstream that takes no more.
const SEND_BUFFER: usize = 64 * 1024;

/// The most streams at once until the upstream has told its own limit.
pub(crate) const MOST_STREAMS: usize = 100;

/// A connection that takes requests until it is closed or full.
#[derive(Clone, Debug)]
pub(crate) struct Http2 {
    sender: http2::SendRequest<Body>,
    streams: Arc<Streams>,
    tls: bool,
}

/// A place for one stream on a connection.
#[derive(Debug)]
pub(crate) struct Place {
    sender: http2::SendRequest<Body>,
    stream: OpenStream,
    shared: bool,
    tls: bool,
}

#[derive(Debug)]
struct Streams {
    open: AtomicUsize,
    most: AtomicUsize,
    /// Somebody may wait for one to end.
    freed: Option<Arc<Notify>>,
}

/// Counts until dropped.
#[derive(Debug)]
struct OpenStream(Arc<Streams>);

// === impl Http2 ===

impl Http2 {
    /// Begins HTTP/2 on a new connection and takes the first place on it.
    ///
    /// `freed` is told when a stream has ended.
    pub(crate) async fn open(
        connected: Connected,
        limits: &HeadLimits,
        freed: Option<Arc<Notify>>,
        tasks: &Tasks,
    ) -> Result<(Self, Place), Failure> {
        let tls = connected.tls;
        let mut builder = http2::Builder::new(StreamExecutor);
        builder
            .timer(TokioTimer::new())
            .initial_max_send_streams(MOST_STREAMS)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buf_size(SEND_BUFFER)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            // A connection that died while nobody used it must not be found out by the next request.
            .keep_alive_while_idle(true)
            .max_header_list_size(u32::try_from(limits.size).unwrap_or(u32::MAX));
        let (sender, connection) = builder
            .handshake(TokioIo::new(connected.stream))
            .await
            .map_err(failure)?;
        let streams = Arc::new(Streams {
            open: AtomicUsize::new(0),
            most: AtomicUsize::new(MOST_STREAMS),
            freed,
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
        let opened = Self { sender, streams, tls };
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
        let Streams { open, most, .. } = &*self.streams;
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
            tls: self.tls,
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
        // An upstream may say of any request that it did not look at it.
        let copy = request::copy(&request);
        let repeats = self.shared && may_repeat(&request);
        for (name, value) in added {
            request.headers_mut().append(name, value.clone());
        }
        set_authority(&mut request, self.tls);
        // Whatever the field names is removed by hyper, and `TE: trailers` is what gRPC needs of HTTP/2.
        let connection = request.headers_mut().remove(header::CONNECTION);
        let mut error = match self.sender.try_send_request(*request).await {
            Ok(response) => return self.accept(response),
            Err(error) => error,
        };
        let fate = match (error.take_message(), copy) {
            (Some(mut unsent), _) => {
                for (name, _) in added {
                    remove_last(unsent.headers_mut(), name);
                }
                if let Some(connection) = connection {
                    unsent.headers_mut().insert(header::CONNECTION, connection);
                }
                Fate::Unsent(Box::new(unsent))
            }
            (None, Some(copy)) if is_unprocessed(error.error()) => Fate::Refused(copy),
            (None, Some(copy)) if repeats && is_broken(error.error()) => Fate::Repeatable(copy),
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

/// Whether the upstream says that it did not look at the request (RFC 9113, sections 6.8 and 8.7). Any other reset is
/// an answer of a kind.
fn is_unprocessed(error: &hyper::Error) -> bool {
    h2_error(error).is_some_and(|error| {
        // A GOAWAY fails those requests alone that came behind the last one that it names.
        error.is_remote() && (error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM))
    })
}

/// Whether the connection ended under the request.
fn is_broken(error: &hyper::Error) -> bool {
    h2_error(error).is_some_and(|error| error.is_go_away() || error.is_io())
        || error.source().is_some_and(|source| source.is::<io::Error>())
}

fn h2_error(error: &hyper::Error) -> Option<&h2::Error> {
    error.source()?.downcast_ref()
}

/// HTTP/2 has the host in `:authority`, which a request must carry if it was made to a host (RFC 9113,
/// section 8.3.1).
fn set_authority(request: &mut Request<Body>, tls: bool) {
    let Some(host) = request.headers().get(header::HOST) else {
        return;
    };
    let Ok(authority) = Authority::try_from(host.as_bytes()) else {
        return;
    };
    let mut parts = request.uri().clone().into_parts();
    parts.scheme = Some(if tls { Scheme::HTTPS } else { Scheme::HTTP });
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
        if let Some(freed) = &self.0.freed {
            freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
