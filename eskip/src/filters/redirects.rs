//! Redirects, whose missing parts are those of the request.

use std::borrow::Cow;

use http::header::{self, HeaderValue};
use http::{Response, StatusCode};

use super::args::Args;
use super::body::Body;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::registry::Filters;
use super::target::{encode, is_unreserved};
use crate::routing::ArgsError;
use crate::{Arg, Template};

/// Leads the client elsewhere.
#[derive(Debug)]
struct Redirect {
    status: StatusCode,
    location: Parts<Template>,
    lower_case: bool,
    /// It comes in the place of an answer that is there.
    late: bool,
}

/// The parts of a location; those that are empty are missing. They are told apart before values are filled in: no value
/// can make a host of a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Parts<T> {
    scheme: T,
    host: T,
    path: T,
    query: T,
    fragment: T,
}

pub(super) fn add(all: &mut Filters) {
    for (name, lower_case, late, does, example) in [
        (
            "redirectTo",
            false,
            false,
            "redirects to a location; parts that it has not are those of the request, and https",
            r#"redirectTo(302, "https://www.example.org")"#,
        ),
        (
            "redirectToLower",
            true,
            false,
            "redirects as `redirectTo` does, to the path in lower case",
            "redirectToLower(308)",
        ),
        (
            "redirect",
            false,
            true,
            "the old form of `redirectTo`, which takes the place of the backend's answer",
            r#"redirect(302, "/new")"#,
        ),
    ] {
        all.add(name, (does, example), move |args| {
            Redirect::create(args, lower_case, late)
        });
    }
}

// === impl Redirect ===

impl Redirect {
    fn create(args: &[Arg], lower_case: bool, late: bool) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let status = args.status()?;
        if !status.is_redirection() {
            return Err(args.expected("a status from 300 to 399"));
        }
        let location = if args.has_more() {
            args.text("a location")?
        } else {
            ""
        };
        args.end()?;
        Ok(Self {
            status,
            location: Parts::of(location).map(Template::parse),
            lower_case,
            late,
        })
    }

    fn serve(&self, cx: &FilterContext<'_>) -> Flow {
        let mut answer = Response::new(Body::Empty);
        *answer.status_mut() = self.status;
        if let Ok(location) = HeaderValue::from_str(&self.location(cx)) {
            answer.headers_mut().insert(header::LOCATION, location);
        }
        answer.headers_mut().insert(header::CONTENT_LENGTH, 0.into());
        Flow::serve(answer)
    }

    fn location(&self, cx: &FilterContext<'_>) -> String {
        let given = &self.location;
        let uri = &cx.request.uri;
        let scheme = part(&given.scheme, "", "https", cx);
        let host = part(
            &given.host,
            ".:[]",
            cx.field(&header::HOST).unwrap_or_default(),
            cx,
        );
        let mut path = part(&given.path, "/!$&'()*+,;=:@%", uri.path(), cx);
        if self.lower_case {
            let decoded = cx.decode_path(&path);
            let lower = decoded.to_lowercase();
            if lower != decoded {
                path = cx.encode_path(&lower).into_owned().into();
            }
        }
        let query = part(
            &given.query,
            "/!$&'()*+,;=:@%?",
            uri.query().unwrap_or_default(),
            cx,
        );
        let fragment = part(&given.fragment, "/!$&'()*+,;=:@%?", "", cx);
        let slash = if path.starts_with('/') { "" } else { "/" };
        let mut location = format!("{scheme}://{host}{slash}{path}");
        for (mark, part) in [("?", query), ("#", fragment)] {
            if !part.is_empty() {
                location.push_str(mark);
                location.push_str(&part);
            }
        }
        // What the configuration says need not be encoded.
        encode(&location, |byte| byte.is_ascii_graphic()).into_owned()
    }
}

/// A part of a location, or what stands in for it. In one with values there are only letters, digits, `-._~` and `others`.
fn part<'t>(given: &'t Template, others: &str, missing: &'t str, cx: &FilterContext<'_>) -> Cow<'t, str> {
    let text: Cow<'t, str> = match given.as_literal() {
        Some(text) => text.into(),
        None => {
            let stays = |byte| is_unreserved(byte) || others.as_bytes().contains(&byte);
            encode(&cx.fill(given).text, stays).into_owned().into()
        }
    };
    if text.is_empty() { missing.into() } else { text }
}

impl Filter for Redirect {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if self.late { Flow::Next } else { self.serve(cx) }
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        if self.late { self.serve(cx) } else { Flow::Next }
    }

    fn wants(&self) -> Wants {
        if self.late {
            Wants::RESPONSE.and_head()
        } else {
            Wants::REQUEST
        }
    }
}

// === impl Parts ===

impl<'t> Parts<&'t str> {
    fn of(text: &'t str) -> Self {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let (text, query) = text.split_once('?').unwrap_or((text, ""));
        let (scheme, text) = match text.split_once(':') {
            Some((scheme, behind)) if is_scheme(scheme) => (scheme, behind),
            _ => ("", text),
        };
        let (host, path) = match text.strip_prefix("//") {
            Some(behind) => match behind.find('/').and_then(|end| behind.split_at_checked(end)) {
                Some(parts) => parts,
                None => (behind, ""),
            },
            None => ("", text),
        };
        Self {
            scheme,
            host,
            path,
            query,
            fragment,
        }
    }
}

