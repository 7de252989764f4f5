//! Upstreams on raw sockets: one that the test plays itself, one that answers by a script and records everything.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::message::Head;
use super::wait::{Changes, within};
use super::wire::{Message, Wire};

/// An upstream whose connections the test accepts and plays by hand.
pub(crate) struct Origin {
    listener: TcpListener,
    addr: SocketAddr,
}

/// An upstream that answers by itself and keeps every byte it got.
pub(crate) struct Recorder {
    addr: SocketAddr,
    shared: Arc<Shared>,
    serving: AbortOnDropHandle<()>,
}

/// A listener whose queue of connections is full, so that the kernel answers no further one: dialling it hangs.
pub(crate) struct Deaf {
    addr: SocketAddr,
    _queue: Vec<Socket>,
}

/// A request that reached a [`Recorder`].
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    /// Which connection it came on, counted from 0 in the order of arrival.
    pub(crate) connection: usize,
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<String>,
}

/// What a [`Recorder`] does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Sends these bytes and keeps the connection.
    Keep(Vec<u8>),
    /// Sends these bytes, if any, and closes the connection cleanly.
    Close(Vec<u8>),
    /// Sends these bytes, if any, and resets the connection.
    Reset(Vec<u8>),
}

type Script = dyn Fn(&Recorded) -> Reply + Send + Sync;

struct Shared {
    script: Box<Script>,
    seen: Mutex<Seen>,
    bytes: Arc<AtomicUsize>,
    changes: Changes,
}

#[derive(Default)]
struct Seen {
    requests: Vec<Recorded>,
    accepted: usize,
    ended: usize,
}

// === impl Origin ===

impl Origin {
    /// Listens on `ip` and any free port.
    pub(crate) async fn bind(ip: impl Into<IpAddr>) -> Self {
        Self::bind_at(SocketAddr::new(ip.into(), 0)).await
    }

    /// Listens on `addr`.
    pub(crate) async fn bind_at(addr: SocketAddr) -> Self {
        let listener = TcpListener::bind(addr).await.expect("the address is free");
        let addr = listener.local_addr().expect("the listener is bound");
        Self { listener, addr }
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> Wire {
        Wire::over(self.accept_stream().await)
    }

    /// The next connection as a bare stream, for a server of the test's own.
    pub(crate) async fn accept_stream(&self) -> TcpStream {
        within("the upstream connection", self.listener.accept())
            .await
            .expect("the listener is open")
            .0
    }

    /// Whether no connection waits to be accepted now.
    pub(crate) async fn is_idle(&self) -> bool {
        tokio::select! {
            biased;
            _ = self.listener.accept() => false,
            () = tokio::task::yield_now() => true,
        }
    }
}

// === impl Recorder ===

impl Recorder {
    /// Listens on `ip` and any free port and answers each request by `script`.
    pub(crate) async fn start(
        ip: impl Into<IpAddr>,
        script: impl Fn(&Recorded) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_at(SocketAddr::new(ip.into(), 0), script).await
    }

    /// Like [`Recorder::start`], on a given address.
    pub(crate) async fn start_at(
        addr: SocketAddr,
        script: impl Fn(&Recorded) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let origin = Origin::bind_at(addr).await;
        let addr = origin.addr();
        let script = Box::new(script);
        let shared = Arc::new(Shared {
            script,
            seen: Mutex::default(),
            bytes: Arc::default(),
            changes: Changes::new(),
        });
        let serving = AbortOnDropHandle::new(tokio::spawn(serve(origin, Arc::clone(&shared))));
        Self {
            addr,
            shared,
            serving,
        }
    }

    /// An upstream that answers every request with 200 and `body`.
    pub(crate) async fn saying(ip: impl Into<IpAddr>, body: &'static str) -> Self {
        Self::start(ip, move |_| Reply::ok(body)).await
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Every request so far.
    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.shared.lock(|seen| seen.requests.clone())
    }

    /// Every request since the last call.
    pub(crate) fn take_requests(&self) -> Vec<Recorded> {
        self.shared.lock(|seen| std::mem::take(&mut seen.requests))
    }

