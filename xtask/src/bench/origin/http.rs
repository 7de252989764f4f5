//! As much HTTP/1.1 as the origin needs, without sockets.

/// One answer to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// 16 KiB instead of 128 bytes.
    pub(crate) large: bool,
    /// The client asked for the end of the connection.
    pub(crate) close: bool,
}

/// Finds requests in a stream of bytes.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// The start of a head whose end did not come yet.
    held: Vec<u8>,
    /// Bytes of a request's body that are still to come, and the reply that waits for them.
    body: Option<(u64, Reply)>,
}

/// Longest head that is waited for.
const MAX_HEAD: usize = 64 * 1024;

// === impl Parser ===

impl Parser {
    /// Takes what came from the network; calls `reply` for each request that is complete. False if it is no HTTP that
    /// this origin speaks (it knows `Content-Length`, not chunks): then the connection must end.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut reply: impl FnMut(Reply)) -> bool {
        if self.held.is_empty() {
            return self.scan(bytes, &mut reply);
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        self.scan(&all, &mut reply)
    }

    fn scan(&mut self, mut bytes: &[u8], reply: &mut impl FnMut(Reply)) -> bool {
        loop {
            bytes = self.skip_body(bytes, reply);
            if bytes.is_empty() {
                return true;
            }
            let Some(end) = end_of_head(bytes) else {
                self.held = bytes.to_vec();
                return self.held.len() <= MAX_HEAD;
            };
            let (head, rest) = bytes.split_at(end);
            bytes = rest;
            match read_head(head) {
                Some((0, answer)) => reply(answer),
                Some((length, answer)) => self.body = Some((length, answer)),
                None => return false,
            }
        }
    }

    fn skip_body<'a>(&mut self, bytes: &'a [u8], reply: &mut impl FnMut(Reply)) -> &'a [u8] {
        let Some((length, answer)) = self.body else {
            return bytes;
        };
        let here = usize::try_from(length).unwrap_or(usize::MAX).min(bytes.len());
        let left = length - here as u64;
        self.body = (left > 0).then_some((left, answer));
        if left == 0 {
            reply(answer);
        }
        &bytes[here..]
    }
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .map(|at| at + 4)
}

/// The length of the body that follows and what to answer.
fn read_head(head: &[u8]) -> Option<(u64, Reply)> {
    let mut lines = head.split(|byte| *byte == b'\n');
    let target = lines.next()?.split(|byte| *byte == b' ').nth(1)?;
    let mut answer = Reply {
        large: target.ends_with(b"/16k"),
        close: false,
    };
    let mut length = 0;
    for line in lines {
        // Most lines are told apart by their first byte.
        match line.first() {
            Some(b'c' | b'C') => {
                if let Some(value) = value(line, b"content-length:") {
                    length = value.parse().ok()?;
                } else if let Some(value) = value(line, b"connection:") {
                    answer.close = value.eq_ignore_ascii_case("close");
                }
            }
            Some(b't' | b'T') if value(line, b"transfer-encoding:").is_some() => return None,
            _ => {}
        }
    }
    Some((length, answer))
}

fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a str> {
    let (start, rest) = line.split_at_checked(name.len())?;
    let same = start.eq_ignore_ascii_case(name);
    same.then(|| std::str::from_utf8(rest).map(str::trim).ok())
        .flatten()
}

/// The answers, ready to send.
#[derive(Debug)]
pub(crate) struct Answers {
    small: Vec<u8>,
    large: Vec<u8>,
}

// === impl Answers ===

impl Answers {
    /// Bodies of 128 bytes and 16 KiB.
    pub(crate) fn new() -> Self {
        Self {
            small: answer(128),
            large: answer(16 * 1024),
        }
    }

    /// Head and body. The end of the connection is not announced: closing it says as much.
    pub(crate) fn bytes(&self, reply: Reply) -> &[u8] {
        if reply.large { &self.large } else { &self.small }
    }
}

fn answer(length: usize) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n")
            .into_bytes();
    bytes.resize(bytes.len() + length, b'x');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Reply = Reply {
        large: false,
        close: false,
    };

    /// Feeds `bytes` in pieces of `size`.
    fn replies(bytes: &[u8], size: usize) -> Option<Vec<Reply>> {
        let mut parser = Parser::default();
        let mut replies = Vec::new();
        let sound = bytes
            .chunks(size)
            .all(|piece| parser.feed(piece, |reply| replies.push(reply)));
        sound.then_some(replies)
    }

    #[test]
    fn requests_are_found_however_the_bytes_are_cut() {
        let stream = b"GET /128 HTTP/1.1\r\nHost: a\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhelloGET /16k HTTP/1.1\r\nconnection: Close\r\n\r\n";
        for size in 1..=stream.len() {
            let expected = vec![
                SMALL,
                SMALL,
                Reply {
                    large: true,
                    close: true,
                },
            ];
            assert_eq!(replies(stream, size), Some(expected), "pieces of {size}");
        }
    }

    #[test]
    fn a_post_is_answered_behind_its_body_only() {
        let head = b"POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\n";
        let mut parser = Parser::default();
        let mut count = 0;
        assert!(parser.feed(head, |_| count += 1) && parser.feed(b"ab", |_| count += 1));
        assert_eq!(count, 0);
        let mut last = None;
        assert!(parser.feed(b"c", |reply| last = Some(reply)));
        assert_eq!(last, Some(SMALL));
    }

    #[test]
    fn chunks_and_nonsense_end_the_connection() {
        assert_eq!(
            replies(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 9),
            None
        );
        assert_eq!(replies(b"nonsense\r\n\r\n", 99), None);
        assert_eq!(replies(&[b'x'; MAX_HEAD + 2], 4096), None);
    }

    #[test]
    fn answers_have_the_length_that_they_announce() {
        let answers = Answers::new();
        let text = String::from_utf8(answers.bytes(SMALL).to_vec()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("content-length: 128") && body.len() == 128);
        assert!(
            answers
                .bytes(Reply {
                    large: true,
                    close: false
                })
                .len()
                > 16 * 1024
        );
    }
}
