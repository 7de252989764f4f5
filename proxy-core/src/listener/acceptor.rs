//! A listening socket of either kind.

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixListener as StdUnixListener;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use super::bind::{Accepting, BACKLOG};
use super::socket::Stream;

/// A socket to accept on.
#[derive(Debug)]
pub(crate) enum Acceptor {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A new connection, and its peer's address if it has one.
pub(super) type Accepted = (Stream, Option<SocketAddr>);

// === impl Acceptor ===

impl Acceptor {
    /// Makes the socket part of the runtime that this is called on.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub(crate) fn new(socket: Accepting) -> io::Result<Self> {
        Ok(match socket {
            Accepting::Tcp(socket) => Self::Tcp(TcpListener::from_std(socket)?),
            Accepting::Unix(socket) => Self::Unix(UnixListener::from_std(socket)?),
        })
    }

    pub(super) async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(socket) => {
                let (stream, peer) = socket.accept().await?;
                Ok((Stream::Tcp(stream), Some(peer)))
            }
            Self::Unix(socket) => Ok((Stream::Unix(socket.accept().await?.0), None)),
        }
    }

    /// Closes the socket. What waits in its queue is given to `begin` before, as it would be reset; no more than the
    /// queue holds, as new connections may come without end.
    pub(super) fn close(self, mut begin: impl FnMut(Accepted)) -> io::Result<()> {
        // The runtime may not have heard yet of those that came last; the system knows them all.
        let socket = match self {
            Self::Tcp(socket) => Accepting::Tcp(socket.into_std()?),
            Self::Unix(socket) => Accepting::Unix(socket.into_std()?),
        };
        for _ in 0..=BACKLOG {
            match socket.accept() {
                Ok(accepted) => begin(accepted),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if is_about_the_connection(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

// === impl Accepting ===

impl Accepting {
    /// Accepts without waiting.
    fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(socket) => {
                let (stream, peer) = socket.accept()?;
                stream.set_nonblocking(true)?;
                Ok((Stream::Tcp(TcpStream::from_std(stream)?), Some(peer)))
            }
            Self::Unix(socket) => Ok((Stream::Unix(accept_unix(socket)?), None)),
        }
    }
}

fn accept_unix(socket: &StdUnixListener) -> io::Result<UnixStream> {
    let (stream, _) = socket.accept()?;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

/// The connection was gone before it could be accepted; the next one may be fine.
pub(super) fn is_about_the_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset
    )
}
