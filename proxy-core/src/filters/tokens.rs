//! Who may pass by the bearer token of the request: tokens that are checked here, and tokens that another server knows.
//!
//! What is known of a token, such as its claims, is kept with the request for filters behind.

mod answers;
mod credentials;
mod demand;
mod flow;
mod forward;
mod introspection;
mod issuer;
mod jwt;
mod keys;
mod latest;
mod metrics;
mod optout;
mod service;
mod tokeninfo;
#[cfg(test)]
mod trials;

use std::fmt;
use std::sync::Arc;

use eskip::filters::{FilterContext, Filters, Flow};
use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use serde_json::{Map, Value};

use super::Means;
use super::bodies::bare;

/// What is said of a token: its claims, or what a server has said of it.
type Claims = Map<String, Value>;

/// What is known of the token of a request, for filters behind.
#[derive(Clone)]
struct Info(Arc<Claims>);

/// Why a request does not pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Refusal {
    /// There is no token.
    Missing,
    /// It is not valid, or nobody could say whether it is.
    Invalid,
    /// It is valid and does not say what it must.
    Lacking,
}

pub(super) fn add(all: &mut Filters, means: &Means) {
    jwt::add(all, means);
    tokeninfo::add(all, means);
    introspection::add(all, means);
    forward::add(all);
    metrics::add(all);
}

/// The bearer token of a request. Of two nobody knows which one the backend would take, so they are none.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let value = value.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim_matches(' ');
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

// === impl Info ===

impl Info {
    fn new(claims: Claims) -> Self {
        Self(Arc::new(claims))
    }

    /// Keeps it with the request. Whom the token is of is what `auth-user` stands for in filters behind.
    fn keep(self, cx: &mut FilterContext<'_>) {
        if let Some(subject) = self.subject(&["uid", "sub"]) {
            cx.exchange.bag.set("auth-user", subject);
        }
        cx.exchange.keep(self);
    }

    /// Who the token is of, under the first of these names that is there.
    fn subject(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(*name)?.as_str())
    }
}

impl fmt::Debug for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not what is said of whom.
        f.debug_struct("Info").finish_non_exhaustive()
    }
}

// === impl Refusal ===

impl Refusal {
    /// The answer to the request.
    fn answer(self) -> Flow {
        let (status, challenge) = match self {
            Self::Missing => (StatusCode::UNAUTHORIZED, "Bearer"),
            Self::Invalid => (StatusCode::UNAUTHORIZED, r#"Bearer error="invalid_token""#),
            Self::Lacking => (StatusCode::FORBIDDEN, r#"Bearer error="insufficient_scope""#),
        };
        let mut response = bare(status);
        let challenge = HeaderValue::from_static(challenge);
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        Flow::serve(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_token_is_taken_from_its_field() {
        for (value, expected) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Basic abc", None),
            ("Bearer", None),
            ("Bearer ", None),
            ("abc", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
            assert_eq!(bearer(&headers), expected, "{value}");
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
        let mut two = HeaderMap::new();
        two.append(AUTHORIZATION, HeaderValue::from_static("Bearer a"));
        two.append(AUTHORIZATION, HeaderValue::from_static("Bearer b"));
        assert_eq!(bearer(&two), None);
    }

    #[test]
    fn what_is_known_of_a_token_is_not_shown() {
        let mut claims = Claims::new();
        claims.insert("sub".to_owned(), Value::from("ann"));
        let info = Info::new(claims);
        assert!(!format!("{info:?}").contains("ann"));
        assert_eq!(info.subject(&["uid", "sub"]), Some("ann"));
    }
}
