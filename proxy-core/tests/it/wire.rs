//! Hostile and odd bytes on the client's side: each case is sent whole and byte by byte, and after each a clean
//! request must be answered and nothing of the case may have reached the upstream unless it should.

mod body;
mod http2;
mod refused;
mod timeouts;

use std::net::Ipv4Addr;

use crate::support::origin::{Recorded, Recorder};
use crate::support::rig::{Rig, get};
use crate::support::wire::Wire;

/// A request head or more, in which `HOST` stands for the right Host line.
struct Case {
    name: &'static str,
    bytes: Vec<u8>,
}

/// How the bytes of a case are written.
#[derive(Clone, Copy, Debug)]
enum Pace {
    Whole,
    ByteByByte,
    InTwo(usize),
}

/// A proxy with an upstream that records.
struct Bench {
    rig: Rig,
    origin: Recorder,
    canary_bytes: usize,
}

// === impl Case ===

fn case(name: &'static str, bytes: impl AsRef<[u8]>) -> Case {
    let host = b"Host: app.test\r\n";
    let bytes = bytes.as_ref();
    let mut whole = Vec::with_capacity(bytes.len() + 32);
    let mut rest = bytes;
    while let Some(at) = rest.windows(4).position(|window| window == b"HOST") {
        whole.extend_from_slice(&rest[..at]);
        whole.extend_from_slice(host);
        rest = &rest[at + 4..];
    }
    whole.extend_from_slice(rest);
    Case { name, bytes: whole }
}

impl Case {
    /// Whole, byte by byte, and for short ones split at every offset.
    fn paces(&self) -> Vec<Pace> {
        let mut paces = vec![Pace::Whole];
        if self.bytes.len() < 300 {
            paces.push(Pace::ByteByByte);
            paces.extend((1..self.bytes.len()).step_by(7).map(Pace::InTwo));
        }
        paces
    }

    /// Writes the case; the proxy may refuse it before the end.
    async fn write(&self, wire: &mut Wire, pace: Pace) {
        let pieces: Vec<&[u8]> = match pace {
            Pace::Whole => vec![&self.bytes],
            Pace::ByteByByte => self.bytes.chunks(1).collect(),
            Pace::InTwo(at) => vec![&self.bytes[..at], &self.bytes[at..]],
        };
        for piece in pieces {
            if wire.try_send(piece).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
}

// === impl Bench ===

impl Bench {
    async fn start() -> Self {
        let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
        let rig = Rig::to(origin.addr());
        rig.canary().await;
        let canary_bytes = origin.bytes();
        Self {
            rig,
            origin,
            canary_bytes,
        }
    }

    /// The case is answered with one of these statuses, or with nothing if 0 is among them, and the connection is
    /// closed; no byte of it reaches the upstream.
    async fn refuses(&self, case: &Case, statuses: &[u16]) {
        for pace in case.paces() {
            let before = self.origin.bytes();
            let mut wire = self.rig.wire().await;
            case.write(&mut wire, pace).await;
            let what = format!("{} {pace:?}", case.name);
            let answers = answers(&mut wire, &what).await;
            match answers.as_slice() {
                [] => assert!(statuses.contains(&0), "{what}: no answer"),
                [status] => assert!(statuses.contains(status), "{what}: {status}"),
                several => panic!("{what}: several answers {several:?}"),
            }
            self.rig.canary().await;
            assert_eq!(
                self.origin.bytes() - before,
                self.canary_bytes,
                "{what}: bytes reached the upstream"
            );
        }
    }

    /// The case is one request, which reaches the upstream and is answered with 200.
    async fn passes(&self, case: &Case) -> Recorded {
        let mut last = None;
        for pace in case.paces() {
            let before = self.origin.requests().len();
            let mut wire = self.rig.wire().await;
            case.write(&mut wire, pace).await;
            let status = wire.answer().await.head.status();
            let requests = self.origin.requests();
            assert_eq!(
                (status, requests.len() - before),
                (200, 1),
                "{} {pace:?}",
                case.name
            );
            self.rig.canary().await;
            last = requests.last().cloned();
        }
        last.expect("there is at least one pace")
    }
}

/// The statuses of all answers up to the end of the connection.
async fn answers(wire: &mut Wire, what: &str) -> Vec<u16> {
    let (bytes, _) = wire.rest_after(what).await;
    let text = String::from_utf8_lossy(&bytes);
    let heads = text
        .match_indices("HTTP/1.")
        .filter(|(at, _)| *at == 0 || !text[..*at].ends_with(' '));
    heads
        .map(|(at, _)| text[at + 9..at + 12].parse().expect("a status"))
        .collect()
}

/// A clean request, to be appended to a case: it must not be run on a connection that was refused.
fn next_request() -> String {
    get("/next")
}
