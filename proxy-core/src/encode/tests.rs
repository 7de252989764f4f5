//! What is compressed and what is not, and that everything comes back as it was.

use std::future::poll_fn;
use std::io::Read;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::mpsc;

use super::*;
use crate::body::{BoxError, read_all};

const CODINGS: [Coding; 3] = [Coding::GZIP, Coding::ZSTD, Coding::BROTLI];

/// A body whose pieces come over a channel, with or without a stated length.
struct Pieces {
    pieces: mpsc::UnboundedReceiver<Result<Frame<Bytes>, BoxError>>,
    length: Option<u64>,
}

type Sender = mpsc::UnboundedSender<Result<Frame<Bytes>, BoxError>>;

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.pieces.poll_recv(cx)
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map(SizeHint::with_exact).unwrap_or_default()
    }
}

fn pieces(length: Option<u64>) -> (Sender, Body) {
    let (sender, pieces) = mpsc::unbounded_channel();
    (sender, Body::new(Pieces { pieces, length }))
}

fn send(sender: &Sender, data: impl Into<Bytes>) {
    sender.send(Ok(Frame::data(data.into()))).unwrap();
}

fn settings() -> Encode {
    Encode {
        codings: vec![Coding::ZSTD, Coding::BROTLI, Coding::GZIP],
        minimum: MINIMUM,
        only: ResponseMatcher {
            fields: vec![(header::CONTENT_TYPE, Some(vec!["text/*".to_owned()]))],
            ..ResponseMatcher::default()
        },
    }
}

fn request(method: &str, path: &str, fields: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn accepting(coding: Coding) -> Parts {
    request("GET", "/", &[("accept-encoding", coding.name())])
}

fn response(body: Body, fields: &[(&str, &str)]) -> Response<Body> {
    let mut response = Response::builder().header("content-type", "text/plain");
    for (name, value) in fields {
        response = response.header(*name, *value);
    }
    response.body(body).unwrap()
}

/// The answer to `request`, as the pipeline makes it.
async fn answered(mut request: Parts, mut response: Response<Body>) -> Response<Body> {
    let encode = settings();
    let asked = encode.ask(&mut request);
    let first = match encode.waits_for_piece(asked, &response) {
        true => first_piece(&mut response).await,
        false => None,
    };
    encode.answer(asked, &mut response, first, &Arc::default());
    response
}

/// What can be read of `data`, and whether it is all of it.
fn decoded(coding: Coding, data: &[u8]) -> (Vec<u8>, bool) {
    let mut reader: Box<dyn Read> = match coding {
        Coding::Gzip(_) => Box::new(flate2::read::GzDecoder::new(data)),
        Coding::Zstd(_) => Box::new(zstd::stream::read::Decoder::new(data).unwrap()),
        Coding::Brotli(_) => Box::new(brotli::Decompressor::new(data, 4096)),
    };
    let mut out = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return (out, true),
            Ok(length) => out.extend_from_slice(&piece[..length]),
            Err(_) => return (out, false),
        }
    }
}

/// Text that has patterns and noise.
fn text(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    (0..length)
        .map(|at| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if at % 7 < 5 {
                b"abcde"[at % 7]
            } else {
                state.to_be_bytes()[0]
            }
        })
        .collect()
}

fn value<'r>(response: &'r Response<Body>, name: &str) -> &'r str {
    response
        .headers()
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

// === bodies ===

