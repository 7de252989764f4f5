//! A plain HTTP/1.1 client on blocking sockets: one connection for each request.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use serde_json::Value;

use super::PATIENCE;

/// Sends requests to one port of 127.0.0.1.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) port: u16,
    pub(crate) cookie: String,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// The lines of a chunked answer as they come.
#[derive(Debug)]
pub(crate) struct Lines {
    reader: BufReader<TcpStream>,
    pending: String,
}

// === impl Client ===

impl Client {
    pub(crate) fn new(port: u16) -> Self {
        Self {
            port,
            cookie: String::new(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path)
    }

    /// What another host than the address says.
    pub(crate) fn get_of(&self, host: &str, path: &str) -> Answer {
        let mut stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        Answer::read(BufReader::new(stream))
    }

    pub(crate) fn ask(&self, method: &str, path: &str) -> Answer {
        Answer::read(self.send(method, path))
    }

    /// Sends a request and leaves the answer to the caller.
    pub(crate) fn send(&self, method: &str, path: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let Self { port, cookie } = self;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    /// The lines of a streamed answer.
    pub(crate) fn stream(&self, path: &str) -> Lines {
        Lines::of(self.send("GET", path))
    }
}

// === impl Answer ===

impl Answer {
    /// Reads an answer whose end is the end of its connection.
    pub(crate) fn read(mut reader: BufReader<TcpStream>) -> Self {
        let (status, head) = read_head(&mut reader);
        let mut body = String::new();
        if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            while let Some(chunk) = read_chunk(&mut reader) {
                body.push_str(&chunk);
            }
        } else {
            reader.read_to_string(&mut body).unwrap();
        }
        Self { status, head, body }
    }

    /// The cookies that the answer sets, as the browser sends them back.
    pub(crate) fn cookies(&self) -> String {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let cookies = lines.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        cookies
            .map(|(_, value)| value.split(';').next().unwrap())
            .collect::<Vec<_>>()
            .join("; ")
    }
}

// === impl Lines ===

impl Lines {
    /// Of the answer that is read from `reader`.
    pub(crate) fn of(mut reader: BufReader<TcpStream>) -> Self {
        let (status, head) = read_head(&mut reader);
        assert_eq!(status, 200, "{head}");
        assert!(
            head.to_ascii_lowercase().contains("transfer-encoding: chunked"),
            "{head}"
        );
        Self {
            reader,
            pending: String::new(),
        }
    }

    /// The next line as JSON; `None` at the clean end of the stream.
    pub(crate) fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((line, rest)) = self.pending.split_once('\n') {
                let line = serde_json::from_str(line).unwrap();
                self.pending = rest.to_owned();
                return Some(line);
            }
            self.pending.push_str(&read_chunk(&mut self.reader)?);
        }
    }
}

fn read_head(reader: &mut BufReader<TcpStream>) -> (u16, String) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let read = reader.read_line(&mut head).unwrap();
        assert_ne!(read, 0, "the connection ended within the head: {head:?}");
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head)
}

/// The next chunk; `None` for the last one.
fn read_chunk(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut size = String::new();
    reader.read_line(&mut size).unwrap();
    let size = usize::from_str_radix(size.trim(), 16).expect("the size of a chunk");
    let mut chunk = vec![0; size + 2];
    reader.read_exact(&mut chunk).unwrap();
    chunk.truncate(size);
    (size > 0).then(|| String::from_utf8(chunk).unwrap())
}
