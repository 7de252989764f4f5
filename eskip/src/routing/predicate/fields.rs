//! Predicates of the path, the query, header fields and cookies.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderName;
use regex::Regex;
use sha2::{Digest as _, Sha256};

use super::{Predicate, Predicates, all_texts, expected, field_name, regexp, texts, wanted};
use crate::routing::{Asked, uri};

/// `PathRegexp(/re/)`: of the path, decoded.
#[derive(Debug)]
struct PathRegexp(Regex);

/// `Header("Name", "value")`.
#[derive(Debug)]
struct Header(HeaderName, String);

/// `HeaderRegexp("Name", /re/)`.
#[derive(Debug)]
struct HeaderRegexp(HeaderName, Regex);

/// `HeaderSHA256("Name", "hex", ...)`.
#[derive(Debug)]
struct HeaderSha256(HeaderName, Vec<[u8; 32]>);

/// `Cookie("name", /re/)`: of the first cookie of that name.
#[derive(Debug)]
struct Cookie(String, Regex);

/// `QueryParam("name")` and `QueryParam("name", /re/)`.
#[derive(Debug)]
struct QueryParam(String, Option<Regex>);

pub(super) fn add(all: &mut Predicates) {
    all.add(
        "PathRegexp",
        (
            "the path, decoded, matches a regular expression",
            r#"PathRegexp(/[.]css$/)"#,
        ),
        |args| {
            let [text] = texts(args, "one regular expression")?;
            Ok(PathRegexp(regexp(text)?))
        },
    );
    all.add(
        "Header",
        (
            "a field has this value",
            r#"Header("X-Requested-With", "XMLHttpRequest")"#,
        ),
        |args| {
            let [name, value] = texts(args, "a name and a value")?;
            Ok(Header(field_name(name)?, value.to_owned()))
        },
    );
    all.add(
        "HeaderRegexp",
        (
            "a value of a field matches a regular expression",
            r#"HeaderRegexp("Accept", /^application\/json/)"#,
        ),
        |args| {
            let [name, text] = texts(args, "a name and a regular expression")?;
            Ok(HeaderRegexp(field_name(name)?, regexp(text)?))
        },
    );
    all.add(
        "HeaderSHA256",
        (
            "a value of a field has one of these hashes; so the route need not show a secret",
            r#"HeaderSHA256("X-Secret", "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b")"#,
        ),
        |args| {
            let what = "a name and one or more hashes of 64 hexadecimal digits";
            match all_texts(args, what)?.split_first() {
                Some((name, hashes)) if !hashes.is_empty() => {
                    let hashes: Option<Vec<[u8; 32]>> = hashes.iter().map(|text| hash(text)).collect();
                    Ok(HeaderSha256(
                        field_name(name)?,
                        hashes.ok_or_else(|| expected(what))?,
                    ))
                }
                _ => wanted(what),
            }
        },
    );
    all.add(
        "Cookie",
        (
            "the first cookie of a name matches a regular expression",
            r#"Cookie("alpha", /^enabled$/)"#,
        ),
        |args| {
            let [name, text] = texts(args, "a name and a regular expression")?;
            Ok(Cookie(name.to_owned(), regexp(text)?))
        },
    );
    all.add(
        "QueryParam",
        (
            "the query has a parameter, with a value that matches a regular expression if one is given",
            r#"QueryParam("q", /^[a-z]+$/)"#,
        ),
        |args| {
            let what = "a name, and perhaps a regular expression";
            match all_texts(args, what)?.as_slice() {
                [name] => Ok(QueryParam((*name).to_owned(), None)),
                [name, text] => Ok(QueryParam((*name).to_owned(), Some(regexp(text)?))),
                _ => wanted(what),
            }
        },
    );
}

fn hash(text: &str) -> Option<[u8; 32]> {
    let nibbles: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let nibbles = nibbles.filter(|nibbles| nibbles.len() == 64)?;
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(nibbles.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = u8::try_from((high << 4) | low).ok()?;
    }
    Some(hash)
}

/// The part of a JSON Web Token that says something, decoded. Nobody has verified it.
pub(super) fn payload(token: &str) -> Option<Vec<u8>> {
    let mut parts = token.split('.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    // Either alphabet, padded or not.
    let plain: String = payload.trim_end_matches('=').replace('-', "+").replace('_', "/");
    let padding = "=".repeat(plain.len().wrapping_neg() % 4);
    STANDARD.decode(plain + &padding).ok()
}

impl Predicate for PathRegexp {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        self.0.is_match(&uri::decoded(asked.path))
    }
}

impl Predicate for Header {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        asked
            .headers
            .get_all(&self.0)
            .iter()
            .any(|value| value.as_bytes() == self.1.as_bytes())
    }
}

impl Predicate for HeaderRegexp {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        asked.values(&self.0).any(|value| self.1.is_match(value))
    }
}

impl Predicate for HeaderSha256 {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        let mut values = asked.headers.get_all(&self.0).iter();
        values.any(|value| {
            let hash: [u8; 32] = Sha256::digest(value.as_bytes()).into();
            self.1.contains(&hash)
        })
    }
}

impl Predicate for Cookie {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        asked
            .cookies(&self.0)
            .next()
            .is_some_and(|value| self.1.is_match(value))
    }
}

impl Predicate for QueryParam {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        let pairs = asked.query.split('&').filter(|pair| !pair.is_empty());
        let mut values = pairs.filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (uri::value(name) == self.0).then(|| uri::value(value))
        });
        values.any(|value| self.1.as_ref().is_none_or(|regexp| regexp.is_match(&value)))
    }
}
