//! One row for each case that the test-suite of doors-caddy has for a redirect by country, and for those that it lacks.

use doors_routing::{GeoDecision, GeoError, GeoRedirects, GeoRequest, Located, PassReason, RedirectScheme};

use RedirectScheme::{Http, Https, Request};

const DE: Located = Located::In(*b"DE");
const US: Located = Located::In(*b"US");

/// A page of the main site that is asked for over TLS.
const PAGE: GeoRequest<'static> = GeoRequest {
    method: "GET",
    target: "/",
    host: "example.com",
    is_https: true,
    is_upgrade: false,
};

fn redirects(scheme: RedirectScheme) -> GeoRedirects {
    let domains = [
        ("eu.example.com", vec!["DE", "fr"]),
        ("local.example.com:8443", vec!["AT"]),
        ("Nl.Example.com.", vec!["NL"]),
    ];
    GeoRedirects::try_new(domains, scheme).unwrap()
}

/// Where the request is sent, or why it passes.
fn decided(scheme: RedirectScheme, request: GeoRequest<'_>, located: Located) -> Result<String, PassReason> {
    match redirects(scheme).decide(&request, || located) {
        GeoDecision::Redirect(redirect) => Ok(redirect.location()),
        GeoDecision::Pass(reason) => Err(reason),
    }
}

fn sent(target: &str) -> Result<String, PassReason> {
    decided(Https, GeoRequest { target, ..PAGE }, DE)
}

fn to(location: &str) -> Result<String, PassReason> {
    Ok(location.to_owned())
}

#[test]
fn the_requests_of_doors_caddy() {
    let at = |host| GeoRequest { host, ..PAGE };
    let plain = GeoRequest {
        is_https: false,
        ..PAGE
    };
    // Which address is the client's is the caller's business: four of the ten are about nothing else.
    let rows = [
        (
            "path and query over TLS",
            decided(
                Request,
                GeoRequest {
                    target: "/a?b=c",
                    ..PAGE
                },
                DE,
            ),
            to("https://eu.example.com/a?b=c"),
        ),
        (
            "already there",
            decided(Https, at("eu.example.com"), DE),
            Err(PassReason::AtHome(*b"DE")),
        ),
        (
            "a country without a domain",
            decided(Https, PAGE, US),
            Err(PassReason::NoSite(*b"US")),
        ),
        (
            "an address of no country",
            decided(Https, PAGE, Located::Unknown),
            Err(PassReason::UnknownCountry),
        ),
        (
            "without TLS",
            decided(Request, plain, DE),
            to("http://eu.example.com/"),
        ),
        (
            "with TLS",
            decided(Request, PAGE, DE),
            to("https://eu.example.com/"),
        ),
        (
            "no address that could be read",
            decided(Https, PAGE, Located::NoAddress),
            Err(PassReason::NoAddress),
        ),
        (
            "a deep path and several parameters",
            sent("/a/b/c/d?x=1&y=2&x=3"),
            to("https://eu.example.com/a/b/c/d?x=1&y=2&x=3"),
        ),
    ];
    for (name, decided, want) in rows {
        assert_eq!(decided, want, "{name}");
    }
}

#[test]
fn what_passes_before_anybody_asks_for_a_country() {
    let target = |target| GeoRequest { target, ..PAGE };
    let method = |method| GeoRequest { method, ..PAGE };
    let rows = [
        (target("/~/token/s/1?x=1"), PassReason::System),
        (target("/%7e/token"), PassReason::System),
        (
            GeoRequest {
                method: "POST",
                ..target("/~/token/h/1")
            },
            PassReason::System,
        ),
        (method("HEAD"), PassReason::Method),
        (method("POST"), PassReason::Method),
        (method("get"), PassReason::Method),
        (target("/.well-known/acme-challenge/token"), PassReason::Acme),
        (
            GeoRequest {
                is_upgrade: true,
                ..PAGE
            },
            PassReason::Upgrade,
        ),
    ];
    for (request, want) in rows {
        let table = redirects(Https);
        let decision = table.decide(&request, || panic!("nobody asks where {request:?} comes from"));
        assert!(
            matches!(decision, GeoDecision::Pass(reason) if reason == want),
            "{request:?}: {decision:?}"
        );
    }
    assert_eq!(decided(Https, PAGE, Located::NoData), Err(PassReason::NoData));
    for page in ["/~", "/~/", "/~//x", "/.well-known/security.txt"] {
        assert_eq!(sent(page), to(&format!("https://eu.example.com{page}")));
    }
}

#[test]
fn the_scheme_is_https_unless_the_configuration_says_otherwise() {
    let plain = GeoRequest {
        is_https: false,
        ..PAGE
    };
    assert_eq!(decided(Https, plain, DE), to("https://eu.example.com/"));
    assert_eq!(decided(Http, PAGE, DE), to("http://eu.example.com/"));
    assert_eq!(RedirectScheme::default(), Https);
}

