//! Bodies of known frames, and any body as one type.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use http1_codec::{client, server};

/// A body that gives these frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    steps: VecDeque<Step>,
    length: Option<u64>,
}

#[derive(Debug)]
enum Step {
    Frame(Frame<Bytes>),
    /// Nothing, once.
    Wait,
    /// Nothing, for ever.
    Stuck,
    Fail,
}

/// Any body.
#[derive(Debug)]
pub(crate) struct TestBody {
    inner: UnsyncBoxBody<Bytes, String>,
    returned: Option<Bytes>,
}

// === impl Frames ===

impl Frames {
    pub(crate) fn data(mut self, data: impl Into<Bytes>) -> Self {
        self.steps.push_back(Step::Frame(Frame::data(data.into())));
        self
    }

    pub(crate) fn trailer(mut self, name: &'static str, value: &'static str) -> Self {
        let mut trailers = HeaderMap::new();
        trailers.insert(name, value.parse().unwrap());
        self.steps.push_back(Step::Frame(Frame::trailers(trailers)));
        self
    }

    pub(crate) fn wait(mut self) -> Self {
        self.steps.push_back(Step::Wait);
        self
    }

    pub(crate) fn stuck(mut self) -> Self {
        self.steps.push_back(Step::Stuck);
        self
    }

    pub(crate) fn fail(mut self) -> Self {
        self.steps.push_back(Step::Fail);
        self
    }

    /// Says that it has this many bytes, true or not.
    pub(crate) fn of_length(mut self, length: u64) -> Self {
        self.length = Some(length);
        self
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = String;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        match self.steps.pop_front() {
            None => Poll::Ready(None),
            Some(Step::Frame(frame)) => Poll::Ready(Some(Ok(frame))),
            Some(Step::Fail) => Poll::Ready(Some(Err("failed".to_owned()))),
            Some(Step::Wait) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Stuck) => {
                self.steps.push_front(Step::Stuck);
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

// === impl TestBody ===

impl TestBody {
    pub(crate) fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: std::fmt::Display,
    {
        Self {
            inner: body.map_err(|error| error.to_string()).boxed_unsync(),
            returned: None,
        }
    }

    pub(crate) fn full(data: impl Into<Bytes>) -> Self {
        Self::new(http_body_util::Full::new(data.into()))
    }

    pub(crate) fn empty() -> Self {
        Self::full(Bytes::new())
    }
}

impl Body for TestBody {
    type Data = Bytes;
    type Error = String;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        match self.returned.take() {
            Some(data) => Poll::Ready(Some(Ok(Frame::data(data)))),
            None => Pin::new(&mut self.inner).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.returned.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let returned = self.returned.as_ref().map_or(0, |data| data.len() as u64);
        match self.inner.size_hint().exact() {
            Some(length) => SizeHint::with_exact(length + returned),
            None => SizeHint::default(),
        }
    }
}

impl server::Body for TestBody {}

impl client::Outgoing for TestBody {
    fn put_back(&mut self, data: Bytes) {
        self.returned = Some(data);
    }
}

/// The data and the trailers of a body, or why it failed behind which data.
pub(crate) async fn all_of<B>(body: B) -> (String, Result<HeaderMap, String>)
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    let mut body = pin!(body);
    let (mut data, mut trailers) = (Vec::new(), HeaderMap::new());
    let mut fault = None;
    while let Some(frame) = body.as_mut().frame().await {
        match frame.map(Frame::into_data) {
            Ok(Ok(piece)) => data.extend_from_slice(&piece),
            Ok(Err(other)) => trailers = other.into_trailers().unwrap(),
            Err(error) => {
                fault = Some(error.to_string());
                break;
            }
        }
    }
    (String::from_utf8(data).unwrap(), fault.map_or(Ok(trailers), Err))
}
