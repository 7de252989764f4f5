//! Fields of requests and answers: set, appended, dropped, copied, taken from what filters have put by.

use http::header::{self, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};
use http::uri::Authority;

use super::args::Args;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::registry::Filters;
use crate::routing::ArgsError;
use crate::{Arg, Template};

/// Whose fields.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Side {
    Request,
    Response,
}

/// Whether the values that a field has stay.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    Set,
    Append,
}

/// Sets or appends a field.
#[derive(Debug)]
struct Set {
    side: Side,
    mode: Mode,
    name: HeaderName,
    value: Value,
}

/// What a field is set to.
#[derive(Debug)]
enum Value {
    Fixed(HeaderValue),
    Template(Template),
    /// What filters have put by under this name.
    Bag(String),
}

/// How an argument says what a field is set to.
#[derive(Clone, Copy, Debug)]
enum Says {
    Template,
    Literal,
    Key,
}

/// Drops a field, or those of its values that are equal to one.
#[derive(Debug)]
struct DropField {
    side: Side,
    name: HeaderName,
    value: Option<HeaderValue>,
}

/// Sets a field to the first value of another one.
#[derive(Debug)]
struct CopyField {
    side: Side,
    from: HeaderName,
    to: HeaderName,
}

/// The tables below hold names, and of each what the manual says and a call.
type Text = &'static str;

pub(super) fn add(all: &mut Filters) {
    for (side, mode, name, does, example) in SETTERS {
        all.add(name, (does, example), move |args| {
            Set::create(args, side, mode, Says::Template)
        });
    }
    for (side, name, does, example) in OLD_APPENDERS {
        all.add(name, (does, example), move |args| {
            Set::create(args, side, Mode::Append, Says::Literal)
        });
    }
    for (side, mode, name, does, example) in BAG_SETTERS {
        all.add(name, (does, example), move |args| {
            Set::create(args, side, mode, Says::Key)
        });
    }
    for (side, name, does, example) in DROPPERS {
        all.add(name, (does, example), move |args| DropField::create(args, side));
    }
    for (side, name, does, example) in COPIERS {
        all.add(name, (does, example), move |args| CopyField::create(args, side));
    }
}

const SETTERS: [(Side, Mode, Text, Text, Text); 4] = [
    (
        Side::Request,
        Mode::Set,
        "setRequestHeader",
        "sets a field of the request",
        r#"setRequestHeader("X-Route", "${request.path}")"#,
    ),
    (
        Side::Request,
        Mode::Append,
        "appendRequestHeader",
        "adds a value to a field of the request",
        r#"appendRequestHeader("X-Route", "a")"#,
    ),
    (
        Side::Response,
        Mode::Set,
        "setResponseHeader",
        "sets a field of the answer",
        r#"setResponseHeader("X-From", "here")"#,
    ),
    (
        Side::Response,
        Mode::Append,
        "appendResponseHeader",
        "adds a value to a field of the answer",
        r#"appendResponseHeader("Vary", "Accept")"#,
    ),
];

const OLD_APPENDERS: [(Side, Text, Text, Text); 2] = [
    (
        Side::Request,
        "requestHeader",
        "the old name of `appendRequestHeader`, without placeholders",
        r#"requestHeader("X-Route", "a")"#,
    ),
    (
        Side::Response,
        "responseHeader",
        "the old name of `appendResponseHeader`, without placeholders",
        r#"responseHeader("Vary", "Accept")"#,
    ),
];

const BAG_SETTERS: [(Side, Mode, Text, Text, Text); 4] = [
    (
        Side::Request,
        Mode::Set,
        "setContextRequestHeader",
        "sets a field of the request to what a filter before has put by under a name",
        r#"setContextRequestHeader("X-User", "auth-user")"#,
    ),
    (
        Side::Request,
        Mode::Append,
        "appendContextRequestHeader",
        "adds what a filter before has put by under a name to a field of the request",
        r#"appendContextRequestHeader("X-User", "auth-user")"#,
    ),
    (
        Side::Response,
        Mode::Set,
        "setContextResponseHeader",
        "sets a field of the answer to what a filter has put by under a name",
        r#"setContextResponseHeader("X-User", "auth-user")"#,
    ),
    (
        Side::Response,
        Mode::Append,
        "appendContextResponseHeader",
        "adds what a filter has put by under a name to a field of the answer",
        r#"appendContextResponseHeader("X-User", "auth-user")"#,
    ),
];

