//! The server side: one connection, its requests in order, driven by one future. Dropping that future closes the
//! connection and drops the request in flight.
//!
//! The driver has no clock. Whoever has one watches the [`Control`] of many connections at once and tells the
//! driver when its peer was too slow: one timer for all of them, and none for a request.

mod answer;
mod conn;
mod held;
mod request_body;
mod steps;
mod upgrade;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::header::HeaderValue;
use http::{Method, Request, Response, StatusCode, Version};

use self::answer::Writer;
use self::conn::Shared;
pub use self::request_body::RequestBody;
use self::steps::{begin, poll_next, run_call};
use self::upgrade::Offer;
pub use self::upgrade::OnUpgrade;
use crate::error::{BodyError, HeadError};
use crate::head::{HeadLimits, RequestHead};
use crate::turn::Turn;
use crate::upgraded::{Stream, Upgraded};

/// Answers requests.
pub trait Service {
    /// The body of an answer.
    type Body: Body;
    /// Why a connection is closed without an answer.
    type Error;

    /// Answers one request. The future is dropped when the client leaves.
    fn call(
        &self,
        request: Request<RequestBody>,
    ) -> impl Future<Output = Result<Response<Self::Body>, Self::Error>> + Send;

    /// Answers a head that is no request. The connection is closed behind the answer.
    fn refuse(&self, error: HeadError) -> Response<Self::Body>;
}

/// A body that is sent to a client.
pub trait Body: http_body::Body<Data = Bytes> + Unpin {
    /// Goes on with what does not need the client, who takes nothing now. By default there is no such thing.
    fn poll_aside(&mut self, _cx: &mut Context<'_>) {}
}

/// What a connection and whoever watches it tell each other.
pub trait Control: Send + Sync + 'static {
    /// Bytes came.
    fn on_read(&self, bytes: usize);

    /// The client took bytes, or (`false`) takes none now.
    fn on_write(&self, progress: bool);

    /// The connection is in another phase now.
    fn on_phase(&self, phase: Phase);

    /// An answer begins whose end only that of the connection tells, or (`false`) all of it is out. If the stream
    /// is dropped in between, the client must not see a clean end: it would take the answer for a whole one.
    fn on_open_end(&self, _under_way: bool) {}

    /// What the driver is asked to do, the strongest of it. The waker of `cx` is to be woken by anything new.
    fn poll_command(&self, cx: &mut Context<'_>) -> Option<Command>;

    /// Interim (1xx) heads that are to go out before the answer.
    fn take_interim(&self) -> Option<Vec<u8>>;

    /// The date for answers that have none.
    fn date(&self) -> Option<HeaderValue>;
}

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for a head, or reading one.
    Head,
    /// A request is in flight.
    Request,
    /// A request is in flight, and its body is waited for.
    Body,
    /// The last answer is out; the client is to close.
    Closing,
    /// The last answer is out and nothing more will come: the stream is shut down and dropped at once.
    Leaving,
}

/// What a driver is asked to do. A [`Command::TimeOut`] is about one wait, and given once; the others stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Command {
    /// Finish what is in flight, then close.
    Drain,
    /// The client was too slow: answer 408 unless an answer has begun, and close.
    TimeOut,
    /// Close now.
    Close,
}

/// How many bytes of a request nobody reads are read so that its connection can go on.
const UNREAD: u64 = 64 * 1024;

/// How many bytes are read and dropped so that a client sees the last answer before its connection closes.
const LINGERED: usize = 1024 * 1024;

/// A request on its connection.
struct Driver<S, V, C> {
    shared: Arc<Shared<S, C>>,
    service: V,
    limits: HeadLimits,
    draining: bool,
}

/// What came next, and was begun.
enum Next<F> {
    /// A request, on its way. Boxed: a connection that waits for its next request has no room for one.
    Call(Pin<Box<F>>, Asked),
    Refused(HeadError),
    Asked,
    End,
}

/// What is to be done now.
enum Todo<B> {
    Answer(Box<Writer<B>>),
    /// Answer what is no request.
    Refuse(Box<Writer<B>>),
    Switch(Box<Writer<B>>, Offer),
    /// Close behind what is written.
    Close,
    /// The client left, or is to get no answer.
    Leave,
}

/// What came next.
#[expect(
    clippy::large_enum_variant,
    reason = "a head is the usual case, and moves once"
)]
enum Found {
    Head(RequestHead),
    /// A head that is no request.
    Error(HeadError),
    /// The connection is asked to go, and nothing is known to have come.
    Asked,
    /// Nothing more will come, or be served.
    End,
}

