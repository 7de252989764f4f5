//! The two long streams of an instance: frames down in the answer to a sync GET, reports up in a POST.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use serde_json::Value;
use tokio::sync::mpsc;

use super::state::{Report, Shared, Step};

/// The end of a stream that is followed by the next one.
pub(crate) const ROLL: &[u8] = b"\x02\xff";
/// The end of a stream whose instance is dead.
pub(crate) const KILL: &[u8] = b"\x04";

/// The body of a pod's answer.
pub(crate) enum PodBody {
    Whole(Option<Bytes>),
    /// A sync stream: the steps that were taken before its head was sent, then those to come.
    Sync {
        first: Option<Step>,
        steps: mpsc::UnboundedReceiver<Step>,
        open: Open,
    },
}

/// Remembers that a request is being answered; if it is dropped before it is done, its client has left.
pub(crate) struct Open {
    shared: Arc<Shared>,
    kind: &'static str,
    done: bool,
}

/// Takes streamed reports apart: each is four bytes of length and that much JSON.
pub(crate) struct Reports {
    instance: String,
    buffer: BytesMut,
}

/// One frame of a sync stream that carries `text`.
pub(crate) fn frame(text: &str) -> Bytes {
    let header = format!("[1,[\"show\",[]],[3,{}]]", text.len());
    let mut frame = vec![1];
    frame.extend_from_slice(header.as_bytes());
    frame.extend_from_slice(b"\n\xff");
    frame.extend_from_slice(text.as_bytes());
    frame.into()
}

// === impl PodBody ===

impl Body for PodBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let (first, steps, open) = match self.get_mut() {
            Self::Whole(bytes) => return Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Sync { first, steps, open } => (first, steps, open),
        };
        if open.done {
            return Poll::Ready(None);
        }
        let step = match first.take() {
            Some(step) => Some(step),
            None => std::task::ready!(steps.poll_recv(cx)),
        };
        Poll::Ready(match step {
            Some(Step::Frame(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(Step::Last(bytes)) => {
                open.done = true;
                Some(Ok(Frame::data(Bytes::from_static(bytes))))
            }
            Some(Step::Cut) | None => {
                open.done = true;
                Some(Err(io::ErrorKind::ConnectionAborted.into()))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Sync { open, .. } => open.done,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Sync { .. } => SizeHint::default(),
        }
    }
}

// === impl Open ===

impl Open {
    pub(super) fn new(shared: &Arc<Shared>, kind: &'static str) -> Self {
        Self {
            shared: Arc::clone(shared),
            kind,
            done: false,
        }
    }

    pub(super) fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.done {
            self.shared.change(|state| state.aborted.push(self.kind));
        }
    }
}

// === impl Reports ===

impl Reports {
    pub(super) fn of(instance: &str) -> Self {
        Self {
            instance: instance.to_owned(),
            buffer: BytesMut::new(),
        }
    }

    /// Takes more bytes and gives the reports they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Report> {
        self.buffer.extend_from_slice(bytes);
        let mut whole = Vec::new();
        while let Some(length) = self
            .buffer
            .first_chunk()
            .map(|length| u32::from_be_bytes(*length) as usize)
        {
            if self.buffer.len() < 4 + length {
                break;
            }
            self.buffer.advance(4);
            let json = self.buffer.split_to(length);
            whole.push(self.report(serde_json::from_slice(&json).expect("a report is JSON")));
        }
        whole
    }

    /// The report that a whole body is.
    pub(super) fn report(&self, json: Value) -> Report {
        Report {
            instance: self.instance.clone(),
            json,
        }
    }
}
