//! Opening TCP connections to upstreams.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::time;

use crate::error::{Failure, Reason};
use crate::keepalive::keepalive;

/// How long one address may take before the next one is tried beside it (RFC 8305, section 5).
const STAGGER: Duration = Duration::from_millis(300);

/// The byte stream of a connection to an upstream.
pub(crate) type Io = Box<dyn http1_codec::Stream>;

type Attempt = Pin<Box<dyn Future<Output = (SocketAddr, io::Result<TcpStream>)> + Send>>;

/// Opens connections to upstreams.
#[derive(Debug, Default)]
pub(crate) enum Connector {
    #[default]
    Tcp,
    /// To upstreams in the process itself, for tests of the whole proxy without a socket.
    #[cfg(any(test, fuzzing))]
    Memory(crate::memory::Upstreams),
}

// === impl Connector ===

impl Connector {
    /// Connects to the first of `addresses` that answers. The next one is tried when one fails, or beside it
    /// when it takes long; all of them have `timeout` together.
    pub(crate) async fn connect(
        &self,
        addresses: impl Iterator<Item = SocketAddr> + Send,
        timeout: Duration,
    ) -> Result<(SocketAddr, Io), Failure> {
        match self {
            Self::Tcp => tcp(addresses, timeout).await,
            #[cfg(any(test, fuzzing))]
            Self::Memory(upstreams) => upstreams.connect(addresses).map_err(failure),
        }
    }
}

async fn tcp(
    addresses: impl Iterator<Item = SocketAddr> + Send,
    timeout: Duration,
) -> Result<(SocketAddr, Io), Failure> {
    match time::timeout(timeout, race(addresses)).await {
        Ok(Ok((address, stream))) => Ok((address, Box::new(stream))),
        Ok(Err(error)) => Err(failure(error)),
        Err(_) => Err(Reason::TimedOut.into()),
    }
}

async fn race(mut addresses: impl Iterator<Item = SocketAddr> + Send) -> io::Result<(SocketAddr, TcpStream)> {
    let mut running: Vec<Attempt> = Vec::new();
    let mut first_error = None;
    loop {
        let next = addresses.next();
        running.extend(next.map(attempt));
        let patience = if next.is_some() { STAGGER } else { Duration::MAX };
        match time::timeout(patience, any(&mut running)).await {
            Ok(Some((address, Ok(stream)))) => {
                stream.set_nodelay(true)?;
                SockRef::from(&stream).set_tcp_keepalive(&keepalive())?;
                return Ok((address, stream));
            }
            Ok(Some((_, Err(error)))) => {
                first_error.get_or_insert(error);
            }
            Ok(None) if next.is_none() => {
                return Err(first_error.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()));
            }
            Ok(None) | Err(_) => {}
        }
    }
}

fn attempt(address: SocketAddr) -> Attempt {
    Box::pin(async move { (address, TcpStream::connect(address).await) })
}

/// The first attempt that ends, taken out of `running`; `None` if there is none.
async fn any(running: &mut Vec<Attempt>) -> Option<(SocketAddr, io::Result<TcpStream>)> {
    poll_fn(|cx| {
        if running.is_empty() {
            return Poll::Ready(None);
        }
        for index in 0..running.len() {
            let ended = running.get_mut(index).map(|attempt| attempt.as_mut().poll(cx));
            if let Some(Poll::Ready(result)) = ended {
                drop(running.swap_remove(index));
                return Poll::Ready(Some(result));
            }
        }
        Poll::Pending
    })
    .await
}

fn failure(error: io::Error) -> Failure {
    let reason = match error.kind() {
        io::ErrorKind::ConnectionRefused => Reason::Refused,
        io::ErrorKind::TimedOut => Reason::TimedOut,
        _ => Reason::Unreachable,
    };
    Failure::from(reason).with_source(error)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    async fn refused() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    }

    #[tokio::test]
    async fn the_first_address_that_answers_is_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let alive = listener.local_addr().unwrap();
        let (address, _) = tcp([refused().await, alive].into_iter(), SECOND).await.unwrap();
        assert_eq!(address, alive);
    }

    #[tokio::test]
    async fn a_refused_connection_is_told_apart() {
        let failure = tcp([refused().await].into_iter(), SECOND).await.unwrap_err();
        assert_eq!(failure.reason, Reason::Refused);
    }

    #[tokio::test]
    async fn no_address_is_unreachable() {
        assert_eq!(
            tcp([].into_iter(), SECOND).await.unwrap_err().reason,
            Reason::Unreachable
        );
    }
}
