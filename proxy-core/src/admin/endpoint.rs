//! Where the admin API is found: bound first, served later, given up last.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use caddy_config::{Admin, HostPort, ListenAddress, ListenError};
use socket2::{Domain, Protocol, Socket, Type};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::time;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::connection;
use super::guard::Guard;
use super::keeper::Keeper;
use super::routes;
use crate::keepalive::keepalive;
use crate::snapshot::Snapshot;
use crate::unix_socket::{self, SocketFile};

/// Connections that are served at once; others wait in the socket's queue.
const MAX_CONNECTIONS: usize = 256;

/// Connections that may wait.
const BACKLOG: i32 = 128;

/// Who may use a unix socket, unless its address says.
const UNIX_MODE: u32 = 0o600;

/// The default address of an endpoint that is nowhere by default.
const OFF: &str = "off";

/// The wait after a failed accept.
const BACKOFF: Duration = Duration::from_millis(100);

/// A socket on which the admin API is not served yet.
#[derive(Debug)]
pub(super) struct Endpoint {
    address: ListenAddress,
    port: u16,
    listener: Listener,
    file: Option<SocketFile>,
}

/// The admin API being served. Dropping it ends that; requests under way are still answered.
#[derive(Debug)]
pub(super) struct Serving {
    address: ListenAddress,
    port: u16,
    guard: Arc<Snapshot<Guard>>,
    file: Option<SocketFile>,
    stop: CancellationToken,
}

/// Where the admin API cannot be.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AdminError {
    /// The address is none.
    #[error("the admin address `{address}`: {source}; {}", source.help())]
    Address {
        /// The address as configured.
        address: String,
        /// What is wrong with it.
        source: ListenError,
    },
    /// The document that is said to run is none.
    #[error("the configuration: {0}")]
    Document(String),
    /// The address cannot be listened on.
    #[error("cannot serve the admin API on {address}: {source}{}", way_out(source))]
    Bind {
        /// The address as configured.
        address: String,
        /// What the system says.
        source: io::Error,
    },
}

#[derive(Debug)]
enum Listener {
    Tcp(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener),
}

/// A connection over either.
#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

// === impl Endpoint ===

impl Endpoint {
    /// The address that `admin` asks for, `default` if it names none; `None` if there is to be no endpoint.
    pub(super) fn wanted(admin: Option<&Admin>, default: &str) -> Result<Option<ListenAddress>, AdminError> {
        if admin.is_some_and(|admin| admin.disabled) {
            return Ok(None);
        }
        let address = match admin.and_then(|admin| admin.listen.as_deref()) {
            Some(address) => address,
            None if default == OFF => return Ok(None),
            None => default,
        };
        let parsed = address.parse().map_err(|source| AdminError::Address {
            address: address.to_owned(),
            source,
        });
        parsed.map(Some)
    }

    /// Listens on `address`. `before` is where the API is served now: a socket that shares its port is no stranger's.
    pub(super) async fn bind(address: ListenAddress, before: Option<&Serving>) -> Result<Self, AdminError> {
        let failed = |source| AdminError::Bind {
            address: address.to_string(),
            source,
        };
        match &address {
            ListenAddress::Tcp(tcp) => {
                let ours = before.is_some_and(|before| before.port == tcp.port());
                let at = resolve(tcp.host(), tcp.port()).await.map_err(failed)?;
                let listener = bind(at, ours).map_err(failed)?;
                let port = listener.local_addr().map_err(failed)?.port();
                let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
                Ok(Self {
                    port,
                    listener: Listener::Tcp(listener),
                    file: None,
                    address,
                })
            }
            ListenAddress::Unix(socket) => {
                let mode = socket.mode().unwrap_or(UNIX_MODE);
                let (listener, file) = unix_socket::bind(socket.path(), mode).map_err(failed)?;
                let listener = tokio::net::UnixListener::from_std(listener).map_err(failed)?;
                Ok(Self {
                    port: 0,
                    listener: Listener::Unix(listener),
                    file,
                    address,
                })
            }
        }
    }

