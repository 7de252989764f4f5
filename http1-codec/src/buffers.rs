//! Buffers of a thread, taken when bytes are there and given back when none are: an idle connection holds none.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use http::HeaderMap;
use tokio::io::AsyncRead;

/// What one read can take: a head and a body of usual size at once.
const READ: usize = 32 * 1024;

/// With more room than this a buffer is read into as it is.
const PLENTY: usize = 24 * 1024;

/// With less room than this no message is begun: a head and its body would take two reads, and two writes.
const MESSAGE: usize = 20 * 1024;

/// With less room than this a message is not gone on with.
const MORE: usize = 4 * 1024;

/// What a head with a small body usually needs.
const WRITE: usize = 2 * 1024;

/// A map with room for more fields is not kept.
const MAX_FIELDS: usize = 64;

/// A larger buffer is not kept.
const MAX_WRITE: usize = 16 * 1024;

/// The most buffers of each kind that a thread keeps.
const KEPT: usize = 64;

#[derive(Debug, Default)]
struct Pool {
    read: Vec<BytesMut>,
    write: Vec<Vec<u8>>,
    fields: Vec<HeaderMap>,
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

/// Reads into `buffer` what is there. An empty buffer is one of the thread's while something is in it, and
/// nothing else.
pub(crate) fn poll_read<S: AsyncRead + Unpin>(
    io: &mut S,
    buffer: &mut BytesMut,
    cx: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    if buffer.capacity() == 0 {
        *buffer = POOL.with_borrow_mut(|pool| pool.read.pop()).unwrap_or_default();
    }
    let room = buffer.capacity() - buffer.len();
    // Takes the whole of it again, if nothing of what was read is held any more: memory that was just used is faster
    // than new memory.
    let enough = if buffer.is_empty() { MESSAGE } else { MORE };
    if room < PLENTY && !buffer.try_reclaim(READ) && room < enough {
        buffer.reserve(READ);
    }
    let read = tokio_util::io::poll_read_buf(Pin::new(io), cx, buffer);
    if buffer.is_empty() {
        give_back(buffer);
    }
    Poll::Ready(ready!(read))
}

/// Gives the buffer back if nothing is in it.
pub(crate) fn give_back(buffer: &mut BytesMut) {
    if buffer.is_empty() && buffer.capacity() > 0 {
        let buffer = std::mem::take(buffer);
        POOL.with_borrow_mut(|pool| {
            if pool.read.len() < KEPT {
                pool.read.push(buffer);
            }
        });
    }
}

/// An empty map with room for `fields`.
pub(crate) fn fields(fields: usize) -> HeaderMap {
    POOL.with_borrow_mut(|pool| pool.fields.pop())
        .unwrap_or_else(|| HeaderMap::with_capacity(fields))
}

/// Keeps a map whose fields are of no more use.
pub(crate) fn recycle(mut fields: HeaderMap) {
    if (1..=MAX_FIELDS).contains(&fields.capacity()) {
        fields.clear();
        POOL.with_borrow_mut(|pool| {
            if pool.fields.len() < KEPT {
                pool.fields.push(fields);
            }
        });
    }
}

/// A buffer to write to.
pub(crate) fn to_write() -> Vec<u8> {
    POOL.with_borrow_mut(|pool| pool.write.pop())
        .unwrap_or_else(|| Vec::with_capacity(WRITE))
}

/// Keeps what [`to_write`] gave.
pub(crate) fn written(mut buffer: Vec<u8>) {
    if (1..=MAX_WRITE).contains(&buffer.capacity()) {
        buffer.clear();
        POOL.with_borrow_mut(|pool| {
            if pool.write.len() < KEPT {
                pool.write.push(buffer);
            }
        });
    }
}
