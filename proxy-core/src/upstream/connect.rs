//! Opening connections to upstreams: by TCP or unix sockets.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpSocket, TcpStream, UnixStream};
use tokio::time;

use crate::error::{Failure, Reason};
use crate::keepalive::keepalive;

/// As Caddy: a connection may take 3 seconds.
const TIMEOUT: Duration = Duration::from_secs(3);

/// How long one address may take before the next one is tried beside it (RFC 8305, section 5).
const STAGGER: Duration = Duration::from_millis(300);

/// What stands for the address of a unix socket, which has none.
const NO_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// The byte stream of a connection to an upstream.
pub(crate) type Io = Box<dyn http1_codec::Stream>;

type Attempt = Pin<Box<dyn Future<Output = (SocketAddr, io::Result<TcpStream>)> + Send>>;

/// How connections are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dial {
    /// How long one may take to open. Default 3 seconds.
    pub(crate) timeout: Duration,
    /// How long one address may take before the next one is tried beside it. Default 300 ms; `None`: until it fails.
    pub(crate) stagger: Option<Duration>,
    /// The address that connections are made from; upstreams of the other family cannot be reached then. Default: the
    /// system chooses.
    pub(crate) local: Option<SocketAddr>,
    /// The time between two probes of a silent connection. Default 15 seconds.
    pub(crate) probes: Option<Duration>,
}

/// Opens connections to upstreams.
#[derive(Debug, Default)]
pub(crate) enum Connector {
    #[default]
    Tcp,
    /// To upstreams in the process itself, for tests of the whole proxy without a socket.
    #[cfg(any(test, fuzzing))]
    Memory(crate::memory::Upstreams),
}

// === impl Dial ===

impl Default for Dial {
    fn default() -> Self {
        Self {
            timeout: TIMEOUT,
            stagger: Some(STAGGER),
            local: None,
            probes: None,
        }
    }
}

impl Dial {
    fn keepalive(&self) -> TcpKeepalive {
        match self.probes {
            None => keepalive(),
            Some(time) => keepalive().with_time(time).with_interval(time),
        }
    }
}

// === impl Connector ===

impl Connector {
    /// Connects to the unix socket, if there is one, else to the first of `addresses` that answers. The next one is tried
    /// when one fails, or beside it when it takes long. The caller bounds the time.
    pub(crate) async fn connect(
        &self,
        dial: &Dial,
        unix: Option<&str>,
        addresses: impl Iterator<Item = SocketAddr> + Send,
    ) -> Result<(SocketAddr, Io), Failure> {
        match (self, unix) {
            (Self::Tcp, None) => {
                let (address, stream) = race(dial, addresses).await.map_err(failure)?;
                Ok((address, Box::new(stream)))
            }
            (Self::Tcp, Some(path)) => {
                let stream = UnixStream::connect(socket_name(path)).await.map_err(failure)?;
                Ok((NO_ADDRESS, Box::new(stream)))
            }
            #[cfg(any(test, fuzzing))]
            (Self::Memory(upstreams), _) => upstreams.connect(addresses).map_err(failure),
        }
    }
}

/// The name of a socket as the system takes it: abstract ones begin with a zero byte there.
fn socket_name(path: &str) -> String {
    match path.strip_prefix('@') {
        Some(name) => format!("\0{name}"),
        None => path.to_owned(),
    }
}

