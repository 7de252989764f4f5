//! Path and query of a request, as filters read and change them.

use std::borrow::Cow;
use std::fmt::Write as _;

use http::Uri;
use http::uri::PathAndQuery;

use super::context::FilterContext;

// === impl FilterContext ===

impl FilterContext<'_> {
    /// The path, decoded once. What is no text when it is decoded stays encoded, and so do reserved characters if
    /// [`Exchange::keeps_reserved`](super::Exchange::keeps_reserved) says so.
    #[must_use]
    pub fn path(&self) -> Cow<'_, str> {
        self.decode_path(self.request.uri.path())
    }

    /// Gives the request another path. It is encoded from this text; a path that stays the same keeps its encoding.
    pub fn set_path(&mut self, path: &str) {
        if self.path() == path {
            return;
        }
        let encoded = self.encode_path(path);
        let query = self.request.uri.query().map(str::to_owned);
        self.set_target(&encoded, query.as_deref());
    }

    /// The first value of a parameter of the query, decoded.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<String> {
        let pairs = query_pairs(self.request.uri.query().unwrap_or_default());
        pairs
            .into_iter()
            .find_map(|(key, value)| (key == name).then_some(value))
    }

    /// All parameters of the query, decoded.
    #[must_use]
    pub fn query_pairs(&self) -> Vec<(String, String)> {
        query_pairs(self.request.uri.query().unwrap_or_default())
    }

    /// Gives the request another query: these parameters, sorted by their keys; none if there are none.
    pub fn set_query_pairs(&mut self, mut pairs: Vec<(String, String)>) {
        pairs.sort_by(|(left, _), (right, _)| left.cmp(right));
        let encoded = pairs
            .iter()
            .map(|(key, value)| format!("{}={}", encode_query(key), encode_query(value)));
        let encoded = encoded.collect::<Vec<_>>().join("&");
        self.set_raw_query(Some(encoded.as_str()).filter(|query| !query.is_empty()));
    }

    /// Gives the request another query as it stands. Bytes that no query has are encoded.
    pub fn set_raw_query(&mut self, query: Option<&str>) {
        let path = self.request.uri.path().to_owned();
        let query = query.map(|query| {
            encode(query, |byte| {
                is_unreserved(byte) || b"!$&'()*+,;=:@/?%".contains(&byte)
            })
        });
        self.set_target(&path, query.as_deref());
    }

    /// Another path, decoded as that of the request.
    pub(super) fn decode_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let decoded = decode(path, |byte| self.exchange.keeps_reserved && is_kept(byte));
        decoded.unwrap_or(Cow::Borrowed(path))
    }

    /// The way back.
    pub(super) fn encode_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        if self.exchange.keeps_reserved {
            Cow::Owned(encode_path_but_reserved(path))
        } else {
            encode_path(path)
        }
    }

    fn set_target(&mut self, path: &str, query: Option<&str>) {
        let path = if path.starts_with('/') || path == "*" {
            Cow::Borrowed(path)
        } else {
            Cow::Owned(format!("/{path}"))
        };
        let target = match query {
            Some(query) => format!("{path}?{query}"),
            None => path.into_owned(),
        };
        // What was encoded is valid, unless it became too long by that.
        match target.parse::<PathAndQuery>() {
            Ok(target) => self.request.uri = Uri::from(target),
            Err(_) => self.exchange.target_too_long = true,
        }
    }
}

fn query_pairs(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.filter_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decode_query(key)?, decode_query(value)?))
    });
    pairs.collect()
}

fn decode_query(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    decode(&spaced, |_| false).map(Cow::into_owned)
}

/// Decodes `%XX` but of the bytes that `stays` says yes to; `None` for what is no text.
fn decode(text: &str, stays: impl Fn(u8) -> bool) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let byte = digit(bytes.next()?)? << 4 | digit(bytes.next()?)?;
        if stays(byte) {
            decoded.extend(format!("%{byte:02X}").bytes());
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

/// The reserved characters of RFC 2396, section 2.2, and the percent sign: otherwise one could not tell what stands for
/// them.
fn is_kept(byte: u8) -> bool {
    b";/?:@&=+$,%".contains(&byte)
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// What may stand in a path (RFC 3986, section 3.3) stays, as in Go's net/url but for `!'()*`, which that encodes.
fn encode_path(path: &str) -> Cow<'_, str> {
    encode(path, |byte| {
        is_unreserved(byte) || b"$&+,/:;=@!'()*".contains(&byte)
    })
}

/// The same for a path in which reserved characters are encoded where they do not mean what they are reserved for.
fn encode_path_but_reserved(path: &str) -> String {
    let mut parts = path.split('%');
    let mut encoded = encode_path(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let kept = part.split_at_checked(2).and_then(|(digits, rest)| {
            let byte = u8::from_str_radix(digits, 16).ok()?;
            is_kept(byte).then(|| (digits.to_ascii_uppercase(), rest))
        });
        let (begin, rest) = kept.unwrap_or_else(|| ("25".to_owned(), part));
        encoded.push('%');
        encoded.push_str(&begin);
        encoded.push_str(&encode_path(rest));
    }
    encoded
}

fn encode_query(text: &str) -> String {
    encode(text, |byte| is_unreserved(byte) || byte == b' ').replace(' ', "+")
}

pub(super) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

pub(super) fn encode(text: &str, stays: impl Fn(u8) -> bool) -> Cow<'_, str> {
    if text.bytes().all(&stays) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(text.len().saturating_add(16));
    for byte in text.bytes() {
        if stays(byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _infallible = write!(encoded, "%{byte:02X}");
        }
    }
    Cow::Owned(encoded)
}

#[cfg(test)]
mod tests {
    use crate::filters::trial::Trial;

    #[test]
    fn a_path_keeps_its_encoding_until_it_is_changed() {
        let mut trial = Trial::get("/a%2Fb?x=1");
        assert_eq!(trial.cx(false).path(), "/a/b");
        trial.cx(false).set_path("/a/b");
        assert_eq!(trial.target(), "/a%2Fb?x=1");
        trial.cx(false).set_path("/ä ?#%2F");
        assert_eq!(trial.target(), "/%C3%A4%20%3F%23%252F?x=1");
        trial.cx(false).set_path("a");
        assert_eq!(trial.target(), "/a?x=1");
    }

    #[test]
    fn reserved_characters_stay_encoded_if_they_shall() {
        let mut trial = Trial::get("/a%2fb%25%20");
        trial.exchange.keeps_reserved = true;
        assert_eq!(trial.cx(false).path(), "/a%2Fb%25 ");
        trial.cx(false).set_path("/%2F%20%%25x%3");
        assert_eq!(trial.target(), "/%2F%2520%25%25x%253");
    }

    #[test]
    fn a_query_that_is_set_is_sorted() {
        let mut trial = Trial::get("/?b=1+2&a=%26&=x&c");
        let mut pairs = trial.cx(false).query_pairs();
        assert_eq!(pairs.len(), 4);
        pairs.push(("a".to_owned(), "\u{e4}".to_owned()));
        trial.cx(false).set_query_pairs(pairs);
        assert_eq!(trial.target(), "/?=x&a=%26&a=%C3%A4&b=1+2&c=");
        trial.cx(false).set_query_pairs(Vec::new());
        assert_eq!(trial.target(), "/");
        trial.cx(false).set_raw_query(Some("a b#\u{e4}"));
        assert_eq!(trial.target(), "/?a%20b%23%C3%A4");
    }
}
