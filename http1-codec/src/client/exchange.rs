//! One exchange: the request on its way out, the answer on its way in, both at once.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite};

use super::upload::{Upload, UploadState};
use super::{Answer, Cause, Connection, Keep, Next, Outgoing, SendError};
use crate::body::{BodyReader, Piece};
use crate::buffers;
use crate::error::{BodyError, HeadError};
use crate::framing::Framing;
use crate::head::{HeadLimits, HeadReader, ResponseHead};
use crate::turn::Turn;
use crate::upgraded::Upgraded;

/// The most interim answers to one request.
const MAX_INTERIM: u32 = 1000;

/// After so many of them at once others on the thread have their turn.
const INTERIM_A_TURN: u32 = 16;

/// An exchange whose answer has not ended.
#[derive(Debug)]
pub(super) struct Exchange<S, B: Body, K> {
    io: S,
    buffer: BytesMut,
    head: HeadReader,
    body: BodyReader,
    turn: Turn,
    keep: K,
    upload: Upload<B>,
    reused: bool,
    received: bool,
    /// How many interim answers came.
    interim: u32,
    /// Why the request failed while the answer was not read.
    fault: Option<StreamError<B::Error>>,
}

/// The body of an answer, while it comes. It sends what is left of the request, too, each time it is polled.
pub struct Streaming<S, B: Body, K>(Option<Box<Exchange<S, B, K>>>);

/// Why the body of an answer is not complete.
#[derive(Debug, thiserror::Error)]
pub enum StreamError<E> {
    /// The connection broke.
    #[error("the connection broke")]
    Io(#[source] io::Error),
    /// The body is cut short or malformed.
    #[error(transparent)]
    Body(BodyError),
    /// The request's own body failed, and took the answer with it.
    #[error("the request's body failed")]
    Request(E),
    /// The request's body is not as long as it said.
    #[error("the request's body is not as long as it said")]
    Length,
}

// === impl Exchange ===

impl<S: AsyncRead + AsyncWrite + Unpin, B: Outgoing, K: Keep<S>> Exchange<S, B, K> {
    pub(super) fn begin(
        connection: Connection<S>,
        request: Box<Request<B>>,
        added: &[(HeaderName, HeaderValue)],
        keep: K,
    ) -> Self {
        Self {
            io: connection.io,
            buffer: BytesMut::new(),
            head: HeadReader::default(),
            body: BodyReader::new(Framing::None),
            turn: Turn::new(),
            keep,
            upload: Upload::new(request, added),
            reused: connection.reused,
            received: false,
            interim: 0,
            fault: None,
        }
    }

