//! An HTTP server that answers as it is told, connection by connection.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// What happens to one connection.
#[derive(Clone)]
pub(crate) enum Reply {
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// The end at once.
    Close,
    /// Nothing until the client leaves.
    Stall,
    /// A good head, then nothing until the client leaves.
    Drip,
}

/// Serves one reply for each connection, and no connection beyond them.
pub(crate) struct Server {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Reply {
    pub(crate) fn ok(fields: &str, body: &[u8]) -> Self {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n{fields}\r\n",
            body.len()
        );
        Self::Bytes([head.as_bytes(), body].concat())
    }

    /// The body ends with the connection.
    pub(crate) fn unsized_ok(body: &[u8]) -> Self {
        Self::Bytes([b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", body].concat())
    }

    /// Half of what the head promises.
    pub(crate) fn cut_off(body: &[u8]) -> Self {
        let Self::Bytes(mut bytes) = Self::ok("", body) else {
            unreachable!()
        };
        bytes.truncate(bytes.len() - body.len() / 2);
        Self::Bytes(bytes)
    }

    pub(crate) fn status(status: &str, fields: &str) -> Self {
        Self::Bytes(
            format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n{fields}\r\n")
                .into_bytes(),
        )
    }
}

impl Server {
    pub(crate) fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&heads);
        thread::spawn(move || {
            for reply in replies {
                let (stream, _) = listener.accept().unwrap();
                serve(stream, reply, &seen);
            }
        });
        Self { port, heads }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The heads of all requests so far, in lower case.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, reply: Reply, seen: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            break;
        }
        head.extend(byte);
    }
    let text = String::from_utf8(head).unwrap().to_ascii_lowercase();
    seen.lock().unwrap().push(text);
    // The client may have left: what it makes of the answer is the test's matter.
    let mut left = [0; 16];
    match reply {
        Reply::Bytes(bytes) => drop(stream.write_all(&bytes)),
        Reply::Close => {}
        Reply::Stall => drop(stream.read(&mut left)),
        Reply::Drip => {
            drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n\x1f\x8b"));
            drop(stream.read(&mut left));
        }
    }
}
