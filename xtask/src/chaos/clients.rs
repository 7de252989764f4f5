//! Clients that ask at a steady rate, each on a connection that it keeps.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::upstream::BODY;

/// Connections.
const CLIENTS: u32 = 64;

/// Of so many requests one is a POST.
const POSTS: u64 = 5;

/// An answer that takes longer will not come.
const PATIENCE: Duration = Duration::from_secs(15);

/// Clients on threads of their own.
#[derive(Debug)]
pub(crate) struct Clients {
    trouble: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<Sample>>>,
}

/// One request and what became of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) number: u64,
    pub(crate) is_post: bool,
    /// It began after the trouble had.
    pub(crate) in_trouble: bool,
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
}

/// What a client saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A whole answer, of this upstream.
    Whole(u8),
    /// An answer that says that it failed.
    Failed(u16),
    /// An answer that began well, and is seen to have been cut.
    Cut,
    /// An answer that ends as if it were whole, and is not.
    Wrong,
    /// None.
    Nothing,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = if self.is_post { "POST" } else { "GET" };
        let Self {
            number,
            outcome,
            took,
            ..
        } = self;
        write!(f, "{method} {number}, {outcome:?} after {took:.1?}")
    }
}

// === impl Clients ===

impl Clients {
    pub(crate) fn start(address: SocketAddr, rate: u32) -> Self {
        let (trouble, stop) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let begin = Instant::now();
        let one = |client: u32| {
            let (trouble, stop) = (Arc::clone(&trouble), Arc::clone(&stop));
            thread::spawn(move || ask_all(address, begin, (client, rate), &trouble, &stop))
        };
        let threads = (0..CLIENTS).map(one).collect();
        Self {
            trouble,
            stop,
            threads,
        }
    }

    pub(crate) fn trouble_begins(&self) {
        self.trouble.store(true, Ordering::Relaxed);
    }

    pub(crate) fn join(self) -> Vec<Sample> {
        self.stop.store(true, Ordering::Relaxed);
        let seen = self.threads.into_iter().filter_map(|thread| thread.join().ok());
        seen.flatten().collect()
    }
}

fn ask_all(
    address: SocketAddr,
    begin: Instant,
    (client, rate): (u32, u32),
    trouble: &AtomicBool,
    stop: &AtomicBool,
) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut connection = None;
    for turn in 0_u64.. {
        let number = turn * u64::from(CLIENTS) + u64::from(client);
        let due = begin + Duration::from_secs_f64(number as f64 / f64::from(rate.max(1)));
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let is_post = number % POSTS == 0;
        let in_trouble = trouble.load(Ordering::Relaxed);
        let start = Instant::now();
        let outcome = ask(&mut connection, address, number, is_post).unwrap_or(Outcome::Nothing);
        if !matches!(outcome, Outcome::Whole(_) | Outcome::Failed(_)) {
            connection = None;
        }
        samples.push(Sample {
            number,
            is_post,
            in_trouble,
            outcome,
            took: start.elapsed(),
        });
    }
    samples
}

fn ask(
    connection: &mut Option<BufReader<TcpStream>>,
    address: SocketAddr,
    number: u64,
    is_post: bool,
) -> io::Result<Outcome> {
    let reader = match connection {
        Some(reader) => reader,
        None => {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            connection.insert(BufReader::new(stream))
        }
    };
    let (method, rest) = if is_post {
        ("POST", "Content-Length: 4\r\n\r\nbody")
    } else {
        ("GET", "\r\n")
    };
    let request = format!("{method} /x HTTP/1.1\r\nHost: app.test\r\nX-Number: {number}\r\n{rest}");
    reader.get_ref().write_all(request.as_bytes())?;
    let (status, length, upstream) = read_head(reader)?;
    let mut body = Vec::new();
    reader.by_ref().take(length).read_to_end(&mut body)?;
    Ok(match status {
        200 if body == BODY.as_bytes() => Outcome::Whole(upstream),
        200 if (body.len() as u64) < length => Outcome::Cut,
        200 => Outcome::Wrong,
        status => Outcome::Failed(status),
    })
}

/// Status, length of the body, and the upstream that it is from.
fn read_head(reader: &mut BufReader<TcpStream>) -> io::Result<(u16, u64, u8)> {
    let (mut status, mut length, mut upstream) = (0, 0, u8::MAX);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end().to_lowercase();
        if line.is_empty() {
            return Ok((status, length, upstream));
        }
        let number = |text: &str| text.trim().parse().unwrap_or_default();
        if let Some(rest) = line.strip_prefix("http/1.1 ") {
            status = number(rest.get(..3).unwrap_or_default());
        } else if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        } else if let Some(value) = line.strip_prefix("x-upstream:") {
            upstream = value.trim().parse().unwrap_or(u8::MAX);
        }
    }
}
