//! Bodies of requests: read whole, in bounded time and memory.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time;

/// The longest body, as in Caddy.
const MAX_BODY: usize = 100 * 1024 * 1024;

/// How long a body may take in all, as in Caddy.
const TIME: Duration = Duration::from_secs(10);

/// Bodies longer than this are held one at a time.
const SMALL: usize = 1024 * 1024;

/// Sees to it that bodies that are read at once take no more room than one large one and many small ones.
#[derive(Debug)]
pub(super) struct Room(Arc<Semaphore>);

/// A body, and its room.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

/// Why there is no body. The words are Caddy's where its library has some.
#[derive(Debug, Error)]
pub(super) enum BodyError {
    #[error("reading request body: http: request body too large")]
    TooLarge,
    #[error("reading request body: i/o timeout")]
    TimedOut,
    #[error("reading request body: {0}")]
    Broken(Box<dyn std::error::Error + Send + Sync>),
}

// === impl Room ===

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl Room {
    /// Reads `body` to its end.
    pub(super) async fn read<B>(&self, body: B) -> Result<Held, BodyError>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        time::timeout(TIME, self.read_at_leisure(body, MAX_BODY))
            .await
            .unwrap_or(Err(BodyError::TimedOut))
    }

    /// [`Room::read`] of a body that is small, and refused if it has more than `most` bytes.
    pub(super) async fn read_at_most<B>(&self, body: B, most: usize) -> Result<Bytes, BodyError>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let says = body.size_hint().lower();
        if says > u64::try_from(most).unwrap_or(u64::MAX) {
            return Err(BodyError::TooLarge);
        }
        let read = time::timeout(TIME, self.read_at_leisure(body, most)).await;
        read.unwrap_or(Err(BodyError::TimedOut)).map(|held| held.bytes)
    }

    async fn read_at_leisure<B>(&self, mut body: B, most: usize) -> Result<Held, BodyError>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut bytes = Vec::new();
        let mut room = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| BodyError::Broken(error.into()))?;
            let Ok(data) = frame.into_data() else { continue };
            let length = bytes.len() + data.len();
            if length > most {
                return Err(BodyError::TooLarge);
            }
            if length > SMALL && room.is_none() {
                room = Arc::clone(&self.0).acquire_owned().await.ok();
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Held {
            bytes: bytes.into(),
            _room: room,
        })
    }
}

// === impl BodyError ===

impl BodyError {
    /// Whether there was too much of it.
    pub(super) fn is_about_size(&self) -> bool {
        matches!(self, Self::TooLarge)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use http_body::Frame;
    use http_body_util::StreamBody;

    use super::*;

    const MIB: usize = 1024 * 1024;

    fn of_pieces(count: usize, size: usize) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
        let piece = Bytes::from(vec![b' '; size]);
        StreamBody::new(stream::iter(
            (0..count).map(move |_| Ok(Frame::data(piece.clone()))),
        ))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_is_read_up_to_its_limit() {
        let room = Room::default();
        assert_eq!(room.read(of_pieces(3, 5)).await.unwrap().bytes.len(), 15);
        assert_eq!(
            room.read(of_pieces(100, MIB)).await.unwrap().bytes.len(),
            MAX_BODY
        );
        let error = room.read(of_pieces(101, MIB)).await.unwrap_err();
        assert!(matches!(error, BodyError::TooLarge));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_not_waited_for() {
        let silent = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
        let error = Room::default().read(silent).await.unwrap_err();
        assert!(matches!(error, BodyError::TimedOut));
    }

    #[tokio::test(start_paused = true)]
    async fn large_bodies_are_held_one_at_a_time_and_small_ones_beside_them() {
        let room = Room::default();
        let held = room.read(of_pieces(2, MIB)).await.unwrap();
        room.read(of_pieces(1, MIB)).await.unwrap();
        let error = room.read(of_pieces(2, MIB)).await.unwrap_err();
        assert!(matches!(error, BodyError::TimedOut));
        drop(held);
        room.read(of_pieces(2, MIB)).await.unwrap();
    }
}
