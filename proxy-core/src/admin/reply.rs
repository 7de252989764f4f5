//! Answers in the forms that Caddy's have.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::document::print;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// An answer as a whole.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) fields: HeaderMap,
    pub(super) body: Bytes,
    /// What is logged about a request that failed.
    pub(super) error: Option<String>,
}

// === impl Reply ===

impl Reply {
    /// Done, and nothing to say.
    pub(super) fn done() -> Self {
        Self {
            status: StatusCode::OK,
            fields: HeaderMap::new(),
            body: Bytes::new(),
            error: None,
        }
    }

    /// A text of this type.
    pub(super) fn of_type(content_type: HeaderValue, body: impl Into<Bytes>) -> Self {
        Self {
            body: body.into(),
            ..Self::done()
        }
        .with(header::CONTENT_TYPE, content_type)
    }

    /// A line of JSON, with its line feed.
    pub(super) fn json(line: impl Into<Bytes>) -> Self {
        Self::of_type(JSON, line)
    }

    /// A value as a line of JSON.
    pub(super) fn value(value: &Value) -> Self {
        Self::json(line(value))
    }

    /// A value as a line of JSON that is called a text, as Caddy calls its warnings.
    pub(super) fn untyped(value: &Value) -> Self {
        Self::of_type(TEXT, line(value))
    }

    /// Why a request failed.
    pub(super) fn error(status: StatusCode, error: &str) -> Self {
        Self {
            status,
            error: Some(error.to_owned()),
            ..Self::value(&json!({ "error": error }))
        }
    }

    /// There is nothing at this path.
    pub(super) fn not_found() -> Self {
        let nosniff = HeaderValue::from_static("nosniff");
        let reply = Self::of_type(TEXT, "404 page not found\n").with(header::X_CONTENT_TYPE_OPTIONS, nosniff);
        Self {
            status: StatusCode::NOT_FOUND,
            ..reply
        }
    }

    /// A request that is no proper one.
    pub(super) fn bad_request(what: &str) -> Self {
        let reply = Self::of_type(TEXT, format!("400 Bad Request{what}"));
        Self {
            status: StatusCode::BAD_REQUEST,
            ..reply.with(header::CONNECTION, HeaderValue::from_static("close"))
        }
    }

    /// A request is to be sent elsewhere. `shown`: whether to say so in a page, too.
    pub(super) fn elsewhere(location: &str, shown: bool) -> Self {
        let Ok(value) = HeaderValue::from_str(location) else {
            return Self::not_found();
        };
        let page = format!("<a href=\"{}\">Temporary Redirect</a>.\n\n", escaped(location));
        let reply = if shown {
            Self::of_type(HTML, page)
        } else {
            Self::done()
        };
        Self {
            status: StatusCode::TEMPORARY_REDIRECT,
            ..reply.with(header::LOCATION, value)
        }
    }

    /// The answer with one more field.
    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.fields.insert(name, value);
        self
    }

    /// The answer with a field whose value may not be one; then without it.
    pub(super) fn with_text(self, name: HeaderName, value: &str) -> Self {
        match HeaderValue::from_str(value) {
            Ok(value) => self.with(name, value),
            Err(_) => self,
        }
    }

    /// The answer as it is sent, with these fields, too.
    pub(super) fn into_response(self, more: HeaderMap) -> Response<Bytes> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.fields;
        response.headers_mut().extend(more);
        response
    }
}

fn line(value: &Value) -> String {
    let mut line = print::line(value);
    line.push('\n');
    line
}

/// The text with what HTML takes for its own written otherwise.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}
