//! Clients that ask all the time.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::support::PATIENCE;

/// Asks for a host until it is told to end.
pub(super) struct Traffic {
    stop: Arc<AtomicBool>,
    client: JoinHandle<Seen>,
}

/// What a client was answered.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) answered: usize,
    pub(super) failed: Vec<String>,
}

// === impl Traffic ===

impl Traffic {
    /// Every answer but 200 with one of these bodies is a failure.
    pub(super) fn start(port: u16, host: &str, good: &'static [&'static str]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (host, told) = (host.to_owned(), Arc::clone(&stop));
        let client = thread::spawn(move || ask_all(port, &host, good, &told));
        Self { stop, client }
    }

    pub(super) fn end(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        self.client.join().unwrap()
    }

    /// Ends it, and wants that all was well.
    pub(super) fn end_well(self) {
        let seen = self.end();
        assert!(seen.failed.is_empty() && seen.answered > 0, "{seen:?}");
    }
}

/// Over one connection, a new one after 50 requests or a failure.
fn ask_all(port: u16, host: &str, good: &[&str], stop: &AtomicBool) -> Seen {
    let mut seen = Seen::default();
    let mut kept = None;
    // It asks once at least.
    while seen.answered + seen.failed.len() == 0 || !stop.load(Ordering::Relaxed) {
        let asked = kept
            .take()
            .map_or_else(|| connect(port), Ok)
            .and_then(|mut stream| {
                let (status, body) = ask(&mut stream, host)?;
                kept = Some(stream).filter(|_| seen.answered % 50 != 49);
                Ok((status, body))
            });
        match asked {
            Ok((200, body)) if good.contains(&body.as_str()) => seen.answered += 1,
            other => seen.failed.push(format!("{other:?}")),
        }
    }
    seen
}

fn connect(port: u16) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(BufReader::new(stream))
}

fn ask(stream: &mut BufReader<TcpStream>, host: &str) -> io::Result<(u16, String)> {
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes())?;
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let lower = head.to_ascii_lowercase();
    let length = lower
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.lines().next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    stream.read_exact(&mut body)?;
    Ok((
        status.unwrap_or_default(),
        String::from_utf8_lossy(&body).into_owned(),
    ))
}
