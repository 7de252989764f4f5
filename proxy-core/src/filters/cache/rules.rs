//! What may be kept, and for how long (RFC 9111, sections 3, 4 and 5.2; RFC 5861).

use std::time::{Duration, SystemTime};

use http::header::{self, HeaderMap, HeaderName};
use http::{Method, StatusCode};

use super::LONGEST;

/// What a request lets a cache do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// It wants a new answer (`no-cache`).
    pub(super) wants_new: bool,
    /// Its answer is not to be kept (`no-store`).
    no_store: bool,
    /// It says who asks.
    has_credentials: bool,
}

/// How long answers count that do not say it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lifetime {
    pub(super) unsaid: Option<Duration>,
    /// The same for errors.
    pub(super) error: Option<Duration>,
    pub(super) while_asking: Duration,
    pub(super) instead_of_error: Duration,
}

/// How long one answer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) fresh: Duration,
    /// How long after that it is used while one request asks for a new one.
    pub(super) while_asking: Duration,
    /// How long after that it is used instead of an error.
    pub(super) instead_of_error: Duration,
    /// How old it was when it came.
    pub(super) age: Duration,
}

// === impl Asked ===

impl Asked {
    /// `None`: the request is none for a cache.
    pub(super) fn of(method: &Method, headers: &HeaderMap) -> Option<Self> {
        let is_partial = [header::RANGE, header::IF_RANGE, header::IF_MATCH, header::UPGRADE]
            .iter()
            .any(|name| headers.contains_key(name));
        if !matches!(*method, Method::GET | Method::HEAD) || is_partial {
            return None;
        }
        let directives = directives(headers);
        let has = |name: &str| directives.iter().any(|(known, _)| known == name);
        let pragma = headers
            .get(header::PRAGMA)
            .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"no-cache"));
        let is_zero = directives
            .iter()
            .any(|(name, value)| name == "max-age" && value == "0");
        Some(Self {
            wants_new: has("no-cache") || has("no-store") || is_zero || directives.is_empty() && pragma,
            no_store: has("no-store"),
            has_credentials: headers.contains_key(header::AUTHORIZATION),
        })
    }
}

// === impl Lifetime ===

impl Lifetime {
    /// How long an answer is kept; `None`: not at all.
    pub(super) fn of(
        &self,
        asked: &Asked,
        status: StatusCode,
        headers: &HeaderMap,
        now: SystemTime,
    ) -> Option<Terms> {
        let directives = directives(headers);
        let has = |name: &str| directives.iter().any(|(known, _)| known == name);
        let seconds = |name: &str| {
            let found = directives.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| Duration::from_secs(value.parse().unwrap_or(0)))
        };
        let is_shared = has("public") || has("must-revalidate") || has("s-maxage");
        let varies_with_all = headers
            .get_all(header::VARY)
            .iter()
            .any(|value| value.as_bytes().contains(&b'*'));
        if asked.no_store
            || has("no-store")
            || has("private")
            || has("no-cache")
            || asked.has_credentials && !is_shared
            || varies_with_all
            || headers.contains_key(header::SET_COOKIE)
            || headers.contains_key(header::CONTENT_RANGE)
        {
            return None;
        }
        let unsaid = match status.as_u16() {
            200 | 203 | 300 | 301 | 308 => self.unsaid,
            404 | 405 | 410 | 414 | 501 => self.error,
            // These can be kept only if they say so themselves.
            302 | 307 => None,
            _ => return None,
        };
        let said = seconds("s-maxage")
            .or_else(|| seconds("max-age"))
            .or_else(|| expires(headers, now));
        let fresh = said.or(unsaid)?.min(LONGEST);
        let age = headers
            .get(header::AGE)
            .and_then(|age| age.to_str().ok()?.trim().parse().ok());
        let age = Duration::from_secs(age.unwrap_or(0));
        let strict = has("must-revalidate") || has("proxy-revalidate") || has("s-maxage");
        let stale = |name: &str, usual: Duration| {
            if strict {
                Duration::ZERO
            } else {
                seconds(name).unwrap_or(usual).min(LONGEST)
            }
        };
        let terms = Terms {
            fresh,
            while_asking: stale("stale-while-revalidate", self.while_asking),
            instead_of_error: stale("stale-if-error", self.instead_of_error),
            age,
        };
        (age < fresh).then_some(terms)
    }
}

/// The time until an answer expires, by its own clock if it has one.
fn expires(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let date = |name: HeaderName| httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok();
    let expires = headers
        .contains_key(header::EXPIRES)
        .then(|| date(header::EXPIRES))?;
    let from = date(header::DATE).unwrap_or(now);
    // What is no date has expired.
    Some(
        expires
            .and_then(|expires| expires.duration_since(from).ok())
            .unwrap_or_default(),
    )
}

/// Names in lower case, and values without quotes.
fn directives(headers: &HeaderMap) -> Vec<(String, String)> {
    let lines = headers.get_all(header::CACHE_CONTROL).iter();
    let all = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    let all = all.map(|one| one.split_once('=').unwrap_or((one, "")));
    let all = all.map(|(name, value)| {
        (
            name.trim().to_ascii_lowercase(),
            value.trim().trim_matches('"').to_owned(),
        )
    });
    all.filter(|(name, _)| !name.is_empty()).collect()
}

/// The fields that an answer varies with, and what the request had there.
pub(super) fn varying(answer: &HeaderMap, request: &HeaderMap) -> Vec<(HeaderName, String)> {
    let lines = answer.get_all(header::VARY).iter();
    let names = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    let names = names.filter_map(|name| name.trim().parse::<HeaderName>().ok());
    names.map(|name| (name.clone(), joined(request, &name))).collect()
}

/// All values of a field.
pub(super) fn joined(headers: &HeaderMap, name: &HeaderName) -> String {
    let values = headers.get_all(name).iter();
    let values: Vec<_> = values
        .map(|value| value.as_bytes().escape_ascii().to_string())
        .collect();
    values.join(", ")
}
