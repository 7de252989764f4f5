//! The requests as they stand in `requests.txt`.

use std::fmt::Write as _;

/// One request, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

// === impl Request ===

impl Request {
    /// The method, which decides whether an answer has a body.
    pub(crate) fn method(&self) -> String {
        let line = self.bytes.split(|byte| *byte == b' ').next().unwrap();
        String::from_utf8_lossy(line).into_owned()
    }
}

/// Reads the file; its own text says how it is written.
pub(crate) fn parse(text: &str) -> Vec<Request> {
    let sections = text.split("\n### ").skip(1);
    let requests: Vec<Request> = sections.map(one).collect();
    assert!(requests.len() >= 60, "{} requests", requests.len());
    requests
}

fn one(section: &str) -> Request {
    let (name, message) = section.split_once('\n').expect("a name, then a request");
    let (head, body) = message.split_once("\n\n").unwrap_or((message, ""));
    let (head, body) = (head.trim_end(), body.trim_end());
    let chunked = head.contains("Transfer-Encoding: chunked");
    let body = if chunked { chunks(body) } else { repeated(body) };
    let head = head
        .replace("Content-Length: ?", &format!("Content-Length: {}", body.len()))
        .replace('\n', "\r\n");
    Request {
        name: name.to_owned(),
        bytes: format!("{head}\r\n\r\n{body}").into_bytes(),
    }
}

/// `<N x>` is N times that letter.
fn repeated(body: &str) -> String {
    let inner = body.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    match inner.and_then(|inner| inner.split_once(' ')) {
        Some((count, letter)) => letter.repeat(count.parse().expect("a count")),
        None => body.to_owned(),
    }
}

fn chunks(body: &str) -> String {
    let mut chunked = String::new();
    for line in body.lines() {
        write!(chunked, "{:x}\r\n{line}\n\r\n", line.len() + 1).expect("writing to memory");
    }
    chunked + "0\r\n\r\n"
}
