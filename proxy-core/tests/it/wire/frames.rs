//! Requests of HTTP/2 as frames: what is malformed is refused before any upstream hears of it.

use std::net::Ipv4Addr;

use super::Bench;
use crate::support::frames::{
    self, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, HEADERS, Line, Outcome, PING, PRIORITY,
    PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, block, frame, get,
};
use crate::support::origin::Recorder;
use crate::support::rig::{HOST, Rig};

/// What a client sends on its first stream, and with which statuses it may be answered instead of an error of the
/// protocol.
struct Case {
    id: &'static str,
    bytes: Vec<u8>,
    statuses: &'static [u16],
}

const BAD: &[u16] = &[400];

fn head(id: &'static str, lines: &[Line<'_>]) -> Case {
    Case {
        id,
        bytes: frames::request(1, lines),
        statuses: BAD,
    }
}

/// The head of a plain request with this line instead of its own.
fn instead<'a>(name: &'a str, value: &'a [u8]) -> Vec<Line<'a>> {
    get(b"/", &[])
        .into_iter()
        .map(|(own, was)| {
            let value = if own == name.as_bytes() { value } else { was };
            (own, value)
        })
        .collect()
}

/// Each of `cases` is refused, no upstream hears of it, and the next client is served.
async fn refused(cases: Vec<Case>) {
    let bench = Bench::start().await;
    let mut faults = Vec::new();
    for case in &cases {
        let before = (bench.origin.bytes(), bench.origin.accepted());
        let mut frames = Frames::connect(&bench.rig, &[]).await;
        frames.send(&case.bytes).await;
        let outcome = frames.outcome(1).await;
        let is_refused = match outcome {
            Outcome::Status(status) => case.statuses.contains(&status),
            Outcome::Reset(_) | Outcome::Closed(_) => true,
        };
        if !is_refused || (bench.origin.bytes(), bench.origin.accepted()) != before {
            let shown: String = case.bytes.escape_ascii().to_string().chars().take(200).collect();
            faults.push(format!("{}: {outcome:?}: {shown}", case.id));
        }
        bench.rig.canary().await;
    }
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[tokio::test]
async fn plain_requests_pass() {
    let bench = Bench::start().await;
    let only_host = [
        (&b":method"[..], &b"GET"[..]),
        (b":scheme", b"http"),
        (b":path", b"/"),
        (b"host", HOST.as_bytes()),
    ];
    for (id, lines) in [
        ("plain", get(b"/", &[])),
        ("H2-20 only host", only_host.to_vec()),
        ("H2-20 the same host", get(b"/", &[(b"host", HOST.as_bytes())])),
        ("H2-16 te", get(b"/", &[(b"te", b"trailers")])),
        ("H2-14 blanks within", get(b"/", &[(b"x-a", b"a \t b")])),
        ("H2-14 no value", get(b"/", &[(b"x-a", b"")])),
        ("HD-03 bytes above ASCII", get(b"/", &[(b"x-a", b"\xff\xfe")])),
        ("PA-05 a backslash", get(b"/a%5Cb%00"[..6].as_ref(), &[])),
    ] {
        let mut frames = Frames::connect(&bench.rig, &[]).await;
        frames.send(&frames::request(1, &lines)).await;
        assert_eq!(frames.outcome(1).await, Outcome::Status(200), "{id}");
    }
}

#[tokio::test]
async fn field_lines_that_are_none_are_refused() {
    let mut cases = Vec::new();
    for value in [&b"a\rb"[..], b"a\nb", b"a\r\nX-B: c", b"a\0b", b"\x01", b"\x7f"] {
        cases.push(head("H2-13 value", &get(b"/", &[(b"x-a", value)])));
        cases.push(head("CK-08", &get(b"/", &[(b"cookie", value)])));
    }
    for name in [
        &b"x a"[..],
        b"x\r\n",
        b"x\0",
        b"x\x85",
        b"x(",
        b" x",
        b"X-A",
        b"",
        b"a:b",
        b":",
    ] {
        cases.push(head("H2-13 H2-15 name", &get(b"/", &[(name, b"v")])));
    }
    for value in [&b" a"[..], b"a ", b"\ta", b"a\t", b" ", b" a\t"] {
        cases.push(head("H2-14", &get(b"/", &[(b"x-a", value)])));
        cases.push(head("H2-14 cookie", &get(b"/", &[(b"cookie", value)])));
    }
    for (name, value) in [
        (&b"connection"[..], &b"close"[..]),
        (b"connection", b"x-a"),
        (b"transfer-encoding", b"chunked"),
        (b"keep-alive", b"timeout=5"),
        (b"proxy-connection", b"close"),
        (b"upgrade", b"websocket"),
        (b"te", b"gzip"),
        (b"te", b"trailers, gzip"),
    ] {
        cases.push(head("H2-16", &get(b"/", &[(name, value)])));
    }
    refused(cases).await;
}

#[tokio::test]
async fn pseudo_fields_out_of_place_are_refused() {
    let whole = get(b"/", &[]);
    let mut cases = Vec::new();
    for missing in [0, 1, 3] {
        let mut lines = whole.clone();
        lines.remove(missing);
        cases.push(head("H2-17 missing", &lines));
    }
    for twice in 0..4 {
        let mut lines = whole.clone();
        lines.push(lines[twice]);
        cases.push(head("H2-17 twice", &lines));
    }
    cases.push(head("H2-17 unknown", &get(b"/", &[(b":foo", b"x")])));
    cases.push(head("H2-17 of an answer", &get(b"/", &[(b":status", b"200")])));
    cases.push(head(
        "H2-17 protocol of a GET",
        &get(b"/", &[(b":protocol", b"websocket")]),
    ));
    let mut late = get(b"/", &[]);
    late.insert(0, (b"x-a", b"v"));
    cases.push(head("H2-17 after others", &late));
    for path in [
        &b""[..],
        b"x",
        b"@evil.test/x",
        b"*",
        b"/a b",
        b"/a\r\nX: y",
        b"/a\0",
        b"http://b.test/",
        b"/%00",
        b"/<a>",
        b"/?b=\"c\"",
    ] {
        cases.push(head("H2-13 H2-17 H2-19 path", &instead(":path", path)));
    }
    for method in [&b"GET /x HTTP/1.1"[..], b"GE T", b"", b"G\0T", b"GET\r\n", b"G(T"] {
        cases.push(head("H2-13 H2-18 method", &instead(":method", method)));
    }
    for scheme in [
        &b"http://evil.test/?"[..],
        b"ftp",
        b"",
        b"ht tp",
        b"file",
        b"http\0",
    ] {
        cases.push(head("H2-18 scheme", &instead(":scheme", scheme)));
    }
    refused(cases).await;
}

#[tokio::test]
async fn hosts_that_differ_or_are_none_are_refused() {
    let mut cases = vec![
        head("H2-20 differs", &get(b"/", &[(b"host", b"other.test")])),
        head(
            "H2-20 two",
            &get(b"/", &[(b"host", HOST.as_bytes()), (b"host", b"other.test")]),
        ),
        head(
            "H2-20 twice",
            &get(b"/", &[(b"host", HOST.as_bytes()), (b"host", HOST.as_bytes())]),
        ),
    ];
    for authority in [
        &b"user@app.test"[..],
        b"user:pass@app.test",
        b"app.test/x",
        b"app.test, b.test",
        b"app test",
        b"app.test?x",
        b"app.test#x",
        b"app.test:99999",
        b"app.test:x",
        b"app.test:1:2",
        b"[::1",
        b"[::1]x",
        b"..",
        b"a..b",
        b"\x02",
        b"app.test\r\nX: y",
        b"app.test\0",
    ] {
        cases.push(head("HD-07 H2-13 H2-21", &instead(":authority", authority)));
    }
    refused(cases).await;
}

#[tokio::test]
async fn heads_that_are_too_large_are_refused() {
    let long = [b"/".as_slice(), &[b'a'; 9 * 1024]].concat();
    let value = vec![b'v'; 70 * 1024];
    refused(vec![
        Case {
            statuses: &[414],
            ..head("HD-20 target", &get(&long, &[]))
        },
        Case {
            statuses: &[431],
            ..head("HD-20 head", &get(b"/", &[(b"x-a", &value)]))
        },
    ])
    .await;
}

#[tokio::test]
async fn frames_out_of_place_end_the_stream_or_the_connection() {
    let start = |flags: u8| frame(HEADERS, flags, 1, &block(&get(b"/", &[])));
    let case = |id: &'static str, frames: &[Vec<u8>]| Case {
        id,
        bytes: frames.concat(),
        statuses: &[],
    };
    let lines = block(&get(b"/", &[]));
    refused(vec![
        case("H2-30 no stream", &[frame(HEADERS, 5, 0, &lines)]),
        case("H2-30 an even stream", &[frame(HEADERS, 5, 2, &lines)]),
        case("H2-30 data before a head", &[frame(DATA, END_STREAM, 1, b"x")]),
        case("H2-30 a reset before a head", &[frame(RST_STREAM, 0, 1, &[0; 4])]),
        case(
            "H2-30 a window before a head",
            &[frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1])],
        ),
        case(
            "H2-30 a promise",
            &[frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2])],
        ),
        case("H2-30 a ping of a stream", &[frame(PING, 0, 1, &[0; 8])]),
        case("H2-30 a short ping", &[frame(PING, 0, 0, &[0; 7])]),
        case("H2-30 settings of a stream", &[frame(SETTINGS, 0, 1, &[])]),
        case("H2-30 half a setting", &[frame(SETTINGS, 0, 0, &[0; 5])]),
        case("H2-30 an answer with settings", &[frame(SETTINGS, 1, 0, &[0; 6])]),
        case(
            "H2-30 a window too large",
            &[frame(SETTINGS, 0, 0, &[0, 4, 0xff, 0xff, 0xff, 0xff])],
        ),
        case(
            "H2-30 a frame size too small",
            &[frame(SETTINGS, 0, 0, &[0, 5, 0, 0, 0, 1])],
        ),
        case(
            "H2-30 a rest without a head",
            &[frame(CONTINUATION, END_HEADERS, 1, &lines)],
        ),
        case(
            "H2-30 another frame within a head",
            &[start(END_STREAM), frame(PING, 0, 0, &[0; 8])],
        ),
        case(
            "H2-30 another stream within a head",
            &[start(END_STREAM), frame(CONTINUATION, 4, 3, &[])],
        ),
        case("H2-30 no compression", &[frame(HEADERS, 5, 1, &[0xff; 32])]),
        case("H2-30 an index of nothing", &[frame(HEADERS, 5, 1, &[0xfe])]),
        case(
            "H2-30 a frame that is too long",
            &[frame(DATA, 0, 1, &[0; 20_000])],
        ),
        case(
            "H2-30 a stream of itself",
            &[
                frame(PRIORITY, 0, 1, &[0, 0, 0, 1, 0]),
                start(4),
                frame(DATA, 1, 1, b"x"),
                frame(DATA, 1, 1, b"x"),
            ],
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_number_of_a_stream_is_used_once_and_never_after_a_higher_one() {
    let bench = Bench::start().await;
    for (id, first, second) in [("H2-30 lower", 3, 1), ("H2-30 again", 1, 1)] {
        let mut frames = Frames::connect(&bench.rig, &[]).await;
        frames.send(&frames::request(first, &get(b"/first", &[]))).await;
        assert_eq!(frames.outcome(first).await, Outcome::Status(200), "{id}");
        frames.send(&frames::request(second, &get(b"/second", &[]))).await;
        let outcome = frames.outcome(second).await;
        assert!(
            matches!(outcome, Outcome::Reset(_) | Outcome::Closed(_)),
            "{id}: {outcome:?}"
        );
        bench.rig.canary().await;
    }
    let requests = bench.origin.requests();
    assert!(requests.iter().all(|request| request.head.target() != "/second"));
}

#[tokio::test]
async fn trailers_are_fields_and_nothing_else() {
    let bench = Bench::start().await;
    let mut lines = get(b"/trailers", &[]);
    lines[0] = (b":method", b"POST");
    let head = [
        frame(HEADERS, END_HEADERS, 1, &block(&lines)),
        frame(DATA, 0, 1, b"x"),
    ]
    .concat();
    for trailer in [
        (&b":path"[..], &b"/other"[..]),
        (b":status", b"200"),
        (b"host", b"other.test"),
        (b"content-length", b"9"),
        (b"transfer-encoding", b"chunked"),
        (b"x-forwarded-for", b"6.6.6.6"),
        (b"cookie", b"up=1"),
        (b"X-A", b"v"),
        (b"x-a", b"v\r\nx-b: c"),
        (b"x-a", b" v"),
    ] {
        let mut frames = Frames::connect(&bench.rig, &[]).await;
        let trailers = frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(&[trailer]));
        frames.send(&[head.clone(), trailers].concat()).await;
        let outcome = frames.outcome(1).await;
        assert!(
            matches!(
                outcome,
                Outcome::Status(200 | 400) | Outcome::Reset(_) | Outcome::Closed(_)
            ),
            "{trailer:?}: {outcome:?}"
        );
        bench.rig.canary().await;
    }
    for request in bench.origin.requests() {
        assert!(request.trailers.is_empty(), "{:?}", request.trailers);
        assert_eq!(request.head.all("host"), [HOST]);
    }
}

