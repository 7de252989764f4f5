//! The only place that turns a failure into a response.

use http::header::{self, HeaderValue};
use http::{Response, StatusCode};

use crate::body::Body;
use crate::error::{Failure, Reason};

/// The response to a request that no route sees: the status and a short plain body, which no cache keeps.
pub(crate) fn to_response(failure: &Failure) -> Response<Body> {
    let mut response = gone(failure.status);
    if closes(failure.reason) {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

/// The response to a token that leads nowhere. A 410 may be cached (RFC 9110, section 15.1), but a reload of the page
/// must reach the proxy.
pub(crate) fn gone(status: StatusCode) -> Response<Body> {
    let mut response = text(status);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The answer while no upstream is available: says so.
pub(crate) fn unavailable(status: StatusCode) -> Response<Body> {
    said(status, Reason::NoUpstream.as_str())
}

/// An answer without a body, to a request that failed among the routes.
pub(crate) fn empty(status: StatusCode, reason: Reason) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    if closes(reason) {
        response
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// A response with the status's own words as its body.
pub(crate) fn text(status: StatusCode) -> Response<Body> {
    said(status, status.canonical_reason().unwrap_or("Error"))
}

fn said(status: StatusCode, words: &str) -> Response<Body> {
    let mut response = Response::new(Body::full(format!("{words}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// After a refused head or body nothing more on the connection can be trusted to be a request.
pub(crate) fn closes(reason: Reason) -> bool {
    matches!(reason, Reason::BadRequest(_) | Reason::ClientBody)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::read_all;

    #[tokio::test]
    async fn a_gone_pod_is_told_in_a_short_body_that_no_cache_keeps() {
        let response = to_response(&Reason::DeadPod.into());

        assert_eq!(response.status(), 410);
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(read_all(response.into_body()).await.unwrap().0, b"Gone\n");
    }

    #[test]
    fn a_refused_head_closes_the_connection() {
        let response = to_response(&Reason::BadRequest("x").into());
        assert_eq!(
            (response.status().as_u16(), &response.headers()["connection"]),
            (400, &HeaderValue::from_static("close"))
        );
    }
}
