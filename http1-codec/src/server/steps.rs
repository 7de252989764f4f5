//! The steps of a driver: the next head, its request, the service.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response, Version, header};

use super::conn::{self, Shared};
use super::request_body::RequestBody;
use super::{Asked, Command, Control, Found, upgrade};
use crate::error::{BodyError, HeadError};
use crate::framing::Framing;
use crate::head::{HeadLimits, RequestHead, connection_has};
use crate::upgraded::Stream;

/// Reads the next head. A connection that is asked to go does so once nothing has come that it could answer.
pub(super) fn poll_next<S, C>(
    cx: &mut Context<'_>,
    shared: &Shared<S, C>,
    limits: &HeadLimits,
    draining: &mut bool,
) -> Poll<io::Result<Found>>
where
    S: Stream,
    C: Control,
{
    let mut conn = shared.lock();
    match conn.poll_head(cx, limits, &*shared.control) {
        Poll::Pending => {}
        found @ Poll::Ready(_) => return found,
    }
    let begun = conn.has_begun();
    if *draining && !begun {
        return Poll::Ready(Ok(Found::End));
    }
    match shared.control.poll_command(cx) {
        None => Poll::Pending,
        Some(Command::Drain) => {
            *draining = true;
            if begun {
                Poll::Pending
            } else {
                Poll::Ready(Ok(Found::Asked))
            }
        }
        Some(Command::TimeOut) if begun => Poll::Ready(Ok(Found::Error(HeadError::TimedOut))),
        Some(_) => Poll::Ready(Ok(Found::End)),
    }
}

/// The request for the service, and what its answer depends on.
pub(super) fn begin<S, C>(shared: &Arc<Shared<S, C>>, head: RequestHead) -> (Request<RequestBody>, Asked)
where
    S: Stream + 'static,
    C: Control,
{
    let RequestHead {
        mut request,
        framing,
        keep_alive,
        expects_continue,
    } = head;
    let mut asked = Asked {
        method: request.method().clone(),
        version: request.version(),
        keep_alive,
        upgrade: None,
    };
    if framing == Framing::None && asks_for_upgrade(&request) {
        let (offer, upgrade) = upgrade::offer();
        request.extensions_mut().insert(upgrade);
        asked.upgrade = Some(offer);
    }
    let body = conn::begin(shared, framing, expects_continue, keep_alive);
    (request.map(|()| body), asked)
}

/// Waits for the service; `None` if the client left or the connection is to close without an answer.
pub(super) async fn run_call<F, B, E, S, C>(
    mut call: Pin<Box<F>>,
    shared: &Shared<S, C>,
    draining: &mut bool,
    version: Version,
) -> Option<Response<B>>
where
    F: Future<Output = Result<Response<B>, E>>,
    S: Stream,
    C: Control,
{
    // HTTP/1.0 knows no interim answers (RFC 9110, section 15.2).
    let takes_interim = version == Version::HTTP_11;
    poll_fn(move |cx| {
        loop {
            let answer = call.as_mut().poll(cx);
            if let Some(interim) = shared.control.take_interim()
                && takes_interim
            {
                shared.lock().write_interim(&interim);
            }
            if let Poll::Ready(answer) = answer {
                return Poll::Ready(answer.ok());
            }
            let mut conn = shared.lock();
            if conn.poll_watch(cx, &*shared.control).is_ready() {
                return Poll::Ready(None);
            }
            match shared.control.poll_command(cx) {
                None => return Poll::Pending,
                Some(Command::Drain) => {
                    *draining = true;
                    return Poll::Pending;
                }
                // The service hears of it by the body that it waits for, if it does.
                Some(Command::TimeOut) => {
                    conn.fail_body(BodyError::TimedOut);
                }
                Some(Command::Close) => return Poll::Ready(None),
            }
        }
    })
    .await
}

/// Whether a request asks for an upgrade that it may ask for (RFC 9110, section 7.8).
fn asks_for_upgrade<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    request.version() == Version::HTTP_11
        && headers.contains_key(header::UPGRADE)
        && connection_has(headers, b"upgrade")
}
