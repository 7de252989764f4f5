//! Idle connections to upstreams, per worker, address and way of connecting, last in first out.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http1_codec::client::Connection;

use super::channel::Channel;
use super::connect::Io;
use super::dials::Dials;
use super::http2::Http2;
use super::idle::{IdlePlace, IdleTotal};
use super::transport::{Key, Protocol};

/// Limits of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolLimits {
    /// How long a connection may stay idle. Default 2 minutes.
    pub(crate) idle: Duration,
    /// The most idle connections to one address. Default 512.
    pub(crate) per_address: usize,
}

/// The idle connections of a worker. Keyed by address, so that a name that moves never reaches an old
/// pod over a kept connection.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    idle: Mutex<Idle>,
    /// What is being opened.
    pub(crate) dials: Arc<Dials>,
}

/// The addresses are the configuration's, or lie in its networks: nobody chooses them so that they collide. Clients, who
/// are in a few keys, do not know what they are mixed with.
type ByKey<T> = HashMap<Key, Vec<T>, foldhash::fast::RandomState>;

#[derive(Debug, Default)]
struct Idle {
    http1: ByKey<Waiting>,
    http2: ByKey<Shared>,
    /// Addresses that a name led to since the last look at the names.
    named: HashSet<IpAddr>,
}

#[derive(Debug)]
struct Waiting {
    connection: Connection<Io>,
    age: Duration,
    limit: Duration,
    _place: Option<IdlePlace>,
}

/// An HTTP/2 connection, idle or not.
#[derive(Debug)]
struct Shared {
    connection: Http2,
    /// Since when it has been idle.
    age: Duration,
    limit: Duration,
    /// How many may be idle in all.
    total: Option<Arc<IdleTotal>>,
    place: Option<IdlePlace>,
}

// === impl PoolLimits ===

impl Default for PoolLimits {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(120),
            per_address: 512,
        }
    }
}

// === impl Pool ===

impl Pool {
    /// Remembers that a name led to `ip`: once none does, its idle connections are of no use.
    pub(crate) fn named(&self, ip: IpAddr) {
        self.lock().named.insert(ip);
    }

    /// A kept connection of this key that can take a request now.
    pub(crate) fn take(&self, key: Key, protocol: Protocol) -> Option<Channel> {
        let mut idle = self.lock();
        match protocol {
            Protocol::Http1 => idle.take_http1(key),
            Protocol::Http2 => idle.take_http2(key),
            Protocol::Either => idle.take_http2(key).or_else(|| idle.take_http1(key)),
        }
    }

    /// Keeps an HTTP/2 connection for all requests of this key, unless those that are kept have room.
    pub(crate) fn share(
        &self,
        key: Key,
        connection: Http2,
        limits: PoolLimits,
        total: Option<&Arc<IdleTotal>>,
    ) {
        let mut idle = self.lock();
        let shared = idle.http2.entry(key).or_default();
        // Requests that come at once open one each before the first is there; those beyond need serve theirs.
        let needed = !shared.iter().any(|shared| shared.connection.has_room());
        if needed && shared.len() < limits.per_address {
            shared.push(Shared {
                connection,
                age: Duration::ZERO,
                limit: limits.idle,
                total: total.cloned(),
                place: None,
            });
        }
    }

    /// Keeps an HTTP/1.1 connection whose exchange is complete, unless as many are kept as may be.
    pub(crate) fn give_back(
        &self,
        connection: Connection<Io>,
        key: Key,
        limits: PoolLimits,
        total: Option<&Arc<IdleTotal>>,
    ) {
        let place = total.map(IdleTotal::place);
        if matches!(place, Some(None)) {
            return;
        }
        let mut idle = self.lock();
        let waiting = idle.http1.entry(key).or_default();
        if waiting.len() < limits.per_address {
            waiting.push(Waiting {
                connection,
                age: Duration::ZERO,
                limit: limits.idle,
                _place: place.flatten(),
            });
        }
    }

    /// Closes what was closed by the other side or idle for too long, `passed` after the last call.
    pub(crate) fn sweep(&self, passed: Duration) {
        let mut idle = self.lock();
        idle.http1.retain(|_, waiting| {
            waiting.retain_mut(|entry| {
                entry.age += passed;
                entry.age < entry.limit && entry.connection.is_quiet()
            });
            !waiting.is_empty()
        });
        idle.http2.retain(|_, shared| {
            shared.retain_mut(|entry| {
                if entry.connection.is_idle() {
                    entry.age += passed;
                } else {
                    entry.age = Duration::ZERO;
                    entry.place = None;
                }
                !entry.connection.is_closed() && entry.age < entry.limit && entry.has_place()
            });
            !shared.is_empty()
        });
    }

    /// Closes the idle connections to addresses that a name led to and of which `is_listed` says that none
    /// does any more. Busy ones finish; they are then used by nobody but the sessions of that pod, and age
    /// out.
    pub(crate) fn retire_unless(&self, is_listed: impl Fn(&IpAddr) -> bool) {
        let mut idle = self.lock();
        let Idle { http1, http2, named } = &mut *idle;
        named.retain(|ip| {
            let listed = is_listed(ip);
            if !listed {
                http1.retain(|key, _| key.address().ip() != *ip);
                http2.retain(|key, _| key.address().ip() != *ip);
            }
            listed
        });
    }

