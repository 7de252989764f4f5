//! Predicates of what a JSON Web Token claims, which nobody has verified.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use regex::Regex;
use serde_json::{Map, Value};

use super::{ArgsError, Predicate, Predicates, all_texts, fields::payload, regexp, wanted};
use crate::{Arg, routing::Asked};

/// `JWTPayloadAnyKV`, `JWTPayloadAllKV` and those with regular expressions.
#[derive(Debug)]
struct Claims {
    /// Whether all of them must be there, or one is enough.
    all: bool,
    wanted: Vec<(String, Wanted)>,
}

#[derive(Debug)]
enum Wanted {
    Text(String),
    Regexp(Regex),
}

pub(super) fn add(all: &mut Predicates) {
    let text = |text: &str| Ok(Wanted::Text(text.to_owned()));
    let pattern = |text: &str| Ok(Wanted::Regexp(regexp(text)?));
    all.add(
        "JWTPayloadAnyKV",
        (
            "a claim of the bearer token, which nobody verified, is one of these",
            r#"JWTPayloadAnyKV("iss", "https://issuer.example.org")"#,
        ),
        move |args| Claims::new(false, args, text),
    );
    all.add(
        "JWTPayloadAllKV",
        (
            "claims of the bearer token, which nobody verified, are all these",
            r#"JWTPayloadAllKV("iss", "https://issuer.example.org", "sub", "joan")"#,
        ),
        move |args| Claims::new(true, args, text),
    );
    all.add(
        "JWTPayloadAnyKVRegexp",
        (
            "a claim of the bearer token, which nobody verified, matches one of these expressions",
            r#"JWTPayloadAnyKVRegexp("iss", /example[.]org$/)"#,
        ),
        move |args| Claims::new(false, args, pattern),
    );
    all.add(
        "JWTPayloadAllKVRegexp",
        (
            "claims of the bearer token, which nobody verified, match all these expressions",
            r#"JWTPayloadAllKVRegexp("iss", /example[.]org$/, "sub", /^j/)"#,
        ),
        move |args| Claims::new(true, args, pattern),
    );
}

impl Claims {
    fn new(
        all: bool,
        args: &[Arg],
        value: impl Fn(&str) -> Result<Wanted, ArgsError>,
    ) -> Result<Self, ArgsError> {
        let what = "one or more pairs of a name and a value";
        let texts = all_texts(args, what)?;
        if texts.is_empty() || texts.len() % 2 != 0 {
            return wanted(what);
        }
        let pairs = texts.chunks_exact(2).filter_map(|pair| match pair {
            [name, text] => Some(value(text).map(|value| ((*name).to_owned(), value))),
            _ => None,
        });
        Ok(Self {
            all,
            wanted: pairs.collect::<Result<_, _>>()?,
        })
    }
}

/// The claims of the bearer's token, which nobody has verified.
pub(crate) fn token_payload(headers: &HeaderMap) -> Option<Map<String, Value>> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    serde_json::from_slice(&payload(token.trim())?).ok()
}

impl Predicate for Claims {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        let Some(claims) = token_payload(asked.headers) else {
            return false;
        };
        let holds = |(name, wanted): &(String, Wanted)| {
            let value = claims.get(name).and_then(Value::as_str);
            value.is_some_and(|value| match wanted {
                Wanted::Text(text) => text == value,
                Wanted::Regexp(regexp) => regexp.is_match(value),
            })
        };
        if self.all {
            self.wanted.iter().all(holds)
        } else {
            self.wanted.iter().any(holds)
        }
    }
}
