//! A server driver and the client in front of it.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http1_codec::server::{Control, RequestBody, Service, serve};
use http1_codec::{HeadError, HeadLimits};
use tokio::io::duplex;
use tokio::time::timeout;

use super::{Dribble, Peer, TestBody};

/// How bytes go over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wire {
    /// As they come.
    Whole,
    /// Through very little room.
    Narrow,
    /// One by one, with pauses.
    Dribbled,
}

/// A service made of a function.
#[derive(Debug)]
pub(crate) struct Handler<F>(F);

/// Why a service closes a connection without an answer.
#[derive(Debug)]
pub(crate) struct Refusal;

pub(crate) fn handler<F, A>(answer: F) -> Handler<F>
where
    F: Fn(Request<RequestBody>) -> A,
    A: Future<Output = Result<Response<TestBody>, Refusal>> + Send,
{
    Handler(answer)
}

/// Runs `script` against a server, once for each kind of wire.
pub(crate) async fn each_wire(script: impl AsyncFn(Wire)) {
    for wire in [Wire::Whole, Wire::Narrow, Wire::Dribbled] {
        script(wire).await;
    }
}

/// Serves the client that `script` plays. Ends when both have.
pub(crate) async fn serving<V: Service, C: Control>(
    wire: Wire,
    control: Arc<C>,
    service: V,
    script: impl AsyncFnOnce(Peer),
) -> io::Result<()> {
    let room = match wire {
        Wire::Whole | Wire::Dribbled => 1024 * 1024,
        Wire::Narrow => 7,
    };
    let (near, far) = duplex(room);
    let limits = HeadLimits::default();
    let both = async {
        let script = script(Peer::new(far));
        match wire {
            Wire::Dribbled => {
                let server = serve(Dribble::new(near), Bytes::new(), limits, control, service);
                tokio::join!(server, script).0
            }
            Wire::Whole | Wire::Narrow => {
                let server = serve(near, Bytes::new(), limits, control, service);
                tokio::join!(server, script).0
            }
        }
    };
    timeout(Duration::from_secs(600), both)
        .await
        .expect("the server and its client end")
}

/// 200 with this body.
pub(crate) fn ok(body: impl Into<Bytes>) -> Result<Response<TestBody>, Refusal> {
    Ok(Response::new(TestBody::full(body)))
}

/// Answers with the request's method, path and body.
pub(crate) async fn echo(request: Request<RequestBody>) -> Result<Response<TestBody>, Refusal> {
    let (head, body) = request.into_parts();
    let (data, rest) = super::all_of(body).await;
    match rest {
        Ok(_) => ok(format!("{} {} [{data}]", head.method, head.uri.path())),
        Err(error) => Ok(Response::builder()
            .status(400)
            .body(TestBody::full(error))
            .expect("a response")),
    }
}

impl<F, A> Service for Handler<F>
where
    F: Fn(Request<RequestBody>) -> A,
    A: Future<Output = Result<Response<TestBody>, Refusal>> + Send,
{
    type Body = TestBody;
    type Error = Refusal;

    fn call(
        &self,
        request: Request<RequestBody>,
    ) -> impl Future<Output = Result<Response<TestBody>, Refusal>> + Send {
        (self.0)(request)
    }

    fn refuse(&self, error: HeadError) -> Response<TestBody> {
        Response::builder()
            .status(error.status())
            .body(TestBody::full(error.reason()))
            .expect("a response")
    }
}
