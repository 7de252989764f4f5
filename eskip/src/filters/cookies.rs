//! Cookies: sent to the backend or to the client, or taken out.

use std::net::IpAddr;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::args::Args;
use super::context::FilterContext;
use super::filter::{Filter, Flow, Wants};
use super::headers::{Side, retain, text};
use super::registry::Filters;
use crate::Arg;
use crate::routing::ArgsError;

/// Adds a cookie to the request.
#[derive(Debug)]
struct RequestCookie {
    pair: String,
}

/// Sets a cookie by the answer.
#[derive(Debug)]
struct SetCookie {
    name: String,
    value: String,
    /// What stands before the domain.
    pair: String,
    /// What stands behind it.
    attributes: String,
    /// Only if the request has not this very cookie.
    change_only: bool,
}

/// Takes a cookie out.
#[derive(Debug)]
struct DropCookie {
    side: Side,
    name: String,
}

/// The cookies that a request had already as they would be set, by name and value.
struct Unchanged(Vec<(String, String)>);

pub(super) fn add(all: &mut Filters) {
    all.add(
        "requestCookie",
        (
            "adds a cookie to the request",
            r#"requestCookie("test-session", "abc")"#,
        ),
        RequestCookie::create,
    );
    all.add(
        "responseCookie",
        (
            r#"sets a cookie that scripts cannot read, for the domain above the host; the third argument is how many seconds it lives, "change-only" leaves a client alone that has it"#,
            r#"responseCookie("test-session", "abc", 31536000, "change-only")"#,
        ),
        |args| SetCookie::create(args, "; HttpOnly; Secure"),
    );
    all.add(
        "jsCookie",
        (
            "sets a cookie as `responseCookie` does, which scripts can read",
            r#"jsCookie("test-session-info", "abc-debug", 31536000)"#,
        ),
        |args| SetCookie::create(args, "; Secure"),
    );
    all.add(
        "dropRequestCookie",
        (
            "takes a cookie out of the request",
            r#"dropRequestCookie("test-session")"#,
        ),
        |args| DropCookie::create(args, Side::Request),
    );
    all.add(
        "dropResponseCookie",
        (
            "lets the answer not set a cookie",
            r#"dropResponseCookie("test-session")"#,
        ),
        |args| DropCookie::create(args, Side::Response),
    );
}

// === impl RequestCookie ===

impl RequestCookie {
    fn create(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (name, value) = name_and_value(&mut args)?;
        args.end()?;
        Ok(Self {
            pair: pair(&name, &value),
        })
    }
}

