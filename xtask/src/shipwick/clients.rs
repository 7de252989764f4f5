//! The visitors.

use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::contest::at;
use crate::count::{Count, connect, read_head};

/// How many there are.
const MANY: usize = 8;

/// The time between two requests of one of them.
const PAUSE: Duration = Duration::from_millis(3);

/// Requests over one connection.
const PER_CONNECTION: u32 = 5;

/// The reason of those who are told that no replica is there.
pub(super) const UNAVAILABLE: &str = "503 with its text";

const TEXT: &str = "503 Service Unavailable: no healthy replica.\n";

/// They ask until they are told to end.
#[derive(Debug)]
pub(super) struct Clients {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Count>>,
}

// === impl Clients ===

impl Clients {
    pub(super) fn start(port: u16) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let one = |_| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || visit(at(port), &stop))
        };
        Self {
            threads: (0..MANY).map(one).collect(),
            stop,
        }
    }

    pub(super) fn end(self) -> Count {
        self.stop.store(true, Ordering::Relaxed);
        Count::sum(self.threads)
    }
}

fn visit(address: SocketAddr, stop: &AtomicBool) -> Count {
    let mut count = Count::default();
    let mut connection: Option<(BufReader<TcpStream>, u32)> = None;
    while !stop.load(Ordering::Relaxed) {
        let opened = match connection.take() {
            Some(kept) => Ok(kept),
            None => connect(address).map(|stream| (stream, 0)),
        };
        let outcome = opened.and_then(|(mut stream, asked)| {
            // Each fourth has a body, which must not be sent twice.
            let closes = ask(&mut stream, count.done % 4 == 3)?;
            connection = Some((stream, asked + 1)).filter(|(_, asked)| !closes && *asked < PER_CONNECTION);
            Ok(())
        });
        count.add(outcome);
        thread::sleep(PAUSE);
    }
    count
}

/// Whether the answer is said to be the last of its connection.
fn ask(stream: &mut BufReader<TcpStream>, with_body: bool) -> io::Result<bool> {
    let (method, body) = if with_body {
        ("POST", "Content-Length: 4\r\n\r\nbody")
    } else {
        ("GET", "\r\n")
    };
    let request = format!("{method} / HTTP/1.1\r\nHost: web.example.com\r\n{body}");
    stream.get_mut().write_all(request.as_bytes())?;
    let head = read_head(stream)?;
    let lower = head.to_ascii_lowercase();
    let length = lower
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.lines().next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body)?;
    if !head.starts_with("HTTP/1.1 200 ") || body != b"ok" {
        let said = body == TEXT.as_bytes() && lower.contains("\r\nretry-after: 5\r\n");
        let line = head.lines().next().unwrap_or_default();
        return Err(io::Error::other(if said { UNAVAILABLE } else { line }));
    }
    Ok(lower.contains("connection: close"))
}
