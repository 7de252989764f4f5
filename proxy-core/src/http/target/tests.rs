//! Heads that are let through, brought into form, and refused.

use http::Request;

use super::*;

/// As for a head that nobody has looked at.
fn check(parts: &mut Parts) -> Result<Asks, Rejection> {
    super::check(parts, false)
}

fn parts(method: &str, target: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn status(method: &str, target: &str, headers: &[(&str, &str)]) -> u16 {
    match check(&mut parts(method, target, headers)) {
        Ok(_) => 200,
        Err(rejection) => rejection.status.as_u16(),
    }
}

#[test]
fn a_bad_host_is_refused() {
    let long = "a".repeat(256);
    let bad = [
        "u@a", "a/b", "a, b", "a b", "a?x", "a#x", "a:99999", "a:0", "a:1:2", "a:x", "[::1", "[::1].",
        "[::1]x", "..", ".", "a..b", "", "a*", &long,
    ];
    for host in bad {
        assert_eq!(status("GET", "/", &[("host", host)]), 400, "{host:?}");
    }
    for host in [
        "a",
        "a.test",
        "a.test:80",
        "a.test.",
        "a.test:",
        "127.0.0.1:8080",
        "[::1]",
        "[::1]:443",
    ] {
        assert_eq!(status("GET", "/", &[("host", host)]), 200, "{host:?}");
    }
}

#[test]
fn http_1_1_needs_exactly_one_host() {
    assert_eq!(status("GET", "/", &[]), 400);
    assert_eq!(status("GET", "/", &[("host", "a"), ("host", "a")]), 400);
}

#[test]
fn http_1_0_may_come_without_host() {
    let mut parts = parts("GET", "/", &[]);
    parts.version = Version::HTTP_10;
    assert_eq!(check(&mut parts), Ok(Asks::Resource(None)));
}

#[test]
fn an_absolute_target_names_the_host_and_becomes_a_path() {
    let mut parts = parts("GET", "http://b.test/x?y", &[("host", "a.test")]);
    assert_eq!(
        check(&mut parts),
        Ok(Asks::Resource(Some(HeaderValue::from_static("b.test"))))
    );
    assert_eq!(parts.uri.to_string(), "/x?y");
    assert_eq!(parts.headers["host"], "b.test");
}

#[test]
fn targets_of_other_forms_are_refused() {
    assert_eq!(status("GET", "admin", &[("host", "a")]), 400);
    assert_eq!(status("GET", "a:80", &[("host", "a")]), 400);
    assert_eq!(status("GET", "ftp://a/x", &[("host", "a")]), 400);
    assert_eq!(status("GET", "http://u@a/x", &[("host", "a")]), 400);
    assert_eq!(status("GET", "*", &[("host", "a")]), 400);
    assert_eq!(status("CONNECT", "a:443", &[("host", "a")]), 405);
    assert_eq!(
        status("GET", &format!("/{}", "a".repeat(9000)), &[("host", "a")]),
        414
    );
    assert_eq!(status("GET", "/a%00", &[("host", "a")]), 400);
}

#[test]
fn options_asterisk_asks_the_proxy() {
    assert_eq!(
        check(&mut parts("OPTIONS", "*", &[("host", "a")])),
        Ok(Asks::Server)
    );
}

#[test]
fn http2_host_and_authority_must_agree() {
    for (host, expected) in [("a.test", true), ("A.test", true), ("b.test", false)] {
        let mut parts = parts("GET", "https://a.test/x", &[("host", host)]);
        parts.version = Version::HTTP_2;
        assert_eq!(check(&mut parts).is_ok(), expected, "{host}");
    }
}

#[test]
fn only_one_final_chunked_is_a_transfer_coding() {
    let cases = [
        ("chunked", 200),
        ("Chunked", 200),
        ("gzip, chunked", 501),
        ("xyz, chunked", 501),
        ("chunked, chunked", 400),
        ("identity, chunked", 400),
        (",chunked", 400),
        ("chunked,", 400),
        ("gzip", 400),
    ];
    for (coding, expected) in cases {
        assert_eq!(
            status("POST", "/", &[("host", "a"), ("transfer-encoding", coding)]),
            expected,
            "{coding}"
        );
    }
    let lines = [
        ("host", "a"),
        ("transfer-encoding", "identity"),
        ("transfer-encoding", "chunked"),
    ];
    assert_eq!(status("POST", "/", &lines), 400);
}

#[test]
fn lengths_are_forwarded_as_one_plain_number() {
    let mut parts = parts(
        "POST",
        "/",
        &[
            ("host", "a"),
            ("content-length", "005"),
            ("content-length", "005"),
        ],
    );
    check(&mut parts).unwrap();
    let lengths: Vec<_> = parts.headers.get_all("content-length").iter().collect();
    assert_eq!(lengths, ["5"]);
}

#[test]
fn unknown_expectations_fail() {
    for (expect, expected) in [
        ("100-continue", 200),
        ("100-Continue", 200),
        ("y 100-continue", 417),
        ("200-ok", 417),
    ] {
        assert_eq!(
            status("POST", "/", &[("host", "a"), ("expect", expect)]),
            expected,
            "{expect}"
        );
    }
}

#[test]
fn names_that_alias_forwarding_fields_are_dropped() {
    let mut parts = parts(
        "GET",
        "/",
        &[
            ("host", "a"),
            ("x_forwarded_for", "6.6.6.6"),
            ("x.real.ip", "1"),
            ("x-ok", "1"),
        ],
    );
    check(&mut parts).unwrap();
    assert!(
        parts
            .headers
            .keys()
            .all(|name| ["host", "x-ok"].contains(&name.as_str()))
    );
}

#[test]
fn a_query_is_kept_byte_for_byte() {
    let mut parts = parts("GET", "/a/../b?x=%2e./../&&=", &[("host", "a")]);
    check(&mut parts).unwrap();
    assert_eq!(parts.uri.to_string(), "/b?x=%2e./../&&=");
}
