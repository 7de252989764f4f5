//! A container of the application: a server on a port of its own.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Result;

use crate::count::read_head;

/// Answers until it is stopped or crashes.
#[derive(Debug)]
pub(super) struct Replica {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// No new connections and no further requests.
    stopping: AtomicBool,
    requests: AtomicU64,
    connections: Mutex<BTreeMap<u64, Connection>>,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    /// Whether a request is being answered.
    busy: bool,
}

// === impl Replica ===

impl Replica {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::default());
        let served = Arc::clone(&shared);
        thread::spawn(move || {
            for (number, stream) in (0..).zip(listener.incoming().flatten()) {
                if served.stopping.load(Ordering::SeqCst) {
                    return;
                }
                let served = Arc::clone(&served);
                // A connection that ends in an error is the proxy's to explain.
                thread::spawn(move || drop(served.serve(number, stream)));
            }
        });
        Ok(Self { port, shared })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// As an application that gets SIGTERM: nobody is accepted any more, idle connections are closed, and what was asked
    /// is answered.
    pub(super) fn stop(self) {
        self.close_listener();
        for connection in self.shared.connections().values().filter(|one| !one.busy) {
            drop(connection.stream.shutdown(Shutdown::Both));
        }
        while !self.shared.connections().is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// As an application that is killed: every connection is reset. Gives the requests that were in flight.
    pub(super) fn crash(self) -> u64 {
        let mut in_flight = 0;
        self.shared.stopping.store(true, Ordering::SeqCst);
        for connection in self.shared.connections().values() {
            in_flight += u64::from(connection.busy);
            let socket = socket2::SockRef::from(&connection.stream);
            drop(socket.set_linger(Some(Duration::ZERO)));
            drop(connection.stream.shutdown(Shutdown::Both));
        }
        self.close_listener();
        in_flight
    }

    fn close_listener(&self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes it up.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
    }
}

// === impl Shared ===

impl Shared {
    fn connections(&self) -> MutexGuard<'_, BTreeMap<u64, Connection>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, number: u64, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let connection = Connection {
            stream: stream.try_clone()?,
            busy: false,
        };
        self.connections().insert(number, connection);
        let served = self.answer_all(number, stream);
        self.connections().remove(&number);
        served
    }

    fn answer_all(&self, number: u64, stream: TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        loop {
            io::BufRead::fill_buf(&mut reader)?;
            self.be(number, true);
            let head = read_head(&mut reader)?;
            if head.starts_with("POST ") {
                reader.read_exact(&mut [0; 4])?;
            }
            // Requests take their time, so that there are some in flight at any moment.
            let asked = self.requests.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_micros(500 + asked % 7 * 500));
            let last = self.stopping.load(Ordering::SeqCst);
            let closes = if last { "Connection: close\r\n" } else { "" };
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{closes}\r\nok");
            reader.get_mut().write_all(answer.as_bytes())?;
            self.be(number, false);
            if last {
                return Ok(());
            }
        }
    }

    fn be(&self, number: u64, busy: bool) {
        if let Some(connection) = self.connections().get_mut(&number) {
            connection.busy = busy;
        }
    }
}
