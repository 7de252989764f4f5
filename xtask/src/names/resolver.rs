//! A DNS server (RFC 1035) that knows one application, and has troubles of its own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Result;

/// How long a slow answer takes.
const SLOW: Duration = Duration::from_secs(2);

/// How long answers may be kept, in seconds.
const TTL: u32 = 1;

const HEAD: usize = 12;

const TYPE_A: u16 = 1;
const TYPE_SRV: u16 = 33;

/// Standard answer, no error (RFC 1035, section 4.1.1); recursion was asked for and is there.
const ANSWER: u16 = 0x8180;

/// Where the name of the question stands: behind the head.
const QUESTION: [u8; 2] = [0xc0, 12];

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    None,
    /// Each answer takes seconds.
    Slow,
    /// There are no answers.
    Dead,
    /// Answers name the one upstream, the other one, or both in either order by turns.
    Flips,
}

/// One on a thread of its own.
#[derive(Debug)]
pub(super) struct Resolver {
    port: u16,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    socket: UdpSocket,
    upstreams: [SocketAddr; 2],
    trouble: Mutex<Trouble>,
    asked: AtomicUsize,
}

// === impl Trouble ===

impl Trouble {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::None => "calm",
            Self::Slow => "slow",
            Self::Dead => "dead",
            Self::Flips => "flips",
        }
    }
}

// === impl Resolver ===

impl Resolver {
    /// Any name leads to the upstreams; as a service, to `0.app.test` and `1.app.test`, which are one of them each.
    pub(super) fn start(upstreams: [SocketAddr; 2]) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = socket.local_addr()?.port();
        let state = Arc::new(State {
            socket,
            upstreams,
            trouble: Mutex::new(Trouble::None),
            asked: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&state);
        thread::spawn(move || serving.serve());
        Ok(Self { port, state })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn set_trouble(&self, trouble: Trouble) {
        *self.state.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// How many questions came so far.
    pub(super) fn asked(&self) -> usize {
        self.state.asked.load(Ordering::Relaxed)
    }
}

// === impl State ===

impl State {
    fn serve(self: Arc<Self>) {
        let mut buffer = [0; 1500];
        while let Ok((length, client)) = self.socket.recv_from(&mut buffer) {
            let turn = self.asked.fetch_add(1, Ordering::Relaxed);
            let trouble = *self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
            let known = match (trouble, turn % 4) {
                (Trouble::Dead, _) => continue,
                (Trouble::Flips, 0) => &[0][..],
                (Trouble::Flips, 1) => &[1],
                (Trouble::Flips, 2) => &[1, 0],
                _ => &[0, 1],
            };
            let Some(answer) = buffer.get(..length).and_then(|query| self.answer(query, known)) else {
                continue;
            };
            let state = Arc::clone(&self);
            let send = move || drop(state.socket.send_to(&answer, client));
            if trouble == Trouble::Slow {
                thread::spawn(move || {
                    thread::sleep(SLOW);
                    send();
                });
            } else {
                send();
            }
        }
    }

    /// The answer to a query, which names the upstreams with these numbers; `None` if it is no query.
    fn answer(&self, query: &[u8], known: &[usize]) -> Option<Vec<u8>> {
        let id = query.get(..2)?;
        let name = query.get(HEAD..)?;
        let end = HEAD + name.iter().position(|byte| *byte == 0)? + 1;
        let question = query.get(HEAD..end + 4)?;
        let kind = u16::from_be_bytes(query.get(end..end + 2)?.try_into().ok()?);
        let records: Vec<Vec<u8>> = match kind {
            // `0.app.test` is one of them, whatever is known of the others.
            TYPE_A => match name {
                [1, digit @ b'0'..=b'1', ..] => vec![self.address(usize::from(digit - b'0'))?],
                _ => known
                    .iter()
                    .map(|number| self.address(*number))
                    .collect::<Option<_>>()?,
            },
            TYPE_SRV => known
                .iter()
                .map(|number| self.service(*number))
                .collect::<Option<_>>()?,
            _ => Vec::new(),
        };
        let count = u16::try_from(records.len()).ok()?;
        let mut answer = id.to_vec();
        for number in [ANSWER, 1, count, 0, 0] {
            answer.extend(number.to_be_bytes());
        }
        answer.extend(question);
        for data in records {
            answer.extend(QUESTION);
            answer.extend(kind.to_be_bytes());
            answer.extend(1_u16.to_be_bytes());
            answer.extend(TTL.to_be_bytes());
            answer.extend(u16::try_from(data.len()).ok()?.to_be_bytes());
            answer.extend(data);
        }
        Some(answer)
    }

    fn address(&self, number: usize) -> Option<Vec<u8>> {
        match self.upstreams.get(number)?.ip() {
            IpAddr::V4(ip) => Some(ip.octets().to_vec()),
            IpAddr::V6(_) => None,
        }
    }

    /// Priority, weight, port and target (RFC 2782).
    fn service(&self, number: usize) -> Option<Vec<u8>> {
        let mut data = Vec::new();
        for field in [0, 10, self.upstreams.get(number)?.port()] {
            data.extend(field.to_be_bytes());
        }
        for label in [number.to_string().as_str(), "app", "test"] {
            data.push(u8::try_from(label.len()).ok()?);
            data.extend(label.bytes());
        }
        data.push(0);
        Some(data)
    }
}
