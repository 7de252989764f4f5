//! Some of a file, as a body.

use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use eskip::filters::{BoxError, StreamBody};
use futures_util::stream::{self, BoxStream, StreamExt as _};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio::sync::OwnedSemaphorePermit;

use crate::filters::bodies::{Polled, hold};

/// What is read at a time.
const PIECE: usize = 64 * 1024;

/// A body that says how long it is.
struct PartBody {
    pieces: BoxStream<'static, io::Result<Bytes>>,
    left: u64,
}

/// So many bytes of a file. The permit is given back when they were read.
pub(super) async fn part(
    mut file: File,
    from: u64,
    length: u64,
    permit: OwnedSemaphorePermit,
) -> io::Result<StreamBody> {
    if from > 0 {
        file.seek(SeekFrom::Start(from)).await?;
    }
    let pieces = stream::try_unfold((file, length), |(mut file, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let most = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
        let mut piece = BytesMut::with_capacity(most);
        (&mut file).take(most as u64).read_buf(&mut piece).await?;
        if piece.is_empty() {
            // The length was told already.
            return Err(io::Error::other("the file has become shorter"));
        }
        let left = left.saturating_sub(piece.len() as u64);
        Ok(Some((piece.freeze(), (file, left))))
    });
    let pieces = pieces.boxed();
    let left = length;
    Ok(hold(Box::pin(PartBody { pieces, left }), permit))
}

// === impl PartBody ===

impl HttpBody for PartBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let piece = ready!(self.pieces.poll_next_unpin(cx));
        Poll::Ready(piece.map(|piece| {
            let piece = piece?;
            self.left = self.left.saturating_sub(piece.len() as u64);
            Ok(Frame::data(piece))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
