//! Futures over streams in memory, driven without a runtime.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use tokio::io::{AsyncRead as _, AsyncWrite as _, DuplexStream, ReadBuf, duplex};

/// More than anything that goes over in one direction.
const ROOM: usize = 4 * 1024 * 1024;

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Polls a future for as long as it is woken.
pub(crate) fn settle<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Option<F::Output> {
    let flag = Arc::new(Flag::default());
    let waker = Waker::from(Arc::clone(&flag));
    loop {
        flag.0.store(false, Ordering::Relaxed);
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending if flag.0.load(Ordering::Relaxed) => {}
            Poll::Pending => return None,
        }
    }
}

/// Gives the pieces to what `start` makes of a stream, then the end of that stream. Returns its output, if it has
/// come to one, and what it has written.
pub(crate) fn drive<F: Future>(
    pieces: &[&[u8]],
    start: impl FnOnce(DuplexStream) -> F,
) -> (Option<F::Output>, Vec<u8>) {
    let (near, far) = duplex(ROOM);
    let mut far = pin!(far);
    let mut future = pin!(start(near));
    let mut output = None;
    let mut cx = Context::from_waker(Waker::noop());
    for piece in pieces {
        if output.is_none() {
            let given = far.as_mut().poll_write(&mut cx, piece);
            assert!(matches!(given, Poll::Ready(Ok(length)) if length == piece.len()));
            output = settle(future.as_mut());
        }
    }
    if output.is_none() {
        assert!(far.as_mut().poll_shutdown(&mut cx).is_ready());
        output = settle(future.as_mut());
    }
    let mut written = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let mut buffer = ReadBuf::new(&mut piece);
        match far.as_mut().poll_read(&mut cx, &mut buffer) {
            Poll::Ready(Ok(())) if !buffer.filled().is_empty() => written.extend_from_slice(buffer.filled()),
            _ => return (output, written),
        }
    }
}

/// The whole and, at each of some places, two pieces of it.
pub(crate) fn splits(data: &[u8]) -> impl Iterator<Item = [&[u8]; 2]> {
    let places = [0, 1, data.len() / 3, data.len() / 2, data.len().saturating_sub(1)];
    places
        .into_iter()
        .map(|at| data.split_at(at.min(data.len())).into())
}
