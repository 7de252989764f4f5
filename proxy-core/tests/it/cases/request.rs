//! Cases of the client's side: the bytes of a request, and what the upstream and the client must see of it.

use std::net::Ipv4Addr;
use std::sync::Arc;

use tokio::time::timeout;

use super::outcome::{Response, responses};
use super::pace::{BATCH, Metronome, Pace, shared};
use super::{fault, filled_in, report, shown};
use crate::support::message::Head;
use crate::support::origin::{Recorded, Recorder, Reply};
use crate::support::rig::{HOST, Rig, get};
use crate::support::wait::PATIENCE;
use crate::support::wire::{End, Wire};

/// Stands for a connection that is closed without a word.
pub(super) const CLOSED: u16 = 0;

/// What a client sends and what must become of it.
#[derive(Clone, Debug)]
pub(super) struct Case {
    id: String,
    bytes: Vec<u8>,
    expect: Expect,
}

#[derive(Clone, Debug)]
enum Expect {
    /// One answer with one of these statuses, then the end. No byte reaches the upstream, and nothing behind it runs.
    Refused(Vec<u16>),
    /// Like `Refused`, but the fault comes behind a good head: the upstream may see a part, and never the end of it.
    Broken(Vec<u16>),
    /// The proxy answers by itself with one of these statuses.
    Answered(Vec<u16>),
    /// One request reaches the upstream.
    Forwarded(Box<Wanted>),
    /// Several requests in one connection.
    Run {
        /// Those of all answers, in order.
        statuses: Vec<u16>,
        /// Those that reach the upstream.
        targets: Vec<String>,
        /// The connection ends behind the last answer.
        closes: bool,
    },
}

/// A request as it must reach the upstream.
#[derive(Clone, Debug)]
struct Wanted {
    method: String,
    target: String,
    host: String,
    body: Vec<u8>,
    /// Each with the values of all its lines.
    present: Vec<(String, Vec<Vec<u8>>)>,
    absent: Vec<String>,
    /// The client's connection ends behind the answer.
    closes: bool,
    /// Statuses with which it may be refused instead.
    or: Vec<u16>,
}

/// A proxy with an upstream that records.
struct Bench {
    rig: Rig,
    origin: Recorder,
    canary_bytes: usize,
}

/// What one connection showed.
type Seen = Result<Vec<Response>, String>;

// === the table's words ===

fn case(id: impl Into<String>, bytes: impl AsRef<[u8]>, expect: Expect) -> Case {
    Case {
        id: id.into(),
        bytes: filled_in(bytes.as_ref()),
        expect,
    }
}

/// A request that is refused as a whole with one of `statuses`.
pub(super) fn refused(id: impl Into<String>, statuses: &[u16], bytes: impl AsRef<[u8]>) -> Case {
    case(id, bytes, Expect::Refused(statuses.to_vec()))
}

/// A request whose body or trailers are malformed.
pub(super) fn broken(id: impl Into<String>, statuses: &[u16], bytes: impl AsRef<[u8]>) -> Case {
    case(id, bytes, Expect::Broken(statuses.to_vec()))
}

/// A request that the proxy answers by itself.
pub(super) fn answered(id: impl Into<String>, statuses: &[u16], bytes: impl AsRef<[u8]>) -> Case {
    case(id, bytes, Expect::Answered(statuses.to_vec()))
}

/// Requests in one connection that get these answers and of which these run. The connection ends behind the last answer
/// if it `closes`, and stays open if not.
pub(super) fn run<'t>(
    id: impl Into<String>,
    bytes: impl AsRef<[u8]>,
    statuses: &[u16],
    targets: impl Iterator<Item = &'t str>,
    closes: bool,
) -> Case {
    let expect = Expect::Run {
        statuses: statuses.to_vec(),
        targets: targets.map(str::to_owned).collect(),
        closes,
    };
    case(id, bytes, expect)
}

/// A request that is forwarded: as the words of its first line say, for the host of the rig, without a body.
pub(super) fn forwarded(id: impl Into<String>, bytes: impl AsRef<[u8]>) -> Case {
    let line = String::from_utf8_lossy(bytes.as_ref()).trim_start().to_owned();
    let mut words = line.split([' ', '\r']);
    let mut word = || words.next().unwrap_or_default().to_owned();
    let wanted = Wanted {
        method: word(),
        target: word(),
        host: HOST.to_owned(),
        body: Vec::new(),
        present: Vec::new(),
        absent: Vec::new(),
        closes: word() == "HTTP/1.0",
        or: Vec::new(),
    };
    case(id, bytes, Expect::Forwarded(Box::new(wanted)))
}

// === impl Case ===

impl Case {
    pub(super) fn target(self, target: &str) -> Self {
        self.wanting(|wanted| wanted.target = target.to_owned())
    }

    pub(super) fn host(self, host: &str) -> Self {
        self.wanting(|wanted| wanted.host = host.to_owned())
    }

    pub(super) fn body(self, body: impl AsRef<[u8]>) -> Self {
        self.wanting(|wanted| wanted.body = body.as_ref().to_vec())
    }

