//! The target of a request: its form, and the characters that clients send although no URI has them.

use bytes::Bytes;
use http::{Method, Uri};

use super::HeadLimits;
use crate::error::HeadError;

/// A target in any form. A fragment never goes over the wire (RFC 9110, section 4.1).
pub(super) fn read(target: Bytes, limits: &HeadLimits) -> Result<Uri, HeadError> {
    if target.len() > limits.target {
        return Err(HeadError::TargetTooLong);
    }
    if memchr::memchr(b'#', &target).is_some() {
        return Err(HeadError::Target);
    }
    let is_bare =
        memchr::memchr3(b'<', b'>', b'"', &target).is_some() || memchr::memchr(b'`', &target).is_some();
    let target = if is_bare { encoded(&target) } else { target };
    Uri::from_maybe_shared(target).map_err(|_| HeadError::Target)
}

/// Refuses a target in a form that its method does not have (RFC 9112, section 3.2).
pub(super) fn check_form(method: &Method, target: &Uri) -> Result<(), HeadError> {
    let has_form = if *method == Method::CONNECT {
        target.scheme().is_none() && target.authority().is_some()
    } else if target.path() == "*" {
        *method == Method::OPTIONS
    } else {
        target.path().starts_with('/') && target.scheme().is_some() == target.authority().is_some()
    };
    has_form.then_some(()).ok_or(HeadError::Target)
}

/// `target` with those characters percent-encoded that `Uri` does not take, where a path or a query has them. They have one
/// meaning, and simple clients send them: `?query=up{job="x"}`.
fn encoded(target: &Bytes) -> Bytes {
    let Some(path) = path_of(target) else {
        return target.clone();
    };
    let mut encoded = Vec::with_capacity(target.len() + 32);
    let mut in_query = false;
    for (at, byte) in target.iter().enumerate() {
        in_query |= at >= path && *byte == b'?';
        match byte {
            b'<' if at >= path => encoded.extend_from_slice(b"%3C"),
            b'>' if at >= path => encoded.extend_from_slice(b"%3E"),
            b'"' if in_query => encoded.extend_from_slice(b"%22"),
            b'`' if at >= path && !in_query => encoded.extend_from_slice(b"%60"),
            other => encoded.push(*other),
        }
    }
    encoded.into()
}

/// Where the path or the query begins, if the target has an authority that is none of them, or nothing else.
fn path_of(target: &[u8]) -> Option<usize> {
    if target.first() == Some(&b'/') {
        return Some(0);
    }
    let authority = memchr::memmem::find(target, b"://")? + 3;
    let rest = target.get(authority..)?;
    memchr::memchr2(b'/', b'?', rest).map(|at| authority + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(target: &'static str) -> Option<String> {
        read(Bytes::from_static(target.as_bytes()), &HeadLimits::default())
            .ok()
            .map(|uri| uri.to_string())
    }

    #[test]
    fn characters_of_one_meaning_are_encoded_in_paths_and_queries_alone() {
        for (target, wanted) in [
            (
                "/<a>/`b`?c=\"d\"&<e>&`f`",
                Some("/%3Ca%3E/%60b%60?c=%22d%22&%3Ce%3E&`f`"),
            ),
            ("/a\"b?", Some("/a\"b?")),
            ("/%3Ca>", Some("/%3Ca%3E")),
            ("http://a.test/<?<", Some("http://a.test/%3C?%3C")),
            ("http://a.test?<", Some("http://a.test/?%3C")),
            ("http://<a>.test/", None),
            ("http://a.test<", None),
            ("<", None),
            ("a.test`:80", None),
            ("/<#", None),
        ] {
            assert_eq!(reads(target).as_deref(), wanted, "{target}");
        }
    }
}
