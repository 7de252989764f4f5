//! A byte stream whose reads and writes may each take so long.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::connect::Io;

/// How long one read or write may take; `None`: as long as it likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Patience {
    pub(crate) read: Option<Duration>,
    pub(crate) write: Option<Duration>,
}

/// A stream that fails when the other side is silent, or takes nothing, for too long.
#[derive(Debug)]
pub(crate) struct Timed {
    stream: Io,
    read: Timer,
    write: Timer,
    /// A write failed or took too long: what has not come by then is not waited for.
    gave_up: bool,
}

/// Runs while something is waited for.
#[derive(Debug)]
struct Timer {
    limit: Option<Duration>,
    sleep: Option<Pin<Box<Sleep>>>,
    runs: bool,
}

// === impl Timed ===

impl Timed {
    /// `stream` with these limits, or as it is if there are none.
    pub(crate) fn around(stream: Io, patience: Patience) -> Io {
        if patience == Patience::default() {
            return stream;
        }
        Box::new(Self {
            stream,
            read: Timer::new(patience.read),
            write: Timer::new(patience.write),
            gave_up: false,
        })
    }

    fn written<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            // Whoever is still being sent to owes no answer yet.
            self.read.stop();
        }
        let polled = self.write.watch(cx, polled);
        self.gave_up |= matches!(&polled, Poll::Ready(Err(_)));
        polled
    }
}

impl AsyncRead for Timed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, to);
        if polled.is_pending() && self.gave_up {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        self.read.watch(cx, polled)
    }
}

impl AsyncWrite for Timed {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, data);
        self.written(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, data);
        self.written(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.write.watch(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.write.watch(cx, polled)
    }
}

// === impl Timer ===

impl Timer {
    fn new(limit: Option<Duration>) -> Self {
        Self {
            limit,
            sleep: None,
            runs: false,
        }
    }

    /// Gives `polled` back, or fails if it has been pending for too long.
    fn watch<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        let Some(limit) = self.limit else {
            return polled;
        };
        if polled.is_ready() {
            self.stop();
            return polled;
        }
        let end = || Instant::now() + limit;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(end())));
        if !self.runs {
            self.runs = true;
            sleep.as_mut().reset(end());
        }
        match sleep.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }

    fn stop(&mut self) {
        self.runs = false;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::time;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn timed(read: u32, write: u32) -> (Io, DuplexStream) {
        let (near, far) = tokio::io::duplex(16);
        let limit = |seconds: u32| (seconds > 0).then(|| SECOND * seconds);
        let patience = Patience {
            read: limit(read),
            write: limit(write),
        };
        (Timed::around(Box::new(near), patience), far)
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_that_takes_too_long_fails_and_each_has_its_own_time() {
        let (mut stream, mut far) = timed(3, 0);
        let begin = Instant::now();
        for _ in 0..5 {
            let (byte, ()) = tokio::join!(stream.read_u8(), async {
                time::sleep(SECOND * 2).await;
                far.write_u8(7).await.unwrap();
            });
            assert_eq!(byte.unwrap(), 7);
        }
        let error = stream.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begin.elapsed().as_secs(), 13);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_quiet_before_a_write_does_not_count_against_the_answer() {
        let (mut stream, mut far) = timed(3, 0);
        tokio::select! {
            _ = stream.read_u8() => unreachable!("nothing comes"),
            () = time::sleep(SECOND * 2) => {}
        }
        stream.write_u8(1).await.unwrap();
        let (byte, ()) = tokio::join!(stream.read_u8(), async {
            time::sleep(SECOND * 2).await;
            far.write_u8(7).await.unwrap();
        });
        assert_eq!(byte.unwrap(), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_nobody_takes_fails() {
        let (mut stream, _far) = timed(0, 3);
        let error = stream.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let error = stream.read_u8().await.unwrap_err();
        assert_eq!(
            error.kind(),
            io::ErrorKind::TimedOut,
            "no answer is waited for then"
        );
    }
}
