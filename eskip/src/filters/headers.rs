//! Fields of requests and answers: set, appended, dropped, copied, changed.

use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::args::Args;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::registry::Filters;
use crate::routing::ArgsError;
use crate::{Arg, Template};

/// Whose fields.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Side {
    Request,
    Response,
}

/// Sets or appends a field.
#[derive(Debug)]
struct Set {
    side: Side,
    name: HeaderName,
    value: Value,
    /// Values that are there stay.
    appends: bool,
}

/// What a field is set to.
#[derive(Debug)]
enum Value {
    Fixed(HeaderValue),
    Template(Template),
}

pub(super) fn add(all: &mut Filters) {
    for (name, side, appends, about) in [
        (
            "setRequestHeader",
            Side::Request,
            false,
            (
                "sets a field of the request",
                r#"setRequestHeader("X-Route", "${request.path}")"#,
            ),
        ),
        (
            "appendRequestHeader",
            Side::Request,
            true,
            (
                "adds a value to a field of the request",
                r#"appendRequestHeader("X-Route", "a")"#,
            ),
        ),
        (
            "setResponseHeader",
            Side::Response,
            false,
            (
                "sets a field of the answer",
                r#"setResponseHeader("X-From", "here")"#,
            ),
        ),
        (
            "appendResponseHeader",
            Side::Response,
            true,
            (
                "adds a value to a field of the answer",
                r#"appendResponseHeader("Vary", "Accept")"#,
            ),
        ),
    ] {
        all.add(name, about, move |args| Set::create(args, side, appends));
    }
}

// === impl Set ===

impl Set {
    fn create(args: &[Arg], side: Side, appends: bool) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (name, value) = (args.field_name()?, args.template("a value")?);
        args.end()?;
        let value = match value.as_literal() {
            Some(text) => {
                Value::Fixed(HeaderValue::from_str(text).map_err(|_| args.expected("the value of a field"))?)
            }
            None => Value::Template(value),
        };
        Ok(Self {
            side,
            name,
            value,
            appends,
        })
    }

    fn run(&self, cx: &mut FilterContext<'_>) {
        let value = match &self.value {
            Value::Fixed(value) => Some(value.clone()),
            Value::Template(template) => {
                // A value that is missing means that nothing is set.
                let filled = cx.fill(template);
                let text = filled.complete.then_some(filled.text);
                text.and_then(|text| HeaderValue::try_from(text).ok())
            }
        };
        let Some(value) = value else { return };
        let Some(fields) = fields(self.side, cx) else {
            return;
        };
        if self.appends {
            fields.append(self.name.clone(), value);
        } else {
            fields.insert(self.name.clone(), value);
        }
    }
}

impl Filter for Set {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx);
        Flow::Next
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx);
        Flow::Next
    }

    fn wants(&self) -> Wants {
        match (self.side, &self.value) {
            (Side::Request, _) => Wants::REQUEST,
            (Side::Response, Value::Fixed(_)) => Wants::RESPONSE,
            (Side::Response, Value::Template(_)) => Wants::RESPONSE.and_head(),
        }
    }
}

/// The fields of one side, if it is there.
fn fields<'f>(side: Side, cx: &'f mut FilterContext<'_>) -> Option<&'f mut HeaderMap> {
    match side {
        Side::Request => Some(&mut cx.request.headers),
        Side::Response => cx.response.as_mut().map(|answer| &mut *answer.headers),
    }
}

#[cfg(test)]
mod tests {
    use crate::filters::trial::Trial;

    #[test]
    fn a_field_with_a_value_that_is_missing_is_not_set() {
        let mut trial = Trial::get("/a?x=1");
        trial.request(
            r#"setRequestHeader("X-A", "${request.query.x}") -> setRequestHeader("X-B", "a${none}")"#,
        );
        assert_eq!(trial.field("x-a"), ["1"]);
        assert!(trial.field("x-b").is_empty());
    }

    #[test]
    fn answers_get_fields_last_filter_first() {
        let mut trial = Trial::get("/");
        trial.run(r#"appendResponseHeader("X", "1") -> appendResponseHeader("X", "2") -> setResponseHeader("Y", "${request.path}")"#);
        assert_eq!(trial.answer_field("x"), ["2", "1"]);
        assert_eq!(trial.answer_field("y"), ["/"]);
    }
}
