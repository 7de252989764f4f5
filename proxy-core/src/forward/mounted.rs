//! The handler as a service of tower, for the routers of other servers.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, StatusCode};
use http_body::{Body as HttpBody, Frame};
use http_body_util::StreamBody;

use super::pipeline::{Aborted, Handler};
use crate::body::{Body, BoxError};
use crate::http::connection::Connection;

/// What a request came over is what its extension [`Connection`] says, which is taken out. Without one, its client has no
/// address: upstreams are told none, and routes for addresses are not for it.
///
/// It is always ready. `abort` in the configuration gives an answer whose body fails at once, as there is no connection to
/// close here: hyper then ends the connection before anything of the answer was sent, or the stream of HTTP/2.
impl<B> tower_service::Service<Request<B>> for Handler
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let handler = self.clone();
        let connection = request.extensions_mut().remove::<Connection>();
        let request = request.map(Body::new);
        Box::pin(async move {
            let connection = connection.unwrap_or_else(|| Connection::local(false));
            let answer = handler.handle(request, &connection).await;
            Ok(answer.unwrap_or_else(cut))
        })
    }
}

/// What has a server close the connection.
fn cut(aborted: Aborted) -> Response<Body> {
    let failing = stream::once(async move { Err::<Frame<Bytes>, _>(aborted) });
    let mut answer = Response::new(Body::new(StreamBody::new(failing)));
    *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    answer
}
