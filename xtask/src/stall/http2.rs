//! Both ends of HTTP/2 by prior knowledge, as far as one message needs it.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Result;

use super::{Direction, LENGTH, Moved, SIP, SIP_EVERY, http1, stall};

const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The window that a connection and a stream begin with, and the largest.
const FIRST_WINDOW: i64 = 65_535;
const LARGEST_WINDOW: u32 = (1 << 31) - 1;

/// The stream of a client.
const STREAM: u32 = 1;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:status: 200`, the eighth field of the static table.
const OK: [u8; 1] = [0x88];

/// What is said in one frame.
const PIECE: [u8; 16 * 1024] = [b'x'; 16 * 1024];

/// How a side that takes little holds the other up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// By its windows: it reads its socket, and opens them by as little as it takes.
    Small,
    /// By its socket: it opens its windows as far as it can, and reads as little as it takes.
    Large,
}

/// One end of a connection.
struct Link {
    stream: TcpStream,
    /// Frames are written whole.
    writing: Mutex<()>,
    /// What may be sent: on the connection, and on the stream.
    windows: Mutex<Windows>,
    grown: Condvar,
}

#[derive(Debug)]
struct Windows {
    connection: i64,
    stream: i64,
    /// What a stream begins with.
    first: i64,
}

/// One frame that came.
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

/// A request with a short answer.
pub(super) fn warm_up(address: SocketAddr) -> Result<()> {
    let link = Link::connect(address, Window::Small)?;
    link.write(HEADERS, END_HEADERS | END_STREAM, STREAM, &head("GET"))?;
    loop {
        let frame = link.read()?;
        let is_ours = frame.stream == STREAM && matches!(frame.kind, HEADERS | DATA);
        if is_ours && frame.flags & END_STREAM != 0 {
            return Ok(());
        }
        link.heed(&frame)?;
    }
}

/// Asks for a large answer and takes little of it, or sends a large request.
pub(super) fn ask(
    address: SocketAddr,
    direction: Direction,
    window: Window,
    moved: &Arc<Moved>,
) -> io::Result<()> {
    let link = Arc::new(Link::connect(address, window)?);
    match direction {
        Direction::Download => {
            link.write(HEADERS, END_HEADERS | END_STREAM, STREAM, &head("GET"))?;
            link.sip(window, moved)
        }
        Direction::Upload => {
            link.write(HEADERS, END_HEADERS, STREAM, &head("POST"))?;
            let reading = Arc::clone(&link);
            thread::spawn(move || drop(reading.read_all(|_| Ok(()))));
            link.pour(STREAM, moved)
        }
    }
}

/// An upstream that sends large answers, and takes nothing of bodies.
pub(super) fn listen(window: Window, moved: &Arc<Moved>) -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let moved = Arc::clone(moved);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let moved = Arc::clone(&moved);
            // A connection that ends in an error is one whose case is over.
            thread::spawn(move || drop(serve(stream, window, &moved)));
        }
    });
    Ok(port)
}

fn serve(mut stream: TcpStream, window: Window, moved: &Arc<Moved>) -> io::Result<()> {
    stream.read_exact(&mut [0; PREFACE.len()])?;
    let link = Arc::new(Link::new(stream));
    link.open(window)?;
    loop {
        let frame = link.read()?;
        if frame.kind != HEADERS {
            link.heed(&frame)?;
            continue;
        }
        if !moved.is_warm() {
            link.write(HEADERS, END_HEADERS | END_STREAM, frame.stream, &OK)?;
            continue;
        }
        if frame.flags & END_STREAM == 0 {
            if window == Window::Large {
                stall();
            }
            return link.read_all(|bytes| {
                moved.taken(bytes);
                Ok(())
            });
        }
        link.begin_stream();
        link.write(HEADERS, END_HEADERS, frame.stream, &OK)?;
        let reading = Arc::clone(&link);
        thread::spawn(move || drop(reading.read_all(|_| Ok(()))));
        return link.pour(frame.stream, moved);
    }
}

// === impl Link ===

impl Link {
    fn new(stream: TcpStream) -> Self {
        let windows = Windows {
            connection: FIRST_WINDOW,
            stream: FIRST_WINDOW,
            first: FIRST_WINDOW,
        };
        Self {
            stream,
            writing: Mutex::default(),
            windows: Mutex::new(windows),
            grown: Condvar::new(),
        }
    }

    fn connect(address: SocketAddr, window: Window) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(PREFACE)?;
        let link = Self::new(stream);
        link.open(window)?;
        Ok(link)
    }

    /// The window is that of another stream now.
    fn begin_stream(&self) {
        let mut windows = self.windows();
        windows.stream = windows.first;
    }

    /// Says the first settings.
    fn open(&self, window: Window) -> io::Result<()> {
        match window {
            Window::Small => self.write(SETTINGS, 0, 0, &[]),
            Window::Large => {
                let settings = [&[0, 4][..], &LARGEST_WINDOW.to_be_bytes()].concat();
                self.write(SETTINGS, 0, 0, &settings)?;
                let more = i64::from(LARGEST_WINDOW) - FIRST_WINDOW;
                self.grow(0, u32::try_from(more).unwrap_or_default())
            }
        }
    }

    /// Takes a little of the stream, again and again.
    fn sip(&self, window: Window, moved: &Moved) -> io::Result<()> {
        if window == Window::Large {
            return http1::sip(&mut self.stream.try_clone()?, moved);
        }
        let mut held = 0;
        self.read_all(|bytes| {
            held += bytes;
            while held >= SIP {
                thread::sleep(SIP_EVERY);
                held -= SIP;
                moved.taken(SIP);
                for stream in [0, STREAM] {
                    self.grow(stream, u32::try_from(SIP).unwrap_or_default())?;
                }
            }
            Ok(())
        })
    }

    /// Sends as fast as the windows allow.
    fn pour(&self, stream: u32, moved: &Moved) -> io::Result<()> {
        let mut sent = 0;
        while sent < LENGTH {
            let length = self.take_window();
            self.write(DATA, 0, stream, PIECE.get(..length).unwrap_or(&PIECE))?;
            moved.sent(length);
            sent += length as u64;
        }
        Ok(())
    }

    /// Waits for something that may be sent.
    fn take_window(&self) -> usize {
        let mut windows = self.windows();
        loop {
            let open = windows.connection.min(windows.stream);
            if let Some(open) = usize::try_from(open).ok().filter(|open| *open > 0) {
                let length = open.min(PIECE.len());
                windows.connection -= length as i64;
                windows.stream -= length as i64;
                return length;
            }
            windows = self.grown.wait(windows).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Reads frames until the connection ends; `data` is told how many bytes came.
    fn read_all(&self, mut data: impl FnMut(usize) -> io::Result<()>) -> io::Result<()> {
        loop {
            let frame = self.read()?;
            match frame.kind {
                DATA => data(frame.payload.len())?,
                _ => self.heed(&frame)?,
            }
        }
    }

    /// Does what a frame of the connection asks for.
    fn heed(&self, frame: &Frame) -> io::Result<()> {
        let number = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0_i64, |number, byte| number << 8 | i64::from(*byte))
        };
        match frame.kind {
            SETTINGS if frame.flags & ACK == 0 => {
                for setting in frame.payload.chunks_exact(6) {
                    let (name, value) = setting.split_at(2);
                    if name == [0, 4] {
                        let mut windows = self.windows();
                        windows.stream += number(value) - windows.first;
                        windows.first = number(value);
                        self.grown.notify_all();
                    }
                }
                self.write(SETTINGS, ACK, 0, &[])
            }
            PING if frame.flags & ACK == 0 => self.write(PING, ACK, 0, &frame.payload),
            WINDOW_UPDATE => {
                let mut windows = self.windows();
                match frame.stream {
                    0 => windows.connection += number(&frame.payload),
                    _ => windows.stream += number(&frame.payload),
                }
                self.grown.notify_all();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn grow(&self, stream: u32, by: u32) -> io::Result<()> {
        self.write(WINDOW_UPDATE, 0, stream, &by.to_be_bytes())
    }

    fn write(&self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        let _whole = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        (&self.stream).write_all(&[&head, payload].concat())
    }

    /// The next frame.
    fn read(&self) -> io::Result<Frame> {
        let mut head = [0; 9];
        (&self.stream).read_exact(&mut head)?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        let mut payload = vec![0; length];
        (&self.stream).read_exact(&mut payload)?;
        Ok(Frame {
            kind,
            flags,
            stream: u32::from_be_bytes(stream),
            payload,
        })
    }

    fn windows(&self) -> MutexGuard<'_, Windows> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The fields of a request.
fn head(method: &str) -> Vec<u8> {
    let mut fields = Vec::new();
    for (name, value) in [
        (":method", method),
        (":scheme", "http"),
        (":path", "/large"),
        (":authority", "a.test"),
    ] {
        add_field(&mut fields, name, value);
    }
    fields
}

/// A literal field without indexing, its name and value short and as they are (RFC 7541, section 6.2.2).
fn add_field(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0);
    for text in [name, value] {
        block.push(u8::try_from(text.len()).unwrap_or_default());
        block.extend_from_slice(text.as_bytes());
    }
}
