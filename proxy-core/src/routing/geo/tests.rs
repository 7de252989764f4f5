//! Redirects by country, as the requests of a proxy have them.

use std::time::UNIX_EPOCH;

use caddy_config::Placeholder;
use doors_routing::RedirectScheme;
use geo_db::{CountryCode, Table};

use super::*;
use crate::geo::{Asking, Terms};
use crate::routing::matcher::Matcher;
use crate::routing::slots::Slots;
use crate::routing::template::{Template, Unknown};
use crate::routing::tests::context;

/// Knows one network: that of the clients of [`context`].
fn source(country: Option<&[u8; 2]>) -> Arc<Source> {
    let source = Source::new(None);
    if let Some(code) = country.and_then(|code| CountryCode::from_bytes(*code)) {
        let table = Table::new([("192.0.2.0/24".parse().unwrap(), code)]).unwrap();
        source.database.replace(table, "test", UNIX_EPOCH);
    }
    Arc::new(source)
}

fn geo(country: Option<&[u8; 2]>) -> Geo {
    Geo {
        redirects: GeoRedirects::try_new(
            [("eu.test", ["DE"]), ("us.test", ["US"])],
            RedirectScheme::Request,
        )
        .unwrap(),
        status: StatusCode::TEMPORARY_REDIRECT,
        source: source(country),
        counts: Arc::new(Counts::new(1)),
    }
}

fn location(cx: &mut Context) -> Option<String> {
    let response = geo(Some(b"DE")).run(cx)?;
    Some(response.headers()[header::LOCATION].to_str().unwrap().to_owned())
}

fn with(field: &'static str, value: &'static str) -> Context {
    let mut cx = context("GET", "http://a.test/x");
    cx.parts.headers.insert(field, HeaderValue::from_static(value));
    cx
}

#[test]
fn a_redirect_is_for_one_visitor_and_keeps_the_fields_set_before() {
    let mut cx = context("GET", "http://a.test/a//b?c=%2f");
    cx.answer.insert("x-set", HeaderValue::from_static("1"));
    let response = geo(Some(b"DE")).run(&mut cx).unwrap();
    let field = |name: &str| response.headers()[name].to_str().unwrap();
    assert_eq!(response.status(), 307);
    assert_eq!(
        ["location", "cache-control", "vary", "x-set"].map(field),
        ["http://eu.test/a//b?c=%2f", "no-store", "*", "1"]
    );
}

#[test]
fn a_request_that_passes_keeps_the_fields_set_before() {
    for country in [None, Some(b"AT")] {
        let mut cx = context("GET", "http://a.test/");
        cx.answer.insert("x-set", HeaderValue::from_static("1"));
        assert!(geo(country).run(&mut cx).is_none());
        assert_eq!(cx.answer["x-set"], "1");
    }
}

#[test]
fn without_data_or_address_every_request_passes() {
    let reason = |geo: &Geo, cx: &Context| match geo.decide(cx) {
        GeoDecision::Pass(reason) => Some(reason),
        GeoDecision::Redirect(_) => None,
    };
    let mut cx = context("GET", "http://a.test/");
    assert_eq!(reason(&geo(None), &cx), Some(PassReason::NoData));
    cx.client_ip = "198.51.100.1".parse().ok();
    assert_eq!(reason(&geo(Some(b"DE")), &cx), Some(PassReason::UnknownCountry));
    cx.client_ip = None;
    assert_eq!(reason(&geo(Some(b"DE")), &cx), Some(PassReason::NoAddress));
}

#[test]
fn the_scheme_of_a_request_is_what_a_trusted_proxy_says() {
    for (trusted, tls, told, want) in [
        (true, false, "https", "https"),
        (true, false, "HTTPS, http", "https"),
        (true, true, "http", "http"),
        (false, false, "https", "http"),
        (false, true, "http", "https"),
    ] {
        let mut cx = with("x-forwarded-proto", told);
        (cx.via_trusted_proxy, cx.tls) = (trusted, tls);
        assert_eq!(
            location(&mut cx),
            Some(format!("{want}://eu.test/x")),
            "{trusted} {tls} {told}"
        );
    }
    let mut cx = context("GET", "http://a.test/x");
    (cx.via_trusted_proxy, cx.tls) = (true, true);
    assert_eq!(location(&mut cx).as_deref(), Some("https://eu.test/x"));
}

#[test]
fn upgrades_pass() {
    let mut cx = with("upgrade", "websocket");
    assert!(location(&mut cx).is_some(), "it is not asked for in Connection");
    cx.parts.headers.insert(
        header::CONNECTION,
        HeaderValue::from_static("keep-alive, Upgrade"),
    );
    assert_eq!(location(&mut cx), None);
}

#[test]
fn a_rewrite_is_not_what_the_visitor_asked_for() {
    let rewritten = |method: &str, to: &'static str| {
        let mut cx = context(method, "http://a.test/old?q");
        cx.rewrite(Some(Method::GET), Some(to.parse().unwrap()));
        location(&mut cx)
    };
    assert_eq!(rewritten("GET", "/new").as_deref(), Some("http://eu.test/old?q"));
    assert_eq!(rewritten("POST", "/new"), None);
    assert_eq!(rewritten("GET", "/~/token/x"), None);
}

#[test]
fn placeholders_and_matchers_ask_the_same_database() {
    let asking = Asking::new(source(Some(b"DE")), Terms::default());
    assert!(asking.clone().asked().is_none());
    let mut slots = Slots::new(Default::default(), asking.clone());
    let template = Template::new(&"in {geo.country}.".parse().unwrap(), Unknown::Kept, &mut slots);
    assert!(asking.asked().is_some());

    let mut cx = context("GET", "http://a.test/");
    let matcher = |code: &[u8; 2]| Matcher::GeoCountry([*b"AT", *code].into(), slots.countries().unwrap());
    assert_eq!(template.render(&cx), "in DE.");
    assert!(matcher(b"DE").matches(&mut cx).unwrap() && !matcher(b"FR").matches(&mut cx).unwrap());
    cx.client_ip = "198.51.100.1".parse().ok();
    assert_eq!(template.render(&cx), "in .");
    assert!(!matcher(b"DE").matches(&mut cx).unwrap());
    assert_eq!("geo.country".parse(), Ok(Placeholder::GeoCountry));
}
