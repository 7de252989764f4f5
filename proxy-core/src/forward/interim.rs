//! Interim (1xx) answers and `Expect: 100-continue` (RFC 9110, sections 10.1.1 and 15.2).

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::{Request, StatusCode, Version};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::{Sleep, sleep};

use crate::body::{Body, BoxError};
use crate::http::connection::Connection;
use crate::http::hop_by_hop;

/// How long an upstream that says nothing holds a body back whose client waits for a 100.
const PATIENCE: Duration = Duration::from_secs(1);

/// Opened by the upstream's 100.
#[derive(Debug, Default)]
struct Gate {
    open: AtomicBool,
    opened: Notify,
}

/// A body that is not asked for before the upstream wants it: hyper tells the client to go on as soon as
/// its body is read.
struct Held {
    body: Body,
    gate: Arc<Gate>,
    opened: Pin<Box<dyn Future<Output = ()> + Send>>,
    patience: Pin<Box<Sleep>>,
}

/// The gate of a request's body, as an extension of the request.
#[derive(Clone, Debug)]
struct HeldBy(Arc<Gate>);

/// Holds `body` back if its client waits for a 100.
pub(crate) fn hold_for_continue(body: Body, headers: &HeaderMap, extensions: &mut http::Extensions) -> Body {
    if body.is_end_stream() || !headers.contains_key(header::EXPECT) {
        return body;
    }
    let gate = Arc::<Gate>::default();
    extensions.insert(HeldBy(Arc::clone(&gate)));
    let waiting = Arc::clone(&gate);
    let opened = Box::pin(async move { waiting.opened.notified().await });
    Body::new(Held {
        body,
        gate,
        opened,
        patience: Box::pin(sleep(PATIENCE)),
    })
}

/// Passes interim answers on to a client that can take them: of HTTP/1.1, and never the 100 itself, as
/// hyper sends one when the body is asked for.
pub(crate) fn pass_on(request: &mut Request<Body>, connection: &Connection, client_version: Version) {
    let gate = request.extensions_mut().remove::<HeldBy>();
    if client_version != Version::HTTP_11 && gate.is_none() {
        return;
    }
    let state = Arc::clone(connection.state());
    hyper::ext::on_informational(request, move |answer| {
        if answer.status() == StatusCode::CONTINUE {
            if let Some(HeldBy(gate)) = &gate {
                gate.open.store(true, Ordering::Release);
                gate.opened.notify_one();
            }
        } else if client_version == Version::HTTP_11 {
            state.push_interim(&head(answer.status(), answer.headers()));
        }
    });
}

fn head(status: StatusCode, headers: &HeaderMap) -> Vec<u8> {
    let mut headers = headers.clone();
    hop_by_hop::strip_response(&mut headers);
    headers.remove(header::CONTENT_LENGTH);
    let reason = status.canonical_reason().unwrap_or_default();
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).into_bytes();
    for (name, value) in &headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    head.extend_from_slice(b"\r\n");
    head
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
    use super::*;
    use crate::body::read_all;

    #[tokio::test(start_paused = true)]
    async fn a_silent_upstream_holds_a_body_for_a_second_only() {
        let headers =
            HeaderMap::from_iter([(header::EXPECT, http::HeaderValue::from_static("100-continue"))]);
        let began = tokio::time::Instant::now();
        let body = hold_for_continue(Body::full("abc"), &headers, &mut http::Extensions::new());

        assert_eq!(read_all(body).await.unwrap().0, b"abc");
        assert_eq!(began.elapsed(), PATIENCE);
    }

    #[test]
    fn an_interim_head_carries_its_fields_but_no_framing() {
        let mut headers = HeaderMap::new();
        headers.insert("link", http::HeaderValue::from_static("</a>; rel=preload"));
        headers.insert("content-length", http::HeaderValue::from_static("5"));
        headers.insert("connection", http::HeaderValue::from_static("close"));
        assert_eq!(
            head(StatusCode::EARLY_HINTS, &headers),
            b"HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n"
        );
    }
}
