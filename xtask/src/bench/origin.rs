//! The server behind the proxies: one thread, no allocation per request, so that it is never what limits them.

mod http;

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Registry, Token};

use super::launch::{Lane, Running, pinned};
use http::{Answers, Parser, Reply};

/// Where it listens: the second address is the pod of the Doors workload.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2)];

/// The origin as its parent sees it.
#[derive(Debug)]
pub(crate) struct Origin {
    running: Running,
    /// On each of the addresses.
    pub(crate) port: u16,
}

// === impl Origin ===

impl Origin {
    /// Starts the release build of this tool as an origin and waits for its port.
    pub(crate) fn start(target: &Path, lane: Lane) -> Result<Self> {
        let mut command = pinned(lane.load, &target.join("release/xtask"));
        command.arg("origin").stdout(Stdio::piped());
        let mut running = Running::start("origin", command, &target.join("bench"))?;
        let output = running.child().stdout.take().context("no pipe to the origin")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let port = line
            .trim()
            .parse()
            .with_context(|| format!("no origin: {}", running.last_words()))?;
        Ok(Self { running, port })
    }

    /// Its processes.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.running.pids()
    }
}

/// Serves until the process is ended. Prints the port first.
pub(crate) fn serve() -> Result<ExitCode> {
    let mut poll = Poll::new()?;
    let (port, mut listeners) = listen()?;
    for (index, listener) in listeners.iter_mut().enumerate() {
        poll.registry()
            .register(listener, Token(index), Interest::READABLE)?;
    }
    println!("{port}");
    let mut server = Server::default();
    let mut events = Events::with_capacity(256);
    loop {
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        }
        for event in &events {
            let Token(index) = event.token();
            match listeners.get(index) {
                Some(listener) => server.accept(listener, poll.registry())?,
                None => server.ready(index - ADDRESSES.len()),
            }
        }
    }
}

/// The same free port on all addresses.
fn listen() -> Result<(u16, Vec<TcpListener>)> {
    for _ in 0..50 {
        let first = TcpListener::bind((ADDRESSES[0], 0).into())?;
        let port = first.local_addr()?.port();
        if let Ok(second) = TcpListener::bind(SocketAddr::from((ADDRESSES[1], port))) {
            return Ok((port, vec![first, second]));
        }
    }
    bail!("no port is free on both {ADDRESSES:?}")
}

/// All connections; closed ones leave a free place.
struct Server {
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    scratch: Scratch,
    answers: Answers,
}

/// Space that all connections use in turn.
struct Scratch {
    bytes: Vec<u8>,
    replies: Vec<Reply>,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    parser: Parser,
    /// Bytes that the socket did not take yet.
    unsent: Vec<u8>,
    last: bool,
}

// === impl Server ===

impl Default for Server {
    fn default() -> Self {
        let scratch = Scratch {
            bytes: vec![0; 64 * 1024],
            replies: Vec::new(),
        };
        Self {
            connections: Vec::new(),
            free: Vec::new(),
            scratch,
            answers: Answers::new(),
        }
    }
}

impl Server {
    fn accept(&mut self, listener: &TcpListener, registry: &Registry) -> io::Result<()> {
        loop {
            let mut stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            stream.set_nodelay(true)?;
            let place = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let token = Token(place + ADDRESSES.len());
            registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
            let connection = Connection {
                stream,
                parser: Parser::default(),
                unsent: Vec::new(),
                last: false,
            };
            self.connections[place] = Some(connection);
        }
    }

    fn ready(&mut self, place: usize) {
        let Some(Some(connection)) = self.connections.get_mut(place) else {
            return;
        };
        if !connection
            .serve(&mut self.scratch, &self.answers)
            .unwrap_or(false)
        {
            self.connections[place] = None;
            self.free.push(place);
        }
    }
}

// === impl Connection ===

impl Connection {
    /// Reads and answers until the socket has nothing more; false at the end of the connection.
    fn serve(&mut self, scratch: &mut Scratch, answers: &Answers) -> io::Result<bool> {
        if !self.flush()? {
            return Ok(true);
        }
        loop {
            let count = match self.stream.read(&mut scratch.bytes) {
                Ok(0) => return Ok(false),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            };
            let sound = self
                .parser
                .feed(&scratch.bytes[..count], |reply| scratch.replies.push(reply));
            for reply in scratch.replies.drain(..) {
                self.last |= reply.close;
                self.send(answers.bytes(reply))?;
            }
            if !sound || (self.last && self.unsent.is_empty()) {
                return Ok(false);
            }
            // A short read has emptied the socket; the next bytes raise a new event.
            if count < scratch.bytes.len() || !self.unsent.is_empty() {
                return Ok(true);
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let sent = if self.unsent.is_empty() {
            write(&mut self.stream, bytes)?
        } else {
            0
        };
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    /// True if nothing is left to send.
    fn flush(&mut self) -> io::Result<bool> {
        if !self.unsent.is_empty() {
            let sent = write(&mut self.stream, &self.unsent)?;
            self.unsent.drain(..sent);
        }
        Ok(self.unsent.is_empty())
    }
}

/// As many bytes as the socket takes now.
fn write(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        match stream.write(&bytes[sent..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => sent += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}
