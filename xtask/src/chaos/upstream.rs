//! An upstream with moods, and what has reached all of them.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

/// The body of a whole answer.
pub(crate) const BODY: &str = "0123456789abcdef0123456789abcdef";

/// How often one that comes and goes does so.
const FLAP: Duration = Duration::from_millis(100);

/// How long a slow answer takes.
const SLOW: Duration = Duration::from_millis(200);

/// More than this is not looked through when a connection ends in a crash.
const MOST_UNREAD: u64 = 64 * 1024;

/// How often one whose mood changes is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// How an upstream behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Whole,
    /// Nobody listens, and what was open is closed.
    Crashed,
    /// Requests are read and not answered.
    Hangs,
    /// Requests are answered with a reset.
    Resets,
    Slow,
    /// Answers end before their end.
    Cuts,
    /// Whole and crashed by turns.
    Flaps,
}

const MOODS: [Mood; 7] = [
    Mood::Whole,
    Mood::Crashed,
    Mood::Hangs,
    Mood::Resets,
    Mood::Slow,
    Mood::Cuts,
    Mood::Flaps,
];

/// What reached upstreams, for each request by its number.
#[derive(Debug, Default)]
pub(crate) struct Reached(Mutex<HashMap<u64, Times>>);

/// How often one request reached upstreams.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    /// Upstreams read it.
    pub(crate) read: u32,
    /// It was sent to one that crashed before it was read. Nobody but the upstream knows that.
    pub(crate) unread: u32,
}

/// One upstream, on threads of its own.
#[derive(Debug)]
pub(crate) struct Upstream {
    address: SocketAddr,
    mood: Arc<Moods>,
}

#[derive(Debug)]
struct Moods {
    now: Mutex<(Mood, Instant)>,
    /// Grows with each crash, so that connections from before end.
    crashes: AtomicU32,
}

// === impl Mood ===

impl Mood {
    /// The next mood by chance.
    pub(crate) fn any(random: &mut u64) -> Self {
        // SplitMix64.
        *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*random ^ (*random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let index = usize::try_from((z ^ (z >> 31)) % MOODS.len() as u64).unwrap_or(0);
        MOODS.get(index).copied().unwrap_or(Self::Whole)
    }
}

// === impl Reached ===

impl Reached {
    fn note(&self, number: u64) {
        self.lock().entry(number).or_default().read += 1;
    }

