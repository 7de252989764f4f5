//! Where an answer sends a check. As in Go's client, whose rules Caddy follows, but for one thing: a check never leaves the
//! upstream that it is about, so only places on the host that was asked are followed.

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri};

use crate::body::Body;

/// The request that follows `request` after this answer; `None`: the answer is the last one.
pub(super) fn next(request: &Request<Bytes>, response: &Response<Body>) -> Option<Request<Bytes>> {
    let keeps = match response.status() {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => false,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        _ => return None,
    };
    let location = response.headers().get(header::LOCATION)?.to_str().ok()?;
    let host = request.headers().get(header::HOST).map(HeaderValue::as_bytes)?;
    let target = target(request.uri().path(), host, location)?;
    let mut next = request.clone();
    *next.uri_mut() = Uri::from(target);
    if !keeps {
        if *next.method() != Method::HEAD {
            *next.method_mut() = Method::GET;
        }
        *next.body_mut() = Bytes::new();
        next.headers_mut().remove(header::CONTENT_TYPE);
    }
    Some(next)
}

/// Path and query of `location`, seen from `path` of `host`.
fn target(path: &str, host: &[u8], location: &str) -> Option<PathAndQuery> {
    let location = location.split('#').next().unwrap_or_default();
    let rest = match location.split_once("://") {
        Some(("http" | "https", rest)) => Some(rest),
        Some((scheme, _)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => return None,
        _ => location.strip_prefix("//"),
    };
    let text = if let Some(rest) = rest {
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if !authority.as_bytes().eq_ignore_ascii_case(host) {
            return None;
        }
        match target {
            "" => "/".to_owned(),
            query if query.starts_with('?') => format!("/{query}"),
            target => target.to_owned(),
        }
    } else if location.starts_with('/') {
        location.to_owned()
    } else if location.starts_with('?') {
        format!("{path}{location}")
    } else {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        format!("{directory}/{location}")
    };
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str) -> Request<Bytes> {
        Request::builder()
            .method(method)
            .uri("/health/now?a=b")
            .header("host", "app.test:8080")
            .body(Bytes::from_static(b"body"))
            .unwrap()
    }

    fn followed(method: &str, status: u16, location: &str) -> Option<String> {
        let response = Response::builder()
            .status(status)
            .header("location", location)
            .body(Body::empty())
            .unwrap();
        let next = next(&request(method), &response)?;
        assert_eq!(next.headers()["host"], "app.test:8080");
        Some(format!("{} {} {}", next.method(), next.uri(), next.body().len()))
    }

    #[test]
    fn places_on_the_same_host_are_followed_and_no_others() {
        for (location, expected) in [
            ("/other", Some("GET /other 0")),
            ("/other?x#y", Some("GET /other?x 0")),
            ("then", Some("GET /health/then 0")),
            ("?x=y", Some("GET /health/now?x=y 0")),
            ("http://app.test:8080", Some("GET / 0")),
            ("https://APP.test:8080?x", Some("GET /?x 0")),
            ("//app.test:8080/x", Some("GET /x 0")),
            ("http://app.test/x", None),
            ("http://169.254.169.254/latest", None),
            ("//evil.test/x", None),
            ("http://app.test:8080@evil.test/", None),
            ("file:///etc/passwd", None),
            ("/a b", None),
        ] {
            assert_eq!(followed("GET", 302, location).as_deref(), expected, "{location}");
        }
    }

    #[test]
    fn the_method_is_kept_where_the_status_says_so() {
        for (method, status, expected) in [
            ("POST", 301, Some("GET /x 0")),
            ("POST", 303, Some("GET /x 0")),
            ("HEAD", 302, Some("HEAD /x 0")),
            ("POST", 307, Some("POST /x 4")),
            ("PUT", 308, Some("PUT /x 4")),
            ("GET", 300, None),
            ("GET", 304, None),
            ("GET", 200, None),
        ] {
            assert_eq!(
                followed(method, status, "/x").as_deref(),
                expected,
                "{method} {status}"
            );
        }
    }
}