    /// Serves the API from now on.
    pub(super) fn serve(self, admin: &Admin, keeper: &Arc<Keeper>) -> Serving {
        let Self {
            address,
            port,
            listener,
            file,
        } = self;
        let guard = Arc::new(Snapshot::new(Guard::new(admin, &address, port)));
        let stop = CancellationToken::new();
        let accepting = accept(listener, Arc::clone(&guard), Arc::clone(keeper), stop.clone());
        keeper.tasks().spawn("admin", accepting);
        info!(%address, port, "the admin API is served");
        Serving {
            address,
            port,
            guard,
            file,
            stop,
        }
    }
}

// === impl Serving ===

impl Serving {
    /// Whether the API can stay where it is if it is to be at `address`.
    pub(super) fn is_at(&self, address: &ListenAddress) -> bool {
        match (&self.address, address) {
            (ListenAddress::Unix(here), ListenAddress::Unix(there)) => here.path() == there.path(),
            (here, there) => here == there,
        }
    }

    /// Goes on at the same place, by what `admin` says about who may ask.
    pub(super) fn go_on(&mut self, admin: &Admin, address: ListenAddress) {
        if let (Some(file), ListenAddress::Unix(socket)) = (&self.file, &address)
            && address != self.address
            && let Err(error) = file.set_mode(socket.mode().unwrap_or(UNIX_MODE))
        {
            warn!(%address, %error, "the permissions of the admin socket stay as they were");
        }
        self.guard.publish(Guard::new(admin, &address, self.port));
        self.address = address;
    }

    /// Where it is, with the port that the system chose if any would do.
    pub(super) fn place(&self) -> String {
        match &self.address {
            ListenAddress::Tcp(tcp) => HostPort::new(tcp.host().to_owned(), self.port).to_string(),
            ListenAddress::Unix(socket) => socket.to_string(),
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Accepts until `stop`. A failed accept never ends it.
async fn accept(
    listener: Listener,
    guard: Arc<Snapshot<Guard>>,
    keeper: Arc<Keeper>,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut failing = false;
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            next = next => next,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    warn!(%error, "cannot accept connections to the admin API; trying again");
                }
                time::sleep(BACKOFF).await;
                continue;
            }
        };
        failing = false;
        let (guard, owner, stop) = (Arc::clone(&guard), Arc::clone(&keeper), stop.clone());
        keeper.tasks().spawn("admin connection", async move {
            let _place = place;
            let answer = |request| {
                let guard = guard.current();
                let keeper = Arc::clone(&owner);
                async move { routes::answer(&keeper, &guard, peer, request).await }
            };
            connection::serve(stream, answer, stop).await;
        });
    }
}

/// The one address that a name stands for; of several, as in Caddy, the first of IPv4.
async fn resolve(host: &str, port: u16) -> io::Result<SocketAddr> {
    if host.is_empty() {
        let any = "[::]:0".parse::<SocketAddr>().ok().filter(|_| has_ipv6());
        let any = any.map_or_else(
            || SocketAddr::from(([0, 0, 0, 0], port)),
            |any| SocketAddr::new(any.ip(), port),
        );
        return Ok(any);
    }
    let found: Vec<SocketAddr> = lookup_host((host, port)).await?.collect();
    let first = found
        .iter()
        .find(|address| address.is_ipv4())
        .or_else(|| found.first());
    first
        .copied()
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))
}

/// Binds a socket that no other process has. Sockets of this process may share a port for as long as it takes to move
/// from one to the other: from `localhost` to all addresses, for example.
fn bind(address: SocketAddr, ours: bool) -> io::Result<TcpListener> {
    if !ours {
        drop(socket(address, false)?);
    }
    socket(address, true)
}

fn socket(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
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

fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; stop what listens there, or choose another address with the global option `admin`, or `admin off`"
        }
        io::ErrorKind::NotFound => {
            "; the directory of the socket must exist, and a host must have an address"
        }
        io::ErrorKind::PermissionDenied => "; the user of this process may not listen there",
        _ => "",
    }
}

// === impl Listener ===

impl Listener {
    /// The next connection, and who it is, as far as that is known.
    async fn accept(&self) -> io::Result<(Stream, Option<SocketAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok((Stream::Tcp(stream), Some(peer)))
            }
            Self::Unix(listener) => Ok((Stream::Unix(listener.accept().await?.0), None)),
        }
    }
}

// === impl Stream ===

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, to),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, to),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, data),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
