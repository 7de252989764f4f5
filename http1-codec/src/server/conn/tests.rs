//! What a connection holds while it waits.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use tokio::io::{AsyncWrite as _, duplex};

use super::{Found, Shared};
use crate::head::HeadLimits;

#[test]
fn an_idle_connection_holds_no_read_buffer() {
    let (near, mut far) = duplex(1024);
    let shared = Shared::new(near, BytesMut::new(), Arc::new(()));
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..2 {
        let mut conn = shared.lock();
        assert!(conn.poll_head(&mut cx, &HeadLimits::default(), &()).is_pending());
        assert_eq!(conn.buffer.capacity(), 0);
        let sent = Pin::new(&mut far).poll_write(&mut cx, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(sent.is_ready());
        let read = conn.poll_head(&mut cx, &HeadLimits::default(), &());
        assert!(matches!(read, Poll::Ready(Ok(Found::Head(_)))));
    }
}
