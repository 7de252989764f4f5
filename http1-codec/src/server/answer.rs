//! Writing an answer: its head with the first of its body, then the rest as it comes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Response, StatusCode, Version};
use http_body::Frame;
use tokio::io::{AsyncRead, AsyncWrite};

use super::conn::Shared;
use super::{Asked, Body, Control};
use crate::buffers;
use crate::framing::has_no_body;
use crate::head::connection_has;
use crate::outbox::{Outbox, Wrapping};
use crate::turn::Turn;
use crate::write::{self, FramingField, Persistence};

/// After so many writes at once others on the thread have their turn.
const TURNS: u32 = 8;

/// An answer on its way out.
pub(super) struct Writer<B> {
    /// Until it has ended.
    body: Option<B>,
    outbox: Outbox,
    wrapping: Wrapping,
    /// What is left to write of a body of known length.
    left: Option<u64>,
    /// Only the end of the connection tells where the body ends.
    open_end: bool,
    /// The body failed: what came before goes out, and then nothing.
    fault: Option<io::Error>,
    turn: Turn,
}

/// How an answer is framed.
struct Plan {
    field: FramingField,
    wrapping: Wrapping,
    /// The length of a body of known length.
    length: Option<u64>,
    has_body: bool,
}

// === impl Writer ===

impl<B: Body> Writer<B> {
    /// An answer, whose connection goes on as far as `turn` allows it.
    pub(super) fn new(
        response: Response<B>,
        asked: &Asked,
        mut turn: Turn,
        date: Option<&HeaderValue>,
    ) -> Self {
        let (head, body) = response.into_parts();
        let plan = Plan::of(asked, head.status, &head.headers, &body);
        let open_end = plan.has_body && plan.field == FramingField::None;
        if open_end || connection_has(&head.headers, b"close") {
            turn.is_last();
        }
        let persistence = match (turn.is_marked_last(), asked.version) {
            (true, _) => Persistence::Close,
            (false, Version::HTTP_10) => Persistence::KeepAlive,
            (false, _) => Persistence::Implied,
        };
        let mut outbox = Outbox::default();
        write::response_head(
            outbox.text(),
            head.status,
            &head.headers,
            plan.field,
            persistence,
            date,
        );
        buffers::recycle(head.headers);
        Self {
            body: plan.has_body.then_some(body),
            outbox,
            wrapping: plan.wrapping,
            left: plan.length,
            open_end,
            fault: None,
            turn,
        }
    }

    /// The head of a 101. What follows it is another protocol's.
    pub(super) fn switching(response: &Response<B>, date: Option<&HeaderValue>) -> Self {
        let mut outbox = Outbox::default();
        write::response_head(
            outbox.text(),
            response.status(),
            response.headers(),
            FramingField::None,
            Persistence::Implied,
            date,
        );
        Self {
            body: None,
            outbox,
            wrapping: Wrapping::Plain,
            left: None,
            open_end: false,
            fault: None,
            turn: Turn::new(),
        }
    }

    /// Whether only the end of the connection tells where the body ends.
    pub(super) fn has_open_end(&self) -> bool {
        self.open_end
    }

    pub(super) fn into_turn(self) -> Turn {
        self.turn
    }

    /// Writes until the answer is out. Fails if the client has left or the body has failed.
    pub(super) fn poll<S, C>(&mut self, cx: &mut Context<'_>, shared: &Shared<S, C>) -> Poll<io::Result<()>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
        C: Control,
    {
        for _ in 0..TURNS {
            // The body may be reading the request's, and so lock the connection: it is not locked here.
            let waits = !self.fill(cx);
            let mut conn = shared.lock();
            match conn.poll_write(&mut self.outbox, cx, &*shared.control) {
                Poll::Ready(Ok(())) => {
                    if let Some(fault) = self.fault.take() {
                        return Poll::Ready(Err(fault));
                    }
                    if self.body.is_none() {
                        self.turn.sent_all();
                        return Poll::Ready(Ok(()));
                    }
                    if waits {
                        let left = conn.poll_watch(cx, &*shared.control);
                        return left.map(|()| Err(io::ErrorKind::ConnectionAborted.into()));
                    }
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    drop(conn);
                    if let Some(body) = &mut self.body {
                        body.poll_aside(cx);
                    }
                    return Poll::Pending;
                }
            }
        }
        // Others on this thread have their turn first.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Takes what is there of the body; false if more is to come later.
    fn fill(&mut self, cx: &mut Context<'_>) -> bool {
        while self.outbox.has_room()
            && let Some(body) = &mut self.body
        {
            match Pin::new(body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => self.add(frame),
                Poll::Ready(Some(Err(_))) => self.fail("the body of the answer failed"),
                Poll::Ready(None) => self.end(),
                Poll::Pending => return false,
            }
        }
        true
    }

    fn add(&mut self, frame: Frame<Bytes>) {
        let data = match frame.into_data() {
            Ok(data) => data,
            Err(other) => return self.add_trailers(other),
        };
        let mut last = self.body.as_ref().is_none_or(|body| body.is_end_stream());
        if let Some(left) = &mut self.left {
            match left.checked_sub(data.len() as u64) {
                Some(rest) => *left = rest,
                None => return self.fail("the body of the answer is longer than it said"),
            }
            if last && *left > 0 {
                self.outbox.data(data, self.wrapping, false);
                return self.fail("the body of the answer is shorter than it said");
            }
            last |= *left == 0;
        }
        self.outbox.data(data, self.wrapping, last);
        if last {
            self.body = None;
        }
    }

    fn add_trailers(&mut self, frame: Frame<Bytes>) {
        match frame.into_trailers() {
            Ok(trailers) if self.wrapping == Wrapping::Chunks && !trailers.is_empty() => {
                self.outbox.trailers(&trailers);
                self.body = None;
            }
            Ok(_) | Err(_) => self.end(),
        }
    }

    fn end(&mut self) {
        if self.left.is_some_and(|left| left > 0) {
            return self.fail("the body of the answer is shorter than it said");
        }
        self.outbox.data(Bytes::new(), self.wrapping, true);
        self.body = None;
    }

    fn fail(&mut self, why: &'static str) {
        self.fault = Some(io::Error::other(why));
        self.body = None;
    }
}

// === impl Plan ===

impl Plan {
    fn of<B: http_body::Body>(asked: &Asked, status: StatusCode, headers: &HeaderMap, body: &B) -> Self {
        let exact = body.size_hint().exact();
        if has_no_body(&asked.method, status) {
            return Self {
                field: length_without_body(asked, status, headers, exact),
                wrapping: Wrapping::Plain,
                length: None,
                has_body: false,
            };
        }
        let (field, wrapping) = match exact {
            Some(length) => (FramingField::Length(length), Wrapping::Plain),
            None if asked.version == Version::HTTP_10 => (FramingField::None, Wrapping::Plain),
            None => (FramingField::Chunked, Wrapping::Chunks),
        };
        Self {
            field,
            wrapping,
            length: exact,
            has_body: exact != Some(0),
        }
    }
}

/// The length that an answer to GET would have had, if it is known (RFC 9110, section 8.6).
fn length_without_body(
    asked: &Asked,
    status: StatusCode,
    headers: &HeaderMap,
    exact: Option<u64>,
) -> FramingField {
    if status.is_informational() || status == StatusCode::NO_CONTENT {
        return FramingField::None;
    }
    let stated = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse().ok());
    let made = exact.filter(|length| *length > 0 && asked.method == Method::HEAD);
    stated.or(made).map_or(FramingField::None, FramingField::Length)
}
