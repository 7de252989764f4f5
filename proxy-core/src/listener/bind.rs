//! Binding listening sockets: one for each worker, all on the same address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _};

use socket2::{Domain, Protocol, Socket, Type};

use crate::keepalive::keepalive;

/// Connections that may wait for an accept, per socket.
pub(super) const BACKLOG: i32 = 4096;

/// Sockets for one address.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) address: SocketAddr,
    pub(crate) sockets: Vec<TcpListener>,
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

/// Binds `address` once for each of `workers`.
///
/// # Errors
///
/// If a socket that does not share its port listens there, or the address is not one of this machine.
pub(crate) fn bind(address: SocketAddr, workers: usize) -> io::Result<Bound> {
    let first = socket(address, true)?;
    let address = first.local_addr()?;
    let mut sockets = vec![first];
    while sockets.len() < workers.max(1) {
        sockets.push(socket(address, true)?);
    }
    Ok(Bound { address, sockets })
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

    fn bind(host: &str, port: u16, workers: usize) -> Bound {
        let address = addresses(host, port).unwrap().remove(0);
        super::bind(address, workers).unwrap()
    }

    #[test]
    fn accepted_connections_notice_a_peer_that_vanished() {
        let bound = bind("127.0.0.1", 0, 1);
        let _client = std::net::TcpStream::connect(bound.address).unwrap();
        let listener = bound.sockets.first().unwrap();
        listener.set_nonblocking(false).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert!(socket2::SockRef::from(&accepted).keepalive().unwrap());
    }

    #[test]
    fn all_workers_share_one_port() {
        let bound = bind("127.0.0.1", 0, 3);
        let ports: Vec<u16> = bound
            .sockets
            .iter()
            .map(|s| s.local_addr().unwrap().port())
            .collect();
        assert_eq!(ports, [bound.address.port(); 3]);
    }

    #[test]
    fn a_taken_port_is_an_error_though_workers_share_theirs() {
        let first = bind("127.0.0.1", 0, 2);
        let error = check_free(first.address).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn one_address_and_all_of_them_can_be_bound_side_by_side() {
        let all = bind("", 0, 2);
        bind("127.0.0.1", all.address.port(), 2);
    }

    #[test]
    fn no_host_is_every_address() {
        let bound = bind("", 0, 1);
        assert!(bound.address.ip().is_unspecified());
        let port = bound.address.port();
        assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    }
}