    /// Ends a connection as a crash does, and notes what was sent into it.
    fn end(&self, stream: &TcpStream) -> io::Result<()> {
        stream.shutdown(Shutdown::Write)?;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LOOK))?;
        let mut sent = Vec::new();
        // It reads until nothing comes any more.
        drop((&mut &*stream).take(MOST_UNREAD).read_to_end(&mut sent));
        let text = String::from_utf8_lossy(&sent).to_lowercase();
        let values = text.lines().filter_map(|line| line.strip_prefix("x-number:"));
        for number in values.filter_map(|value| value.trim().parse().ok()) {
            self.lock().entry(number).or_default().unread += 1;
        }
        reset(stream)
    }

    /// How often this request reached an upstream.
    pub(crate) fn times(&self, number: u64) -> Times {
        self.lock().get(&number).copied().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Times>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Upstream ===

impl Upstream {
    /// Starts one at an address of its own, on `port`; 0 is any.
    pub(crate) fn start(number: u8, port: u16, reached: &Arc<Reached>) -> Result<Self> {
        let ip = Ipv4Addr::new(127, 0, 0, number.saturating_add(2));
        let listener = TcpListener::bind((ip, port))?;
        let address = listener.local_addr()?;
        let mood = Arc::new(Moods {
            now: Mutex::new((Mood::Whole, Instant::now())),
            crashes: AtomicU32::new(0),
        });
        let (moods, reached) = (Arc::clone(&mood), Arc::clone(reached));
        thread::spawn(move || listen(listener, address, number, &moods, &reached));
        Ok(Self { address, mood })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn set_mood(&self, mood: Mood) {
        *self.mood.lock() = (mood, Instant::now());
    }
}

// === impl Moods ===

impl Moods {
    /// The mood of this moment: one that comes and goes is either.
    fn now(&self) -> Mood {
        let (mood, since) = *self.lock();
        let turns = since.elapsed().as_millis() / FLAP.as_millis();
        match mood {
            Mood::Flaps if turns.is_multiple_of(2) => Mood::Crashed,
            Mood::Flaps => Mood::Whole,
            mood => mood,
        }
    }

    fn lock(&self) -> MutexGuard<'_, (Mood, Instant)> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens while it has not crashed.
fn listen(
    listener: TcpListener,
    address: SocketAddr,
    number: u8,
    moods: &Arc<Moods>,
    reached: &Arc<Reached>,
) {
    let mut listener = Some(listener);
    loop {
        if moods.now() == Mood::Crashed {
            if let Some(listener) = listener.take() {
                moods.crashes.fetch_add(1, Ordering::Relaxed);
                // What still waits was connected to, too, and perhaps sent a request.
                while let Ok((stream, _)) = listener.accept() {
                    let reached = Arc::clone(reached);
                    thread::spawn(move || drop(reached.end(&stream)));
                }
            }
            thread::sleep(LOOK);
            continue;
        }
        let open = match listener.take() {
            Some(open) => open,
            None => match TcpListener::bind(address) {
                Ok(open) => open,
                // Its old connections may still be ending.
                Err(_) => {
                    thread::sleep(LOOK);
                    continue;
                }
            },
        };
        accept(&open, number, moods, reached);
        listener = Some(open);
    }
}

/// Takes the connections that wait.
fn accept(listener: &TcpListener, number: u8, moods: &Arc<Moods>, reached: &Arc<Reached>) {
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    match listener.accept() {
        Ok((stream, _)) => {
            let (moods, reached) = (Arc::clone(moods), Arc::clone(reached));
            // A connection that ends in an error is the proxy's to explain.
            thread::spawn(move || drop(serve(stream, number, &moods, &reached)));
        }
        Err(_) => thread::sleep(LOOK),
    }
}

fn serve(mut stream: TcpStream, number: u8, moods: &Moods, reached: &Reached) -> io::Result<()> {
    let crashes = moods.crashes.load(Ordering::Relaxed);
    let has_crashed = || moods.crashes.load(Ordering::Relaxed) != crashes;
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    // So that a crash is seen while nothing comes.
    stream.set_read_timeout(Some(LOOK * 4))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let Some(head) = read_head(&mut reader, has_crashed)? else {
            return reached.end(&stream);
        };
        let field = |name: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse::<u64>().ok())
        };
        let length = field("content-length:").unwrap_or(0);
        io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
        if let Some(request) = field("x-number:") {
            reached.note(request);
        }
        let begin = Instant::now();
        match moods.now() {
            Mood::Hangs => {
                while moods.now() == Mood::Hangs && !has_crashed() {
                    thread::sleep(LOOK);
                }
                return reached.end(&stream);
            }
            Mood::Resets => return reset(&stream),
            Mood::Crashed => return reached.end(&stream),
            Mood::Cuts if length == 0 => {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n0123", BODY.len());
                return stream.write_all(head.as_bytes());
            }
            Mood::Slow => thread::sleep(SLOW.saturating_sub(begin.elapsed())),
            Mood::Cuts | Mood::Flaps | Mood::Whole => {}
        }
        let head = format!(
            "HTTP/1.1 200 OK\r\nX-Upstream: {number}\r\nContent-Length: {}\r\n\r\n{BODY}",
            BODY.len()
        );
        stream.write_all(head.as_bytes())?;
    }
}

/// The next head, in lower case; `None` if there is none any more.
fn read_head(reader: &mut BufReader<TcpStream>, ends: impl Fn() -> bool) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match reader.read_until(b'\n', &mut head) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !ends() => {}
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(String::from_utf8_lossy(&head).to_lowercase()))
}

/// Closes so that the other side sees a reset.
fn reset(stream: &TcpStream) -> io::Result<()> {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO))
}
