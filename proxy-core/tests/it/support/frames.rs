//! HTTP/2 by hand: frames that no client library would send, and what comes back.

use super::rig::{HOST, Rig};
use super::wait::within;
use super::wire::{End, Wire};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const ACK: u8 = 1;

/// A field line as it is sent, valid or not.
pub(crate) type Line<'a> = (&'a [u8], &'a [u8]);

/// One HTTP/2 connection whose frames the test writes and reads.
pub(crate) struct Frames(Wire);

/// A frame that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// What became of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was answered with this status.
    Status(u16),
    /// It was reset with this code.
    Reset(u32),
    /// The connection is at its end, with the code of its GOAWAY if there was one.
    Closed(Option<u32>),
}

// === impl Frames ===

impl Frames {
    /// Connects by prior knowledge and exchanges settings; `settings` are the client's.
    pub(crate) async fn connect(rig: &Rig, settings: &[(u16, u32)]) -> Self {
        let mut frames = Self(rig.wire().await);
        frames.0.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        let payload: Vec<u8> = settings
            .iter()
            .flat_map(|(key, value)| [&key.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        frames.send(&frame(SETTINGS, 0, 0, &payload)).await;
        frames.send(&frame(SETTINGS, ACK, 0, &[])).await;
        frames
    }

    /// Sends bytes, whatever they are.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.0.send(bytes).await;
    }

    /// Sends bytes unless the connection has ended.
    pub(crate) async fn try_send(&mut self, bytes: &[u8]) -> bool {
        within("sending", self.0.try_send(bytes)).await.is_ok()
    }

    /// The next frame; `None` at the end of the connection.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        let head = self.bytes(9).await?;
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
        Some(Frame {
            kind: head[3],
            flags: head[4],
            stream,
            payload: self.bytes(length).await?,
        })
    }

    /// What becomes of `stream`. Frames of others are passed over.
    pub(crate) async fn outcome(&mut self, stream: u32) -> Outcome {
        let mut code = None;
        while let Some(frame) = self.next().await {
            match frame.kind {
                HEADERS if frame.stream == stream => return Outcome::Status(status(&frame.payload)),
                RST_STREAM if frame.stream == stream => return Outcome::Reset(number(&frame.payload)),
                GOAWAY => code = Some(code.unwrap_or_else(|| number(&frame.payload[4..]))),
                _ => {}
            }
        }
        Outcome::Closed(code)
    }

    async fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let (more, end) = self.0.up_to(count - bytes.len()).await;
            bytes.extend_from_slice(&more);
            if let Some(End::Fin | End::Reset) = end {
                return None;
            }
        }
        Some(bytes)
    }
}

// === frames ===

/// One frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short payload");
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A field block of lines as they are, without compression.
pub(crate) fn block(lines: &[Line<'_>]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in lines {
        block.push(0);
        for text in [name, value] {
            integer(&mut block, text.len());
            block.extend_from_slice(text);
        }
    }
    block
}

/// The head of a request for `path`, with more lines behind it.
pub(crate) fn get<'a>(path: &'a [u8], more: &[Line<'a>]) -> Vec<Line<'a>> {
    let lines: [Line<'a>; 4] = [
        (b":method", b"GET"),
        (b":scheme", b"http"),
        (b":authority", HOST.as_bytes()),
        (b":path", path),
    ];
    [&lines[..], more].concat()
}

/// A request without a body on `stream`.
pub(crate) fn request(stream: u32, lines: &[Line<'_>]) -> Vec<u8> {
    let block = block(lines);
    let (first, rest) = block.split_at(block.len().min(16_000));
    let flags = |rest: &[u8]| if rest.is_empty() { END_HEADERS } else { 0 };
    let mut frames = frame(HEADERS, END_STREAM | flags(rest), stream, first);
    let mut pieces = rest.chunks(16_000).peekable();
    while let Some(piece) = pieces.next() {
        let last: &[u8] = pieces.peek().copied().unwrap_or_default();
        frames.extend(frame(CONTINUATION, flags(last), stream, piece));
    }
    frames
}

/// An integer of HPACK with a prefix of 7 bits (RFC 7541, section 5.1).
fn integer(out: &mut Vec<u8>, value: usize) {
    let byte = |value: usize| u8::try_from(value).expect("fits");
    if value < 127 {
        return out.push(byte(value));
    }
    out.push(127);
    let mut rest = value - 127;
    while rest >= 128 {
        out.push(byte(rest % 128 + 128));
        rest /= 128;
    }
    out.push(byte(rest));
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// The status at the beginning of a field block: of the static table, or the first literal of its connection.
fn status(block: &[u8]) -> u16 {
    match block[0] {
        0x88 => 200,
        0x89 => 204,
        0x8a => 206,
        0x8b => 304,
        0x8c => 400,
        0x8d => 404,
        0x8e => 500,
        // A literal whose name is `:status`, with a value of three digits in the code of Huffman (RFC 7541, appendix B).
        0x08 | 0x18 | 0x48 => {
            let length = usize::from(block[1] & 0x7f);
            let text = &block[2..2 + length];
            if block[1] & 0x80 == 0 {
                return String::from_utf8_lossy(text).parse().expect("a status");
            }
            let bits: Vec<u8> = text
                .iter()
                .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1))
                .collect();
            let mut at = 0;
            let value = |at: usize, count: usize| {
                bits[at..at + count]
                    .iter()
                    .fold(0, |all, bit| all << 1 | u16::from(*bit))
            };
            (0..3).fold(0, |status, _| {
                let short = value(at, 5);
                let digit = if short < 3 {
                    at += 5;
                    short
                } else {
                    at += 6;
                    value(at - 6, 6) - 0x19 + 3
                };
                status * 10 + digit
            })
        }
        other => panic!("a field block that begins with {other:#x}"),
    }
}
