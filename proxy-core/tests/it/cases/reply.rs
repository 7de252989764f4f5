//! Cases of the upstream's side: the bytes of a response, and what the client must see of it.

use std::net::Ipv4Addr;
use std::sync::Arc;

use tokio::time::timeout;

use super::outcome::{Response, responses};
use super::pace::{BATCH, Metronome, Pace, shared};
use super::{fault, report, shown};
use crate::support::origin::{Origin, ok};
use crate::support::rig::{HOST, Rig, get};
use crate::support::wait::PATIENCE;
use crate::support::wire::{End, Wire};

/// What an upstream sends and what must become of it.
#[derive(Clone, Debug)]
pub(super) struct Case {
    id: String,
    method: &'static str,
    version: &'static str,
    reply: Vec<u8>,
    then: Then,
    expect: Expect,
}

/// What the upstream does when it has sent its bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Then {
    Stays,
    Ends,
    Resets,
}

#[derive(Clone, Debug)]
enum Expect {
    /// A 502, and the connection to the upstream is closed.
    BadGateway,
    /// A 502, or an answer without a clean end. The connection to the upstream is closed.
    Cut,
    /// An answer with a clean end.
    Whole(Box<Wanted>),
}

/// A response as the client must see it.
#[derive(Clone, Debug)]
struct Wanted {
    status: u16,
    body: Vec<u8>,
    interim: Vec<u16>,
    present: Vec<(&'static str, Vec<Vec<u8>>)>,
    absent: Vec<&'static str>,
    /// All lines of the trailer section.
    trailers: Vec<&'static str>,
    /// Whether the connection to the upstream serves the next request or is closed, if it matters.
    reused: Option<bool>,
    /// A 502 is as good.
    or_502: bool,
}

/// A proxy with an upstream that the bench plays by hand.
struct Bench {
    rig: Rig,
    origin: Origin,
}

// === the table's words ===

fn case(id: impl Into<String>, reply: impl AsRef<[u8]>, then: Then, expect: Expect) -> Case {
    Case {
        id: id.into(),
        method: "GET",
        version: "1.1",
        reply: reply.as_ref().to_vec(),
        then,
        expect,
    }
}

/// A response that nobody may believe.
pub(super) fn bad(id: impl Into<String>, reply: impl AsRef<[u8]>) -> Case {
    case(id, reply, Then::Stays, Expect::BadGateway)
}

/// A response that goes wrong behind its head.
pub(super) fn cut(id: impl Into<String>, reply: impl AsRef<[u8]>) -> Case {
    case(id, reply, Then::Stays, Expect::Cut)
}

/// A response that passes with this status and body.
pub(super) fn whole(
    id: impl Into<String>,
    reply: impl AsRef<[u8]>,
    status: u16,
    body: impl AsRef<[u8]>,
) -> Case {
    let wanted = Wanted {
        status,
        body: body.as_ref().to_vec(),
        interim: Vec::new(),
        present: Vec::new(),
        absent: Vec::new(),
        trailers: Vec::new(),
        reused: None,
        or_502: false,
    };
    case(id, reply, Then::Stays, Expect::Whole(Box::new(wanted)))
}

// === impl Case ===

impl Case {
    /// What the upstream does then.
    pub(super) fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }

    /// The upstream sends this behind its bytes.
    pub(super) fn followed_by(mut self, bytes: &str) -> Self {
        self.reply.extend_from_slice(bytes.as_bytes());
        self
    }

