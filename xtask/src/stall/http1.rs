//! Both ends of HTTP/1.1.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::{Result, ensure};

use super::{Direction, LENGTH, Moved, SIP, SIP_EVERY, stall};

/// What is written at once.
const PIECE: [u8; 16 * 1024] = [b'x'; 16 * 1024];

/// A request with a short answer.
pub(super) fn warm_up(address: SocketAddr) -> Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /short HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "an odd answer: {answer}");
    Ok(())
}

/// Asks for a large answer and takes little of it, or sends a large request.
pub(super) fn ask(address: SocketAddr, direction: Direction, moved: &Moved) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    match direction {
        Direction::Download => {
            stream.write_all(b"GET /large HTTP/1.1\r\nHost: a.test\r\n\r\n")?;
            sip(&mut stream, moved)
        }
        Direction::Upload => {
            let head = format!("POST /large HTTP/1.1\r\nHost: a.test\r\nContent-Length: {LENGTH}\r\n\r\n");
            stream.write_all(head.as_bytes())?;
            pour(&mut stream, moved)
        }
    }
}

/// Reads a little, again and again.
pub(super) fn sip(stream: &mut TcpStream, moved: &Moved) -> io::Result<()> {
    let mut sip = [0; SIP];
    loop {
        match stream.read(&mut sip)? {
            0 => return Ok(()),
            count => moved.taken(count),
        }
        thread::sleep(SIP_EVERY);
    }
}

/// Sends as fast as it goes.
fn pour(stream: &mut TcpStream, moved: &Moved) -> io::Result<()> {
    let mut sent = 0;
    while sent < LENGTH {
        let count = stream.write(&PIECE)?;
        moved.sent(count);
        sent += count as u64;
    }
    Ok(())
}

/// An upstream that sends large answers, and reads no bodies.
pub(super) fn listen(moved: &Arc<Moved>) -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let moved = Arc::clone(moved);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let moved = Arc::clone(&moved);
            // A connection that ends in an error is one whose case is over.
            thread::spawn(move || drop(serve(stream, &moved)));
        }
    });
    Ok(port)
}

fn serve(mut stream: TcpStream, moved: &Moved) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(1024, stream.try_clone()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        if !moved.is_warm() {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
            continue;
        }
        if head.starts_with("POST") {
            moved.taken(reader.buffer().len());
            stall();
        }
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        return pour(&mut stream, moved);
    }
}