    /// The upstream gets this line of this field and no others, but for those that are said right before.
    pub(super) fn with(self, name: &str, value: &[u8]) -> Self {
        self.wanting(|wanted| match wanted.present.last_mut() {
            Some((last, values)) if last == name => values.push(value.to_vec()),
            _ => wanted.present.push((name.to_owned(), vec![value.to_vec()])),
        })
    }

    /// The upstream gets none of these fields, neither in the head nor as trailers.
    pub(super) fn without<'n>(self, names: impl Iterator<Item = &'n str>) -> Self {
        self.wanting(|wanted| wanted.absent.extend(names.map(str::to_owned)))
    }

    pub(super) fn closes(self, closes: bool) -> Self {
        self.wanting(|wanted| wanted.closes = closes)
    }

    /// It may as well be refused with one of these.
    pub(super) fn or(self, statuses: &[u16]) -> Self {
        self.wanting(|wanted| wanted.or = statuses.to_vec())
    }

    fn wanting(mut self, change: impl FnOnce(&mut Wanted)) -> Self {
        let Expect::Forwarded(wanted) = &mut self.expect else {
            panic!("{}: only a forwarded request has wishes", self.id);
        };
        change(wanted);
        self
    }

    fn paces(&self, start: usize) -> Vec<Pace> {
        let mut paces = Pace::all(start, self.bytes.len());
        if !matches!(self.expect, Expect::Run { .. } | Expect::Answered(_)) {
            paces.push(Pace::Followed);
        }
        paces
    }

    fn method(&self) -> &'static str {
        if self.bytes.starts_with(b"HEAD ") {
            "HEAD"
        } else {
            "GET"
        }
    }

    /// How many answers `pace` of this case brings; without a number, all up to the end of the connection.
    fn answers(&self, pace: Pace) -> Option<usize> {
        match &self.expect {
            Expect::Forwarded(wanted) if !wanted.closes => Some(1 + usize::from(pace == Pace::Followed)),
            Expect::Answered(_) => Some(1),
            Expect::Run { statuses, closes, .. } if !closes => Some(statuses.len()),
            Expect::Forwarded(_) | Expect::Refused(_) | Expect::Broken(_) | Expect::Run { .. } => None,
        }
    }

    /// Whether the answers are right, and if so how many requests were forwarded.
    fn judge(&self, pace: Pace, seen: &[Response]) -> Result<usize, String> {
        if let Some(cut) = seen.iter().find(|response| !response.whole) {
            return Err(format!("a cut answer {}", cut.head.start()));
        }
        let statuses: Vec<u16> = seen.iter().map(|response| response.head.status()).collect();
        let finals: Vec<u16> = statuses.iter().copied().filter(|status| *status >= 200).collect();
        let is_one_of = |allowed: &[u16]| match finals.as_slice() {
            [] => allowed.contains(&CLOSED),
            [status] => allowed.contains(status),
            _ => false,
        };
        match &self.expect {
            Expect::Refused(allowed) | Expect::Broken(allowed) | Expect::Answered(allowed)
                if is_one_of(allowed) =>
            {
                Ok(0)
            }
            Expect::Forwarded(wanted) if is_one_of(&wanted.or) => Ok(0),
            Expect::Forwarded(wanted) => {
                let count = 1 + usize::from(pace == Pace::Followed && !wanted.closes);
                let fine = finals.len() == count && finals.iter().all(|status| *status == 200);
                fine.then_some(count)
                    .ok_or_else(|| format!("answers {statuses:?}"))
            }
            Expect::Run {
                statuses, targets, ..
            } if finals == *statuses => Ok(targets.len()),
            Expect::Refused(_) | Expect::Broken(_) | Expect::Answered(_) | Expect::Run { .. } => {
                Err(format!("answers {statuses:?}"))
            }
        }
    }

    /// Whether what reached the upstream is right, `count` requests in all.
    fn judge_upstream(&self, count: usize, requests: &[Recorded]) -> Result<(), String> {
        if requests.len() != count {
            return Err(format!(
                "{} requests reach the upstream for {count}",
                requests.len()
            ));
        }
        match &self.expect {
            Expect::Forwarded(wanted) => requests
                .iter()
                .filter(|request| request.head.target() != "/next")
                .try_for_each(|request| wanted.judge(request)),
            Expect::Run { targets, .. } => {
                let strange =
                    |request: &&Recorded| targets.iter().all(|target| target != request.head.target());
                match requests.iter().find(strange) {
                    Some(request) => Err(format!("{} ran", request.head.start())),
                    None => Ok(()),
                }
            }
            Expect::Refused(_) | Expect::Broken(_) | Expect::Answered(_) => Ok(()),
        }
    }
}

// === impl Wanted ===