/// What is left to do behind an exchange.
enum Behind {
    /// Another one.
    Another,
    /// The client may still be sending.
    Linger,
    Close,
}

/// What an answer depends on of its request.
struct Asked {
    method: Method,
    version: Version,
    keep_alive: bool,
    upgrade: Option<Offer>,
}

/// Serves the requests of one connection until it ends, `read_ahead` first.
///
/// # Errors
///
/// What broke the connection. A client that leaves between two requests is no error.
pub fn serve<S, V, C>(
    io: S,
    read_ahead: Bytes,
    limits: HeadLimits,
    control: Arc<C>,
    service: V,
) -> impl Future<Output = io::Result<()>>
where
    S: Stream + 'static,
    V: Service,
    C: Control,
{
    // No async function: its future would hold the stream twice.
    let driver = Driver {
        shared: Arc::new(Shared::new(io, BytesMut::from(read_ahead), control)),
        service,
        limits,
        draining: false,
    };
    driver.run()
}

// === impl Driver ===

impl<S, V, C> Driver<S, V, C>
where
    S: Stream + 'static,
    V: Service,
    C: Control,
{
    async fn run(mut self) -> io::Result<()> {
        loop {
            // Nothing large is held over a wait: a connection mostly waits for its next request.
            let behind = match self.next().await? {
                Todo::Answer(mut writer) => {
                    self.write(&mut writer).await?;
                    self.behind(writer.into_turn()).await?
                }
                Todo::Refuse(mut writer) => {
                    self.write(&mut writer).await?;
                    Behind::Linger
                }
                Todo::Switch(writer, offer) => return self.switch(writer, offer).await,
                Todo::Close => Behind::Close,
                Todo::Leave => return Ok(()),
            };
            match behind {
                Behind::Another => self.control().on_phase(Phase::Head),
                Behind::Linger => return self.close(LINGERED).await,
                Behind::Close => return self.close(0).await,
            }
        }
    }

    /// Waits for a request and for what the service has to say to it.
    async fn next(&mut self) -> io::Result<Todo<V::Body>> {
        let Self {
            shared,
            service,
            limits,
            draining,
        } = self;
        let (call, asked) = loop {
            let next = poll_fn(|cx| {
                poll_next(cx, shared, limits, draining).map_ok(|found| match found {
                    Found::Head(head) => {
                        let (request, asked) = begin(shared, head);
                        Next::Call(Box::pin(service.call(request)), asked)
                    }
                    Found::Error(error) => Next::Refused(error),
                    Found::Asked => Next::Asked,
                    Found::End => Next::End,
                })
            });
            match next.await? {
                Next::Call(call, asked) => break (call, asked),
                Next::Refused(error) => {
                    shared.control.on_phase(Phase::Request);
                    let response = service.refuse(error);
                    return Ok(Todo::refusal(response, &*shared.control));
                }
                // A request that has come just now may not be known of yet: closing would reset it.
                Next::Asked => tokio::task::yield_now().await,
                Next::End => return Ok(Todo::Close),
            }
        };
        shared.control.on_phase(Phase::Request);
        match run_call(call, shared, draining, asked.version).await {
            Some(response) => Todo::answer(response, asked, shared, *draining),
            None => Ok(Todo::Leave),
        }
    }

    fn control(&self) -> &C {
        &self.shared.control
    }

    /// Writes an answer.
    async fn write(&mut self, writer: &mut Writer<V::Body>) -> io::Result<()> {
        let shared = &self.shared;
        let draining = &mut self.draining;
        let has_open_end = writer.has_open_end();
        if has_open_end {
            shared.control.on_open_end(true);
        }
        let written = poll_fn(|cx| {
            let written = writer.poll(cx, shared);
            if written.is_pending() {
                match shared.control.poll_command(cx) {
                    Some(Command::Close) => return Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                    Some(Command::TimeOut) => {
                        shared.lock().fail_body(BodyError::TimedOut);
                        cx.waker().wake_by_ref();
                    }
                    Some(Command::Drain) => *draining = true,
                    None => {}
                }
            }
            written
        });
        written.await?;
        if has_open_end {
            shared.control.on_open_end(false);
        }
        Ok(())
    }

    /// Reads what is left of the request, if that is little, so that another can follow.
    async fn behind(&self, mut turn: Turn) -> io::Result<Behind> {
        if self.draining {
            turn.is_last();
        }
        let shared = &self.shared;
        let read = poll_fn(|cx| {
            let read = shared.lock().poll_unread(cx, UNREAD, &*shared.control);
            if read.is_pending() {
                shared.control.on_phase(Phase::Body);
                // It is not worth waiting for: the answer is out.
                return shared
                    .control
                    .poll_command(cx)
                    .map_or(read, |_| Poll::Ready(false));
            }
            read
        });
        if turn.allows_another_once_received() && !turn.allows_another() && read.await {
            turn.received_all();
        }
        Ok(if turn.allows_another() {
            Behind::Another
        } else if self.shared.lock().is_all_read() {
            Behind::Close
        } else {
            Behind::Linger
        })
    }

    /// Hands the connection over to whoever waits for it.
    async fn switch(mut self, mut writer: Box<Writer<V::Body>>, offer: Offer) -> io::Result<()> {
        self.write(&mut writer).await?;
        if let Some((io, read_ahead)) = self.shared.take_io() {
            offer.fulfil(Upgraded::new(Box::new(io), read_ahead));
        }
        Ok(())
    }

    /// Ends our side, and reads at most `left` bytes of what the client still sends: closing at once could
    /// reset the connection, and take the answer with it (RFC 9112, section 9.6).
    async fn close(self, mut left: usize) -> io::Result<()> {
        self.control()
            .on_phase(if left > 0 { Phase::Closing } else { Phase::Leaving });
        self.shared.lock().end_message();
        poll_fn(|cx| {
            let ended = self.shared.lock().poll_close(cx, &mut left);
            match self.control().poll_command(cx) {
                Some(Command::TimeOut | Command::Close) => Poll::Ready(Ok(())),
                Some(Command::Drain) | None => ended,
            }
        })
        .await
    }
}

