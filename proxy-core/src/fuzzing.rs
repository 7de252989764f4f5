//! The bodies of the fuzz targets, here so that ordinary tests can replay their corpora.
//!
//! An input of `whole` is what happens at both ends of a proxy: two digits, then what the client sends, then what each
//! connection to an upstream answers. A line `%%` is between those, a line `--` between the answers of a connection.
//! The first digit is the length of the pieces in which bytes come (0: all at once). The bits of the second: an
//! upstream answers before the request is whole, and peers take no more than a piece at a time.

mod cookies;
mod fields;
mod forwarded;
mod header_rules;
#[allow(clippy::panic, reason = "that is how a contradiction is told")]
mod judge;
mod play;
#[allow(
    missing_docs,
    unreachable_pub,
    reason = "it is a part of another crate when that is fuzzed"
)]
#[path = "../../http1-codec/fuzz/src/reference.rs"]
mod reference;

use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::time::timeout;

use self::play::{Client, Recorders};
use crate::forward::view::View;
use crate::http::connection::Connection;
use crate::memory::{self, Bench, Upstreams};
use crate::snapshot::Snapshot;

/// Two sites with an upstream each, a fixed answer and rules for fields.
const CADDYFILE: &str = "\
{
	admin off
	auto_https off
}
http://a.test {
	header X-Rule yes
	respond /fixed fixed
	reverse_proxy 127.0.0.1:9001
}
http://b.test {
	request_header X-Added yes
	header -Server
	reverse_proxy 127.0.0.1:9002
}
";

/// More lines than a head may have fields, of which the proxy adds some.
const MAX_LINES: usize = 80;

/// After this long of nothing the client hangs up, and after as long again the upstreams.
const IDLE: Duration = Duration::from_secs(10);

/// What both ends do.
struct Input<'d> {
    /// How long the pieces are in which bytes come.
    piece: usize,
    /// Upstreams answer before the request is whole.
    eager: bool,
    /// Peers take no more than a piece at a time.
    slow: bool,
    client: &'d [u8],
    /// The answers on each connection.
    upstreams: Vec<Vec<&'d [u8]>>,
}

/// What both ends saw.
struct Played {
    /// What the client got.
    answers: Vec<u8>,
    /// The connection ended in the middle of an answer that only a clean end completes.
    cut: bool,
    upstreams: Vec<play::Recorded>,
    /// The connection of each request that an upstream saw, in the order in which they began.
    order: Vec<usize>,
    /// The upstreams ended their connections, whatever else they could have said.
    hung_up: bool,
}

/// Plays `data`, and looks at what both ends saw.
///
/// # Panics
///
/// If either of them saw what no strict reader would make of the other's bytes.
pub fn whole(data: &[u8]) {
    let Some(input) = Input::of(data) else { return };
    let played = play(&input);
    judge::judge(&input, &played);
}

/// Edits a document as the admin API does: the fuzz target `edit`.
///
/// # Panics
///
/// If it is not what it should be after an edit.
pub fn edit(data: &[u8]) {
    crate::admin::fuzzing::edit(data);
}

/// Reads any bytes as a header of the PROXY protocol.
///
/// # Panics
///
/// If a part of them is another header, or if the client that they name cannot be named again.
pub fn proxy_protocol(data: &[u8]) {
    crate::http::proxy_protocol::header::check(data);
}

/// Reads Cookie fields of a client, for the upstream that a cookie names and for what upstreams are told.
///
/// # Panics
///
/// If a cookie that names an upstream is not followed, if another is, or if one gets lost on the way.
pub fn cookies(data: &[u8]) {
    cookies::check(data);
}

/// Reads what a peer says of the client in X-Forwarded-For and other fields, and tells it to an upstream.
///
/// # Panics
///
/// If a stranger is believed, if a client can choose its own address, or if the next proxy would see another client.
pub fn forwarded(data: &[u8]) {
    forwarded::check(data);
}

/// Changes the fields of a head by rules.
///
/// # Panics
///
/// If the fields are not what a plain list of fields becomes by the same rules.
pub fn header_rules(data: &[u8]) {
    header_rules::check(data);
}

fn play(input: &Input<'_>) -> Played {
    static VIEW: LazyLock<Arc<Snapshot<View>>> = LazyLock::new(|| memory::view(CADDYFILE));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let recorders = Recorders::new(input);
    let dialled = recorders.clone();
    let bench = Bench::new(
        Arc::clone(&VIEW),
        Upstreams::new(move |address| dialled.dial(address)),
    );
    let client = Client::new(input);
    let connection = Arc::new(Connection::new(memory::CLIENT, false));
    let state = Arc::clone(connection.state());
    let hung_up = runtime.block_on(async {
        let mut serving = pin!(bench.serve(client.clone(), connection));
        if timeout(IDLE, &mut serving).await.is_ok() {
            return false;
        }
        client.hang_up();
        // One that has sent more than its request, or that may end its side, is not known to have left.
        if timeout(IDLE, &mut serving).await.is_ok() {
            return false;
        }
        recorders.hang_up();
        let ended = timeout(IDLE, serving).await;
        assert!(ended.is_ok(), "a connection ends soon after all of its peers");
        true
    });
    Played {
        answers: client.written(),
        cut: state.has_open_end(),
        upstreams: recorders.recorded(),
        order: recorders.order(),
        hung_up,
    }
}

