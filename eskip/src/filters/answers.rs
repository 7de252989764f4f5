//! Answers of the proxy's own: a status, a text, a redirect.

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Response, StatusCode};

use super::args::Args;
use super::body::Body;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::registry::Filters;
use super::sniff;
use crate::Arg;
use crate::routing::ArgsError;

/// Gives the answer another status.
#[derive(Debug)]
struct Status(StatusCode);

/// Answers with a text.
#[derive(Debug)]
struct InlineContent {
    text: Bytes,
    mime: HeaderValue,
    /// Only in the place of answers with this status.
    status: Option<StatusCode>,
}

pub(super) fn add(all: &mut Filters) {
    all.add(
        "status",
        ("sets the status of the answer", "status(418)"),
        Status::create,
    );
    all.add(
        "healthcheck",
        (
            "sets the status of the answer to 200; a route with `Shutdown()` answers otherwise when the proxy ends",
            "healthcheck()",
        ),
        Status::healthcheck,
    );
    all.add(
        "inlineContent",
        (
            "answers with a text and status 200; without a second argument its kind is told by how it begins",
            r#"inlineContent("{\"foo\": 42}", "application/json")"#,
        ),
        |args| InlineContent::create(Args::new(args), None),
    );
    all.add(
        "inlineContentIfStatus",
        (
            "puts a text in the place of the body of answers with a status",
            r#"inlineContentIfStatus(401, "{\"error\": \"who are you?\"}", "application/json")"#,
        ),
        |args| {
            let mut args = Args::new(args);
            let status = args.status()?;
            InlineContent::create(args, Some(status))
        },
    );
}

// === impl Status ===

impl Status {
    fn create(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let status = args.status()?;
        // What is below 200 does not end an exchange.
        if status.is_informational() {
            return Err(args.expected("a status from 200 to 599"));
        }
        args.end()?;
        Ok(Self(status))
    }

    fn healthcheck(args: &[Arg]) -> Result<Self, ArgsError> {
        Args::new(args).end()?;
        Ok(Self(StatusCode::OK))
    }
}

impl Filter for Status {
    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        if let Some(answer) = &mut cx.response {
            *answer.status = self.0;
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::RESPONSE
    }
}

// === impl InlineContent ===

impl InlineContent {
    fn create(mut args: Args<'_>, status: Option<StatusCode>) -> Result<Self, ArgsError> {
        let text = args.text("a text")?;
        let mime = if args.has_more() {
            let mime = args.text("a content type")?;
            HeaderValue::from_str(mime).map_err(|_| args.expected("a content type"))?
        } else {
            HeaderValue::from_static(sniff::content_type(text))
        };
        args.end()?;
        Ok(Self {
            text: Bytes::copy_from_slice(text.as_bytes()),
            mime,
            status,
        })
    }
}

impl Filter for InlineContent {
    fn request(&self, _cx: &mut FilterContext<'_>) -> Flow {
        if self.status.is_some() {
            return Flow::Next;
        }
        let mut answer = Response::new(Body::from(self.text.clone()));
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_TYPE, self.mime.clone());
        headers.insert(header::CONTENT_LENGTH, self.text.len().into());
        Flow::serve(answer)
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        if let Some(answer) = &mut cx.response
            && Some(*answer.status) == self.status
        {
            // They say how the body before was written.
            answer.headers.remove(header::CONTENT_ENCODING);
            answer.headers.insert(header::CONTENT_TYPE, self.mime.clone());
            let length = self.text.len().into();
            answer.headers.insert(header::CONTENT_LENGTH, length);
            answer.body.replace(self.text.clone());
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        match self.status {
            None => Wants::REQUEST,
            Some(_) => Wants::RESPONSE,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::filters::trial::Trial;

    fn answer(filters: &str) -> (u16, Vec<String>, String) {
        let mut trial = Trial::get("/");
        trial.run(filters);
        let fields = ["content-type", "content-length", "content-encoding"];
        let fields = fields.iter().flat_map(|name| trial.answer_field(name));
        let fields = fields.map(str::to_owned).collect();
        let body = trial.text().unwrap_or_default();
        (
            trial.status.as_u16(),
            fields,
            String::from_utf8(body.to_vec()).unwrap(),
        )
    }

    #[test]
    fn a_status_is_that_of_the_answer() {
        assert_eq!(answer("status(418)").0, 418);
        assert_eq!(
            answer("status(204) -> status(418)").0,
            204,
            "the first one is last"
        );
        assert_eq!(answer("healthcheck() -> status(503)").0, 200);
        for wrong in [
            "status()",
            "status(99)",
            "status(101)",
            "status(600)",
            "status(200, 1)",
        ] {
            assert!(
                Trial::mistake(wrong).starts_with("invalid_filter_params"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_text_is_the_answer_and_filters_behind_it_do_not_run() {
        let (status, fields, body) =
            answer(r#"status(418) -> inlineContent("hello") -> inlineContent("never") -> status(500)"#);
        assert_eq!(status, 418);
        assert_eq!(fields, ["text/plain; charset=utf-8", "5"]);
        assert_eq!(body, "hello");
    }

    #[test]
    fn a_text_has_the_content_type_that_it_is_given() {
        let (_, fields, body) = answer(r#"inlineContent("{}", "application/json")"#);
        assert_eq!((fields[0].as_str(), body.as_str()), ("application/json", "{}"));
        assert_eq!(answer(r#"inlineContent("")"#).1[1], "0");
        assert!(Trial::mistake("inlineContent(\"a\", \"b\\nc\")").contains("argument 2"));
    }

    #[test]
    fn a_text_takes_the_place_of_answers_with_a_status() {
        let mut trial = Trial::get("/").answered_with("content-encoding", "gzip");
        trial.status = http::StatusCode::NOT_FOUND;
        trial.run(r#"inlineContentIfStatus(404, "<p>gone") -> inlineContentIfStatus(500, "never")"#);
        assert_eq!(trial.status, 404);
        assert_eq!(trial.answer_field("content-type"), ["text/html; charset=utf-8"]);
        assert_eq!(trial.answer_field("content-length"), ["7"]);
        assert!(trial.answer_field("content-encoding").is_empty());
        assert_eq!(trial.text().unwrap(), "<p>gone");
    }
}
