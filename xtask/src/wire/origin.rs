//! The server behind each proxy: it takes whatever looks like a request, answers, and keeps what it got.

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::Result;

use super::find;

/// On threads of its own, for as long as this process runs.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

/// What came since it was last asked.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The first line of each whole request.
    pub(super) whole: Vec<String>,
    /// By connection, the bytes that are no whole request yet.
    begun: HashMap<u64, Vec<u8>>,
}

// === impl Origin ===

impl Origin {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let seen = Arc::<Mutex<Seen>>::default();
        let shared = Arc::clone(&seen);
        thread::spawn(move || {
            for (stream, number) in listener.incoming().flatten().zip(0..) {
                let seen = Arc::clone(&shared);
                thread::spawn(move || {
                    // A connection that ends in an error has ended.
                    drop(serve(stream, number, &seen));
                    lock(&seen).begun.remove(&number);
                });
            }
        });
        Ok(Self { address, seen })
    }

    /// What came since the last call. What has only begun is kept, because it may go on.
    pub(super) fn take(&self) -> (Vec<String>, bool) {
        let mut seen = lock(&self.seen);
        let has_begun = seen.begun.values().any(|bytes| !bytes.is_empty());
        (std::mem::take(&mut seen.whole), has_begun)
    }
}

fn lock(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, number: u64, seen: &Mutex<Seen>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut piece = [0; 16 << 10];
    loop {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Ok(());
        }
        let mut answers = Vec::new();
        {
            let mut seen = lock(seen);
            let mut bytes = seen.begun.remove(&number).unwrap_or_default();
            bytes.extend_from_slice(&piece[..count]);
            while let Some((request, length)) = whole(&bytes) {
                answers.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
                if !request.starts_with("HEAD ") {
                    answers.extend_from_slice(b"ok");
                }
                seen.whole.push(request);
                bytes.drain(..length);
            }
            seen.begun.insert(number, bytes);
        }
        stream.write_all(&answers)?;
    }
}

/// The first line of the request at the beginning of `bytes`, and its length, if all of it is there.
fn whole(bytes: &[u8]) -> Option<(String, usize)> {
    let head = find(bytes, b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default().to_owned();
    let field = |wanted: &str| {
        let named = |line: &&str| {
            line.split_once(':')
                .is_some_and(|(name, _)| name.eq_ignore_ascii_case(wanted))
        };
        text.split("\r\n")
            .find(named)
            .and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim().to_ascii_lowercase())
    };
    let body = if field("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        chunks(&bytes[head..])?
    } else {
        let length = field("content-length").and_then(|length| length.parse().ok());
        length.unwrap_or(0)
    };
    (bytes.len() >= head + body).then_some((first, head + body))
}

/// The length of a chunked body with its trailers, if all of it is there.
fn chunks(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let line = find(&bytes[at..], b"\r\n")?;
        let size = String::from_utf8_lossy(&bytes[at..at + line]).into_owned();
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        at += line + 2;
        if size == 0 {
            break;
        }
        at = at.checked_add(size)?.checked_add(2)?;
        bytes.get(at..)?;
    }
    loop {
        let line = find(&bytes[at..], b"\r\n")?;
        at += line + 2;
        if line == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_as_long_as_its_framing_says() {
        let first = "POST / HTTP/1.1";
        for (fields, body, rest) in [
            ("", "", "GET"),
            ("content-length: 3\r\n", "abc", "GET"),
            (
                "Transfer-Encoding: chunked\r\n",
                "3;x\r\nabc\r\n0\r\nX: y\r\n\r\n",
                "",
            ),
        ] {
            let request = format!("{first}\r\n{fields}\r\n{body}");
            let bytes = format!("{request}{rest}");
            assert_eq!(whole(bytes.as_bytes()), Some((first.to_owned(), request.len())));
            assert_eq!(whole(&bytes.as_bytes()[..request.len() - 1]), None);
        }
    }
}
