//! Binding listening sockets: one for each worker, all on the same address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::os::unix::net::UnixListener;

use socket2::{Domain, Protocol, Socket, Type};

use super::Address;
use crate::keepalive::keepalive;
use crate::unix_socket::{self, SocketFile};

/// Connections that may wait for an accept, per socket.
pub(super) const BACKLOG: i32 = 4096;

/// Sockets for one address.
#[derive(Debug)]
pub(crate) struct Bound {
    /// With the port that the system chose, if any was asked for.
    pub(crate) address: Address,
    /// One for each worker.
    pub(crate) sockets: Vec<Accepting>,
    /// The file of a unix socket, which goes when it is closed.
    pub(crate) file: Option<SocketFile>,
}

/// A socket to accept on, not yet part of a runtime.
#[derive(Debug)]
pub(crate) enum Accepting {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Finds out whether `address` is free. Workers share their ports, which would let another process share
/// them as well; a socket that does not share tells. Ask for all addresses before any is bound, as one of
/// them may be part of another.
///
/// # Errors
///
/// If any other socket listens there, or the address is not one of this machine.
pub(crate) fn check_free(address: SocketAddr) -> io::Result<()> {
    socket(address, false).map(drop)
}

/// Binds `address` for each of `workers`: TCP once for each, so that the system deals connections out; workers share
/// the one queue that a unix socket has. `mode` says who may use that.
///
/// # Errors
///
/// If a socket that does not share its port listens there, or the address is not one of this machine; and what
/// [`unix_socket::bind`] says.
pub(crate) fn bind(address: &Address, mode: u32, workers: usize) -> io::Result<Bound> {
    match address {
        Address::Tcp(address) => tcp(*address, workers),
        Address::Unix(path) => {
            let (socket, file) = unix_socket::bind(path, mode)?;
            let mut sockets = Vec::new();
            for _ in 0..workers {
                sockets.push(Accepting::Unix(socket.try_clone()?));
            }
            Ok(Bound {
                address: address.clone(),
                sockets,
                file,
            })
        }
    }
}

fn tcp(address: SocketAddr, workers: usize) -> io::Result<Bound> {
    let first = socket(address, true)?;
    let address = first.local_addr()?;
    let mut sockets = vec![first];
    while sockets.len() < workers.max(1) {
        sockets.push(socket(address, true)?);
    }
    Ok(Bound {
        address: Address::Tcp(address),
        sockets: sockets.into_iter().map(Accepting::Tcp).collect(),
        file: None,
    })
}

/// The addresses of `host`. An empty one stands for all, IPv6 and IPv4.
///
/// # Errors
///
/// If the host has no address.
pub(crate) fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if host.is_empty() {
        let any = if has_ipv6() {
            IpAddr::V6(Ipv6Addr::UNSPECIFIED)
        } else {
            Ipv4Addr::UNSPECIFIED.into()
        };
        return Ok(vec![SocketAddr::new(any, port)]);
    }
    let mut found: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    found.dedup();
    Ok(found)
}

fn socket(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        socket.set_only_v6(false)?;
    }
    // Connections of an earlier process that are still winding down do not block a restart.
    socket.set_reuse_address(true)?;
    #[cfg(unix)]
    socket.set_reuse_port(shared)?;
    // Accepted connections inherit both: nothing is held back to be sent with more, and a client that vanished
    // without a word is found even while nothing is sent, as in a tunnel or an upload that never goes on.
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_keepalive(&keepalive())?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn has_ipv6() -> bool {
    Socket::new(Domain::IPV6, Type::STREAM, Some(Protocol::TCP)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(host: &str, port: u16, workers: usize) -> (SocketAddr, Vec<TcpListener>) {
        let address = addresses(host, port).unwrap().remove(0);
        let bound = tcp(address, workers).unwrap();
        let sockets: Vec<TcpListener> = bound
            .sockets
            .into_iter()
            .filter_map(|socket| match socket {
                Accepting::Tcp(socket) => Some(socket),
                Accepting::Unix(_) => None,
            })
            .collect();
        (sockets[0].local_addr().unwrap(), sockets)
    }

    #[test]
    fn accepted_connections_notice_a_peer_that_vanished() {
        let (address, sockets) = bind("127.0.0.1", 0, 1);
        let _client = std::net::TcpStream::connect(address).unwrap();
        sockets[0].set_nonblocking(false).unwrap();
        let (accepted, _) = sockets[0].accept().unwrap();
        assert!(socket2::SockRef::from(&accepted).keepalive().unwrap());
    }

    #[test]
    fn all_workers_share_one_port() {
        let (address, sockets) = bind("127.0.0.1", 0, 3);
        let ports: Vec<u16> = sockets.iter().map(|s| s.local_addr().unwrap().port()).collect();
        assert_eq!(ports, [address.port(); 3]);
    }

    #[test]
    fn a_taken_port_is_an_error_though_workers_share_theirs() {
        let (address, _sockets) = bind("127.0.0.1", 0, 2);
        assert_eq!(check_free(address).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn one_address_and_all_of_them_can_be_bound_side_by_side() {
        let (address, _sockets) = bind("", 0, 2);
        bind("127.0.0.1", address.port(), 2);
    }

    #[test]
    fn no_host_is_every_address() {
        let (address, _sockets) = bind("", 0, 1);
        assert!(address.ip().is_unspecified());
        assert!(std::net::TcpStream::connect(("127.0.0.1", address.port())).is_ok());
    }
}