#[test]
fn hosts_that_mean_the_same_are_not_sent_there_again() {
    let at = |host, country: &[u8; 2]| decided(Https, GeoRequest { host, ..PAGE }, Located::In(*country));
    for host in [
        "EU.example.COM",
        "eu.example.com.",
        "eu.example.com:8443",
        "eu.example.com.:80",
        "eu.example.com:",
    ] {
        assert_eq!(at(host, b"DE"), Err(PassReason::AtHome(*b"DE")), "{host}");
    }
    for host in [
        "local.example.com",
        "local.example.com:8443",
        "LOCAL.example.com.:1",
    ] {
        assert_eq!(at(host, b"AT"), Err(PassReason::AtHome(*b"AT")), "{host}");
    }
    assert_eq!(at("nl.example.com", b"NL"), Err(PassReason::AtHome(*b"NL")));
    for host in [
        "",
        "example.com",
        "xeu.example.com",
        "eu.example.com.evil.test",
        "[::1]:80",
    ] {
        assert_eq!(at(host, b"DE"), to("https://eu.example.com/"), "{host}");
    }
    assert_eq!(at("example.com", b"AT"), to("https://local.example.com:8443/"));
}

#[test]
fn no_path_leaves_the_domain() {
    // GE-08
    let rows = [
        ("//evil.test", "https://eu.example.com//evil.test"),
        ("/\\evil.test", "https://eu.example.com/%5Cevil.test"),
        ("\\\\evil.test", "https://eu.example.com/%5C%5Cevil.test"),
        ("@evil.test", "https://eu.example.com/@evil.test"),
        (".evil.test", "https://eu.example.com/.evil.test"),
        (":80@evil.test/", "https://eu.example.com/:80@evil.test/"),
        ("", "https://eu.example.com/"),
        (
            "/a%0d%0aSet-Cookie:x=1",
            "https://eu.example.com/a%0d%0aSet-Cookie:x=1",
        ),
        (
            "/a\r\nSet-Cookie:x=1",
            "https://eu.example.com/a%0D%0ASet-Cookie:x=1",
        ),
        ("/a b\u{7f}\u{e9}#c", "https://eu.example.com/a%20b%7F%C3%A9%23c"),
        ("/a%2Fb/%zz?q=%2f&r", "https://eu.example.com/a%2Fb/%zz?q=%2f&r"),
        ("/?", "https://eu.example.com/?"),
    ];
    for (target, want) in rows {
        assert_eq!(sent(target), to(want), "{target:?}");
    }
}

#[test]
fn what_is_no_map_of_countries_is_refused() {
    let built = |domains: Vec<(&str, Vec<&str>)>| GeoRedirects::try_new(domains, Https).map(|_| ());
    let rows = [
        (vec![], GeoError::NoDomain),
        (vec![("a.test", vec![])], GeoError::NoCountry("a.test".to_owned())),
        (vec![("a.test", vec!["DEU"])], GeoError::Country("DEU".to_owned())),
        (vec![("a.test", vec!["D1"])], GeoError::Country("D1".to_owned())),
        (
            vec![("a.test", vec!["\u{e9}"])],
            GeoError::Country("\u{e9}".to_owned()),
        ),
        (
            vec![("a.test", vec!["DE"]), ("b.test", vec!["de"])],
            GeoError::TwoDomains("DE".to_owned()),
        ),
        (
            vec![("a.test", vec!["DE", "DE"])],
            GeoError::TwoDomains("DE".to_owned()),
        ),
        (vec![("", vec!["DE"])], GeoError::Domain(String::new())),
        (
            vec![("a.test/x", vec!["DE"])],
            GeoError::Domain("a.test/x".to_owned()),
        ),
        (
            vec![("a@b.test", vec!["DE"])],
            GeoError::Domain("a@b.test".to_owned()),
        ),
    ];
    for (domains, want) in rows {
        assert_eq!(built(domains), Err(want));
    }
}

#[test]
fn every_country_has_the_domain_that_lists_it() {
    let table = redirects(Https);
    let domains: Vec<_> = ["DE", "FR", "AT", "NL", "US", "ZZ"]
        .map(|code| table.domain(code.as_bytes().try_into().unwrap()))
        .to_vec();
    let eu = Some("eu.example.com");
    assert_eq!(
        domains,
        [
            eu,
            eu,
            Some("local.example.com:8443"),
            Some("Nl.Example.com."),
            None,
            None
        ]
    );
    // What is no code has no domain.
    assert_eq!(table.domain(*b"de"), None);
    assert_eq!(table.domain([0, 0xff]), None);
}