    /// Idle HTTP/1.1 connections.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().http1.values().map(Vec::len).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Shared ===

impl Shared {
    /// Whether it may stay: while it is idle it needs a place among those that are.
    fn has_place(&mut self) -> bool {
        let Some(total) = self.total.as_ref().filter(|_| self.age > Duration::ZERO) else {
            return true;
        };
        self.place = self.place.take().or_else(|| total.place());
        self.place.is_some()
    }
}

// === impl Idle ===

impl Idle {
    fn take_http1(&mut self, key: Key) -> Option<Channel> {
        let connection = take_quiet(self.http1.get_mut(&key)?)?;
        Some(Channel::Http1(connection, key))
    }

    /// The oldest first, so that those beyond need fall idle.
    fn take_http2(&self, key: Key) -> Option<Channel> {
        let mut shared = self.http2.get(&key)?.iter();
        let place = shared.find_map(|shared| shared.connection.take())?;
        Some(Channel::Http2(place, key))
    }
}

/// The youngest connection on which nothing has happened. Those that the upstream has closed, or on which it sent
/// what nobody asked for, are dropped on the way.
fn take_quiet(waiting: &mut Vec<Waiting>) -> Option<Connection<Io>> {
    loop {
        let mut youngest = waiting.pop()?.connection;
        if youngest.is_quiet() {
            return Some(youngest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;

    use http::Request;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::body::{Body, read_all};
    use crate::tasks::Tasks;
    use crate::upstream::channel::Home;
    use crate::upstream::transport::{Connected, HEAD_LIMITS};

    const MINUTE: Duration = Duration::from_secs(60);

    struct Rig {
        listener: TcpListener,
        address: SocketAddr,
        pool: Arc<Pool>,
    }

    impl Rig {
        async fn new() -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            Self {
                listener,
                address,
                pool: Arc::default(),
            }
        }

        /// Sends one request over a new connection and answers it; the connection ends up in the pool.
        async fn exchange(&self) -> TcpStream {
            let stream = TcpStream::connect(self.address).await.unwrap();
            let (mut upstream, _) = self.listener.accept().await.unwrap();
            let tasks = Tasks::default();
            let connected = Connected {
                stream: Box::new(stream),
                address: self.address,
                http2: false,
                tls: false,
            };
            let channel = Channel::open(connected, self.address.into(), &HEAD_LIMITS, &tasks, None)
                .await
                .unwrap();
            let answer = async {
                assert_ne!(upstream.read(&mut [0; 1024]).await.unwrap(), 0);
                upstream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
                    .await
                    .unwrap();
            };
            let request = Box::new(Request::get("/").header("host", "a").body(Body::empty()).unwrap());
            let (response, ()) = tokio::join!(
                channel.send(
                    request,
                    &[],
                    &HEAD_LIMITS,
                    Some(Home {
                        pool: &self.pool,
                        limits: PoolLimits::default(),
                        total: None,
                        gate: None,
                        worker: 0,
                    }),
                    |_| {}
                ),
                answer
            );
            assert_eq!(read_all(response.unwrap().into_body()).await.unwrap().0, b"ok");
            upstream
        }
    }

    #[tokio::test]
    async fn a_connection_is_kept_when_its_exchange_is_complete_and_given_out_once() {
        let rig = Rig::new().await;
        let _upstream = rig.exchange().await;
        assert_eq!(rig.pool.len(), 1);
        tokio::task::yield_now().await;
        assert!(rig.pool.take(rig.address.into(), Protocol::Http1).is_some());
        assert!(rig.pool.take(rig.address.into(), Protocol::Http1).is_none());
    }

    #[tokio::test]
    async fn a_connection_that_was_idle_for_too_long_is_closed() {
        let rig = Rig::new().await;
        let mut upstream = rig.exchange().await;
        rig.pool.sweep(MINUTE);
        assert_eq!(rig.pool.len(), 1);
        rig.pool.sweep(MINUTE);
        assert_eq!(rig.pool.len(), 0);
        assert_eq!(
            upstream.read(&mut [0; 8]).await.unwrap(),
            0,
            "the upstream sees the end"
        );
    }

    #[tokio::test]
    async fn connections_to_a_vanished_address_are_closed_at_once() {
        let rig = Rig::new().await;
        let mut upstream = rig.exchange().await;
        rig.pool.retire_unless(|_| false);
        assert_eq!(rig.pool.len(), 1, "no name ever led there: it is a pod's");
        rig.pool.named(rig.address.ip());
        rig.pool.retire_unless(|ip| *ip == rig.address.ip());
        assert_eq!(rig.pool.len(), 1);
        rig.pool.retire_unless(|_| false);
        assert_eq!(rig.pool.len(), 0);
        assert_eq!(upstream.read(&mut [0; 8]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_connection_that_the_upstream_closed_is_not_given_out() {
        let rig = Rig::new().await;
        drop(rig.exchange().await);
        while rig.pool.take(rig.address.into(), Protocol::Http1).is_some() {
            tokio::task::yield_now().await;
        }
        assert_eq!(rig.pool.len(), 0);
    }
}