#[tokio::test]
async fn every_coding_comes_back_as_it_was_however_it_is_cut() {
    let whole = text(300_000);
    for coding in CODINGS {
        for size in [1, 7, 1000, 16 * 1024, 100_000, 300_000] {
            let whole = &whole[..whole.len().min(1000 + size * 300)];
            for length in [None, Some(whole.len() as u64)] {
                let (sender, body) = pieces(length);
                whole.chunks(size).for_each(|piece| send(&sender, piece.to_vec()));
                drop(sender);
                let response = answered(
                    request("GET", "/", &[("accept-encoding", coding.name()), ("x", "y")]),
                    response(body, &[("content-length", "9999")]),
                )
                .await;

                assert_eq!(value(&response, "content-encoding"), coding.name());
                assert!(!response.headers().contains_key("content-length"));
                let (data, _) = read_all(response.into_body()).await.unwrap();
                assert!(
                    decoded(coding, &data) == (whole.to_vec(), true),
                    "{coding:?} in pieces of {size}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_short_body_that_is_there_as_a_whole_has_a_length() {
    for coding in CODINGS {
        let whole = text(513);
        let response = answered(accepting(coding), response(Body::full(whole.clone()), &[])).await;
        assert!(response.body().size_hint().exact().is_some());
        let (data, _) = read_all(response.into_body()).await.unwrap();
        assert_eq!(decoded(coding, &data), (whole, true));
    }
}

#[tokio::test]
async fn each_piece_of_a_stream_can_be_read_at_once() {
    for coding in CODINGS {
        let (sender, body) = pieces(None);
        send(&sender, text(600));
        let mut response = answered(accepting(coding), response(body, &[])).await;
        assert_eq!(value(&response, "content-encoding"), coding.name());
        let (mut sent, mut received) = (text(600), Vec::new());
        for number in 0..20 {
            // Nothing but what has been sent is there: the next piece is not sent before this one was read.
            let frame = response.body_mut().frame().await.unwrap().unwrap();
            received.extend_from_slice(&frame.into_data().unwrap());
            assert!(decoded(coding, &received) == (sent.clone(), false), "{coding:?}");
            let piece = format!("data: {number}\n\n");
            sent.extend_from_slice(piece.as_bytes());
            send(&sender, piece);
        }
        drop(sender);
        let (rest, _) = read_all(response.into_body()).await.unwrap();
        received.extend_from_slice(&rest);
        assert!(decoded(coding, &received) == (sent, true), "{coding:?}");
    }
}

#[tokio::test]
async fn a_body_that_is_cut_never_looks_complete() {
    for coding in CODINGS {
        for length in [None, Some(100_000)] {
            let (sender, body) = pieces(length);
            send(&sender, text(50_000));
            let mut response = answered(accepting(coding), response(body, &[])).await;
            sender.send(Err("cut".into())).unwrap();
            let (mut received, mut failed) = (Vec::new(), false);
            while let Some(frame) = response.body_mut().frame().await {
                match frame {
                    Ok(frame) => received.extend_from_slice(&frame.into_data().unwrap()),
                    Err(error) => {
                        failed = error.to_string() == "cut";
                        break;
                    }
                }
            }
            assert!(failed, "{coding:?}");
            assert!(!decoded(coding, &received).1, "{coding:?}");
            assert!(response.body_mut().frame().await.is_none());
        }
    }
}

#[tokio::test]
async fn trailers_follow_without_those_about_the_bytes() {
    let (sender, body) = pieces(None);
    send(&sender, text(600));
    let fields = [("content-digest", "x"), ("x-status", "ok")];
    let trailers =
        fields.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
    sender
        .send(Ok(Frame::trailers(HeaderMap::from_iter(trailers))))
        .unwrap();
    let response = answered(accepting(Coding::GZIP), response(body, &[])).await;

    let (data, trailers) = read_all(response.into_body()).await.unwrap();
    assert_eq!(decoded(Coding::GZIP, &data), (text(600), true));
    let names: Vec<_> = trailers.unwrap().keys().map(ToString::to_string).collect();
    assert_eq!(names, ["x-status"]);
}

#[tokio::test]
async fn a_large_body_takes_turns_and_little_room() {
    for coding in CODINGS {
        let whole = Bytes::from(vec![0; 2 * 1024 * 1024]);
        let mut response = answered(accepting(coding), response(Body::full(whole.clone()), &[])).await;
        let (mut turns, mut most, mut received) = (0, 0, Vec::new());
        let waker = futures_util::task::noop_waker();
        let mut cx = Context::from_waker(&waker);
        loop {
            match Pin::new(response.body_mut()).poll_frame(&mut cx) {
                Poll::Pending => turns += 1,
                Poll::Ready(None) => break,
                Poll::Ready(Some(frame)) => {
                    let data = frame.unwrap().into_data().unwrap();
                    most = most.max(data.len());
                    received.extend_from_slice(&data);
                }
            }
        }
        assert!(turns >= whole.len() / (33 * 1024), "{coding:?}: {turns} turns");
        assert!(most <= 256 * 1024, "{coding:?}: {most} bytes at once");
        assert!(decoded(coding, &received) == (whole.to_vec(), true));
    }
}

#[tokio::test]
async fn beyond_a_number_of_encoders_answers_go_out_plain() {
    let encode = settings();
    let encoders = Arc::<Encoders>::default();
    let compressed = |encoders: &Arc<Encoders>| {
        let asked = encode.ask(&mut accepting(Coding::GZIP));
        let (_, body) = pieces(Some(1000));
        let mut response = response(body, &[]);
        encode.answer(asked, &mut response, None, encoders);
        assert_eq!(value(&response, "vary"), "Accept-Encoding");
        response
    };
    let mut held: Vec<_> = std::iter::repeat_with(|| compressed(&encoders))
        .take_while(|response| value(response, "content-encoding") == "gzip")
        .take(10_000)
        .collect();
    assert_eq!(held.len(), 512);
    held.pop();
    assert_eq!(value(&compressed(&encoders), "content-encoding"), "gzip");
    drop(held);
    assert_eq!(value(&compressed(&encoders), "content-encoding"), "gzip");
}

#[tokio::test]
async fn an_encoder_that_was_left_in_the_middle_is_as_new_for_the_next() {
    let encoders = Arc::<Encoders>::default();
    for coding in CODINGS {
        let encode = settings();
        for round in 0..3 {
            let (sender, body) = pieces(Some(40_000));
            send(&sender, text(40_000));
            if round > 0 {
                drop(sender);
            }
            let mut response = response(body, &[]);
            encode.answer(encode.ask(&mut accepting(coding)), &mut response, None, &encoders);
            if round == 0 {
                poll_fn(|cx| Poll::Ready(Pin::new(response.body_mut()).poll_frame(cx).is_pending())).await;
                continue;
            }
            let (data, _) = read_all(response.into_body()).await.unwrap();
            assert!(decoded(coding, &data) == (text(40_000), true), "{coding:?}");
        }
    }
}

// === heads ===

#[tokio::test]
async fn what_says_something_about_the_bytes_is_changed() {
    let fields = [
        ("etag", "\"x\""),
        ("accept-ranges", "bytes"),
        ("content-md5", "x"),
        ("content-digest", "x"),
        ("vary", "Origin"),
        ("content-length", "1000"),
    ];
    let (_sender, body) = pieces(Some(1000));
    let response = answered(accepting(Coding::GZIP), response(body, &fields)).await;
    let mut lines: Vec<_> = response
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "content-encoding: gzip",
            "content-type: text/plain",
            "etag: \"x-gzip\"",
            "vary: Accept-Encoding",
            "vary: Origin"
        ]
    );
}

#[tokio::test]
async fn entity_tags_are_marked_only_if_they_are_strong() {
    for (tag, marked) in [
        ("\"x\"", "\"x-zstd\""),
        ("W/\"x\"", "W/\"x\""),
        ("x", "x"),
        ("\"", "\""),
    ] {
        let answer = response(Body::full(text(600)), &[("etag", tag)]);
        let response = answered(accepting(Coding::ZSTD), answer).await;
        assert_eq!(value(&response, "etag"), marked);
    }
}

#[test]
fn the_upstream_sees_the_entity_tag_that_it_gave() {
    for (sent, seen) in [
        ("\"x-gzip\"", "\"x\""),
        ("\"x-br\"", "\"x-br\""),
        ("W/\"x-gzip\"", "W/\"x-gzip\""),
        ("\"x-gzip\", \"y-gzip\"", "\"x-gzip\", \"y-gzip\""),
        ("\"-gzip\"", "\"\""),
        ("-gzip\"", "-gzip\""),
        ("*", "*"),
    ] {
        let mut request = request(
            "GET",
            "/",
            &[("accept-encoding", "gzip"), ("if-none-match", sent)],
        );
        settings().ask(&mut request);
        assert_eq!(request.headers["if-none-match"], seen, "{sent}");
    }
}

#[tokio::test]
async fn an_answer_that_nothing_changed_has_the_tag_that_the_client_knows() {
    for (sent, tag) in [("\"x-gzip\"", "\"x-gzip\""), ("\"x\"", "\"x\"")] {
        let request = request(
            "GET",
            "/",
            &[("accept-encoding", "gzip"), ("if-none-match", sent)],
        );
        let mut answer = response(Body::empty(), &[("etag", "\"x\"")]);
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        let response = answered(request, answer).await;
        assert_eq!(
            (value(&response, "etag"), value(&response, "vary")),
            (tag, "Accept-Encoding")
        );
    }
}

#[tokio::test]
async fn clients_that_get_the_plain_form_are_told_that_there_is_another() {
    for accept in ["", "identity", "deflate", "gzip;q=0"] {
        let request = request("GET", "/", &[("accept-encoding", accept)]);
        let response = answered(request, response(Body::full(text(600)), &[])).await;
        assert_eq!(value(&response, "content-encoding"), "", "{accept}");
        assert_eq!(value(&response, "vary"), "Accept-Encoding", "{accept}");
    }
}

#[tokio::test]
async fn an_answer_to_head_says_what_get_would_have_got() {
    let request = request("HEAD", "/", &[("accept-encoding", "gzip")]);
    let answer = response(Body::empty(), &[("content-length", "600"), ("etag", "\"x\"")]);
    let response = answered(request, answer).await;
    assert_eq!(value(&response, "content-encoding"), "gzip");
    assert_eq!(value(&response, "etag"), "\"x-gzip\"");
    assert!(!response.headers().contains_key("content-length"));
    assert!(response.body().is_end_stream());
}

#[tokio::test]
async fn some_answers_stay_as_they_are() {
    let long = || Body::full(text(600));
    for (what, status, fields, body) in [
        ("short", 200, &[][..], Body::full(text(512))),
        ("empty", 200, &[], Body::empty()),
        ("encoded", 200, &[("content-encoding", "br")], long()),
        ("fixed", 200, &[("cache-control", "public, No-Transform")], long()),
        ("a part", 206, &[], long()),
        ("of another type", 200, &[("content-type", "image/png")], long()),
        (
            "events",
            200,
            &[("content-type", "text/event-stream; charset=utf-8")],
            long(),
        ),
    ] {
        let mut answer = response(body, &[]);
        *answer.status_mut() = StatusCode::from_u16(status).unwrap();
        for (name, value) in fields {
            answer
                .headers_mut()
                .insert(*name, HeaderValue::from_static(value));
        }
        let response = answered(accepting(Coding::GZIP), answer).await;
        for name in ["vary", "etag"] {
            assert_eq!(value(&response, name), "", "{what}");
        }
        assert_ne!(value(&response, "content-encoding"), "gzip", "{what}");
    }
}

#[tokio::test]
async fn some_requests_want_their_answers_as_they_are() {
    for (path, field) in [
        ("/", ("cache-control", "no-transform")),
        ("/", ("sec-websocket-key", "x")),
        ("/~/token/s", ("x", "y")),
    ] {
        let request = request("GET", path, &[("accept-encoding", "gzip"), field]);
        let response = answered(request, response(Body::full(text(600)), &[])).await;
        assert_eq!(value(&response, "content-encoding"), "", "{path} {field:?}");
    }
}

#[tokio::test]
async fn who_refuses_the_plain_form_gets_short_answers_compressed_too() {
    let request = request("GET", "/", &[("accept-encoding", "gzip, identity;q=0")]);
    let response = answered(request, response(Body::full("short"), &[])).await;
    assert_eq!(value(&response, "content-encoding"), "gzip");
}

// === the first piece ===

#[tokio::test(start_paused = true)]
async fn a_stream_is_judged_by_its_first_piece_if_that_comes_soon() {
    for (first, coding) in [(Some(512), ""), (Some(513), "gzip"), (None, "gzip")] {
        let (sender, body) = pieces(None);
        if let Some(length) = first {
            send(&sender, text(length));
        }
        let response = answered(accepting(Coding::GZIP), response(body, &[])).await;
        assert_eq!(value(&response, "content-encoding"), coding, "{first:?}");
        send(&sender, "more");
        drop(sender);
        let (data, _) = read_all(response.into_body()).await.unwrap();
        let mut sent = text(first.unwrap_or_default());
        sent.extend_from_slice(b"more");
        let data = if coding.is_empty() {
            data
        } else {
            decoded(Coding::GZIP, &data).0
        };
        assert!(data == sent, "{first:?}");
    }
}

#[tokio::test]
async fn a_stream_that_fails_at_once_still_fails() {
    let (sender, body) = pieces(None);
    sender.send(Err("cut".into())).unwrap();
    let response = answered(accepting(Coding::GZIP), response(body, &[])).await;
    assert_eq!(
        read_all(response.into_body()).await.unwrap_err().to_string(),
        "cut"
    );
}
