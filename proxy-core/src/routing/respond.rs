//! Answers that the configuration holds: `respond`, `redir`, `abort`.

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use super::header_ops;
use super::template::Template;
use crate::body::Body;
use crate::error::{Failure, Reason};
use crate::request::Context;

/// A fixed answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct StaticResponse {
    /// `None`: 200, and among error routes the error's own.
    pub(crate) status: Option<Status>,
    /// Fields to set; those of one name stand beside each other.
    pub(crate) headers: Vec<(HeaderName, Template)>,
    pub(crate) body: Text,
    /// Close the connection after the answer.
    pub(crate) close: bool,
    /// Close the connection without an answer.
    pub(crate) abort: bool,
}

/// The status of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Status {
    Fixed(StatusCode),
    /// Must give a number for each request.
    Rendered(Template),
}

/// A body that may have placeholders.
#[derive(Clone, Debug)]
pub(crate) enum Text {
    Static(Bytes),
    Template(Template),
}

/// `error`: ends the chain with an error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Raise {
    /// `None`: 500.
    pub(crate) status: Option<Status>,
    pub(crate) message: Template,
}

// === impl StaticResponse ===

impl StaticResponse {
    /// The answer. `None`: it is the interim 103, with the fields that are set so far, and the chain goes on.
    ///
    /// # Errors
    ///
    /// If the status is none.
    pub(crate) fn say(&self, cx: &mut Context) -> Result<Option<Response<Body>>, Box<Failure>> {
        self.set_fields(cx);
        let body = match &self.body {
            Text::Static(bytes) => bytes.clone(),
            Text::Template(template) => template.render(cx).into(),
        };
        if !body.is_empty() && !cx.answer.contains_key(header::CONTENT_TYPE) {
            cx.answer.insert(header::CONTENT_TYPE, content_type(&body));
        }
        let status = match &self.status {
            Some(status) => status.or_early_hints(cx)?,
            None => cx.error.as_ref().map_or(StatusCode::OK, |told| told.status),
        };
        if status == StatusCode::EARLY_HINTS {
            return Ok(None);
        }
        let mut response = Response::new(Body::full(body));
        *response.status_mut() = status;
        *response.headers_mut() = std::mem::take(&mut cx.answer);
        if status == StatusCode::NOT_MODIFIED {
            // It is about what the client has, which may be of another kind and length.
            response.headers_mut().remove(header::CONTENT_TYPE);
            *response.body_mut() = Body::empty();
        }
        Ok(Some(response))
    }

    fn set_fields(&self, cx: &mut Context) {
        let mut last = None;
        for (name, template) in &self.headers {
            let value = header_ops::render(template, cx);
            if last == Some(name) {
                cx.answer.append(name, value);
            } else {
                cx.answer.insert(name, value);
            }
            last = Some(name);
        }
        if self.close {
            cx.answer
                .insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

// === impl Status ===

impl Status {
    /// The status of an answer that ends the request.
    ///
    /// # Errors
    ///
    /// If it is no number that such an answer may have.
    pub(crate) fn of(&self, cx: &Context) -> Result<StatusCode, Box<Failure>> {
        self.or_early_hints(cx)
            .and_then(|status| (status.as_u16() >= 200).then_some(status).ok_or_else(bad))
    }

    /// The same, or 103.
    fn or_early_hints(&self, cx: &Context) -> Result<StatusCode, Box<Failure>> {
        let template = match self {
            Self::Fixed(status) => return Ok(*status),
            Self::Rendered(template) => template,
        };
        let text = template.render(cx);
        let code = text
            .parse()
            .ok()
            .filter(|code| *code == 103 || (200..=999).contains(code));
        code.and_then(|code| StatusCode::from_u16(code).ok())
            .ok_or_else(bad)
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

impl Default for Text {
    fn default() -> Self {
        Self::Static(Bytes::new())
    }
}

// === impl Raise ===

impl Raise {
    /// The error for one request.
    pub(crate) fn failure(&self, cx: &Context) -> Box<Failure> {
        let status = match self.status.as_ref().map(|status| status.of(cx)) {
            None => StatusCode::INTERNAL_SERVER_ERROR,
            Some(Ok(status)) => status,
            Some(Err(failure)) => return failure,
        };
        let message = self.message.render(cx);
        let failure = Failure::from(Reason::Raised).with_status(status);
        Box::new(if message.is_empty() {
            failure
        } else {
            failure.with_source(message)
        })
    }
}

fn bad() -> Box<Failure> {
    Box::new(Reason::BadStatus.into())
}

/// As Caddy: JSON if the body is a valid object or array with something in it, else plain text.
fn content_type(body: &[u8]) -> HeaderValue {
    let body = body.trim_ascii();
    let opens = body.len() > 2 && matches!(body.first(), Some(b'{' | b'['));
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
        let fixed = StaticResponse {
            headers,
            body: Text::new(body.parse().unwrap()),
            ..StaticResponse::default()
        };
        match fixed.say(&mut context("GET", "http://a.test/x")) {
            Ok(Some(response)) => response,
            other => panic!("{other:?}"),
        }
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
            ("{}", "text/plain; charset=utf-8"),
        ] {
            assert_eq!(answer(body, vec![]).headers()["content-type"], expected, "{body}");
        }
        let html = vec![(header::CONTENT_TYPE, "text/html".parse().unwrap())];
        assert_eq!(answer("hi", html).headers()["content-type"], "text/html");
        assert!(!answer("", vec![]).headers().contains_key("content-type"));
    }

    #[test]
    fn fields_replace_those_that_were_set_before() {
        let fixed = StaticResponse {
            headers: vec![
                (header::VARY, Template::text("a")),
                (header::VARY, Template::text("b")),
            ],
            ..StaticResponse::default()
        };
        let mut cx = context("GET", "http://a.test/");
        cx.answer.insert(header::VARY, HeaderValue::from_static("old"));
        cx.answer.insert("x-kept", HeaderValue::from_static("1"));
        let Ok(Some(response)) = fixed.say(&mut cx) else {
            panic!("it is an answer");
        };
        let vary: Vec<_> = response.headers().get_all(header::VARY).iter().collect();
        assert_eq!(vary, ["a", "b"]);
        assert_eq!(response.headers()["x-kept"], "1");
    }

    #[test]
    fn a_status_that_is_none_is_an_error() {
        let cx = context("GET", "http://a.test/?s=404");
        let status = |text: &str| {
            Status::Rendered(text.parse().unwrap())
                .of(&cx)
                .map_err(|failure| failure.status)
        };
        assert_eq!(status("{http.request.uri.query.s}"), Ok(StatusCode::NOT_FOUND));
        // Nothing would follow 103, which is for `respond` alone.
        for text in ["", "x", "99", "101", "102", "103", "199", "1000", "-404"] {
            assert_eq!(status(text), Err(StatusCode::INTERNAL_SERVER_ERROR), "{text}");
        }
    }
}
