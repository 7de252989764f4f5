//! One row for each case that the test-suite of doors-caddy has for a request, and for those that it lacks.

use doors_routing::{Decision, GoneReason, Router, is_system_path};
use doors_token::DecodeError;

use super::{decide, foreign_token, ip, pod, router, token};

/// A request, and where it must go.
struct Row {
    name: &'static str,
    /// The CIDRs of the servers.
    servers: &'static [&'static str],
    path: String,
    cookies: Vec<String>,
    want: Decision,
}

const ONE: &[&str] = &["10.0.0.0/24"];
const TWO: &[&str] = &["10.0.0.0/24", "10.0.1.0/24"];
const SIX: &[&str] = &["fd00:1::/64", "fd00:2::/64", "10.0.0.0/24"];
/// The second lies within the first, the third around both.
const OVERLAPPING: &[&str] = &["10.0.0.0/24", "10.0.0.128/25", "10.0.0.0/16"];
/// As above, the narrow one first.
const NESTED: &[&str] = &["10.0.0.128/25", "10.0.0.0/24", "10.0.0.0/16"];

const BAD_TEXT: Decision = Decision::Gone(GoneReason::Token(DecodeError::Base64));
const NOT_OURS: Decision = Decision::Gone(GoneReason::Token(DecodeError::Cipher));

fn row(
    name: &'static str,
    servers: &'static [&'static str],
    path: impl Into<String>,
    cookies: &[&str],
    want: Decision,
) -> Row {
    let cookies = cookies.iter().map(|line| (*line).to_owned()).collect();
    Row {
        name,
        servers,
        path: path.into(),
        cookies,
        want,
    }
}

fn check(rows: &[Row]) {
    for Row {
        name,
        servers,
        path,
        cookies,
        want,
    } in rows
    {
        let router = router(servers);
        let decision = router.decide(path, cookies.iter().map(String::as_bytes));
        assert_eq!(decision, *want, "{name}: {path} {cookies:?}");
        let system = matches!(decision, Decision::Pod { .. } | Decision::Gone(_));
        assert_eq!(is_system_path(path), system, "{name}: {path}");
    }
}

fn outside(address: &str) -> Decision {
    Decision::Gone(GoneReason::OutsideCidrs(ip(address)))
}

#[test]
#[rustfmt::skip] // a table: one row, one line
fn the_ten_handler_requests_of_doors_caddy() {
    let a = token("10.0.0.5");
    let b = token("10.0.1.5");
    let away = token("10.9.9.9");
    let cookie = format!("upstream={b}");
    let away_cookie = format!("upstream={away}");
    check(&[
        row("a token in the CIDR: to the pod", ONE, format!("/~/{a}/h/1"), &[], pod("10.0.0.5:8080", 0)),
        row("a bad token: gone", ONE, "/~/not-a-token/h/1", &[], BAD_TEXT),
        row("a token outside of the CIDR: gone", ONE, format!("/~/{away}/h/1"), &[], outside("10.9.9.9")),
        row("a long rest and a query: to the pod", ONE, format!("/~/{a}/u/x/a/b/c/d?q=/~/&r=1"), &[], pod("10.0.0.5:8080", 0)),
        row("a page, one server: to it", ONE, "/", &[], Decision::Server(0)),
        row("one server: the cookie is ignored", ONE, "/", &[&cookie], Decision::Server(0)),
        row("several, a good cookie: to its server", TWO, "/", &[&cookie], Decision::Server(1)),
        row("several, no cookie: to any", TWO, "/", &[], Decision::Any),
        row("several, a bad cookie: to any", TWO, "/", &["upstream=not-a-token"], Decision::Any),
        row("several, a cookie outside of the CIDRs: to any", TWO, "/", &[&away_cookie], Decision::Any),
    ]);
}

#[test]
#[rustfmt::skip] // a table: one row, one line
fn the_eight_helper_cases_of_doors_caddy() {
    let a = token("10.0.0.5");
    let b = token("10.0.1.5");
    let cookie = format!("a=b; upstream={b}; c=d");
    check(&[
        row("a token with a rest", TWO, format!("/~/{a}/rest"), &[], pod("10.0.0.5:8080", 0)),
        row("a token without a rest", TWO, format!("/~/{a}"), &[], pod("10.0.0.5:8080", 0)),
        row("the prefix alone", TWO, "/~/", &[], Decision::Any),
        row("an empty token", TWO, "/~//rest", &[], Decision::Any),
        row("another path", TWO, "/abc", &[], Decision::Any),
        row("the prefix without its slash", TWO, "/~", &[], Decision::Any),
        row("the cookie among others", TWO, "/", &[&cookie], Decision::Server(1)),
        row("other cookies only", TWO, "/", &["a=b; c=d"], Decision::Any),
    ]);
}

