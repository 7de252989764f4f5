//! The two ends of a proxy, as an input describes them.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Input;
use super::reference::{self, Read};
use crate::upstream::connect::Io;

/// A peer whose bytes come in pieces, and who keeps what it gets.
#[derive(Debug, Default)]
struct Peer {
    pieces: VecDeque<Vec<u8>>,
    /// A piece was given: the next one comes a moment later.
    gave: bool,
    took: bool,
    ended: bool,
    waker: Option<Waker>,
    got: Vec<u8>,
    piece: usize,
    slow: bool,
}

/// The client of the connection.
#[derive(Clone, Debug)]
pub(super) struct Client(Arc<Mutex<Peer>>);

/// One connection to an upstream.
#[derive(Debug)]
struct Upstream {
    peer: Peer,
    port: u16,
    eager: bool,
    answers: VecDeque<Vec<u8>>,
    answered: usize,
    number: usize,
    begun: usize,
    order: Arc<Mutex<Vec<usize>>>,
}

#[derive(Debug)]
struct Conn(Arc<Mutex<Upstream>>);

/// All connections to upstreams.
#[derive(Clone, Debug)]
pub(super) struct Recorders {
    all: Arc<Mutex<Vec<Arc<Mutex<Upstream>>>>>,
    order: Arc<Mutex<Vec<usize>>>,
    hung_up: Arc<AtomicBool>,
    plan: Arc<Plan>,
}

#[derive(Debug)]
struct Plan {
    piece: usize,
    slow: bool,
    eager: bool,
    answers: Vec<Vec<Vec<u8>>>,
}

/// What came over a connection to an upstream.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) port: u16,
    pub(super) bytes: Vec<u8>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Peer ===

impl Peer {
    fn new(piece: usize, slow: bool) -> Self {
        Self {
            piece,
            slow,
            ..Self::default()
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.pieces.extend(bytes.chunks(self.piece).map(<[u8]>::to_vec));
        self.wake();
    }

    fn end(&mut self) {
        self.ended = true;
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn poll_read(&mut self, cx: &Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.pieces.is_empty() && std::mem::replace(&mut self.gave, false) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        match self.pieces.pop_front() {
            Some(mut piece) => {
                let rest = piece.split_off(piece.len().min(to.remaining()));
                to.put_slice(&piece);
                self.gave = rest.is_empty();
                if !rest.is_empty() {
                    self.pieces.push_front(rest);
                }
                Poll::Ready(Ok(()))
            }
            None if self.ended => Poll::Ready(Ok(())),
            None => {
                self.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    fn poll_write(&mut self, cx: &Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if self.slow && std::mem::replace(&mut self.took, false) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let most = if self.slow { self.piece } else { usize::MAX };
        let taken = data.get(..most).unwrap_or(data);
        self.got.extend_from_slice(taken);
        self.took = true;
        Poll::Ready(Ok(taken.len()))
    }
}

// === impl Client ===

impl Client {
    pub(super) fn new(input: &Input<'_>) -> Self {
        let mut peer = Peer::new(input.piece, input.slow);
        peer.say(input.client);
        Self(Arc::new(Mutex::new(peer)))
    }

    pub(super) fn hang_up(&self) {
        lock(&self.0).end();
    }

    pub(super) fn written(&self) -> Vec<u8> {
        lock(&self.0).got.clone()
    }
}

impl AsyncRead for Client {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        lock(&self.0).poll_read(cx, to)
    }
}

impl AsyncWrite for Client {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        lock(&self.0).poll_write(cx, data)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Whoever is told goodbye says it, too.
        self.hang_up();
        Poll::Ready(Ok(()))
    }
}

// === impl Upstream ===

impl Upstream {
    /// Says what there is to say to the requests that came so far, and ends behind the last of it.
    fn answer(&mut self) {
        let (whole, begun) = requests(&self.peer.got);
        while self.begun < whole + usize::from(begun) {
            self.begun += 1;
            lock(&self.order).push(self.number);
        }
        let due = if self.eager && begun { whole + 1 } else { whole };
        while self.answered < due {
            self.answered += 1;
            let answer = self.answers.pop_front().unwrap_or_default();
            self.peer.say(&answer);
            if self.answers.is_empty() {
                self.peer.end();
            }
        }
    }
}

/// How many whole requests there are, and whether another one has begun.
fn requests(bytes: &[u8]) -> (usize, bool) {
    let (mut rest, mut whole) = (bytes, 0);
    while let Read::Whole(request, length) = reference::request(rest) {
        let behind = rest.split_at(length).1;
        let Read::Whole(_, length) = reference::body(behind, request.end, false) else {
            break;
        };
        rest = behind.split_at(length).1;
        whole += 1;
    }
    (whole, !rest.is_empty())
}

impl AsyncRead for Conn {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        lock(&self.0).peer.poll_read(cx, to)
    }
}

impl AsyncWrite for Conn {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let mut upstream = lock(&self.0);
        let taken = upstream.peer.poll_write(cx, data);
        upstream.answer();
        taken
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

// === impl Recorders ===

impl Recorders {
    pub(super) fn new(input: &Input<'_>) -> Self {
        let owned = |answers: &Vec<&[u8]>| answers.iter().map(|answer| answer.to_vec()).collect();
        let plan = Plan {
            piece: input.piece,
            slow: input.slow,
            eager: input.eager,
            answers: input.upstreams.iter().map(owned).collect(),
        };
        Self {
            all: Arc::default(),
            order: Arc::default(),
            hung_up: Arc::default(),
            plan: Arc::new(plan),
        }
    }

    /// The next connection that the input describes.
    pub(super) fn dial(&self, address: SocketAddr) -> io::Result<Io> {
        if self.hung_up.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let plan = &self.plan;
        let mut all = lock(&self.all);
        let answers = plan.answers.get(all.len());
        let upstream = Arc::new(Mutex::new(Upstream {
            peer: Peer::new(plan.piece, plan.slow),
            port: address.port(),
            eager: plan.eager,
            answers: answers.ok_or(io::ErrorKind::ConnectionRefused)?.clone().into(),
            answered: 0,
            number: all.len(),
            begun: 0,
            order: Arc::clone(&self.order),
        }));
        all.push(Arc::clone(&upstream));
        Ok(Box::new(Conn(upstream)))
    }

    /// Ends all connections, and takes no more.
    pub(super) fn hang_up(&self) {
        self.hung_up.store(true, Ordering::Relaxed);
        for upstream in lock(&self.all).iter() {
            lock(upstream).peer.end();
        }
    }

    pub(super) fn recorded(&self) -> Vec<Recorded> {
        let recorded = |upstream: &Arc<Mutex<Upstream>>| {
            let upstream = lock(upstream);
            Recorded {
                port: upstream.port,
                bytes: upstream.peer.got.clone(),
            }
        };
        lock(&self.all).iter().map(recorded).collect()
    }

    /// The connection of each request, in the order in which they began.
    pub(super) fn order(&self) -> Vec<usize> {
        lock(&self.order).clone()
    }
}
