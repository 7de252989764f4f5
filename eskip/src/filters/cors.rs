//! Which pages of other origins may read an answer.

use http::header::{self, HeaderValue};

use super::args::Args;
use super::context::{Answer, FilterContext};
use super::filter::{Filter, Flow, Wants};
use super::registry::Filters;
use crate::Arg;
use crate::routing::ArgsError;

/// Allows origins to read answers, those of the proxy about errors, too: otherwise a page could not tell a failure of the
/// backend from one of the network.
#[derive(Debug)]
struct CorsOrigin {
    /// Empty: all.
    origins: Vec<HeaderValue>,
}

pub(super) fn add(all: &mut Filters) {
    all.add(
        "corsOrigin",
        (
            "lets pages of the given origins read the answer, or of any if none is given",
            r#"corsOrigin("https://www.example.org", "http://localhost:9001")"#,
        ),
        CorsOrigin::create,
    );
}

// === impl CorsOrigin ===

impl CorsOrigin {
    fn create(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let mut origins = Vec::new();
        while args.has_more() {
            let origin = args.text("an origin")?;
            origins.push(HeaderValue::from_str(origin).map_err(|_| args.expected("an origin"))?);
        }
        Ok(Self { origins })
    }
}

impl Filter for CorsOrigin {
    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        let Some(answer) = &mut cx.response else {
            return Flow::Next;
        };
        if self.origins.is_empty() {
            allow(answer, HeaderValue::from_static("*"));
            return Flow::Next;
        }
        // Caches must not give one origin what another one may read.
        vary(answer);
        let given = cx.request.headers.get(header::ORIGIN);
        if let Some(origin) = self.origins.iter().find(|origin| Some(*origin) == given) {
            allow(answer, origin.clone());
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        let wants = Wants::RESPONSE.and_errors();
        if self.origins.is_empty() {
            wants
        } else {
            wants.and_head()
        }
    }
}

fn allow(answer: &mut Answer<'_>, origin: HeaderValue) {
    let name = header::ACCESS_CONTROL_ALLOW_ORIGIN;
    answer.headers.insert(name, origin);
}

fn vary(answer: &mut Answer<'_>) {
    let lines = answer.headers.get_all(header::VARY).iter();
    let mut names = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .map(str::trim);
    if !names.any(|name| name == "*" || name.eq_ignore_ascii_case("origin")) {
        let origin = HeaderValue::from_static("Origin");
        answer.headers.append(header::VARY, origin);
    }
}

#[cfg(test)]
mod tests {
    use crate::filters::Wants;
    use crate::filters::trial::Trial;

    fn allowed(origin: &str, filter: &str) -> Vec<String> {
        let mut trial = Trial::get("/").answered_with("access-control-allow-origin", "backend");
        if !origin.is_empty() {
            trial = trial.with("origin", origin);
        }
        trial.run(filter);
        let fields = trial.answer_field("access-control-allow-origin");
        fields.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn any_origin_may_read_the_answer_if_none_is_named() {
        assert_eq!(allowed("https://a.test", "corsOrigin()"), ["*"]);
        assert_eq!(allowed("", "corsOrigin()"), ["*"]);
    }

    #[test]
    fn an_origin_of_the_list_may_read_the_answer() {
        let filter = r#"corsOrigin("https://a.test", "https://b.test")"#;
        assert_eq!(allowed("https://b.test", filter), ["https://b.test"]);
        assert_eq!(allowed("https://c.test", filter), ["backend"]);
        assert_eq!(allowed("", filter), ["backend"]);
    }

    #[test]
    fn caches_are_told_that_the_origin_counts() {
        let mut trial = Trial::get("/").answered_with("vary", "Accept, origin");
        trial.run(r#"corsOrigin("https://a.test")"#);
        assert_eq!(trial.answer_field("vary"), ["Accept, origin"]);
        let mut trial = Trial::get("/");
        trial.run(r#"corsOrigin("https://a.test")"#);
        assert_eq!(trial.answer_field("vary"), ["Origin"]);
    }

    #[test]
    fn pages_may_read_errors_of_the_proxy_too() {
        let wants = |text: &str| Trial::get("/").make(text)[0].wants();
        assert_eq!(wants("corsOrigin()"), Wants::RESPONSE.and_errors());
        assert_eq!(
            wants(r#"corsOrigin("https://a.test")"#),
            Wants::RESPONSE.and_errors().and_head()
        );
    }
}
