//! The server behind the proxy: short answers, and messages that last until it is told to finish.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;

/// The time between two pieces of a message that lasts.
pub(super) const BEAT: Duration = Duration::from_millis(50);

/// A server on threads of its own, for as long as this process runs.
#[derive(Debug)]
pub(super) struct Origin {
    address: SocketAddr,
    finish: Arc<AtomicBool>,
}

// === impl Origin ===

impl Origin {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let finish = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&finish);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let told = Arc::clone(&told);
                // A connection that ends in an error is the proxy's to explain.
                thread::spawn(move || drop(serve(stream, &told)));
            }
        });
        Ok(Self { address, finish })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the messages that last, cleanly.
    pub(super) fn finish(&self) {
        self.finish.store(true, Ordering::Relaxed);
    }
}

fn serve(mut stream: TcpStream, finish: &AtomicBool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        match head.split(' ').nth(1).unwrap_or_default() {
            "/upload" => {
                let length = read_chunks(&mut reader)?;
                answer(&mut stream, &length.to_string())?;
            }
            "/socket" => return echo(reader, stream),
            path if path.ends_with("/stream") => send_chunks(&mut stream, finish)?,
            _ => answer(&mut stream, "ok")?,
        }
    }
}

fn answer(stream: &mut TcpStream, body: &str) -> io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(head.as_bytes())
}

/// A number after the other, so that a gap is seen.
fn send_chunks(stream: &mut TcpStream, finish: &AtomicBool) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    for number in 0_u32.. {
        if finish.load(Ordering::Relaxed) {
            break;
        }
        let piece = format!("{number}\n");
        stream.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes())?;
        thread::sleep(BEAT);
    }
    stream.write_all(b"0\r\n\r\n")
}

/// The length of a chunked body.
pub(super) fn read_chunks(reader: &mut BufReader<TcpStream>) -> io::Result<u64> {
    let mut sum = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let size = u64::from_str_radix(line.trim(), 16).map_err(|_| io::ErrorKind::InvalidData)?;
        io::copy(&mut reader.by_ref().take(size), &mut io::sink())?;
        reader.read_line(&mut line)?;
        if size == 0 {
            return Ok(sum);
        }
        sum += size;
    }
}

fn echo(mut reader: BufReader<TcpStream>, mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
          Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
    )?;
    let mut buffer = [0; 4096];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(()),
            length => stream.write_all(buffer.get(..length).unwrap_or_default())?,
        }
    }
}
