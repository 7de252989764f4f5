//! Parameters of the query: set, dropped, exchanged with fields.

use http::header::{HeaderName, HeaderValue};

use super::args::Args;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::headers::{Side, text};
use super::registry::Filters;
use crate::routing::ArgsError;
use crate::{Arg, Template};

/// What is done with the query.
#[derive(Debug)]
enum Query {
    /// A parameter has this one value.
    Set { name: Template, value: Template },
    /// It is this text, as it stands.
    Raw(Template),
    /// A parameter is removed.
    Drop(Template),
    /// All is removed.
    Strip {
        /// Whether fields keep it.
        to_fields: bool,
    },
    /// A parameter has the value of a field.
    FromField { field: HeaderName, name: String },
    /// A field that is not there has the value of a parameter, between two texts.
    ToField {
        name: String,
        field: HeaderName,
        before: String,
        behind: String,
    },
}

pub(super) fn add(all: &mut Filters) {
    all.add(
        "setQuery",
        (
            "sets a parameter of the query, or with one argument the query as it stands",
            r#"setQuery("version", "${v}")"#,
        ),
        Query::set,
    );
    all.add(
        "dropQuery",
        ("removes a parameter of the query", r#"dropQuery("debug")"#),
        Query::drop,
    );
    all.add(
        "stripQuery",
        (
            r#"removes the query; with "true" its parameters go into fields X-Query-Param-NAME"#,
            r#"stripQuery("true")"#,
        ),
        Query::strip,
    );
    all.add(
        "headerToQuery",
        (
            "sets a parameter of the query to the value of a field, if there is one",
            r#"headerToQuery("X-Token", "token")"#,
        ),
        Query::from_field,
    );
    all.add(
        "queryToHeader",
        (
            "sets a field that has no value to that of a parameter of the query, in place of the `%s` of a format",
            r#"queryToHeader("access_token", "Authorization", "Bearer %s")"#,
        ),
        Query::to_field,
    );
}

// === impl Query ===

impl Query {
    fn set(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let first = args.template("a parameter, or a query")?;
        let made = if args.has_more() {
            Self::Set {
                name: first,
                value: args.template("a value")?,
            }
        } else {
            Self::Raw(first)
        };
        args.end()?;
        Ok(made)
    }

    fn drop(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let name = args.template("a parameter")?;
        args.end()?;
        Ok(Self::Drop(name))
    }

    fn strip(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let to_fields = if args.has_more() {
            match args.text("true or false")?.to_ascii_lowercase().as_str() {
                "true" => true,
                "false" => false,
                _ => return Err(args.expected("true or false")),
            }
        } else {
            false
        };
        args.end()?;
        Ok(Self::Strip { to_fields })
    }

    fn from_field(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (field, name) = (args.field_name()?, args.text("a parameter")?.to_owned());
        args.end()?;
        Ok(Self::FromField { field, name })
    }

    fn to_field(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (name, field) = (args.text("a parameter")?.to_owned(), args.field_name()?);
        let format = if args.has_more() {
            args.text("a format")?
        } else {
            "%s"
        };
        let (before, behind) =
            parse_format(format).ok_or_else(|| args.expected("a format with one %s and no other %"))?;
        args.end()?;
        Ok(Self::ToField {
            name,
            field,
            before,
            behind,
        })
    }
}

impl Filter for Query {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        match self {
            Self::Set { name, value } => {
                let (name, value) = (cx.fill(name).text, cx.fill(value).text);
                set(cx, &name, value);
            }
            Self::Raw(query) => {
                let query = cx.fill(query).text;
                cx.set_raw_query(Some(query.as_str()).filter(|query| !query.is_empty()));
            }
            Self::Drop(name) => {
                if cx.request.uri.query().is_some() {
                    let name = cx.fill(name).text;
                    let mut pairs = cx.query_pairs();
                    pairs.retain(|(key, _)| *key != name);
                    cx.set_query_pairs(pairs);
                }
            }
            Self::Strip { to_fields } => {
                if cx.request.uri.query().is_some() {
                    if *to_fields {
                        to_own_fields(cx);
                    }
                    cx.set_raw_query(None);
                }
            }
            Self::FromField { field, name } => {
                let value = Side::Request.first(field, cx);
                if let Some(value) = value.as_ref().and_then(text) {
                    set(cx, name, value.to_owned());
                }
            }
            Self::ToField {
                name,
                field,
                before,
                behind,
            } => {
                let is_there = |value: &HeaderValue| !value.is_empty();
                if !cx.request.headers.get(field).is_some_and(is_there)
                    && let Some(value) = cx.query(name).filter(|value| !value.is_empty())
                    && let Ok(value) = HeaderValue::try_from(format!("{before}{value}{behind}"))
                {
                    Side::Request.set(field, value, cx);
                }
            }
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

fn set(cx: &mut FilterContext<'_>, name: &str, value: String) {
    let mut pairs = cx.query_pairs();
    pairs.retain(|(key, _)| key != name);
    pairs.push((name.to_owned(), value));
    cx.set_query_pairs(pairs);
}

/// Each parameter goes into a field of its own name, as far as names of fields have its characters.
fn to_own_fields(cx: &mut FilterContext<'_>) {
    for (key, value) in cx.query_pairs() {
        let mut name = String::from("x-query-param-");
        name.extend(key.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-'));
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            cx.request.headers.append(name, value);
        }
    }
}

/// What stands before and behind the one `%s`; `%%` is a percent sign.
fn parse_format(format: &str) -> Option<(String, String)> {
    let mut parts = vec![String::new()];
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        let c = match (c, (c == '%').then(|| chars.next()).flatten()) {
            ('%', Some('s')) => {
                parts.push(String::new());
                continue;
            }
            ('%', Some('%')) => '%',
            ('%', _) => return None,
            (c, _) => c,
        };
        parts.last_mut()?.push(c);
    }
    let [before, behind] = <[String; 2]>::try_from(parts).ok()?;
    Some((before, behind))
}

#[cfg(test)]
mod tests {
    use crate::filters::trial::Trial;

    fn target(from: &str, filters: &str) -> String {
        let mut trial = Trial::get(from).with("x-token", "a b");
        trial.exchange.add_param("v", "2");
        trial.request(filters);
        trial.target()
    }

    #[test]
    fn a_parameter_that_is_set_has_one_value_and_all_are_sorted() {
        assert_eq!(
            target("/?c=1&a=1&a=2", r#"setQuery("a", "${v}&")"#),
            "/?a=2%26&c=1"
        );
        assert_eq!(target("/a", r#"setQuery("k${v}", "1")"#), "/a?k2=1");
        assert_eq!(target("/?a=1", r#"setQuery("b", "${none}")"#), "/?a=1&b=");
    }

    #[test]
    fn with_one_argument_it_is_the_query_as_it_stands() {
        assert_eq!(target("/p?x=1", r#"setQuery("z=1&a=${v}%20")"#), "/p?z=1&a=2%20");
        assert_eq!(target("/p?x=1", r#"setQuery("")"#), "/p");
    }

    #[test]
    fn a_parameter_is_dropped_with_all_its_values() {
        assert_eq!(target("/?c=1&a=1&b=2&a=3", r#"dropQuery("a")"#), "/?b=2&c=1");
        assert_eq!(target("/?a=1", r#"dropQuery("a")"#), "/");
        assert_eq!(target("/%2F", r#"dropQuery("a")"#), "/%2F");
    }

    #[test]
    fn a_query_is_stripped_and_kept_in_fields_if_need_be() {
        assert_eq!(target("/?a=1", "stripQuery()"), "/");
        let mut trial = Trial::get("/p?a=1&a=2&%C3%A4_b=3&bad=%0A");
        trial.request(r#"stripQuery("TRUE")"#);
        assert_eq!(trial.target(), "/p");
        assert_eq!(trial.field("x-query-param-a"), ["1", "2"]);
        assert_eq!(trial.field("x-query-param-b"), ["3"]);
        assert!(trial.field("x-query-param-bad").is_empty());
        let mut trial = Trial::get("/?a=1");
        trial.request(r#"stripQuery("false")"#);
        assert!(trial.field("x-query-param-a").is_empty());
    }

    #[test]
    fn a_field_takes_the_place_of_a_parameter() {
        assert_eq!(
            target("/?z=1&t=1", r#"headerToQuery("X-Token", "t")"#),
            "/?t=a+b&z=1"
        );
        assert_eq!(
            target("/?z=1&t=1", r#"headerToQuery("X-None", "t")"#),
            "/?z=1&t=1"
        );
    }

    #[test]
    fn a_parameter_becomes_a_field_that_was_not_there() {
        let mut trial = Trial::get("/?t=1&bad=%0A").with("y", "0");
        trial.request(
            r#"queryToHeader("t", "X", "50%% of %s!") -> queryToHeader("t", "Y") -> queryToHeader("t", "Z") ->
            queryToHeader("none", "None") -> queryToHeader("bad", "Bad")"#,
        );
        assert_eq!(trial.field("x"), ["50% of 1!"]);
        assert_eq!(trial.field("y"), ["0"]);
        assert_eq!(trial.field("z"), ["1"]);
        assert!(trial.field("none").is_empty() && trial.field("bad").is_empty());
        assert_eq!(trial.target(), "/?t=1&bad=%0A");
    }

    #[test]
    fn a_format_has_one_place_for_the_value() {
        for wrong in ["", "%d", "%s%s", "%", "a%"] {
            let mistake = Trial::mistake(&format!(r#"queryToHeader("a", "B", "{wrong}")"#));
            assert!(mistake.contains("argument 3: expected a format"), "{mistake}");
        }
    }
}
