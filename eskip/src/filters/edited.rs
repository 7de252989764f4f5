//! Bodies that are changed or looked at piece by piece.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::body::{BoxError, StreamBody};

/// What is done with the pieces of one body.
pub(super) trait Edit: Send + Unpin + 'static {
    /// Takes a piece in and gives what can go on; nothing, if more must be seen first.
    fn push(&mut self, piece: Bytes) -> Result<Bytes, BoxError>;

    /// Gives what is left at the end.
    fn finish(&mut self) -> Result<Bytes, BoxError>;

    /// How long the body is, of one that is so long before.
    fn length(&self, before: SizeHint) -> SizeHint;
}

/// A body that is edited on its way.
struct Edited<E> {
    body: StreamBody,
    edit: E,
    state: State,
}

enum State {
    Reading,
    /// The body is at its end, and so is this one when the trailers are out.
    Ending(Option<Frame<Bytes>>),
}

/// Lets `edit` edit a body.
pub(super) fn edited(body: StreamBody, edit: impl Edit) -> StreamBody {
    Box::pin(Edited {
        body,
        edit,
        state: State::Reading,
    })
}

// === impl Edited ===

impl<E: Edit> Edited<E> {
    /// The last piece, and trailers behind it.
    fn end(&mut self, trailers: Option<Frame<Bytes>>) -> Option<Result<Frame<Bytes>, BoxError>> {
        self.state = State::Ending(trailers);
        match self.edit.finish() {
            Ok(rest) if rest.is_empty() => self.trailers().map(Ok),
            Ok(rest) => Some(Ok(Frame::data(rest))),
            Err(error) => Some(Err(self.fail(error))),
        }
    }

    fn trailers(&mut self) -> Option<Frame<Bytes>> {
        match &mut self.state {
            State::Reading => None,
            State::Ending(trailers) => trailers.take(),
        }
    }

    /// Nothing comes behind an error.
    fn fail(&mut self, error: BoxError) -> BoxError {
        self.state = State::Ending(None);
        error
    }
}

impl<E: Edit> Body for Edited<E> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        while let State::Reading = self.state {
            let piece = match ready!(self.body.as_mut().poll_frame(cx)) {
                None => return Poll::Ready(self.end(None)),
                Some(Err(error)) => return Poll::Ready(Some(Err(self.fail(error)))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(piece) => piece,
                    Err(trailers) => return Poll::Ready(self.end(Some(trailers))),
                },
            };
            match self.edit.push(piece) {
                Ok(piece) if piece.is_empty() => {}
                Ok(piece) => return Poll::Ready(Some(Ok(Frame::data(piece)))),
                Err(error) => return Poll::Ready(Some(Err(self.fail(error)))),
            }
        }
        Poll::Ready(self.trailers().map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, State::Ending(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self.state {
            State::Reading => self.edit.length(self.body.size_hint()),
            State::Ending(_) => SizeHint::with_exact(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;
    use crate::filters::pieces::{Pieces, read};

    /// Gives each piece when the next one comes.
    struct Late(Bytes);

    impl Edit for Late {
        fn push(&mut self, piece: Bytes) -> Result<Bytes, BoxError> {
            if piece == "bad" {
                return Err("bad".into());
            }
            Ok(std::mem::replace(&mut self.0, piece))
        }

        fn finish(&mut self) -> Result<Bytes, BoxError> {
            Ok(std::mem::take(&mut self.0))
        }

        fn length(&self, before: SizeHint) -> SizeHint {
            before
        }
    }

    #[test]
    fn what_is_left_comes_before_the_trailers() {
        let mut trailers = HeaderMap::new();
        trailers.insert("x", "1".parse().unwrap());
        let body = Pieces::of(["a", "b"]).with_trailers(trailers.clone());
        let mut body = edited(Box::pin(body), Late(Bytes::new()));
        let mut frames = Vec::new();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(&mut cx) {
            frames.push(frame.unwrap());
        }
        assert_eq!(frames.len(), 3);
        assert_eq!(frames[1].data_ref().unwrap(), "b");
        assert_eq!(frames[2].trailers_ref().unwrap(), &trailers);
        assert!(body.is_end_stream());
    }

    #[test]
    fn nothing_comes_behind_an_error() {
        let mut body = edited(Box::pin(Pieces::of(["a", "b", "bad", "c"])), Late(Bytes::new()));
        assert_eq!(read(body.as_mut()).unwrap_err().to_string(), "bad");
        assert_eq!(read(body.as_mut()).unwrap(), "");
        assert!(body.is_end_stream());
    }
}
