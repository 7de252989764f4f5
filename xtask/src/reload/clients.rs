//! The clients, each on a thread: what they did, and everything that went wrong.

use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;

use crate::count::{Count, connect, read_head, reason};

use super::origin::{BEAT, read_chunks};
use super::proxy::Proxy;

/// Clients of each of the two kinds that send many requests.
const MANY: usize = 6;

/// The time between two requests of a client; more than a few thousand a second would be a measure of the machine.
const PAUSE: Duration = Duration::from_millis(2);

/// The clients while they run.
pub(super) struct Clients {
    kept: Vec<JoinHandle<Count>>,
    opened: Vec<JoinHandle<Count>>,
    lasting: Vec<(&'static str, JoinHandle<io::Result<u64>>)>,
}

/// What all of them saw.
#[derive(Debug)]
pub(super) struct Seen {
    kept: Count,
    opened: Count,
    /// The pieces of each, or why it ended early.
    lasting: Vec<(&'static str, Result<u64, String>)>,
}

// === impl Clients ===

impl Clients {
    pub(super) fn start(proxy: &Proxy, stop: &Arc<AtomicBool>) -> Result<Self> {
        let address = proxy.address;
        let many = |client: fn(SocketAddr, &AtomicBool) -> Count| {
            let one = |_| {
                let stop = Arc::clone(stop);
                thread::spawn(move || client(address, &stop))
            };
            (0..MANY).map(one).collect()
        };
        let lasting = |name, client: fn(SocketAddr, &AtomicBool) -> io::Result<u64>| {
            let stop = Arc::clone(stop);
            (name, thread::spawn(move || client(address, &stop)))
        };
        let mut all = vec![
            lasting("upload", upload),
            lasting("download", |address, _| download(address, "a.test", "/stream")),
            lasting("websocket", websocket),
        ];
        if let Some(path) = proxy.session_path()? {
            let session = thread::spawn(move || download(address, "doors.test", &path));
            all.push(("session", session));
        }
        Ok(Self {
            kept: many(kept),
            opened: many(opened),
            lasting: all,
        })
    }

    /// Waits for all of them; they end once they are told to stop.
    pub(super) fn join(self) -> Seen {
        let panicked = || io::Error::other("the client panicked");
        let lasting = self.lasting.into_iter().map(|(name, client)| {
            let outcome = client.join().unwrap_or_else(|_| Err(panicked()));
            (name, outcome.map_err(|error| reason(&error)))
        });
        Seen {
            kept: Count::sum(self.kept),
            opened: Count::sum(self.opened),
            lasting: lasting.collect(),
        }
    }
}

/// Sends requests over one connection, opening another only if it failed or was said to be the last.
fn kept(address: SocketAddr, stop: &AtomicBool) -> Count {
    let mut count = Count::default();
    let mut connection = None;
    while !stop.load(Ordering::Relaxed) {
        let outcome = connection
            .take()
            .map_or_else(|| connect(address), Ok)
            .and_then(|mut stream| {
                let closes = get(&mut stream, "keep-alive")?;
                connection = Some(stream).filter(|_| !closes);
                Ok(())
            });
        count.add(outcome);
        thread::sleep(PAUSE);
    }
    count
}

/// Opens a connection for each request.
fn opened(address: SocketAddr, stop: &AtomicBool) -> Count {
    let mut count = Count::default();
    while !stop.load(Ordering::Relaxed) {
        count.add(connect(address).and_then(|mut stream| get(&mut stream, "close").map(drop)));
        thread::sleep(PAUSE);
    }
    count
}

/// Whether the answer is said to be the last of its connection.
fn get(stream: &mut BufReader<TcpStream>, connection: &str) -> io::Result<bool> {
    let request = format!("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: {connection}\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes())?;
    let head = read_head(stream)?;
    let mut body = [0; 2];
    stream.read_exact(&mut body)?;
    if !head.starts_with("HTTP/1.1 200 ") || &body != b"ok" {
        return Err(io::Error::other(
            head.lines().next().unwrap_or_default().to_owned(),
        ));
    }
    Ok(head.to_ascii_lowercase().contains("connection: close"))
}

/// One request whose body goes on until the stop.
fn upload(address: SocketAddr, stop: &AtomicBool) -> io::Result<u64> {
    let mut stream = connect(address)?;
    let head = "POST /upload HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.get_mut().write_all(head.as_bytes())?;
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        stream.get_mut().write_all(b"4\r\nbeat\r\n")?;
        sent += 4;
        thread::sleep(BEAT);
    }
    stream.get_mut().write_all(b"0\r\n\r\n")?;
    let head = read_head(&mut stream)?;
    let mut length = vec![0; sent.to_string().len()];
    stream.read_exact(&mut length)?;
    if !head.starts_with("HTTP/1.1 200 ") || length != sent.to_string().into_bytes() {
        return Err(io::Error::other("not all of it has come"));
    }
    Ok(sent / 4)
}

/// One answer whose body goes on until the origin finishes.
fn download(address: SocketAddr, host: &str, path: &str) -> io::Result<u64> {
    let mut stream = connect(address)?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.get_mut().write_all(head.as_bytes())?;
    let head = read_head(&mut stream)?;
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(io::Error::other(
            head.lines().next().unwrap_or_default().to_owned(),
        ));
    }
    read_chunks(&mut stream)
}

/// A tunnel over which each piece comes back.
fn websocket(address: SocketAddr, stop: &AtomicBool) -> io::Result<u64> {
    let mut stream = connect(address)?;
    stream.get_mut().write_all(
        b"GET /socket HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
          Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    )?;
    let head = read_head(&mut stream)?;
    if !head.starts_with("HTTP/1.1 101 ") {
        return Err(io::Error::other(
            head.lines().next().unwrap_or_default().to_owned(),
        ));
    }
    let mut pieces = 0;
    while !stop.load(Ordering::Relaxed) {
        stream.get_mut().write_all(b"beat")?;
        let mut back = [0; 4];
        stream.read_exact(&mut back)?;
        if &back != b"beat" {
            return Err(io::Error::other("something else came back"));
        }
        pieces += 1;
        thread::sleep(BEAT);
    }
    Ok(pieces)
}

// === impl Seen ===

impl Seen {
    /// Whether nothing went wrong.
    pub(super) fn is_clean(&self) -> bool {
        let counts = [&self.kept, &self.opened];
        counts.iter().all(|count| count.failures() == 0 && count.done > 0)
            && self.lasting.iter().all(|(_, outcome)| outcome.is_ok())
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, count) in [("kept", &self.kept), ("opened", &self.opened)] {
            writeln!(f, "  {name:<9} {count}")?;
        }
        for (name, outcome) in &self.lasting {
            match outcome {
                Ok(pieces) => writeln!(f, "  {name:<9} whole, {pieces} pieces or bytes")?,
                Err(reason) => writeln!(f, "  {name:<9} broken: {reason}")?,
            }
        }
        Ok(())
    }
}
