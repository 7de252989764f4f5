//! The answer of a filter that lets a request go no further.

use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Response, StatusCode};

use super::body::Body;

/// An answer with this status, whose body says what it is.
pub(super) fn refusal(status: StatusCode) -> Response<Body> {
    let text = format!("{}\n", status.canonical_reason().unwrap_or_default());
    let mut answer = Response::new(Body::from(text));
    *answer.status_mut() = status;
    let fields = answer.headers_mut();
    fields.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}