// === impl Input ===

impl<'d> Input<'d> {
    fn of(data: &'d [u8]) -> Option<Self> {
        let ([piece, flags], rest) = data.split_first_chunk()?;
        if data.iter().filter(|byte| **byte == b'\n').count() > MAX_LINES {
            return None;
        }
        let mut sections = split(rest, b"\n%%\n").into_iter();
        Some(Self {
            piece: match piece % 48 {
                0 => usize::MAX,
                piece => usize::from(piece),
            },
            eager: flags & 1 != 0,
            slow: flags & 2 != 0,
            client: sections.next()?,
            upstreams: sections.map(|section| split(section, b"\n--\n")).collect(),
        })
    }
}

fn split<'d>(mut data: &'d [u8], mark: &[u8]) -> Vec<&'d [u8]> {
    let mut parts = Vec::new();
    while let Some(at) = data.windows(mark.len()).position(|window| window == mark) {
        let (part, rest) = data.split_at(at);
        parts.push(part);
        data = rest.split_at(mark.len()).1;
    }
    parts.push(data);
    parts
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    const TWO: &[u8] = b"00\
        GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n\
        POST /2 HTTP/1.1\r\nHost: b.test\r\nContent-Length: 5\r\n\r\nhello\
        \n%%\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none\
        \n%%\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo";

    #[test]
    fn requests_go_up_and_answers_come_back() {
        let input = Input::of(TWO).unwrap();
        let played = play(&input);
        let answers = String::from_utf8_lossy(&played.answers);
        assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 2, "{answers}");
        assert!(
            answers.contains("x-rule: yes") && answers.ends_with("two"),
            "{answers}"
        );
        let ports: Vec<u16> = played.upstreams.iter().map(|upstream| upstream.port).collect();
        assert_eq!((ports, played.order), (vec![9001, 9002], vec![0, 1]));
    }

    /// Judges what was played once both ends saw something else.
    fn judged(forge: impl FnOnce(&mut Played)) -> bool {
        let input = Input::of(TWO).unwrap();
        let mut played = play(&input);
        forge(&mut played);
        std::panic::catch_unwind(|| judge::judge(&input, &played)).is_ok()
    }

    fn replace(bytes: &mut Vec<u8>, from: &str, to: &str) {
        *bytes = String::from_utf8_lossy(bytes).replace(from, to).into_bytes();
    }

    #[test]
    fn a_proxy_that_forges_something_is_caught() {
        assert!(judged(|_| {}));
        for (from, to) in [
            ("/2", "/3"),
            ("POST", "PUT"),
            ("hello", "help!"),
            ("b.test\r\n", "a.test\r\n"),
            ("content-length: 5", "content-length: 4"),
            ("content-length: 5", "content-length: 5\r\nx-new: 1"),
            ("via: ", "connection: x-a\r\nvia: "),
        ] {
            let forge = |played: &mut Played| replace(&mut played.upstreams[1].bytes, from, to);
            assert!(!judged(forge), "{from} to {to}");
        }
        for (from, to) in [("one", "two"), ("one", "on"), ("HTTP/1.1 200", "HTTP/1.1 299")] {
            assert!(
                !judged(|played| replace(&mut played.answers, from, to)),
                "{from} to {to}"
            );
        }
        let twice = |played: &mut Played| {
            let second = played.upstreams[1].clone();
            played.upstreams.push(second);
            played.order.push(2);
        };
        assert!(!judged(twice), "a POST is sent twice");
    }

    fn replay(target: &str, body: fn(&[u8])) {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fuzz/corpus")
            .join(target);
        let mut inputs: Vec<_> = fs::read_dir(corpus)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        inputs.sort();
        assert!(!inputs.is_empty());
        for input in inputs {
            println!("{}", input.display());
            body(&fs::read(input).unwrap());
        }
    }

    #[test]
    fn the_corpus_finds_no_contradiction() {
        replay("whole", whole);
    }

    #[test]
    fn the_corpus_of_the_proxy_protocol_finds_no_contradiction() {
        replay("proxy_protocol", proxy_protocol);
    }

    #[test]
    fn the_corpus_of_forwarding_fields_finds_no_contradiction() {
        replay("forwarded", forwarded);
    }

    #[test]
    fn the_corpus_of_cookies_finds_no_contradiction() {
        replay("cookies", cookies);
    }

    #[test]
    fn the_corpus_of_rules_for_fields_finds_no_contradiction() {
        replay("header_rules", header_rules);
    }
}
