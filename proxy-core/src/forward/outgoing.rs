//! From the request that came in to the one that goes out, and the same for responses.

use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Response, StatusCode, Version};

use crate::body::Body;
use crate::error::{Failure, Reason};
use crate::http::connection::Connection;
use crate::http::forwarded::{Added, Client};
use crate::http::hop_by_hop;
use crate::http::marks::Marks;
use crate::http::upgrade::Wanted;

/// Rewrites the head for the upstream: hop-by-hop fields go. Gives the forwarding fields that come beside it, if it is to
/// be told of `client`; whoever sends it frames the body.
pub(crate) fn prepare(
    parts: &mut Parts,
    connection: &Connection,
    client: Option<&Client>,
    host: Option<&HeaderValue>,
    upgrade: Option<&Wanted>,
    marks: Marks,
) -> Added {
    let headers = &mut parts.headers;
    hop_by_hop::strip_request(headers, marks);
    if marks.any(Marks::COOKIE) {
        join_cookies(headers);
    }
    let added = match client {
        Some(client) => Added::to(headers, connection, client, host, marks, parts.version),
        None => Added::default(),
    };
    if marks.any(Marks::TE) && headers.contains_key(header::TE) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("TE"));
    }
    if let Some(upgrade) = upgrade {
        upgrade.ask(headers);
    }
    parts.version = Version::HTTP_11;
    added
}

/// Checks that an answer is one, of either version of HTTP, and removes its hop-by-hop fields.
pub(crate) fn check_response(response: &mut Response<Body>, upgrade: Option<&Wanted>) -> Result<(), Failure> {
    let status = response.status();
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return match upgrade {
            Some(wanted) if wanted.is_granted_by(response.headers()) => {
                hop_by_hop::strip_response(response.headers_mut());
                wanted.say(response.headers_mut());
                Ok(())
            }
            _ => Err(bad("a 101 that nobody asked for")),
        };
    }
    if status.as_u16() > 599 {
        return Err(bad("a status above 599"));
    }
    let headers = response.headers_mut();
    if status == StatusCode::NO_CONTENT {
        headers.remove(header::CONTENT_LENGTH);
    }
    hop_by_hop::strip_response(headers);
    Ok(())
}

/// An upstream's fields come beside those that were set on the way in, and behind those of the same name.
pub(crate) fn add_to(fields: &mut HeaderMap, mut set: HeaderMap) {
    if set.keys().all(|name| !fields.contains_key(name)) {
        return fields.extend(set);
    }
    for (name, value) in &*fields {
        set.append(name, value.clone());
    }
    *fields = set;
}

/// HTTP/2 clients may send each cookie as a field of its own; HTTP/1.1 knows one field (RFC 9113, 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let mut crumbs = headers.get_all(header::COOKIE).iter();
    let (Some(first), Some(second)) = (crumbs.next(), crumbs.next()) else {
        return;
    };
    let mut joined = first.as_bytes().to_vec();
    for crumb in std::iter::once(second).chain(crumbs) {
        joined.extend_from_slice(b"; ");
        joined.extend_from_slice(crumb.as_bytes());
    }
    if let Ok(value) = HeaderValue::from_maybe_shared(bytes::Bytes::from(joined)) {
        headers.insert(header::COOKIE, value);
    }
}

fn bad(what: &'static str) -> Failure {
    Failure::from(Reason::BadResponse).with_source(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, headers: &[(&str, &str)]) -> Result<HeaderMap, Reason> {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let mut response = response.body(Body::empty()).unwrap();
        check_response(&mut response, None).map_err(|failure| failure.reason)?;
        Ok(response.headers().clone())
    }

    #[test]
    fn answers_that_are_none_are_refused() {
        assert_eq!(
            response(101, &[("upgrade", "x")]).unwrap_err(),
            Reason::BadResponse
        );
        assert_eq!(response(700, &[]).unwrap_err(), Reason::BadResponse);
    }

    #[test]
    fn an_answer_without_content_has_no_length() {
        assert!(response(204, &[("content-length", "5")]).unwrap().is_empty());
    }

    #[test]
    fn fields_of_one_name_stay_in_their_order() {
        let map = |fields: &[(&'static str, &'static str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in fields {
                map.append(*name, HeaderValue::from_static(value));
            }
            map
        };
        for (theirs, set, name, values) in [
            (
                &[("a", "1")][..],
                &[("b", "2"), ("b", "3")][..],
                "b",
                &["2", "3"][..],
            ),
            (&[("a", "1"), ("a", "2")], &[("a", "3")], "a", &["3", "1", "2"]),
            (&[("a", "1"), ("a", "2")], &[("b", "3")], "a", &["1", "2"]),
        ] {
            let mut fields = map(theirs);
            add_to(&mut fields, map(set));
            assert_eq!(fields.get_all(name).iter().collect::<Vec<_>>(), values);
            assert_eq!(fields.len(), theirs.len() + set.len());
        }
    }

    #[test]
    fn cookie_crumbs_are_joined() {
        let mut headers = HeaderMap::new();
        for crumb in ["a=1", "b=2", "c=3"] {
            headers.append("cookie", HeaderValue::from_static(crumb));
        }
        join_cookies(&mut headers);
        assert_eq!(
            headers.get_all("cookie").iter().collect::<Vec<_>>(),
            ["a=1; b=2; c=3"]
        );
    }
}