    /// The only request so far.
    pub(crate) fn only_request(&self) -> Recorded {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "exactly one request reaches the upstream");
        requests.remove(0)
    }

    /// How many connections were accepted.
    pub(crate) fn accepted(&self) -> usize {
        self.shared.lock(|seen| seen.accepted)
    }

    /// How many connections are open.
    pub(crate) fn open(&self) -> usize {
        self.shared.lock(|seen| seen.accepted - seen.ended)
    }

    /// Waits until at most `count` connections are open.
    pub(crate) async fn until_open(&self, count: usize) {
        let check = || (self.open() <= count).then_some(());
        self.shared
            .changes
            .until(
                &format!("at most {count} open connections at the upstream"),
                check,
            )
            .await;
    }

    /// How many bytes came on all connections.
    pub(crate) fn bytes(&self) -> usize {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Waits until `count` connections have ended.
    pub(crate) async fn until_ended(&self, count: usize) {
        let check = || self.shared.lock(|seen| (seen.ended >= count).then_some(()));
        self.shared
            .changes
            .until(&format!("{count} ended connections at the upstream"), check)
            .await;
    }

    /// Stops listening and cuts every connection.
    pub(crate) async fn vanish(self) {
        let Self { serving, .. } = self;
        serving.abort();
        let _cancelled = serving.await;
    }
}

// === impl Deaf ===

impl Deaf {
    /// Listens on `addr`, and hears nobody.
    pub(crate) fn bind(addr: SocketAddr) -> Self {
        let socket = || Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let listener = socket();
        listener.bind(&addr.into()).expect("the address is free");
        listener.listen(0).expect("the socket is bound");
        let addr = listener
            .local_addr()
            .expect("bound")
            .as_socket()
            .expect("an IP address");
        let mut queue = vec![listener];
        // A queue of 0 still takes one; two more leave no doubt.
        for _ in 0..3 {
            let waiting = socket();
            waiting.set_nonblocking(true).expect("a fresh socket");
            let _in_progress = waiting.connect(&addr.into());
            queue.push(waiting);
        }
        Self { addr, _queue: queue }
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }
}

// === impl Reply ===

impl Reply {
    /// A plain 200 on a connection that stays open.
    pub(crate) fn ok(body: &str) -> Self {
        Self::Keep(ok(body))
    }

    /// Sends these bytes and keeps the connection.
    pub(crate) fn keep(bytes: impl AsRef<[u8]>) -> Self {
        Self::Keep(bytes.as_ref().to_vec())
    }
}

// === impl Shared ===

impl Shared {
    fn lock<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let value = self.lock(change);
        self.changes.announce();
        value
    }
}

/// A plain 200 with `body`.
pub(crate) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

async fn serve(origin: Origin, shared: Arc<Shared>) {
    // Dropped with this task, so that the connections go when the listener goes.
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = origin.listener.accept().await.expect("the listener is open");
        let index = shared.change(|seen| {
            seen.accepted += 1;
            seen.accepted - 1
        });
        connections.spawn(converse(stream, index, Arc::clone(&shared)));
    }
}

async fn converse(stream: TcpStream, connection: usize, shared: Arc<Shared>) {
    let mut wire = Wire::counting(stream, Arc::clone(&shared.bytes));
    while let Ok(Message { head, body, trailers }) = wire.try_request().await {
        let recorded = Recorded {
            connection,
            head,
            body,
            trailers,
        };
        let reply = (shared.script)(&recorded);
        shared.change(|seen| seen.requests.push(recorded));
        let (Reply::Keep(bytes) | Reply::Close(bytes) | Reply::Reset(bytes)) = &reply;
        let sent = wire.try_send(bytes).await;
        if matches!(reply, Reply::Reset(_)) {
            wire.set_reset();
        }
        if sent.is_err() || !matches!(reply, Reply::Keep(_)) {
            break;
        }
    }
    drop(wire);
    shared.change(|seen| seen.ended += 1);
}