const DROPPERS: [(Side, Text, Text, Text); 2] = [
    (
        Side::Request,
        "dropRequestHeader",
        "removes a field of the request, or with a second argument those of its values that are this one",
        r#"dropRequestHeader("User-Agent")"#,
    ),
    (
        Side::Response,
        "dropResponseHeader",
        "removes a field of the answer, or with a second argument those of its values that are this one",
        r#"dropResponseHeader("Server")"#,
    ),
];

const COPIERS: [(Side, Text, Text, Text); 4] = [
    (
        Side::Request,
        "copyRequestHeader",
        "sets a field of the request to the first value of another one, if that has one",
        r#"copyRequestHeader("X-Foo", "X-Bar")"#,
    ),
    (
        Side::Request,
        "requestCopyHeader",
        "the old name of `copyRequestHeader`",
        r#"requestCopyHeader("X-Foo", "X-Bar")"#,
    ),
    (
        Side::Response,
        "copyResponseHeader",
        "sets a field of the answer to the first value of another one, if that has one",
        r#"copyResponseHeader("X-Foo", "X-Bar")"#,
    ),
    (
        Side::Response,
        "responseCopyHeader",
        "the old name of `copyResponseHeader`",
        r#"responseCopyHeader("X-Foo", "X-Bar")"#,
    ),
];

// === impl Side ===

impl Side {
    /// What a filter wants that reads and changes fields of this side alone.
    pub(super) fn wants(self) -> Wants {
        match self {
            Self::Request => Wants::REQUEST,
            Self::Response => Wants::RESPONSE,
        }
    }

    /// The fields, if this is the phase to change them.
    pub(super) fn fields<'f>(self, cx: &'f mut FilterContext<'_>) -> Option<&'f mut HeaderMap> {
        match self {
            Self::Request => cx.response.is_none().then_some(&mut cx.request.headers),
            Self::Response => cx.response.as_mut().map(|answer| &mut *answer.headers),
        }
    }

    /// The first value of a field, if there is one that is not empty. Host of a request is the one that the client gave,
    /// or a filter.
    pub(super) fn first(self, name: &HeaderName, cx: &FilterContext<'_>) -> Option<HeaderValue> {
        let value = match self {
            Self::Request => cx.request.headers.get(name).cloned().or_else(|| {
                let is_host = *name == header::HOST;
                is_host.then(|| HeaderValue::from_str(&cx.exchange.host).ok())?
            }),
            Self::Response => cx.response.as_ref()?.headers.get(name).cloned(),
        };
        value.filter(|value| !value.is_empty())
    }

    /// Sets a field. There is one Host, and it is one.
    pub(super) fn set(self, name: &HeaderName, value: HeaderValue, cx: &mut FilterContext<'_>) {
        if self == Self::Request && *name == header::HOST && !is_host(&value) {
            return;
        }
        if let Some(fields) = self.fields(cx) {
            fields.insert(name.clone(), value);
        }
    }

    /// Adds a value to a field, but for Host.
    fn append(self, name: &HeaderName, value: HeaderValue, cx: &mut FilterContext<'_>) {
        if self == Self::Request && *name == header::HOST {
            self.set(name, value, cx);
        } else if let Some(fields) = self.fields(cx) {
            fields.append(name.clone(), value);
        }
    }
}

/// A host, perhaps with a port. A user before it makes none of it.
fn is_host(value: &HeaderValue) -> bool {
    Authority::try_from(value.as_bytes()).is_ok() && !value.as_bytes().contains(&b'@')
}

/// Keeps those values of a field that `stays` says yes to.
pub(super) fn retain(fields: &mut HeaderMap, name: &HeaderName, stays: impl Fn(&HeaderValue) -> bool) {
    if fields.get_all(name).iter().all(&stays) {
        return;
    }
    let kept: Vec<HeaderValue> = fields
        .get_all(name)
        .iter()
        .filter(|value| stays(value))
        .cloned()
        .collect();
    fields.remove(name);
    for value in kept {
        fields.append(name.clone(), value);
    }
}

