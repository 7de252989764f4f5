//! The upstream of every configuration: what it answers depends on the last segments of the path.

use std::net::Ipv4Addr;

use crate::support::origin::{Recorded, Recorder, Reply};

/// A body that is worth compressing.
const LONG: &str = "all work and no play makes a dull body. ";

/// Starts it.
pub(super) async fn start() -> Recorder {
    Recorder::start(Ipv4Addr::LOCALHOST, |request| Reply::Keep(answer(request))).await
}

fn answer(request: &Recorded) -> Vec<u8> {
    let target = request.head.target();
    let path = target.split('?').next().unwrap_or_default();
    let mut segments = path.rsplit('/');
    let (last, before) = (
        segments.next().unwrap_or_default(),
        segments.next().unwrap_or_default(),
    );
    let text = "Content-Type: text/plain; charset=utf-8\r\n";
    match (before, last) {
        ("status", code) => status(code),
        (_, "auth") => auth(request),
        (_, "redirect") => response(
            request,
            "302 Found",
            "Location: http://origin.internal/x?y=1\r\n",
            "",
        ),
        (_, "big") => response(request, "200 OK", text, &LONG.repeat(50)),
        (_, "image") => response(request, "200 OK", "Content-Type: image/png\r\n", &LONG.repeat(20)),
        (_, "chunked.json") => chunked(),
        (_, "cached") if request.head.has("if-none-match") => {
            format!("HTTP/1.1 304 Not Modified\r\n{COMMON}\r\n").into_bytes()
        }
        (_, "bare") => b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbare".to_vec(),
        _ => response(request, "200 OK", text, "from the origin\n"),
    }
}

/// Fields of every answer.
const COMMON: &str = "Server: origin\r\nX-Origin: yes\r\nX-Up: one\r\nX-Up: two\r\nETag: \"abc\"\r\n";

fn response(request: &Recorded, status: &str, fields: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let body = if request.head.method() == "HEAD" { "" } else { body };
    format!("HTTP/1.1 {status}\r\n{COMMON}{fields}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

fn status(code: &str) -> Vec<u8> {
    let code: u16 = code.parse().unwrap_or(200);
    if code == 204 {
        return format!("HTTP/1.1 204 No Content\r\n{COMMON}\r\n").into_bytes();
    }
    let body = format!("the origin says {code}");
    let length = body.len();
    format!(
        "HTTP/1.1 {code} Said So\r\n{COMMON}Content-Type: text/html\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Lets whoever has the right token pass.
fn auth(request: &Recorded) -> Vec<u8> {
    if request.head.field("x-token").as_deref() == Some("good") {
        return response(
            request,
            "200 OK",
            "X-User: alice\r\nX-Groups: one, two\r\nX-Empty: \r\n",
            "",
        );
    }
    let fields = "WWW-Authenticate: Token\r\nContent-Type: text/plain\r\n";
    response(request, "401 Unauthorized", fields, "who are you?")
}

fn chunked() -> Vec<u8> {
    let line = format!("[\"{}\"]\n", LONG.repeat(20));
    format!(
        "HTTP/1.1 200 OK\r\n{COMMON}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{line}\r\n{:x}\r\n{line}\r\n0\r\n\r\n",
        line.len(),
        line.len()
    )
    .into_bytes()
}