impl Wanted {
    fn judge(&self, request: &Recorded) -> Result<(), String> {
        let Recorded {
            head, body, trailers, ..
        } = request;
        let line = (head.method(), head.target());
        if line != (self.method.as_str(), self.target.as_str()) {
            return Err(format!("forwarded as {}", head.start()));
        }
        if *body != self.body {
            return Err(format!("the body {}", shown(body)));
        }
        let lines = head.all("content-length").len() + head.all("transfer-encoding").len();
        if lines > 1 || (lines == 0 && !body.is_empty()) {
            return Err(format!("{lines} framings"));
        }
        let host = self.host.as_bytes();
        let always = [("host", host), ("x-forwarded-for", b"127.0.0.1".as_slice())];
        let always = always.map(|(name, value)| (name.to_owned(), vec![value.to_vec()]));
        for (name, values) in always.iter().chain(&self.present) {
            let found = lines_of(head, name);
            if found != *values {
                let found = found.iter().map(|value| shown(value)).collect::<Vec<_>>();
                return Err(format!("{name} is {found:?}"));
            }
        }
        let never = ["keep-alive", "proxy-connection", "proxy-authorization"];
        for name in self.absent.iter().map(String::as_str).chain(never) {
            let trails = trailers.iter().any(|line| is_named(line, name));
            if trails || head.has(name) {
                return Err(format!("{name} is forwarded, trailers {trailers:?}"));
            }
        }
        let means = [
            "host",
            "content-length",
            "transfer-encoding",
            "x-forwarded-for",
            "x-forwarded-proto",
        ];
        if let Some(line) = trailers
            .iter()
            .find(|line| means.iter().any(|name| is_named(line, name)))
        {
            return Err(format!("the trailer {line}"));
        }
        let hop = head.members("connection");
        let is_ours = |member: &String| ["te", "upgrade", "keep-alive"].contains(&member.as_str());
        if hop.iter().all(is_ours) {
            Ok(())
        } else {
            Err(format!("Connection: {hop:?}"))
        }
    }
}

fn lines_of(head: &Head, name: &str) -> Vec<Vec<u8>> {
    head.all_bytes(name).map(<[u8]>::to_vec).collect()
}

fn is_named(line: &str, name: &str) -> bool {
    line.split(':')
        .next()
        .is_some_and(|field| field.eq_ignore_ascii_case(name))
}

// === impl Bench ===

impl Bench {
    async fn start() -> Self {
        let origin = Recorder::start(Ipv4Addr::LOCALHOST, |request| match request.head.method() {
            "HEAD" => Reply::keep("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"),
            _ => Reply::ok("ok"),
        })
        .await;
        let rig = Rig::to(origin.addr());
        rig.canary().await;
        let canary_bytes = origin.bytes();
        Self {
            rig,
            origin,
            canary_bytes,
        }
    }

    /// Runs the case at every pace, cut from `start` on.
    async fn run(&self, case: &Case, start: usize) -> Result<(), String> {
        self.origin.take_requests();
        let (bytes, open) = (self.origin.bytes(), self.origin.open());
        let mut metronome = Metronome::start(&self.rig).await;
        let mut forwarded = 0;
        for paces in case.paces(start).chunks(BATCH) {
            let mut wires = Vec::new();
            for _ in paces {
                wires.push(self.rig.wire().await);
            }
            let next = get("/next");
            let pieces = paces.iter().map(|pace| pace.pieces(&case.bytes, next.as_bytes()));
            metronome.write(&mut wires, pieces.collect()).await;
            for (wire, pace) in wires.iter_mut().zip(paces) {
                let seen = read(wire, case.method(), case.answers(*pace)).await;
                let count = seen.and_then(|seen| case.judge(*pace, &seen));
                forwarded += count.map_err(|fault| format!("{pace:?}: {fault}"))?;
            }
        }
        let untouched = matches!(case.expect, Expect::Refused(_) | Expect::Answered(_));
        self.rig.canary().await;
        if untouched && self.origin.bytes() != bytes + self.canary_bytes {
            return Err("bytes reach the upstream".to_owned());
        }
        if matches!(case.expect, Expect::Broken(_)) {
            self.origin.until_open(open.max(1)).await;
        }
        let mut requests = self.origin.take_requests();
        requests.retain(|request| request.head.target() != "/canary");
        case.judge_upstream(forwarded, &requests)
    }
}

/// Reads `answers` final responses, or all up to the end.
async fn read(wire: &mut Wire, method: &str, answers: Option<usize>) -> Seen {
    let mut bytes = Vec::new();
    let reading = async {
        loop {
            let (more, end) = wire.more().await;
            bytes.extend_from_slice(&more);
            if let Some(end) = end {
                return responses(&bytes, method, end == End::Fin);
            }
            let Some(answers) = answers else { continue };
            if let Ok(seen) = responses(&bytes, method, false) {
                let is_final = |response: &&Response| response.whole && response.head.status() >= 200;
                if seen.iter().filter(is_final).count() >= answers {
                    return Ok(seen);
                }
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
    let bench = Arc::new(Bench::start().await);
    let mut faults = Vec::new();
    let shared = shared(cases.iter().map(|case| case.bytes.as_slice()));
    for (case, start) in cases.iter().zip(shared) {
        let (bench, running) = (Arc::clone(&bench), case.clone());
        let outcome = fault(tokio::spawn(async move { bench.run(&running, start).await })).await;
        faults.extend(outcome.map(|fault| format!("{} [{}]: {fault}", case.id, shown(&case.bytes))));
    }
    report(cases.len(), &faults);
}
