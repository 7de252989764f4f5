//! The client side: one exchange at a time on a connection, driven by whoever waits for the answer. No task and
//! no channel is behind it: dropping a request or the body of an answer closes the connection, unless the
//! exchange was complete.

mod exchange;
mod upload;

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::Frame;
use tokio::io::{AsyncRead, AsyncWrite};

use self::exchange::Exchange;
pub use self::exchange::{StreamError, Streaming};
use crate::error::HeadError;
use crate::head::HeadLimits;
use crate::upgraded::Upgraded;

/// A connection between two exchanges. There is no other way to have one: an exchange gives it back only behind
/// two whole messages.
#[derive(Debug)]
pub struct Connection<S> {
    io: S,
    reused: bool,
}

/// Takes back a connection whose exchange is complete.
pub trait Keep<S> {
    /// Called at most once, and only with a connection that can have another exchange.
    fn keep(self, connection: Connection<S>);
}

/// A body that is sent.
pub trait Outgoing: http_body::Body<Data = Bytes> + Unpin {
    /// Takes back the first piece of data, of which nothing was sent. It is the next one again.
    fn put_back(&mut self, data: Bytes);
}

/// What follows the head of an answer.
#[derive(Debug)]
pub enum Answer<S, B: http_body::Body, K> {
    /// The whole body. The exchange is complete.
    Whole(Bytes),
    /// A body that is still to come, or behind which the request is still being sent.
    Streaming(Streaming<S, B, K>),
    /// The connection speaks another protocol from now on.
    Upgraded(Upgraded<S>),
}

/// A request that got no answer.
#[derive(Debug)]
pub struct SendError<B, E> {
    /// Why.
    pub cause: Cause<E>,
    /// Whether the connection took any byte of the request.
    pub wrote: bool,
    /// Whether any byte of an answer came.
    pub received: bool,
    /// Whether the connection had served another exchange before.
    pub reused: bool,
    /// The request: as it was if nothing was written, else what is left of it.
    pub request: Box<Request<B>>,
}

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub enum Cause<E> {
    /// The connection broke.
    #[error("the connection broke")]
    Io(#[source] std::io::Error),
    /// The connection ended before the answer.
    #[error("the connection ended before the answer")]
    Closed,
    /// The answer is no HTTP, or two readers could frame it differently.
    #[error("the answer is not valid: {0}")]
    Head(#[source] HeadError),
    /// The request's own body failed.
    #[error("the request's body failed")]
    Body(E),
    /// The request's body is not as long as it said.
    #[error("the request's body is not as long as it said")]
    Length,
}

// === impl Connection ===

impl<S> Connection<S> {
    /// A new connection to a server.
    pub fn new(io: S) -> Self {
        Self { io, reused: false }
    }

    /// Whether it had an exchange before.
    pub fn is_reused(&self) -> bool {
        self.reused
    }

    /// The byte stream.
    pub fn get_ref(&self) -> &S {
        &self.io
    }

    fn used(io: S) -> Self {
        Self { io, reused: true }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Whether the server has neither closed the connection nor sent anything, as far as is known without
    /// waiting. Bytes that no request asked for make it useless.
    pub fn is_quiet(&mut self) -> bool {
        let mut byte = [0];
        let mut buffer = tokio::io::ReadBuf::new(&mut byte);
        let mut cx = Context::from_waker(Waker::noop());
        Pin::new(&mut self.io)
            .poll_read(&mut cx, &mut buffer)
            .is_pending()
    }

    /// Sends `request` in origin form, with `added` behind its own fields, and waits for the head of its answer.
    /// Adding fields here costs less than inserting them into the request's map. `on_interim` is given each interim
    /// (1xx) answer before it; `keep` the connection, once the exchange is complete.
    ///
    /// # Errors
    ///
    /// [`SendError`], which says what is known of the request's fate.
    pub async fn send<B: Outgoing, K: Keep<S>>(
        self,
        request: Box<Request<B>>,
        added: &[(HeaderName, HeaderValue)],
        limits: &HeadLimits,
        keep: K,
        mut on_interim: impl FnMut(&Response<()>),
    ) -> Result<Response<Answer<S, B, K>>, SendError<B, B::Error>> {
        let mut exchange = Some(Exchange::begin(self, request, added, keep));
        std::future::poll_fn(move |cx| {
            let Some(running) = exchange.as_mut() else {
                return Poll::Pending;
            };
            let result = std::task::ready!(running.poll_head(cx, limits, &mut on_interim));
            match (result, exchange.take()) {
                (Ok(head), Some(exchange)) => Poll::Ready(Ok(exchange.answer(head))),
                (Err(cause), Some(exchange)) => Poll::Ready(Err(exchange.fail(cause))),
                (_, None) => Poll::Pending,
            }
        })
        .await
    }
}

// === impl Keep ===

impl<S> Keep<S> for () {
    fn keep(self, _: Connection<S>) {}
}

impl<S, K: Keep<S>> Keep<S> for Option<K> {
    fn keep(self, connection: Connection<S>) {
        if let Some(keep) = self {
            keep.keep(connection);
        }
    }
}

/// A frame, or the end of a body.
type Next<E> = Poll<Option<Result<Frame<Bytes>, E>>>;