/// The text of a value, also if there are others than ASCII characters in it.
pub(super) fn text(value: &HeaderValue) -> Option<&str> {
    std::str::from_utf8(value.as_bytes()).ok()
}

// === impl Set ===

impl Set {
    fn create(args: &[Arg], side: Side, mode: Mode, says: Says) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let name = args.field_name()?;
        let value = match says {
            Says::Key => Value::Bag(args.text("a name")?.to_owned()),
            Says::Literal => Value::Fixed(fixed(args.text("a value")?, &args)?),
            Says::Template => {
                let template = args.template("a value")?;
                match template.as_literal() {
                    Some(text) => Value::Fixed(fixed(text, &args)?),
                    None => Value::Template(template),
                }
            }
        };
        args.end()?;
        Ok(Self {
            side,
            mode,
            name,
            value,
        })
    }

    fn run(&self, cx: &mut FilterContext<'_>) -> Flow {
        match (self.value.of(cx), self.mode) {
            (Some(Ok(value)), Mode::Set) => self.side.set(&self.name, value, cx),
            (Some(Ok(value)), Mode::Append) => self.side.append(&self.name, value, cx),
            // What somebody else wrote there must not pass for what was to be set.
            (Some(Err(_)), Mode::Set) => {
                if let Some(fields) = self.side.fields(cx) {
                    fields.remove(&self.name);
                }
            }
            (Some(Err(_)), Mode::Append) | (None, _) => {}
        }
        Flow::Next
    }
}

fn fixed(text: &str, args: &Args<'_>) -> Result<HeaderValue, ArgsError> {
    HeaderValue::from_str(text).map_err(|_| args.expected("the value of a field"))
}

impl Filter for Set {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn wants(&self) -> Wants {
        match (self.side, &self.value) {
            (Side::Response, Value::Template(_)) => Wants::RESPONSE.and_head(),
            (side, _) => side.wants(),
        }
    }
}

// === impl Value ===

impl Value {
    /// The value, unless something of it is missing; an error if no field can have it.
    fn of(&self, cx: &FilterContext<'_>) -> Option<Result<HeaderValue, InvalidHeaderValue>> {
        match self {
            Self::Fixed(value) => Some(Ok(value.clone())),
            Self::Template(template) => {
                let filled = cx.fill(template);
                filled.complete.then(|| HeaderValue::try_from(filled.text))
            }
            Self::Bag(key) => Some(HeaderValue::from_str(cx.exchange.bag.get(key)?)),
        }
    }
}

// === impl DropField ===

impl DropField {
    fn create(args: &[Arg], side: Side) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let name = args.field_name()?;
        let value = if args.has_more() {
            Some(fixed(args.text("a value")?, &args)?).filter(|value| !value.is_empty())
        } else {
            None
        };
        args.end()?;
        Ok(Self { side, name, value })
    }

    fn run(&self, cx: &mut FilterContext<'_>) -> Flow {
        if let Some(fields) = self.side.fields(cx) {
            match &self.value {
                None => {
                    fields.remove(&self.name);
                }
                Some(dropped) => retain(fields, &self.name, |value| value != dropped),
            }
        }
        Flow::Next
    }
}

impl Filter for DropField {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn wants(&self) -> Wants {
        self.side.wants()
    }
}

// === impl CopyField ===

impl CopyField {
    fn create(args: &[Arg], side: Side) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (from, to) = (args.field_name()?, args.field_name()?);
        args.end()?;
        Ok(Self { side, from, to })
    }

    fn run(&self, cx: &mut FilterContext<'_>) -> Flow {
        if let Some(value) = self.side.first(&self.from, cx) {
            self.side.set(&self.to, value, cx);
        }
        Flow::Next
    }
}

impl Filter for CopyField {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        self.run(cx)
    }

    fn wants(&self) -> Wants {
        self.side.wants()
    }
}

#[cfg(test)]
mod tests;
