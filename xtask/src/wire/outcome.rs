//! What becomes of a case at one proxy.

use std::fmt;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::cases::Case;
use super::find;
use super::peers::Server;

/// How long a proxy may say nothing before it counts as waiting for more.
const SILENCE: Duration = Duration::from_secs(2);

/// How long it may say nothing more before it counts as keeping the connection.
const PAUSE: Duration = Duration::from_millis(150);

/// What the client and the origin saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The first line of each request that reached the origin as a whole.
    pub(super) forwarded: Vec<String>,
    /// The origin has a part of a request.
    pub(super) begun: bool,
    /// That of the first answer that is not interim.
    pub(super) status: Option<u16>,
    /// Whether anything came that is no answer.
    pub(super) odd: bool,
    pub(super) closed: bool,
}

// === impl Outcome ===

impl Outcome {
    /// Sends `case` on a new connection and watches.
    pub(super) fn of(case: &Case, server: &mut Server) -> Result<Self> {
        let mut stream = TcpStream::connect(server.address)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(SILENCE))?;
        // Who has seen enough may close before all is written.
        drop(stream.write_all(&case.bytes));
        let (mut answer, mut closed) = (Vec::new(), false);
        let (mut piece, begin) = ([0; 16 << 10], Instant::now());
        loop {
            let patience = if answer.is_empty() { SILENCE } else { PAUSE };
            stream.set_read_timeout(Some(patience))?;
            match stream.read(&mut piece) {
                Ok(0) => closed = true,
                Ok(count) => answer.extend_from_slice(&piece[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                Err(_) => closed = true,
            }
            if closed || begin.elapsed() > 2 * SILENCE {
                break;
            }
        }
        server.must_run()?;
        let (forwarded, begun) = server.origin.take();
        drop(stream);
        let (status, odd) = status(&answer);
        Ok(Self {
            forwarded,
            begun,
            status,
            odd,
            closed,
        })
    }

    /// Whether no whole request reached the origin, nor was one answered well.
    pub(super) fn is_refused(&self) -> bool {
        self.forwarded.is_empty() && self.status.is_none_or(|status| status >= 400)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.forwarded.as_slice(), self.status) {
            ([], Some(status)) => write!(f, "{status}")?,
            ([], None) if self.odd => f.write_str("words without a head")?,
            ([], None) if self.closed => f.write_str("closed")?,
            ([], None) => f.write_str("waits")?,
            ([one], _) => write!(f, "forwards `{}`", shown(one))?,
            ([one, .., last], _) => write!(
                f,
                "forwards {}, `{}` to `{}`",
                self.forwarded.len(),
                shown(one),
                shown(last)
            )?,
        }
        if self.forwarded.is_empty() && self.begun {
            f.write_str(" behind a part")?;
        }
        Ok(())
    }
}

fn shown(line: &str) -> String {
    line.chars().flat_map(char::escape_debug).take(60).collect()
}

/// The first status of `answer` that is not interim, and whether it begins like no answer.
fn status(mut answer: &[u8]) -> (Option<u16>, bool) {
    loop {
        if answer.is_empty() {
            return (None, false);
        }
        let line = &answer[..answer.len().min(16)];
        let text = String::from_utf8_lossy(line);
        let status = text.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
        let Some(status) = status.and_then(|status| status.parse().ok()) else {
            return (None, true);
        };
        if status >= 200 {
            return (Some(status), false);
        }
        let Some(end) = find(answer, b"\r\n\r\n") else {
            return (None, false);
        };
        answer = &answer[end + 4..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interim_answers_are_passed_over() {
        assert_eq!(status(b""), (None, false));
        assert_eq!(status(b"HTTP/1.1 400 Bad\r\n\r\n"), (Some(400), false));
        assert_eq!(
            status(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\n"),
            (Some(200), false)
        );
        assert_eq!(status(b"<html>"), (None, true));
    }
}
