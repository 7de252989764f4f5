//! Interim (1xx) answers and `Expect: 100-continue` (RFC 9110, sections 10.1.1 and 15.2).

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::HeaderMap;
use http::{Response, StatusCode, Version};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::{Sleep, sleep};

use crate::body::{Body, BoxError};
use crate::http::connection::Connection;
use crate::http::hop_by_hop;
use crate::http::marks::Marks;

/// Opened by the upstream's 100.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    open: AtomicBool,
    opened: Notify,
}

/// A body that is not asked for before the upstream wants it: the client is told to go on as soon as its body is
/// read.
struct Held {
    body: Body,
    gate: Arc<Gate>,
    opened: Pin<Box<dyn Future<Output = ()> + Send>>,
    patience: Pin<Box<Sleep>>,
}

/// What is done with the interim answers to one request.
#[derive(Debug)]
pub(crate) struct Interim<'c> {
    connection: &'c Connection,
    /// The client can take them: it speaks HTTP/1.1.
    passes: bool,
    gate: Option<Arc<Gate>>,
}

/// Holds `body` back for at most `patience` if its client waits for a 100, and makes what opens it.
pub(crate) fn begin<'c>(
    body: Body,
    patience: Duration,
    version: Version,
    marks: Marks,
    connection: &'c Connection,
) -> (Body, Interim<'c>) {
    let mut interim = Interim {
        connection,
        passes: version == Version::HTTP_11,
        gate: None,
    };
    if !marks.any(Marks::EXPECT) || body.is_end_stream() {
        return (body, interim);
    }
    let gate = Arc::<Gate>::default();
    interim.gate = Some(Arc::clone(&gate));
    let waiting = Arc::clone(&gate);
    let opened = Box::pin(async move { waiting.opened.notified().await });
    let held = Body::new(Held {
        body,
        gate,
        opened,
        patience: Box::pin(sleep(patience)),
    });
    (held, interim)
}

/// Says `status` to the client before its answer, if it can take that: it speaks HTTP/1.1.
pub(crate) fn say(connection: &Connection, version: Version, status: StatusCode, headers: &HeaderMap) {
    if version == Version::HTTP_11 {
        let mut head = Vec::new();
        http1_codec::interim_head(&mut head, status, headers);
        connection.state().push_interim(&head);
    }
}

// === impl Interim ===

impl Interim<'_> {
    /// Passes an interim answer on. Never the 100 itself: the client gets one when its body is asked for.
    pub(crate) fn pass_on(&self, answer: &Response<()>) {
        if answer.status() == StatusCode::CONTINUE {
            if let Some(gate) = &self.gate {
                gate.open.store(true, Ordering::Release);
                gate.opened.notify_one();
            }
        } else if self.passes {
            let mut headers = answer.headers().clone();
            hop_by_hop::strip_response(&mut headers);
            say(self.connection, Version::HTTP_11, answer.status(), &headers);
        }
    }
}

// === impl Held ===

impl HttpBody for Held {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if !self.gate.open.load(Ordering::Acquire) {
            if self.opened.as_mut().poll(cx).is_pending() && self.patience.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.gate.open.store(true, Ordering::Release);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http1_codec::server::Control as _;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    use crate::body::read_all;

    fn client() -> Connection {
        Connection::new("127.0.0.1:9".parse().unwrap(), false)
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_upstream_holds_a_body_for_a_second_only() {
        let began = tokio::time::Instant::now();
        let client = client();
        let (body, _interim) = begin(
            Body::full("abc"),
            SECOND,
            Version::HTTP_11,
            Marks::EXPECT,
            &client,
        );

        assert_eq!(read_all(body).await.unwrap().0, b"abc");
        assert_eq!(began.elapsed(), SECOND);
    }

    #[test]
    fn an_interim_head_carries_its_fields_but_no_framing() {
        let answer = Response::builder()
            .status(103)
            .header("link", "</a>; rel=preload")
            .header("content-length", "5")
            .header("connection", "close")
            .body(())
            .unwrap();
        let client = client();
        let (_, interim) = begin(Body::empty(), SECOND, Version::HTTP_11, Marks::default(), &client);
        interim.pass_on(&answer);
        assert_eq!(
            client.state().take_interim().unwrap(),
            b"HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n"
        );
    }

    #[test]
    fn a_client_of_http_1_0_gets_no_interim_answer() {
        let client = client();
        let (_, interim) = begin(Body::empty(), SECOND, Version::HTTP_10, Marks::default(), &client);
        interim.pass_on(&Response::builder().status(103).body(()).unwrap());
        assert!(client.state().take_interim().is_none());
    }
}
