//! What is known of the token of a request, for its backend: `forwardToken` and `forwardTokenField`.

use eskip::Arg;
use eskip::filters::{Args, Filter, FilterContext, Filters, Flow, Wants};
use eskip::routing::ArgsError;
use http::header::{CONTENT_LENGTH, HeaderName, HeaderValue, TRANSFER_ENCODING};
use serde_json::Value;

use super::{Claims, Info};

/// Sets a field to what is known of the token.
#[derive(Debug)]
struct Forward {
    name: HeaderName,
    what: What,
}

#[derive(Debug)]
enum What {
    All,
    /// As an object.
    Some(Vec<String>),
    /// As it is, if it is a text.
    One(String),
}

pub(super) fn add(all: &mut Filters) {
    all.add(
        "forwardToken",
        (
            "sets a field of the request to what a filter before knows of the bearer token, all of it or some names, as a JSON object; without it the field is taken away, so that no client speaks for the filter",
            r#"forwardToken("X-Tokeninfo", "sub", "scope")"#,
        ),
        |args| {
            let mut args = Args::new(args);
            let name = field(&mut args)?;
            let names = args.texts("a name")?;
            let what = match names.as_slice() {
                [] => What::All,
                names => What::Some(names.iter().map(|name| (*name).to_owned()).collect()),
            };
            Ok(Forward { name, what })
        },
    );
    all.add(
        "forwardTokenField",
        (
            "sets a field of the request to one of the things that a filter before knows of the bearer token; without it the field is taken away",
            r#"forwardTokenField("X-User", "sub")"#,
        ),
        create_one,
    );
}

fn create_one(args: &[Arg]) -> Result<Forward, ArgsError> {
    let mut args = Args::new(args);
    let (name, what) = (field(&mut args)?, args.text("a name")?.to_owned());
    args.end()?;
    Ok(Forward {
        name,
        what: What::One(what),
    })
}

/// A field that says nothing of the body.
fn field(args: &mut Args<'_>) -> Result<HeaderName, ArgsError> {
    let name = args.field_name()?;
    if name == CONTENT_LENGTH || name == TRANSFER_ENCODING {
        return Err(ArgsError(format!("{name} cannot be set")));
    }
    Ok(name)
}

// === impl Forward ===

impl Filter for Forward {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let info = cx.exchange.kept::<Info>();
        let text = info.and_then(|info| self.what.of(&info.0));
        // What cannot stand in a field is as good as nothing.
        match text.and_then(|text| HeaderValue::from_bytes(text.as_bytes()).ok()) {
            Some(mut value) => {
                value.set_sensitive(true);
                cx.request.headers.insert(self.name.clone(), value);
            }
            None => {
                cx.request.headers.remove(&self.name);
            }
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

// === impl What ===

impl What {
    fn of(&self, claims: &Claims) -> Option<String> {
        match self {
            Self::All => serde_json::to_string(claims).ok(),
            Self::Some(names) => {
                let named = |name: &String| Some((name.clone(), claims.get(name)?.clone()));
                let some: Claims = names.iter().filter_map(named).collect();
                serde_json::to_string(&some).ok()
            }
            Self::One(name) => match claims.get(name)? {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                value => Some(value.to_string()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::filters::trial::{Trial, all, chain, mistake};

    const CHAIN: &str = r#"forwardToken("X-All") -> forwardToken("X-Some", "sub", "none", "n") ->
        forwardTokenField("X-Sub", "sub") -> forwardTokenField("X-N", "n") -> forwardTokenField("X-None", "none") ->
        forwardTokenField("X-Break", "break")"#;

    #[tokio::test]
    async fn what_is_known_is_passed_on() {
        let mut trial = Trial::get("/").with("x-none", "mine").with("x-sub", "mine");
        let claims = json!({"sub": "jürgen", "n": [1, 2], "break": "a\r\nX-B: c"});
        Info::new(claims.as_object().unwrap().clone()).keep(&mut trial.cx(false));
        trial.run(&chain(&all(), CHAIN)).await;
        let field = |name: &str| {
            let value = trial.parts.headers.get(name)?;
            assert!(value.is_sensitive(), "{name}");
            Some(String::from_utf8(value.as_bytes().to_vec()).unwrap())
        };
        assert_eq!(
            field("x-all").unwrap(),
            r#"{"break":"a\r\nX-B: c","n":[1,2],"sub":"jürgen"}"#
        );
        assert_eq!(field("x-some").unwrap(), r#"{"n":[1,2],"sub":"jürgen"}"#);
        assert_eq!(field("x-sub").unwrap(), "jürgen");
        assert_eq!(field("x-n").unwrap(), "[1,2]");
        assert_eq!((field("x-none"), field("x-break")), (None, None));
        assert_eq!(trial.exchange.bag.get("auth-user"), Some("jürgen"));
    }

    #[tokio::test]
    async fn a_client_cannot_speak_for_the_filter() {
        let mut trial = Trial::get("/").with("x-all", "mine").with("x-sub", "mine");
        assert!(!trial.run(&chain(&all(), CHAIN)).await);
        assert!(trial.parts.headers.is_empty());
    }

    #[test]
    fn arguments_that_say_nothing_are_refused() {
        for text in [
            "forwardToken()",
            r#"forwardToken("a b")"#,
            r#"forwardToken("a", 1)"#,
            r#"forwardToken("Content-Length")"#,
            r#"forwardTokenField("a")"#,
            r#"forwardTokenField("a", "b", "c")"#,
        ] {
            assert!(mistake(text).starts_with("invalid_filter_params"), "{text}");
        }
    }
}