    /// The response is to a request with this method.
    pub(super) fn to(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    /// The client is of HTTP/1.0.
    pub(super) fn for_http10(mut self) -> Self {
        self.version = "1.0";
        self
    }

    pub(super) fn interim<const N: usize>(self, statuses: [u16; N]) -> Self {
        self.wanting(|wanted| wanted.interim = statuses.to_vec())
    }

    pub(super) fn with<const N: usize>(self, name: &'static str, values: [&[u8]; N]) -> Self {
        let values = values.map(<[u8]>::to_vec).to_vec();
        self.wanting(|wanted| wanted.present.push((name, values)))
    }

    pub(super) fn without(self, names: &[&'static str]) -> Self {
        self.wanting(|wanted| wanted.absent.extend(names))
    }

    pub(super) fn trailers<const N: usize>(self, lines: [&'static str; N]) -> Self {
        self.wanting(|wanted| wanted.trailers = lines.to_vec())
    }

    /// The connection to the upstream serves the next request, too.
    pub(super) fn reused(self) -> Self {
        self.wanting(|wanted| wanted.reused = Some(true))
    }

    /// The connection to the upstream is closed.
    pub(super) fn discarded(self) -> Self {
        self.wanting(|wanted| wanted.reused = Some(false))
    }

    pub(super) fn or_502(self) -> Self {
        self.wanting(|wanted| wanted.or_502 = true)
    }

    fn wanting(mut self, change: impl FnOnce(&mut Wanted)) -> Self {
        let Expect::Whole(wanted) = &mut self.expect else {
            panic!("{}: only a whole answer has wishes", self.id);
        };
        change(wanted);
        self
    }

    fn request(&self) -> String {
        let Self { method, version, .. } = self;
        format!("{method} / HTTP/{version}\r\nHost: {HOST}\r\nTE: trailers\r\nConnection: close, TE\r\n\r\n")
    }

    /// Whether the client saw what it must. True: the response itself, false: a 502 instead.
    fn judge(&self, seen: &[Response]) -> Result<bool, String> {
        let lines: Vec<_> = seen
            .iter()
            .map(|response| (response.head.start(), response.whole))
            .collect();
        let wrong = || format!("the client sees {lines:?}");
        let (last, interim) = match seen.split_last() {
            Some((last, interim)) if last.head.status() >= 200 => (Some(last), interim),
            _ => (None, seen),
        };
        if interim.iter().any(|response| response.head.status() >= 200) {
            return Err(wrong());
        }
        let is_502 = last.is_some_and(|last| last.head.status() == 502 && last.whole);
        match (&self.expect, last) {
            (Expect::BadGateway | Expect::Cut, _) if is_502 => Ok(false),
            (Expect::Cut, None) => Ok(false),
            (Expect::Cut, Some(last)) if !last.whole => Ok(false),
            (Expect::Whole(wanted), _) if wanted.or_502 && is_502 => Ok(false),
            (Expect::Whole(wanted), Some(last)) if last.whole => wanted.judge(interim, last).map(|()| true),
            (Expect::BadGateway | Expect::Cut | Expect::Whole(_), _) => Err(wrong()),
        }
    }
}

// === impl Wanted ===

impl Wanted {
    fn judge(&self, interim: &[Response], last: &Response) -> Result<(), String> {
        let Response {
            head, body, trailers, ..
        } = last;
        if (head.status(), body) != (self.status, &self.body) {
            return Err(format!("the client sees {} and {}", head.start(), shown(body)));
        }
        let hints: Vec<u16> = interim.iter().map(|response| response.head.status()).collect();
        if hints != self.interim {
            return Err(format!("interim {hints:?}"));
        }
        for (name, values) in &self.present {
            let found: Vec<_> = head.all_bytes(name).map(<[u8]>::to_vec).collect();
            if found != *values {
                let found = found.iter().map(|value| shown(value)).collect::<Vec<_>>();
                return Err(format!("{name} is {found:?}"));
            }
        }
        let never = ["keep-alive", "proxy-connection", "upgrade"];
        if let Some(name) = self.absent.iter().chain(&never).find(|name| head.has(name)) {
            return Err(format!("{name} is passed on"));
        }
        let found: Vec<String> = trailers.iter().map(|line| line.to_ascii_lowercase()).collect();
        if found == self.trailers {
            Ok(())
        } else {
            Err(format!("trailers {found:?}"))
        }
    }
}

// === impl Bench ===

impl Bench {
    async fn start() -> Self {
        let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
        let rig = Rig::to(origin.addr());
        Self { rig, origin }
    }

    /// Runs the case at every pace, cut from `start` on.
    async fn run(&self, case: &Case, start: usize) -> Result<(), String> {
        let mut metronome = Metronome::start(&self.rig).await;
        let paces = Pace::all(start, case.reply.len());
        let (others, whole) = paces.split_at(paces.len() - 1);
        // Alone, so that the pool holds nothing but its connection when it is asked for the next request.
        for paces in [whole].into_iter().chain(others.chunks(BATCH)) {
            let mut clients = Vec::new();
            let mut upstreams = Vec::new();
            for _ in paces {
                let (client, upstream) = self.open(&case.request()).await;
                clients.push(client);
                upstreams.push(upstream);
            }
            let pieces = paces.iter().map(|pace| pace.pieces(&case.reply, b""));
            metronome.write(&mut upstreams, pieces.collect()).await;
            if case.then != Then::Stays {
                metronome.tick().await;
                end(&mut upstreams, case.then).await;
            }
            for ((client, pace), index) in clients.iter_mut().zip(paces).zip(0..) {
                let seen = read(client, case.method).await;
                let passed = seen.and_then(|seen| case.judge(&seen));
                let passed = passed.map_err(|fault| format!("{pace:?}: {fault}"))?;
                if let Some(upstream) = upstreams.get_mut(index) {
                    let fine = self.look_at(case, passed, *pace, upstream).await;
                    fine.map_err(|fault| format!("{pace:?}: {fault}"))?;
                }
            }
            drop(upstreams);
            metronome.tick().await;
        }
        let (mut client, mut upstream) = self.open(&get("/canary")).await;
        upstream.send(ok("fine")).await;
        let answer = client.answer().await;
        (answer.body == b"fine")
            .then_some(())
            .ok_or_else(|| format!("the canary gets {}", shown(&answer.body)))
    }

    /// A request on a new connection, and the new connection on which the upstream gets it.
    async fn open(&self, request: &str) -> (Wire, Wire) {
        let mut client = self.rig.wire().await;
        client.send(request).await;
        let mut upstream = self.origin.accept().await;
        upstream.head().await;
        (client, upstream)
    }

    /// Looks at what the proxy does with the connection to the upstream. A used one is not kept for the next pace.
    async fn look_at(
        &self,
        case: &Case,
        passed: bool,
        pace: Pace,
        upstream: &mut Wire,
    ) -> Result<(), String> {
        let reused = match &case.expect {
            Expect::Whole(wanted) if passed => wanted.reused,
            Expect::BadGateway | Expect::Cut | Expect::Whole(_) => Some(false),
        };
        match reused {
            Some(true) if pace == Pace::Whole => {
                let mut client = self.rig.wire().await;
                client.send(get("/next")).await;
                let head = upstream.head().await;
                upstream.send(ok("next")).await;
                let answer = client.answer().await;
                let fine = head.target() == "/next" && answer.body == b"next";
                fine.then_some(())
                    .ok_or_else(|| format!("the next request: {}", answer.head.start()))
            }
            Some(false) => {
                let (bytes, _) = upstream.rest().await;
                bytes
                    .is_empty()
                    .then_some(())
                    .ok_or_else(|| format!("the upstream gets {}", shown(&bytes)))
            }
            None | Some(true) => Ok(()),
        }
    }
}

async fn end(upstreams: &mut Vec<Wire>, then: Then) {
    match then {
        Then::Stays => {}
        Then::Ends => {
            for upstream in upstreams {
                upstream.finish().await;
            }
        }
        Then::Resets => upstreams.drain(..).for_each(Wire::reset),
    }
}

/// All that comes up to the end.
async fn read(client: &mut Wire, method: &str) -> Result<Vec<Response>, String> {
    let mut bytes = Vec::new();
    let reading = async {
        loop {
            let (more, end) = client.more().await;
            bytes.extend_from_slice(&more);
            if let Some(end) = end {
                return responses(&bytes, method, end == End::Fin);
            }
        }
    };
    match timeout(PATIENCE / 2, reading).await {
        Ok(seen) => seen,
        Err(_) => Err(format!("no end; so far {}", shown(&bytes))),
    }
}

/// Runs a table on a proxy of its own.
pub(super) async fn check(cases: Vec<Case>) {
    let mut faults = Vec::new();
    let mut bench = Arc::new(Bench::start().await);
    let shared = shared(cases.iter().map(|case| case.reply.as_slice()));
    for (case, start) in cases.iter().zip(shared) {
        let (playing, running) = (Arc::clone(&bench), case.clone());
        let outcome = fault(tokio::spawn(async move { playing.run(&running, start).await })).await;
        if let Some(fault) = outcome {
            faults.push(format!("{} [{}]: {fault}", case.id, shown(&case.reply)));
            // What the case left behind is no fault of the next one.
            bench = Arc::new(Bench::start().await);
        }
    }
    report(cases.len(), &faults);
}
