//! One client connection: HTTP/1.1 with limits on how long it may keep anybody waiting.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{self, Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// The longest head of a request, as in Caddy.
const MAX_HEAD: usize = 64 * 1024;

/// The most fields of a head.
const MAX_FIELDS: usize = 256;

/// How long the head of a request may take, as in Caddy.
const HEAD: Duration = Duration::from_secs(5);

/// How long a connection may wait for its next request, or for its client to take an answer, as in Caddy.
const IDLE: Duration = Duration::from_secs(60);

/// How often a connection's time is looked at.
const TICK: Duration = Duration::from_millis(500);

/// What a connection waits for, and since when.
#[derive(Debug)]
struct Clock(Mutex<(Phase, Instant)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// For the rest of a head.
    Head,
    /// For nothing: a request is being answered.
    Busy,
    /// For the next request, or for the client to take the last answer.
    Idle,
}

/// A stream that notices the first byte of a head.
#[derive(Debug)]
struct Noticing<S> {
    stream: S,
    clock: Arc<Clock>,
}

/// The body of an answer, after whose end the connection waits for the next request.
#[derive(Debug)]
struct Answer {
    body: Full<Bytes>,
    clock: Arc<Clock>,
}

/// Serves one connection, until its client leaves, keeps it waiting for too long, or `stop`; then the request under way
/// is still answered.
pub(super) async fn serve<S, F>(stream: S, answer: impl Fn(Request<Incoming>) -> F, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output = Response<Bytes>>,
{
    let clock = Arc::new(Clock::new());
    let stream = Noticing {
        stream,
        clock: Arc::clone(&clock),
    };
    let service = service_fn(|request| {
        clock.set(Phase::Busy);
        let answer = answer(request);
        let clock = Arc::clone(&clock);
        async move {
            let response = answer.await.map(|body| Answer {
                body: Full::new(body),
                clock,
            });
            Ok::<_, Infallible>(response)
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .header_read_timeout(None)
        .max_headers(MAX_FIELDS)
        .max_header_size(MAX_HEAD);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut ticks = time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stopping = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    debug!(%error, "a connection to the admin API failed");
                }
                return;
            }
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            _ = ticks.tick() => {
                if clock.is_over() {
                    return;
                }
            }
        }
    }
}

// === impl Clock ===

impl Clock {
    fn new() -> Self {
        Self(Mutex::new((Phase::Head, Instant::now())))
    }

    fn set(&self, phase: Phase) {
        *self.lock() = (phase, Instant::now());
    }

    /// A byte has come.
    fn notice(&self) {
        if self.lock().0 == Phase::Idle {
            self.set(Phase::Head);
        }
    }

    fn is_over(&self) -> bool {
        let (phase, since) = *self.lock();
        match phase {
            Phase::Head => since.elapsed() >= HEAD,
            Phase::Busy => false,
            Phase::Idle => since.elapsed() >= IDLE,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (Phase, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Noticing ===

impl<S: AsyncRead + Unpin> AsyncRead for Noticing<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = to.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, to))?;
        if to.filled().len() > before {
            self.clock.notice();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Noticing<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

// === impl Answer ===

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.clock.set(Phase::Idle);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

    use super::*;
    use crate::admin::body::Room;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    /// A connection whose requests are answered with their bodies, or with why there is none.
    fn open() -> (DuplexStream, CancellationToken, impl Future<Output = ()>) {
        let (client, server) = tokio::io::duplex(1 << 16);
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        let serving = async move {
            let room = Room::default();
            let echo = |request: Request<Incoming>| async {
                let read = room.read(request.into_body()).await;
                Response::new(read.map_or_else(|error| Bytes::from(error.to_string()), |held| held.bytes))
            };
            serve(server, echo, stopping).await;
        };
        (client, stop, serving)
    }

    /// What a client gets until its connection ends, and how long that takes.
    async fn outcome(mut client: DuplexStream, sent: &[u8]) -> (String, Duration) {
        let began = Instant::now();
        client.write_all(sent).await.unwrap();
        let mut got = Vec::new();
        client.read_to_end(&mut got).await.unwrap();
        (String::from_utf8(got).unwrap(), began.elapsed())
    }

    fn is_about(time: Duration, expected: Duration) -> bool {
        (expected..=expected + TICK * 2).contains(&time)
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_does_not_come_ends_the_connection() {
        for sent in [&b""[..], b"GET / HTTP/1.1\r\nHost: a\r\n"] {
            let (client, _stop, serving) = open();
            let ((got, time), ()) = tokio::join!(outcome(client, sent), serving);
            assert_eq!(got, "");
            assert!(is_about(time, HEAD), "{time:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_kept_for_a_while() {
        let (client, _stop, serving) = open();
        let ((got, time), ()) = tokio::join!(outcome(client, GET), serving);
        assert!(got.starts_with("HTTP/1.1 200 OK\r\n"), "{got}");
        assert!(is_about(time, IDLE), "{time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_head_must_come_as_fast_as_the_first() {
        let (mut client, _stop, serving) = open();
        let asking = async {
            client.write_all(GET).await.unwrap();
            time::sleep(IDLE / 2).await;
            let began = Instant::now();
            client.write_all(b"GET / HT").await.unwrap();
            client.read_to_end(&mut Vec::new()).await.unwrap();
            began.elapsed()
        };
        let (time, ()) = tokio::join!(asking, serving);
        assert!(is_about(time, HEAD), "{time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_answered_and_ends_the_connection() {
        let (client, _stop, serving) = open();
        let sent = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nab";
        let ((got, time), ()) = tokio::join!(outcome(client, sent), serving);
        assert!(got.ends_with("reading request body: i/o timeout"), "{got}");
        assert!(is_about(time, Duration::from_secs(10)), "{time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_lets_the_request_under_way_be_answered() {
        let (mut client, stop, serving) = open();
        let asking = async {
            let sent = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab";
            client.write_all(sent).await.unwrap();
            time::sleep(TICK).await;
            stop.cancel();
            time::sleep(TICK).await;
            client.write_all(b"cd").await.unwrap();
            let mut got = String::new();
            client.read_to_string(&mut got).await.unwrap();
            got
        };
        let (got, ()) = tokio::join!(asking, serving);
        assert!(
            got.contains("connection: close") && got.ends_with("abcd"),
            "{got}"
        );
        let (mut idle, stop, serving) = open();
        stop.cancel();
        serving.await;
        assert_eq!(idle.read(&mut [0; 8]).await.unwrap(), 0);
    }
}