    /// Sends and reads until the head of the final answer is there.
    pub(super) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        limits: &HeadLimits,
        on_interim: &mut impl FnMut(&Response<()>),
    ) -> Poll<Result<ResponseHead, Cause<B::Error>>> {
        self.upload.poll(&mut self.io, cx)?;
        loop {
            let method = self.upload.request.method();
            while let Some(head) = self
                .head
                .response(&mut self.buffer, limits, method)
                .map_err(Cause::Head)?
            {
                let status = head.response.status();
                if !status.is_informational() || status == StatusCode::SWITCHING_PROTOCOLS {
                    return Poll::Ready(Ok(head));
                }
                on_interim(&head.response);
                self.interim += 1;
                if self.interim > MAX_INTERIM {
                    return Poll::Ready(Err(Cause::Head(HeadError::TooManyInterim)));
                }
                if self.interim.is_multiple_of(INTERIM_A_TURN) {
                    // Others on this thread have their turn first.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
            match ready!(buffers::poll_read(&mut self.io, &mut self.buffer, cx)) {
                Ok(0) => return Poll::Ready(Err(Cause::Closed)),
                Ok(_) => self.received = true,
                Err(error) => return Poll::Ready(Err(Cause::Io(error))),
            }
        }
    }

    /// The answer behind its head.
    pub(super) fn answer(mut self, head: ResponseHead) -> Response<Answer<S, B, K>> {
        buffers::recycle(std::mem::take(self.upload.request.headers_mut()));
        let response = head.response;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let upgraded = Upgraded::new(self.io, self.buffer.freeze());
            return response.map(|()| Answer::Upgraded(upgraded));
        }
        if !head.keep_alive {
            self.turn.is_last();
        }
        self.body = BodyReader::new(head.framing).with_padded_sizes();
        match self.whole(head.framing) {
            Some(whole) => {
                self.finish();
                response.map(|()| Answer::Whole(whole))
            }
            None => response.map(|()| Answer::Streaming(Streaming(Some(Box::new(self))))),
        }
    }

    pub(super) fn fail<E>(self, cause: Cause<E>) -> SendError<B, E> {
        let Upload {
            mut request,
            first,
            wrote,
            ..
        } = self.upload;
        if let Some(first) = first {
            request.body_mut().put_back(first);
        }
        SendError {
            cause,
            wrote,
            received: self.received,
            reused: self.reused,
            request,
        }
    }

    /// The whole body, if it came with its head and nothing else is under way.
    fn whole(&mut self, framing: Framing) -> Option<Bytes> {
        let length = match framing {
            Framing::None => 0,
            Framing::Length(length) => usize::try_from(length).ok()?,
            Framing::Chunked | Framing::Close => return None,
        };
        let there = self.upload.is_settled() && length <= self.buffer.len();
        there.then(|| self.buffer.split_to(length).freeze())
    }

    /// The answer was read to its end.
    fn finish(mut self) {
        self.turn.received_all();
        if self.upload.state == UploadState::Complete {
            self.turn.sent_all();
        }
        // Bytes that no request asked for: the next answer would not be its own.
        if !self.buffer.is_empty() {
            self.turn.is_last();
        }
        buffers::give_back(&mut self.buffer);
        if self.turn.allows_another() {
            self.keep.keep(Connection::used(self.io));
        }
    }

    /// Sends what is left of the request while its answer comes.
    fn poll_upload(&mut self, cx: &mut Context<'_>) -> Result<(), StreamError<B::Error>> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        self.upload.poll(&mut self.io, cx).map_err(|cause| match cause {
            Cause::Body(error) => StreamError::Request(error),
            _ => StreamError::Length,
        })
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Piece, StreamError<B::Error>>> {
        loop {
            match self.body.next(&mut self.buffer).map_err(StreamError::Body)? {
                Piece::More => {}
                piece => return Poll::Ready(Ok(piece)),
            }
            match ready!(buffers::poll_read(&mut self.io, &mut self.buffer, cx)) {
                Ok(0) => {
                    self.turn.is_last();
                    self.body.end().map_err(StreamError::Body)?;
                }
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(StreamError::Io(error))),
            }
        }
    }
}

// === impl Streaming ===

impl<S, B, K> Streaming<S, B, K>
where
    S: AsyncRead + AsyncWrite + Unpin,
    B: Outgoing,
    K: Keep<S>,
{
    /// Sends what is left of the request, without reading more of the answer: for whoever cannot take it now.
    /// A failure shows when the answer is read.
    pub fn poll_upload(&mut self, cx: &mut Context<'_>) {
        if let Some(exchange) = &mut self.0
            && let Err(fault) = exchange.poll_upload(cx)
        {
            exchange.upload.state = UploadState::Broken;
            exchange.fault = Some(fault);
        }
    }

    fn finish(&mut self) {
        if let Some(exchange) = self.0.take() {
            exchange.finish();
        }
    }
}

impl<S, B, K> Body for Streaming<S, B, K>
where
    S: AsyncRead + AsyncWrite + Unpin,
    B: Outgoing,
    K: Keep<S> + Unpin,
{
    type Data = Bytes;
    type Error = StreamError<B::Error>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Next<Self::Error> {
        let Some(exchange) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let piece = match exchange.poll_upload(cx) {
            Ok(()) => ready!(exchange.poll_piece(cx)),
            Err(error) => Err(error),
        };
        match piece {
            Ok(Piece::Data(data)) => {
                if exchange.body.is_complete() && exchange.upload.is_settled() {
                    self.finish();
                }
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Ok(Piece::Trailers(trailers)) => {
                self.finish();
                Poll::Ready(Some(Ok(Frame::trailers(trailers))))
            }
            Ok(Piece::End | Piece::More) => {
                self.finish();
                Poll::Ready(None)
            }
            Err(error) => {
                self.0 = None;
                Poll::Ready(Some(Err(error)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            None => SizeHint::with_exact(0),
            Some(exchange) => exchange
                .body
                .remaining()
                .map_or_else(SizeHint::default, SizeHint::with_exact),
        }
    }
}

impl<S, B: Body, K> fmt::Debug for Streaming<S, B, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streaming")
            .field("ended", &self.0.is_none())
            .finish()
    }
}