impl Filter for RequestCookie {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let given = cx.request.headers.get_mut(header::COOKIE);
        let line = match given.as_deref().map(HeaderValue::as_bytes) {
            Some(line) if !line.is_empty() => [line, b"; ", self.pair.as_bytes()].concat(),
            _ => self.pair.as_bytes().to_vec(),
        };
        if let Ok(line) = HeaderValue::try_from(line) {
            match given {
                Some(given) => *given = line,
                None => {
                    cx.request.headers.insert(header::COOKIE, line);
                }
            }
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

// === impl SetCookie ===

impl SetCookie {
    fn create(args: &[Arg], flags: &str) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (name, value) = name_and_value(&mut args)?;
        let max_age = if args.has_more() {
            format!("; Max-Age={}", max_age(&mut args)?)
        } else {
            String::new()
        };
        let change_only = args.has_more();
        if change_only && args.text("change-only")? != "change-only" {
            return Err(args.expected("change-only"));
        }
        args.end()?;
        Ok(Self {
            pair: format!("{}; Path=/", pair(&name, &value)),
            attributes: format!("{max_age}{flags}"),
            name,
            value,
            change_only,
        })
    }

    fn is_unchanged(&self, cx: &FilterContext<'_>) -> bool {
        let unchanged = cx.exchange.kept::<Unchanged>();
        unchanged.is_some_and(|Unchanged(all)| {
            all.iter()
                .any(|(name, value)| *name == self.name && *value == self.value)
        })
    }
}

/// Seconds, none of which are left if the number is not positive: the cookie is over at once.
fn max_age(args: &mut Args<'_>) -> Result<i64, ArgsError> {
    let number = args.number("how many seconds it lives")?;
    if number.fract() != 0.0 || number.abs() > 1e15 {
        return Err(args.expected("how many seconds it lives"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
    let seconds = number.max(0.0) as i64;
    Ok(seconds)
}

impl Filter for SetCookie {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if self.change_only && cx.cookie(&self.name) == Some(&self.value) {
            let cookie = (self.name.clone(), self.value.clone());
            match cx.exchange.kept_mut::<Unchanged>() {
                Some(Unchanged(all)) => all.push(cookie),
                None => cx.exchange.keep(Unchanged(vec![cookie])),
            }
        }
        Flow::Next
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        if self.change_only && self.is_unchanged(cx) {
            return Flow::Next;
        }
        let line = match domain(&cx.exchange.host) {
            Some(domain) => format!("{}; Domain={domain}{}", self.pair, self.attributes),
            None => format!("{}{}", self.pair, self.attributes),
        };
        if let (Some(answer), Ok(line)) = (&mut cx.response, HeaderValue::try_from(line)) {
            answer.headers.append(header::SET_COOKIE, line);
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        if self.change_only {
            Wants::BOTH
        } else {
            Wants::RESPONSE
        }
    }
}

/// The host without its first label if it has three or more. Addresses have no domain, nor has what is no host.
fn domain(host: &str) -> Option<&str> {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_name) || name.parse::<IpAddr>().is_ok() {
        return None;
    }
    match name.split_once('.') {
        Some((_, parent)) if parent.contains('.') => Some(parent),
        _ => Some(name),
    }
}

// === impl DropCookie ===

impl DropCookie {
    fn create(args: &[Arg], side: Side) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let name = args.text("the name of a cookie")?.to_owned();
        args.end()?;
        Ok(Self { side, name })
    }

    fn is_meant(&self, cookie: &str) -> bool {
        let pair = cookie.split(';').next().unwrap_or_default();
        pair.split('=').next().unwrap_or_default().trim() == self.name
    }

    fn drop_from(&self, cookies: &mut HeaderMap) {
        let lines = cookies.get_all(header::COOKIE).iter();
        let mut pairs = lines
            .filter_map(text)
            .flat_map(|line| line.split(';'))
            .filter(|pair| !pair.trim().is_empty());
        if !pairs.any(|pair| self.is_meant(pair)) {
            return;
        }
        let lines: Vec<HeaderValue> = cookies.get_all(header::COOKIE).iter().cloned().collect();
        cookies.remove(header::COOKIE);
        for line in lines {
            let kept = match text(&line) {
                Some(text) => HeaderValue::try_from(self.without(text)).ok(),
                None => Some(line),
            };
            if let Some(kept) = kept.filter(|kept| !kept.is_empty()) {
                cookies.append(header::COOKIE, kept);
            }
        }
    }

    fn without(&self, line: &str) -> String {
        let pairs = line.split(';').map(str::trim);
        let kept = pairs.filter(|pair| !pair.is_empty() && !self.is_meant(pair));
        kept.collect::<Vec<_>>().join("; ")
    }
}

impl Filter for DropCookie {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if self.side == Side::Request {
            self.drop_from(&mut cx.request.headers);
        }
        Flow::Next
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        if self.side == Side::Response
            && let Some(answer) = &mut cx.response
        {
            let stays = |line: &HeaderValue| !text(line).is_some_and(|line| self.is_meant(line));
            retain(answer.headers, &header::SET_COOKIE, stays);
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        self.side.wants()
    }
}

/// A name is a token, as that of a field, and a value has no characters that end it.
fn name_and_value(args: &mut Args<'_>) -> Result<(String, String), ArgsError> {
    let name = args.text("the name of a cookie")?;
    if HeaderName::try_from(name).is_err() {
        return Err(args.expected("the name of a cookie"));
    }
    let value = args.text("the value of a cookie")?;
    if !value
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~') && !b"\";\\".contains(&byte))
    {
        return Err(args.expected("the value of a cookie"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

fn pair(name: &str, value: &str) -> String {
    if value.contains([' ', ',']) {
        format!("{name}=\"{value}\"")
    } else {
        format!("{name}={value}")
    }
}

#[cfg(test)]
mod tests {
    use super::domain;
    use crate::filters::Wants;
    use crate::filters::trial::Trial;

    fn set_by(host: &str, filters: &str) -> Vec<String> {
        let mut trial = Trial::get("/").with("cookie", "a=\"1\"; b=2");
        host.clone_into(&mut trial.exchange.host);
        trial.run(filters);
        let set = trial.answer_field("set-cookie");
        set.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_cookie_joins_those_of_the_request() {
        let mut trial = Trial::get("/");
        trial.request(r#"requestCookie("a", "1")"#);
        assert_eq!(trial.field("cookie"), ["a=1"]);
        trial.request(r#"requestCookie("a", "x, y")"#);
        assert_eq!(trial.field("cookie"), [r#"a=1; a="x, y""#]);
    }

    #[test]
    fn a_cookie_is_set_for_the_domain_above() {
        assert_eq!(
            set_by("www.example.org:8080", r#"responseCookie("s", "v")"#),
            ["s=v; Path=/; Domain=example.org; HttpOnly; Secure"]
        );
        assert_eq!(
            set_by("example.org", r#"jsCookie("s", "v", 60)"#),
            ["s=v; Path=/; Domain=example.org; Max-Age=60; Secure"]
        );
    }

    #[test]
    fn the_domain_is_the_host_without_its_first_label() {
        for (host, expected) in [
            ("www.example.org", Some("example.org")),
            ("a.b.example.org:80", Some("b.example.org")),
            ("example.org", Some("example.org")),
            ("localhost:8080", Some("localhost")),
            ("192.0.2.1", None),
            ("192.0.2.1:80", None),
            ("[2001:db8::1]:80", None),
            ("a;b.example.org", None),
            ("", None),
        ] {
            assert_eq!(domain(host), expected, "{host}");
        }
    }

    #[test]
    fn an_age_of_nothing_ends_a_cookie() {
        for age in ["0", "-1"] {
            assert_eq!(
                set_by("a.test", &format!(r#"responseCookie("s", "", {age})"#)),
                ["s=; Path=/; Domain=a.test; Max-Age=0; HttpOnly; Secure"]
            );
        }
        assert!(Trial::mistake(r#"responseCookie("s", "v", "soon")"#).contains("argument 3"));
        assert!(Trial::mistake(r#"responseCookie("s", "v", 1.5)"#).contains("argument 3"));
    }

    #[test]
    fn a_client_that_has_the_cookie_is_left_alone_if_only_changes_are_sent() {
        assert!(set_by("a.test", r#"responseCookie("a", "1", 9, "change-only")"#).is_empty());
        let filters = r#"jsCookie("a", "2", 9, "change-only") -> jsCookie("c", "1", 9, "change-only")"#;
        assert_eq!(set_by("a.test", filters).len(), 2);
        assert_eq!(set_by("a.test", r#"responseCookie("a", "1", 9)"#).len(), 1);
        assert!(Trial::mistake(r#"jsCookie("a", "1", 9, "always")"#).contains("expected change-only"));
    }

    #[test]
    fn what_the_request_brought_counts_and_not_what_is_left_of_it() {
        let filters = r#"responseCookie("a", "1", 9, "change-only") -> dropRequestCookie("a")"#;
        assert!(set_by("a.test", filters).is_empty());
        let wants = |text: &str| Trial::get("/").make(text)[0].wants();
        assert_eq!(wants(filters), Wants::BOTH);
        assert_eq!(wants(r#"responseCookie("a", "1")"#), Wants::RESPONSE);
    }

    #[test]
    fn a_cookie_is_taken_out_of_the_request() {
        let mut trial = Trial::get("/")
            .with("cookie", "a=1; b=2;a = 3")
            .with("cookie", "a")
            .with("cookie", "ab=a");
        trial.request(r#"dropRequestCookie("a") -> dropRequestCookie("none")"#);
        assert_eq!(trial.field("cookie"), ["b=2", "ab=a"]);
        trial.request(r#"dropRequestCookie("b") -> dropRequestCookie("ab")"#);
        assert!(trial.field("cookie").is_empty());
    }

    #[test]
    fn a_cookie_is_taken_out_of_the_answer() {
        let mut trial = Trial::get("/")
            .answered_with("set-cookie", "a=1; Path=/")
            .answered_with("set-cookie", "b=a; Path=/");
        trial.run(r#"dropResponseCookie("a")"#);
        assert_eq!(trial.answer_field("set-cookie"), ["b=a; Path=/"]);
    }

    #[test]
    fn what_would_end_a_cookie_is_a_mistake() {
        for wrong in [r#"requestCookie("a b", "c")"#, r#"requestCookie("a", "b;c")"#] {
            assert!(Trial::mistake(wrong).contains("of a cookie"), "{wrong}");
        }
    }
}