impl<T> Parts<T> {
    fn map<U>(self, change: impl Fn(T) -> U) -> Parts<U> {
        Parts {
            scheme: change(self.scheme),
            host: change(self.host),
            path: change(self.path),
            query: change(self.query),
            fragment: change(self.fragment),
        }
    }
}

fn is_scheme(text: &str) -> bool {
    let is_within = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(is_within)
}

#[cfg(test)]
mod tests {
    use crate::filters::Wants;
    use crate::filters::trial::Trial;

    fn location(filter: &str) -> String {
        let mut trial = Trial::get("/some/Path?foo=1&bar=2").answered_with("x-backend", "1");
        trial.exchange.host = "in.example.org".to_owned();
        trial.exchange.add_param("id", "7\r\nX: y");
        trial.run(filter);
        assert!(trial.status.is_redirection() && trial.answer_field("x-backend").is_empty());
        trial.answer_field("location")[0].to_owned()
    }

    #[test]
    fn parts_that_are_missing_are_those_of_the_request() {
        for (given, expected) in [
            ("", "https://in.example.org/some/Path?foo=1&bar=2"),
            ("http:", "http://in.example.org/some/Path?foo=1&bar=2"),
            ("http://to.test", "http://to.test/some/Path?foo=1&bar=2"),
            ("http://to.test:80/b", "http://to.test:80/b?foo=1&bar=2"),
            ("http://to.test/b?n=3", "http://to.test/b?n=3"),
            ("//to.test", "https://to.test/some/Path?foo=1&bar=2"),
            ("//to.test/b", "https://to.test/b?foo=1&bar=2"),
            ("//to.test/b?n=3#f", "https://to.test/b?n=3#f"),
            ("/b", "https://in.example.org/b?foo=1&bar=2"),
            ("/b?n=3", "https://in.example.org/b?n=3"),
            ("?n=3", "https://in.example.org/some/Path?n=3"),
            ("http:///b", "http://in.example.org/b?foo=1&bar=2"),
            ("http:///b?n=3", "http://in.example.org/b?n=3"),
            ("http://?n=3", "http://in.example.org/some/Path?n=3"),
        ] {
            for name in ["redirectTo", "redirect"] {
                assert_eq!(
                    location(&format!(r#"{name}(302, "{given}")"#)),
                    expected,
                    "{given}"
                );
            }
        }
        assert_eq!(
            location("redirectTo(308)"),
            "https://in.example.org/some/Path?foo=1&bar=2"
        );
    }

    #[test]
    fn a_path_is_put_in_lower_case() {
        assert_eq!(
            location(r#"redirectToLower(302, "//TO.test/SOME/Path?Q=1")"#),
            "https://TO.test/some/path?Q=1"
        );
        assert_eq!(
            location("redirectToLower(308)"),
            "https://in.example.org/some/path?foo=1&bar=2"
        );
        let mut trial = Trial::get("/a%2Fb");
        trial.run("redirectToLower(308)");
        assert_eq!(trial.answer_field("location"), ["https://www.example.org/a%2Fb"]);
        assert_eq!(
            location(r#"rfcPath() -> redirectToLower(302, "/A%2Fb%20C")"#),
            "https://in.example.org/a%2Fb%20c?foo=1&bar=2"
        );
        let mut trial = Trial::get("/%C3%84%20B");
        trial.run("redirectToLower(308)");
        assert_eq!(
            trial.answer_field("location"),
            ["https://www.example.org/%C3%A4%20b"]
        );
    }

    #[test]
    fn a_host_that_a_filter_has_set_counts() {
        assert_eq!(
            location(r#"setRequestHeader("Host", "set.test") -> redirectTo(302, "/")"#),
            "https://set.test/?foo=1&bar=2"
        );
    }

    #[test]
    fn a_value_in_a_location_puts_no_lines_into_the_answer() {
        assert_eq!(
            location(r#"redirectTo(302, "/u/${id}?a=1")"#),
            "https://in.example.org/u/7%0D%0AX:%20y?a=1"
        );
    }

    #[test]
    fn a_value_in_a_location_makes_no_host_of_a_path() {
        let mut trial = Trial::get("/x?q=a%23b%26c");
        trial.exchange.add_param("rest", "/evil.test/?a#b");
        for (given, expected) in [
            (
                "/${rest}",
                "https://www.example.org//evil.test/%3Fa%23b?q=a%23b%26c",
            ),
            (
                "${rest}",
                "https://www.example.org/evil.test/%3Fa%23b?q=a%23b%26c",
            ),
            ("//${rest}/b", "https://%2Fevil.test%2F%3Fa%23b/b?q=a%23b%26c"),
            ("//${none}/b", "https://www.example.org/b?q=a%23b%26c"),
            ("?n=${request.query.q}", "https://www.example.org/x?n=a%23b&c"),
            (
                "/a#${rest}",
                "https://www.example.org/a?q=a%23b%26c#/evil.test/?a%23b",
            ),
        ] {
            trial.run(&format!(r#"redirectTo(302, "{given}")"#));
            assert_eq!(trial.answer_field("location"), [expected], "{given}");
        }
    }

    #[test]
    fn only_redirects_redirect() {
        assert!(Trial::mistake("redirectTo(200)").contains("expected a status from 300 to 399"));
        assert!(Trial::mistake("redirectTo()").contains("expected a status"));
        let wants = |text: &str| Trial::get("/").make(text)[0].wants();
        assert_eq!(wants("redirectTo(302)"), Wants::REQUEST);
        assert_eq!(wants("redirect(302)"), Wants::RESPONSE.and_head());
    }
}
