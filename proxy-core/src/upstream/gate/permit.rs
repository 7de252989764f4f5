//! Rights to have a connection to an upstream that may have so many only.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Gate;
use crate::upstream::connect::Io;

/// The right to have a connection; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit(Weak<Gate>);

/// A connection that has a permit.
#[derive(Debug)]
pub(crate) struct Permitted {
    stream: Io,
    _permit: Permit,
}

// === impl Permit ===

impl Permit {
    /// One that `gate` has counted.
    pub(super) fn of(gate: &Arc<Gate>) -> Self {
        Self(Arc::downgrade(gate))
    }

    /// Nobody gives it back: it goes to somebody else.
    pub(super) fn forget(mut self) {
        self.0 = Weak::new();
    }

    /// `stream`, which has the permit from now on.
    pub(crate) fn hold(self, stream: Io) -> Io {
        Box::new(Permitted {
            stream,
            _permit: self,
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(gate) = self.0.upgrade() {
            gate.release();
        }
    }
}

// === impl Permitted ===

impl AsyncRead for Permitted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, to)
    }
}

impl AsyncWrite for Permitted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
