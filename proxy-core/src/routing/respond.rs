//! Answers that the configuration holds: `respond`, `redir`, `abort`.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use super::template::Template;
use crate::body::Body;
use crate::request::Context;

/// A fixed answer.
#[derive(Clone, Debug)]
pub(crate) struct StaticResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(HeaderName, Template)>,
    pub(crate) body: Text,
    /// Close the connection after the answer.
    pub(crate) close: bool,
    /// Close the connection without an answer.
    pub(crate) abort: bool,
}

/// A body that may have placeholders.
#[derive(Clone, Debug)]
pub(crate) enum Text {
    Static(Bytes),
    Template(Template),
}

// === impl StaticResponse ===

impl StaticResponse {
    pub(crate) fn respond(&self, cx: &Context) -> Response<Body> {
        let body = match &self.body {
            Text::Static(bytes) => bytes.clone(),
            Text::Template(template) => template.render(cx).into(),
        };
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            if let Ok(value) = HeaderValue::from_bytes(value.render(cx).as_bytes()) {
                headers.append(name, value);
            }
        }
        if !body.is_empty() && !headers.contains_key(header::CONTENT_TYPE) {
            headers.insert(header::CONTENT_TYPE, content_type(&body));
        }
        if self.close {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let mut response = Response::new(Body::full(body));
        *response.status_mut() = self.status;
        *response.headers_mut() = headers;
        response
    }
}

// === impl Text ===

impl Text {
    pub(crate) fn new(template: Template) -> Self {
        match template.as_static() {
            Some(text) => Self::Static(Bytes::copy_from_slice(text.as_bytes())),
            None => Self::Template(template),
        }
    }
}

/// As Caddy: JSON if the body is a valid object or array, else plain text.
fn content_type(body: &[u8]) -> HeaderValue {
    let opens = matches!(body.trim_ascii_start().first(), Some(b'{' | b'['));
    if opens && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok() {
        HeaderValue::from_static("application/json")
    } else {
        HeaderValue::from_static("text/plain; charset=utf-8")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::read_all;
    use crate::routing::tests::context;

    fn answer(body: &str, headers: Vec<(HeaderName, Template)>) -> Response<Body> {
        let (status, body) = (StatusCode::OK, Text::new(body.parse().unwrap()));
        let response = StaticResponse {
            status,
            headers,
            body,
            close: false,
            abort: false,
        };
        response.respond(&context("GET", "http://a.test/x"))
    }

    #[tokio::test]
    async fn a_body_with_placeholders_is_rendered() {
        let response = answer("{http.request.method} {http.request.host}", vec![]);
        assert_eq!(read_all(response.into_body()).await.unwrap().0, b"GET a.test");
    }

    #[test]
    fn the_content_type_follows_the_body_unless_it_is_set() {
        for (body, expected) in [
            ("hi", "text/plain; charset=utf-8"),
            ("{\"a\":1}", "application/json"),
            ("[1]", "application/json"),
            ("{oops", "text/plain; charset=utf-8"),
        ] {
            assert_eq!(answer(body, vec![]).headers()["content-type"], expected, "{body}");
        }
        let html = vec![(header::CONTENT_TYPE, "text/html".parse().unwrap())];
        assert_eq!(answer("hi", html).headers()["content-type"], "text/html");
        assert!(!answer("", vec![]).headers().contains_key("content-type"));
    }
}
