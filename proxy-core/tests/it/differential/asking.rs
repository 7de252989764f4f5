//! Sends the requests and writes down what comes back and what the upstream saw, line by line.

use std::io::Read as _;
use std::net::SocketAddr;

use super::answers::Answers;
use super::requests::Request;
use crate::support::message::Head;
use crate::support::origin::{Recorded, Recorder};
use crate::support::wait::within;
use crate::support::wire::{Message, Wire};

/// Fields that say when or by whom, not what.
const UNCOMPARED: [&str; 3] = ["date", "server", "via"];

/// Of a longer body only its beginning is shown, its length and a sum.
const SHOWN: usize = 1000;

/// Asks each request on a connection of its own.
pub(crate) async fn ask_all(requests: &[Request], proxy: SocketAddr, origin: &Recorder) -> Answers {
    let mut answers = Answers::default();
    for request in requests {
        let mut lines = ask(request, proxy).await;
        for seen in origin.take_requests() {
            lines.extend(upstream(&seen));
        }
        let origin = origin.addr().to_string();
        let lines = lines.into_iter().map(|line| line.replace(&origin, "ORIGIN"));
        answers.push(&request.name, lines.collect());
    }
    answers
}

async fn ask(request: &Request, proxy: SocketAddr) -> Vec<String> {
    let mut wire = Wire::connect(proxy).await;
    // A proxy may close before it has read all.
    let _sent = wire.try_send(&request.bytes).await;
    let mut lines = Vec::new();
    loop {
        let what = format!("an answer to {}", request.name);
        let Ok(answer) = within(&what, wire.try_answer_to(&request.method())).await else {
            lines.push("closed".to_owned());
            return lines;
        };
        let status = answer.head.status();
        if status != 100 {
            lines.extend(shown(&answer, status));
        }
        if status >= 200 {
            return lines;
        }
    }
}

fn shown(answer: &Message, status: u16) -> Vec<String> {
    let mut lines = vec![format!("status {status}")];
    let coding = answer.head.field("content-encoding");
    lines.extend(fields(&answer.head, &answer.body, coding.is_some()));
    lines.extend(body_lines(&decoded(&answer.body, coding.as_deref())));
    lines.extend(answer.trailers.iter().map(|line| format!("trailer {line}")));
    lines
}

/// The body without its coding; of what cannot be decoded, that.
fn decoded(body: &[u8], coding: Option<&str>) -> Vec<u8> {
    let mut plain = Vec::new();
    let read = match coding {
        Some("gzip") => flate2::read::GzDecoder::new(body).read_to_end(&mut plain),
        Some("zstd") => zstd::Decoder::new(body).and_then(|mut decoder| decoder.read_to_end(&mut plain)),
        _ => return body.to_vec(),
    };
    match read {
        // An answer to HEAD has a coding, too.
        _ if body.is_empty() => plain,
        Ok(_) => plain,
        Err(error) => format!("not {coding:?}: {error}").into_bytes(),
    }
}

fn upstream(seen: &Recorded) -> Vec<String> {
    let mut lines = vec![format!("{} {}", seen.head.method(), seen.head.target())];
    lines.extend(fields(&seen.head, &seen.body, false));
    lines.extend(body_lines(&seen.body));
    lines.into_iter().map(|line| format!("upstream {line}")).collect()
}

/// The compared fields, by name; several of one name stay in their order. A length that is that of the body says just
/// that, so that a difference in the body is one line; two compressors seldom agree on it.
fn fields(head: &Head, body: &[u8], coded: bool) -> Vec<String> {
    let mut fields: Vec<(String, String)> = head
        .fields()
        .filter(|(name, _)| !UNCOMPARED.contains(&name.as_str()))
        .filter(|(name, _)| !(coded && name == "content-length"))
        .collect();
    fields.sort_by(|(one, _), (other, _)| one.cmp(other));
    let line = |(name, value): (String, String)| {
        if name == "content-length" && value == body.len().to_string() {
            return "content-length: as long as it is".to_owned();
        }
        format!("{name}: {}", value.escape_debug())
    };
    fields.into_iter().map(line).collect()
}

/// The body line by line, as far as it is text of bearable length.
fn body_lines(body: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(body);
    if text.len() > SHOWN {
        let start: String = text.chars().take(40).collect();
        let start = start.escape_debug();
        return vec![format!(
            "body {start}... {} bytes, sum {:x}",
            body.len(),
            sum(body)
        )];
    }
    let lines = text.split_inclusive('\n');
    lines
        .map(|line| format!("body {}", line.escape_debug()))
        .collect()
}

/// A sum that tells bodies apart whose starts are equal.
fn sum(body: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    body.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