#[tokio::test]
async fn a_body_of_another_length_than_it_says_never_looks_whole() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::to(origin.addr());
    for (length, body) in [
        (&b"5"[..], "four"),
        (b"3", "four"),
        (b"+4", "four"),
        (b"4, 4", "four"),
    ] {
        let mut lines = get(b"/short", &[(b"content-length", length)]);
        lines[0] = (b":method", b"POST");
        let mut frames = Frames::connect(&rig, &[]).await;
        frames.send(&frame(HEADERS, END_HEADERS, 1, &block(&lines))).await;
        frames
            .try_send(&frame(DATA, END_STREAM, 1, body.as_bytes()))
            .await;
        let outcome = frames.outcome(1).await;
        assert!(
            !matches!(outcome, Outcome::Status(200)),
            "{length:?}: {outcome:?}"
        );
        assert!(
            origin
                .requests()
                .iter()
                .all(|request| request.head.target() != "/short"),
            "{length:?}"
        );
        rig.canary().await;
    }
}

#[tokio::test]
async fn crumbs_of_a_cookie_are_one_for_the_upstream() {
    let bench = Bench::start().await;
    let mut frames = Frames::connect(&bench.rig, &[]).await;
    let crumbs: [Line<'_>; 3] = [(b"cookie", b"a=1"), (b"x-between", b"v"), (b"cookie", b"b=2")];
    frames.send(&frames::request(1, &get(b"/crumbs", &crumbs))).await;
    assert_eq!(frames.outcome(1).await, Outcome::Status(200));
    let requests = bench.origin.requests();
    let request = requests
        .iter()
        .find(|request| request.head.target() == "/crumbs")
        .unwrap();
    assert_eq!(request.head.all("cookie"), ["a=1; b=2"]);
}