// === impl Todo ===

impl<B: Body> Todo<B> {
    fn answer<S, C>(
        response: Response<B>,
        asked: Asked,
        shared: &Shared<S, C>,
        draining: bool,
    ) -> io::Result<Self>
    where
        S: Stream,
        C: Control,
    {
        let date = shared.control.date();
        if response.status().is_informational() {
            let switches = response.status() == StatusCode::SWITCHING_PROTOCOLS;
            let Some(offer) = asked.upgrade.filter(|_| switches) else {
                return Err(io::Error::other("an interim answer that no answer follows"));
            };
            let writer = Writer::switching(&response, date.as_ref());
            return Ok(Self::Switch(Box::new(writer), offer));
        }
        let mut turn = Turn::new();
        let conn = shared.lock();
        if !asked.keep_alive || draining || !conn.unread_is_bounded(UNREAD) {
            turn.is_last();
        }
        if conn.is_body_read() {
            turn.received_all();
        }
        drop(conn);
        let writer = Writer::new(response, &asked, turn, date.as_ref());
        Ok(Self::Answer(Box::new(writer)))
    }

    /// The answer to a head that is no request: nothing tells where another one would begin.
    fn refusal(response: Response<B>, control: &impl Control) -> Self {
        let asked = Asked {
            method: Method::GET,
            version: Version::HTTP_11,
            keep_alive: false,
            upgrade: None,
        };
        let mut turn = Turn::new();
        turn.is_last();
        Self::Refuse(Box::new(Writer::new(
            response,
            &asked,
            turn,
            control.date().as_ref(),
        )))
    }
}

impl<S, V, C> Drop for Driver<S, V, C> {
    /// Closes the connection, even if somebody still holds the body of a request.
    fn drop(&mut self) {
        drop(self.shared.take_io());
    }
}

/// A service that is shared.
impl<V: Service> Service for Arc<V> {
    type Body = V::Body;
    type Error = V::Error;

    fn call(
        &self,
        request: Request<RequestBody>,
    ) -> impl Future<Output = Result<Response<Self::Body>, Self::Error>> + Send {
        V::call(self, request)
    }

    fn refuse(&self, error: HeadError) -> Response<Self::Body> {
        V::refuse(self, error)
    }
}

/// No limits and no commands.
impl Control for () {
    fn on_read(&self, _: usize) {}

    fn on_write(&self, _: bool) {}

    fn on_phase(&self, _: Phase) {}

    fn poll_command(&self, _: &mut Context<'_>) -> Option<Command> {
        None
    }

    fn take_interim(&self) -> Option<Vec<u8>> {
        None
    }

    fn date(&self) -> Option<HeaderValue> {
        None
    }
}