#[test]
#[rustfmt::skip] // a table: one row, one line
fn a_system_path_is_matched_as_if_it_were_decoded_once() {
    let a = token("10.0.0.5");
    let (first, rest) = a.split_at(1);
    let first = first.as_bytes()[0];
    let here = pod("10.0.0.5:8080", 0);
    check(&[
        row("PA-01 upper-case hex", TWO, format!("/%7E/{a}/x"), &[], here),
        row("PA-01 lower-case hex", TWO, format!("/%7e/{a}/x"), &[], here),
        row("an encoded character of the token", TWO, format!("/~/%{first:02x}{rest}/x"), &[], here),
        row("the same in upper case", TWO, format!("/%7E/%{first:02X}{rest}"), &[], here),
        row("PA-05 encoded twice", TWO, format!("/%257E/{a}/x"), &[], Decision::Any),
        row("PA-05 each digit encoded", TWO, format!("/%25%37%45/{a}/x"), &[], Decision::Any),
        row("a token encoded twice", TWO, format!("/~/%25{first:02x}{rest}/x"), &[], BAD_TEXT),
        row("PA-05 no hex digits", TWO, "/~/%zz/x", &[], BAD_TEXT),
        row("a cut escape", TWO, format!("/~/{a}%4"), &[], BAD_TEXT),
        row("a lone percent sign", TWO, "/~/%", &[], BAD_TEXT),
        row("PA-05 overlong UTF-8", TWO, "/~/%c0%af/x", &[], BAD_TEXT),
        row("PA-05 NUL", TWO, format!("/~/{a}%00/x"), &[], BAD_TEXT),
        row("a prefix in overlong UTF-8", TWO, format!("/%c1%be/{a}/x"), &[], Decision::Any),
    ]);
}

#[test]
#[rustfmt::skip] // a table: one row, one line
fn slashes_and_dots_of_every_kind_are_data() {
    let a = token("10.0.0.5");
    check(&[
        row("PA-03 an encoded slash behind the tilde", TWO, format!("/~%2F{a}/x"), &[], Decision::Any),
        row("PA-03 an encoded slash behind the token", TWO, format!("/~/{a}%2Fx"), &[], BAD_TEXT),
        row("PA-03 encoded slashes around the tilde", TWO, "/a%2F..%2F~/", &[], Decision::Any),
        row("an encoded slash in front", TWO, format!("%2F~/{a}/x"), &[], Decision::Any),
        row("PA-04 two slashes in front", TWO, format!("//~/{a}"), &[], Decision::Any),
        row("PA-04 two slashes behind the tilde", TWO, format!("/~//{a}"), &[], Decision::Any),
        row("PA-04 slashes only", TWO, "///", &[], Decision::Any),
        row("a backslash", TWO, format!("/~\\{a}"), &[], Decision::Any),
        row("a semicolon ends no segment", TWO, format!("/~/{a};x/y"), &[], BAD_TEXT),
        row("dot segments are resolved before, not here", TWO, format!("/x/../~/{a}"), &[], Decision::Any),
        row("PA-09 the prefix is exact", TWO, format!("/~~/{a}"), &[], Decision::Any),
        row("another tilde", TWO, format!("/\u{2dc}/{a}"), &[], Decision::Any),
        row("no path at all", TWO, "", &[], Decision::Any),
        row("a server-wide OPTIONS", TWO, "*", &[], Decision::Any),
        row("a query behind the prefix", TWO, "/~/?x", &[], Decision::Any),
        row("a query behind the token", TWO, format!("/~/{a}?x"), &[], pod("10.0.0.5:8080", 0)),
    ]);
}

#[test]
#[rustfmt::skip] // a table: one row, one line
fn only_pods_of_the_configured_networks_are_reached() {
    let path = |address| format!("/~/{}/x", token(address));
    check(&[
        row("PA-07 the loopback", TWO, path("127.0.0.1"), &[], outside("127.0.0.1")),
        row("PA-07 the metadata service", TWO, path("169.254.169.254"), &[], outside("169.254.169.254")),
        row("IPv6, where there is only IPv4", TWO, path("fd00:1::5"), &[], outside("fd00:1::5")),
        row("a token of another key", TWO, format!("/~/{}/x", foreign_token("10.0.0.5")), &[], NOT_OURS),
        row("an overlong token", TWO, format!("/~/{}/x", "A".repeat(5000)), &[], BAD_TEXT),
        row("an overlong token, encoded", TWO, format!("/~/{}/x", "%41".repeat(5000)), &[], BAD_TEXT),
    ]);
}

#[test]
#[rustfmt::skip] // a table: one row, one line
fn pods_have_ipv6_addresses_too() {
    let path = |address| format!("/~/{}/x", token(address));
    let cookie = format!("upstream={}", token("fd00:2::7"));
    check(&[
        row("a pod", SIX, path("fd00:1::5"), &[], pod("[fd00:1::5]:8080", 0)),
        row("a pod of the second server", SIX, path("fd00:2::5"), &[], pod("[fd00:2::5]:8080", 1)),
        row("an IPv4 pod beside them", SIX, path("10.0.0.5"), &[], pod("10.0.0.5:8080", 2)),
        row("a mapped address is IPv4", SIX, path("::ffff:10.0.0.5"), &[], pod("10.0.0.5:8080", 2)),
        row("a page", SIX, "/", &[&cookie], Decision::Server(1)),
    ]);
}

