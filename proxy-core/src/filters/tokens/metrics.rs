//! What is wrong with tokens, for the access log: `jwtMetrics`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use eskip::Arg;
use eskip::filters::{Args, Filter, FilterContext, Filters, Flow, RouteSettings, Wants};
use eskip::routing::ArgsError;
use http::header::AUTHORIZATION;
use serde_json::Value;

use super::keys::is_same;
use super::optout::{OptOut, end, texts};
use super::{Claims, Info, bearer, flow};

/// Tags requests whose token is not as it should be. Nobody checks it here.
#[derive(Debug)]
struct Metrics {
    issuers: Vec<String>,
    /// A token must say all of one of these.
    claims: Vec<Claims>,
    /// Names in the state bag.
    bag: Vec<String>,
    opt_out: OptOut,
}

pub(super) fn add(all: &mut Filters) {
    all.add(
        "jwtMetrics",
        (
            "tags requests in the access log whose bearer token is not as it should be: `jwtMetrics` is missing-token, invalid-token-type, invalid-token, missing-issuer, invalid-issuer or invalid-claims; nobody is refused, and answers of 400 to 499 are left alone",
            r#"jwtMetrics("{issuers: ['https://issuer.example.org'], optOutAnnotations: [oauth.disabled], optOutHosts: ['^public[.]']}")"#,
        ),
        Metrics::create,
    );
}

// === impl Metrics ===

impl Metrics {
    fn create(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let mut settings = flow::settings(args.text("settings")?)?;
        args.end()?;
        let claims = settings
            .remove("claims")
            .unwrap_or_else(|| Value::Array(Vec::new()));
        let claims = serde_json::from_value(claims)
            .map_err(|_| ArgsError("claims: expected a list of names and values".to_owned()))?;
        let metrics = Self {
            issuers: texts(&mut settings, "issuers")?,
            claims,
            bag: texts(&mut settings, "optOutStateBag")?,
            opt_out: OptOut::take(&mut settings)?,
        };
        end(&settings)?;
        Ok(metrics)
    }

    /// What is wrong with the token.
    fn wrong(&self, cx: &FilterContext<'_>) -> Option<&'static str> {
        let headers = &cx.request.headers;
        if !headers.contains_key(AUTHORIZATION) {
            return Some("missing-token");
        }
        let Some(token) = bearer(headers) else {
            return Some("invalid-token-type");
        };
        let Some(claims) = unverified(token) else {
            return Some("invalid-token");
        };
        if !self.issuers.is_empty() {
            let Some(issuer) = claims.get("iss").and_then(Value::as_str) else {
                return Some("missing-issuer");
            };
            if !self.issuers.iter().any(|known| is_same(known, issuer)) {
                return Some("invalid-issuer");
            }
        }
        let says = |all: &Claims| all.iter().all(|(name, value)| claims.get(name) == Some(value));
        (!self.claims.is_empty() && !self.claims.iter().any(says)).then_some("invalid-claims")
    }

    fn is_out(&self, cx: &FilterContext<'_>) -> bool {
        // Filters that know a token say so under this name.
        let is_known = |name: &String| match name.as_str() {
            "tokeninfo" if cx.exchange.kept::<Info>().is_some() => true,
            name => cx.exchange.bag.get(name).is_some(),
        };
        self.opt_out.is_out(cx) || self.bag.iter().any(is_known)
    }
}

impl Filter for Metrics {
    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        let is_refused = cx
            .response
            .as_ref()
            .is_some_and(|answer| answer.status.is_client_error());
        if !is_refused
            && !self.is_out(cx)
            && let Some(wrong) = self.wrong(cx)
        {
            cx.exchange.tag("jwtMetrics", wrong);
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::RESPONSE.and_head()
    }

    fn settle(&self, route: &mut RouteSettings) {
        self.opt_out.settle(route);
    }
}

/// What a token says, whoever has signed it.
fn unverified(token: &str) -> Option<Claims> {
    let mut parts = token.split('.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
    let claims = serde_json::from_slice(&payload).ok()?;
    parts.next().is_none().then_some(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::trial::{Trial, all, chain, mistake};

    /// What a request with this field is tagged with.
    async fn tag(settings: &str, field: Option<&str>, change: impl FnOnce(&mut Trial)) -> Option<String> {
        let mut trial = Trial::get("/");
        if let Some(value) = field {
            trial = trial.with("authorization", value);
        }
        change(&mut trial);
        let text = format!(r#"annotate("public", "yes") -> jwtMetrics("{settings}")"#);
        assert!(!trial.run(&chain(&all(), &text)).await);
        let mut tags = trial.exchange.tags.into_iter();
        tags.find_map(|(name, value)| (name == "jwtMetrics").then_some(value))
    }

    fn token(claims: &str) -> String {
        format!("Bearer e30.{}.x", URL_SAFE_NO_PAD.encode(claims))
    }

    #[tokio::test]
    async fn what_is_wrong_with_a_token_is_a_tag() {
        let settings =
            "{issuers: ['https://a.test'], claims: [{iss: 'https://a.test', realm: x}, {realm: y}]}";
        let of = |claims| token(claims);
        for (field, expected) in [
            (None, Some("missing-token")),
            (Some("Basic eA==".to_owned()), Some("invalid-token-type")),
            (Some("Bearer abc".to_owned()), Some("invalid-token")),
            (Some("Bearer a.b.c.d".to_owned()), Some("invalid-token")),
            (Some(of("{}")), Some("missing-issuer")),
            (Some(of(r#"{"iss":"https://b.test"}"#)), Some("invalid-issuer")),
            (
                Some(of(r#"{"iss":"https://a.test","realm":"z"}"#)),
                Some("invalid-claims"),
            ),
            (Some(of(r#"{"iss":"https://a.test","realm":"x"}"#)), None),
            (Some(of(r#"{"iss":"https://a.test","realm":"y"}"#)), None),
        ] {
            let tag = tag(settings, field.as_deref(), |_| ()).await;
            assert_eq!(tag.as_deref(), expected, "{field:?}");
        }
    }

    #[tokio::test]
    async fn some_are_left_alone() {
        for settings in [
            "{optOutAnnotations: [public]}",
            "{optOutHosts: ['^www[.]example[.]org$']}",
            "{optOutStateBag: [seen]}",
            "{optOutStateBag: [tokeninfo]}",
        ] {
            let tag = tag(settings, None, |trial| {
                trial.exchange.host = "www.example.org:8080".to_owned();
                trial.exchange.bag.set("seen", "x");
                trial.exchange.keep(Info::new(Claims::new()));
            });
            assert_eq!(tag.await, None, "{settings}");
        }
        let others = "{optOutAnnotations: [private], optOutHosts: ['^a'], optOutStateBag: [b, tokeninfo]}";
        assert!(tag(others, None, |_| ()).await.is_some());
        let refused = tag("{}", None, |trial| trial.status = http::StatusCode::NOT_FOUND);
        assert_eq!(refused.await, None);
    }

    #[test]
    fn settings_that_say_nothing_are_refused() {
        for settings in [
            "x",
            "{issuer: a}",
            "{issuers: a}",
            "{claims: [a]}",
            "{optOutHosts: ['(']}",
            "{optOutHosts: [[a]]}",
        ] {
            let text = format!(r#"jwtMetrics("{settings}")"#);
            assert!(mistake(&text).starts_with("invalid_filter_params"), "{text}");
        }
    }
}
