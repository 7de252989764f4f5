//! A container of an application.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};

use crate::support::PATIENCE;

/// What it does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Answers with its port.
    Answers,
    /// Takes the request, and breaks the connection.
    Resets,
}

/// Listens until it is stopped.
#[derive(Debug)]
pub(super) struct Pod {
    port: u16,
    asked: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

// === impl Pod ===

impl Pod {
    pub(super) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, stopped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, stop) = (Arc::clone(&asked), Arc::clone(&stopped));
        let server = thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                serve(stream.unwrap(), manner, port, &count);
            }
        });
        Self {
            port,
            asked,
            stopped,
            server: Some(server),
        }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// How many requests have come.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// From now on nobody listens at its port.
    pub(super) fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            self.stopped.store(true, Ordering::SeqCst);
            // Wakes it up.
            drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
            server.join().unwrap();
        }
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        self.stop();
    }
}

/// One request; whoever opens a connection and says nothing has left.
fn serve(mut stream: TcpStream, manner: Manner, port: u16, asked: &AtomicUsize) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut first = [0];
    if !matches!(stream.read(&mut first), Ok(1)) {
        return;
    }
    asked.fetch_add(1, Ordering::SeqCst);
    // What is not read is why the system resets the connection.
    if manner == Manner::Resets {
        return;
    }
    if !BufReader::new(&stream)
        .lines()
        .map_while(Result::ok)
        .any(|line| line.is_empty())
    {
        return;
    }
    let body = port.to_string();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    drop(stream.write_all(answer.as_bytes()));
}

/// Answers one request with two lines, the second once it is told to. Gives its port.
pub(super) fn line_by_line(go_on: Receiver<()>) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    // Ends with its one answer, or with the test's process.
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.is_empty()));
        stream
            .write_all(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n1\n\r\n",
            )
            .unwrap();
        go_on
            .recv_timeout(PATIENCE)
            .expect("the first line does not arrive");
        stream.write_all(b"2\r\n2\n\r\n0\r\n\r\n").unwrap();
    });
    port
}