async fn race(
    dial: &Dial,
    addresses: impl Iterator<Item = SocketAddr> + Send,
) -> io::Result<(SocketAddr, TcpStream)> {
    let mut addresses = interleaved(addresses, dial.local).into_iter();
    let mut running: Vec<Attempt> = Vec::new();
    let mut first_error = None;
    loop {
        let next = addresses.next();
        running.extend(next.map(|address| attempt(address, dial.local)));
        let patience = next.and(dial.stagger).unwrap_or(Duration::MAX);
        match time::timeout(patience, any(&mut running)).await {
            Ok(Some((address, Ok(stream)))) => {
                stream.set_nodelay(true)?;
                SockRef::from(&stream).set_tcp_keepalive(&dial.keepalive())?;
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

/// The addresses in the order in which they are tried: the family of the first one and the other by turns (RFC 8305,
/// section 4). From a `local` address those of its family alone can be reached.
fn interleaved(addresses: impl Iterator<Item = SocketAddr>, local: Option<SocketAddr>) -> Vec<SocketAddr> {
    let reachable =
        addresses.filter(|address| local.is_none_or(|local| local.is_ipv4() == address.is_ipv4()));
    let all: Vec<SocketAddr> = reachable.collect();
    let Some(first) = all.first() else {
        return all;
    };
    let is_v4 = first.is_ipv4();
    let mut ones = all.iter().filter(|address| address.is_ipv4() == is_v4);
    let mut others = all.iter().filter(|address| address.is_ipv4() != is_v4);
    let mut order = Vec::with_capacity(all.len());
    while order.len() < all.len() {
        order.extend(ones.next());
        order.extend(others.next());
    }
    order
}

fn attempt(address: SocketAddr, local: Option<SocketAddr>) -> Attempt {
    Box::pin(async move {
        let stream = match local {
            None => TcpStream::connect(address).await,
            Some(local) => connect_from(local, address).await,
        };
        (address, stream)
    })
}

async fn connect_from(local: SocketAddr, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if local.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.bind(local)?;
    socket.connect(address).await
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

/// Why a connection could not be opened.
pub(crate) fn failure(error: io::Error) -> Failure {
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

    async fn tcp(addresses: &[SocketAddr]) -> Result<(SocketAddr, Io), Failure> {
        let addresses = addresses.iter().copied();
        Connector::Tcp.connect(&Dial::default(), None, addresses).await
    }

    async fn refused() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    }

    #[tokio::test]
    async fn the_first_address_that_answers_is_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let alive = listener.local_addr().unwrap();
        let (address, _) = tcp(&[refused().await, alive]).await.unwrap();
        assert_eq!(address, alive);
    }

    #[tokio::test]
    async fn a_refused_connection_is_told_apart() {
        let failure = tcp(&[refused().await]).await.unwrap_err();
        assert_eq!(failure.reason, Reason::Refused);
    }

    #[tokio::test]
    async fn no_address_is_unreachable() {
        assert_eq!(tcp(&[]).await.unwrap_err().reason, Reason::Unreachable);
    }

    #[tokio::test]
    async fn a_local_address_is_what_the_upstream_sees() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let dial = Dial {
            local: Some("127.0.0.77:0".parse().unwrap()),
            ..Dial::default()
        };
        let addresses = ["[::1]:9".parse().unwrap(), listener.local_addr().unwrap()];
        let connecting = Connector::Tcp.connect(&dial, None, addresses.into_iter());
        let (connected, accepted) = tokio::join!(connecting, listener.accept());
        assert_eq!(connected.unwrap().0, addresses[1]);
        assert_eq!(accepted.unwrap().1.ip().to_string(), "127.0.0.77");
    }

    #[test]
    fn families_take_turns() {
        let order = |addresses: &[&str], local: Option<&str>| {
            let addresses = addresses.iter().map(|address| address.parse().unwrap());
            let order = interleaved(addresses, local.map(|local| local.parse().unwrap()));
            order.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let mixed = ["1.1.1.1:1", "2.2.2.2:1", "3.3.3.3:1", "[::1]:1", "[::2]:1"];
        assert_eq!(
            order(&mixed, None),
            ["1.1.1.1:1", "[::1]:1", "2.2.2.2:1", "[::2]:1", "3.3.3.3:1"]
        );
        assert_eq!(order(&mixed[2..], None), ["3.3.3.3:1", "[::1]:1", "[::2]:1"]);
        assert_eq!(order(&mixed, Some("[::9]:0")), ["[::1]:1", "[::2]:1"]);
        assert!(order(&[], None).is_empty());
    }
}
