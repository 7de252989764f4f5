//! Exchanges as they should go.

use proptest::prelude::*;

/// How a body is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Length,
    Chunked,
    /// Until the end of the connection.
    Close,
}

/// What becomes of an origin's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    Stays,
    Says,
    Silently,
}

#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) method: &'static str,
    request: (Framing, usize),
    pub(super) status: u16,
    answer: (Framing, usize),
    pub(super) closing: Closing,
    /// Whether the origin answers before it reads the body.
    pub(super) is_early: bool,
    pub(super) interim: usize,
    trailers: bool,
}

pub(super) fn exchange() -> impl Strategy<Value = Exchange> {
    let size = || prop_oneof![3 => Just(0), 6 => 1..20_usize, 1 => 1000..1100_usize];
    let method = prop_oneof![Just("GET"), Just("POST"), Just("HEAD")];
    let framing = prop_oneof![Just(Framing::Length), Just(Framing::Chunked)];
    let status = prop_oneof![4 => Just(200), 1 => Just(204), 1 => Just(304), 1 => Just(500)];
    let answer = prop_oneof![
        Just(Framing::Length),
        Just(Framing::Chunked),
        Just(Framing::Close)
    ];
    let closing = prop_oneof![
        3 => Just(Closing::Stays),
        1 => Just(Closing::Says),
        1 => Just(Closing::Silently)
    ];
    let ways = (method, framing, size(), status, answer, size());
    (
        ways,
        closing,
        proptest::bool::weighted(0.2),
        0..3_usize,
        any::<bool>(),
    )
        .prop_map(
            |((method, framing, sent, status, answer, received), closing, is_early, interim, trailers)| {
                Exchange {
                    method,
                    request: (framing, sent),
                    status,
                    answer: (answer, received),
                    closing,
                    is_early,
                    interim,
                    trailers,
                }
            },
        )
}

// === impl Exchange ===

impl Exchange {
    pub(super) fn request_body(&self) -> Vec<u8> {
        vec![b'q'; self.request.1]
    }

    /// The body that the client sees.
    pub(super) fn answer_body(&self) -> Vec<u8> {
        if self.has_body() {
            vec![b'a'; self.answer.1]
        } else {
            Vec::new()
        }
    }

    fn has_body(&self) -> bool {
        self.method != "HEAD" && ![204, 304].contains(&self.status)
    }

    pub(super) fn request(&self, number: usize) -> Vec<u8> {
        let mut text = format!("{} /{number} HTTP/1.1\r\nHost: a\r\n", self.method).into_bytes();
        self.put_body(&mut text, self.request.0, &self.request_body());
        text
    }

    pub(super) fn answer(&self, number: usize) -> Vec<u8> {
        let mut text = Vec::new();
        for _ in 0..self.interim {
            text.extend(format!("HTTP/1.1 103 Early Hints\r\nX-Id: {number}\r\n\r\n").into_bytes());
        }
        let closes = match self.closing {
            Closing::Says => "Connection: close\r\n",
            Closing::Stays | Closing::Silently => "",
        };
        text.extend(format!("HTTP/1.1 {} X\r\nX-Id: {number}\r\n{closes}", self.status).into_bytes());
        if self.has_body() {
            self.put_body(&mut text, self.answer.0, &self.answer_body());
        } else {
            text.extend(b"\r\n");
        }
        text
    }

    /// Whether the origin's connection ends with the answer.
    pub(super) fn closes(&self) -> bool {
        self.closing != Closing::Stays || (self.has_body() && self.answer.0 == Framing::Close)
    }

    fn put_body(&self, text: &mut Vec<u8>, framing: Framing, body: &[u8]) {
        match framing {
            Framing::Length => {
                text.extend(format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes());
                text.extend(body);
            }
            Framing::Close => {
                text.extend(b"\r\n");
                text.extend(body);
            }
            Framing::Chunked => {
                text.extend(b"Transfer-Encoding: chunked\r\n\r\n");
                for chunk in body.chunks(700) {
                    text.extend(format!("{:X};x=y\r\n", chunk.len()).into_bytes());
                    text.extend(chunk);
                    text.extend(b"\r\n");
                }
                text.extend(b"0\r\n");
                if self.trailers {
                    text.extend(b"X-Sum: 7\r\n");
                }
                text.extend(b"\r\n");
            }
        }
    }
}