#[test]
#[rustfmt::skip] // a table: one row, one line
fn the_first_of_overlapping_networks_has_the_pod() {
    let path = |address| format!("/~/{}/x", token(address));
    check(&[
        row("in all three", OVERLAPPING, path("10.0.0.200"), &[], pod("10.0.0.200:8080", 0)),
        row("in the first and the widest", OVERLAPPING, path("10.0.0.5"), &[], pod("10.0.0.5:8080", 0)),
        row("in the widest only", OVERLAPPING, path("10.0.9.5"), &[], pod("10.0.9.5:8080", 2)),
        row("in all three, the narrow one first", NESTED, path("10.0.0.200"), &[], pod("10.0.0.200:8080", 0)),
        row("beside the narrow one", NESTED, path("10.0.0.5"), &[], pod("10.0.0.5:8080", 1)),
    ]);
}

#[test]
#[rustfmt::skip] // a table: one row, one line
fn the_affinity_cookie_is_the_first_of_its_name_that_decodes() {
    let (a, b) = (token("10.0.0.5"), token("10.0.1.5"));
    let away = token("10.9.9.9");
    let quoted = format!("upstream=\"{b}\"");
    let bad_first = format!("upstream=bad; upstream={b}");
    let bad_last = format!("upstream={b}; upstream=bad");
    let both = format!("upstream={b}; upstream={a}");
    let (line_a, line_b) = (format!("upstream={a}"), format!("upstream={b}"));
    let outside_first = format!("upstream={away}; upstream={b}");
    let foreign = format!("upstream={}", foreign_token("10.0.0.5"));
    check(&[
        row("CK-02 quotes are taken off", TWO, "/", &[&quoted], Decision::Server(1)),
        row("CK-03 a bad one first", TWO, "/", &[&bad_first], Decision::Server(1)),
        row("CK-03 a bad one last", TWO, "/", &[&bad_last], Decision::Server(1)),
        row("CK-03 two good ones", TWO, "/", &[&both], Decision::Server(1)),
        row("CK-03 two lines", TWO, "/", &[&line_a, &line_b], Decision::Server(0)),
        row("CK-03 two lines, a bad one first", TWO, "/", &["upstream=bad", &line_b], Decision::Server(1)),
        row("the first that decodes, though it leads nowhere", TWO, "/", &[&outside_first], Decision::Any),
        row("CK-05 a token of another key", TWO, "/", &[&foreign], Decision::Any),
        row("CK-05 a bad cookie beside a good system path", TWO, format!("/~/{a}/x"), &["upstream=bad"], pod("10.0.0.5:8080", 0)),
        row("a system path beats the cookie", TWO, format!("/~/{a}/x"), &[&line_b], pod("10.0.0.5:8080", 0)),
        row("a bad system path is not saved by the cookie", TWO, "/~/bad/x", &[&line_b], BAD_TEXT),
        row("CK-08 bytes that are no text", TWO, "/", &["upstream=\u{e9}\u{1}; \0=", &line_b], Decision::Server(1)),
    ]);
}

/// The servers left for a request of `method`, once the first choice did not connect.
fn left(router: &Router, decision: Decision, method: &str) -> Vec<usize> {
    router.alternatives(decision, method).collect()
}

#[test]
fn a_page_whose_pinned_server_is_down_goes_to_the_others() {
    let router = router(&["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"]);
    let cookie = format!("upstream={}", token("10.0.1.5"));
    let pinned = decide(&router, "/", &[&cookie]);
    assert_eq!(pinned, Decision::Server(1));

    assert_eq!(left(&router, pinned, "GET"), [0, 2]);
    assert_eq!(left(&router, pinned, "HEAD"), [0, 2]);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "get", ""] {
        assert_eq!(left(&router, pinned, method), [0_usize; 0], "{method}");
    }
}

#[test]
fn a_page_for_any_server_may_try_them_all_and_a_system_request_stays() {
    let router = router(TWO);
    assert_eq!(left(&router, Decision::Any, "GET"), [0, 1]);
    assert_eq!(left(&router, Decision::Any, "POST"), [0, 1]);
    let system = decide(&router, &format!("/~/{}/x", token("10.0.0.5")), &[]);
    assert_eq!(left(&router, system, "GET"), [0_usize; 0]);
    assert_eq!(left(&router, BAD_TEXT, "GET"), [0_usize; 0]);
}

#[test]
fn a_single_server_that_is_down_has_no_alternative() {
    let router = router(ONE);
    assert_eq!(left(&router, decide(&router, "/", &[]), "GET"), [0_usize; 0]);
}
