//! Forms of addresses.

use super::{Address, Ports, Scheme, covers, is_public, qualifies_for_certificate};

fn parts(text: &str) -> (Scheme, String, Option<u16>, String) {
    let Address {
        scheme,
        host,
        port,
        path,
    } = Address::parse(text).unwrap();
    (scheme, host, port, path)
}

#[test]
fn an_address_is_taken_apart() {
    use Scheme::{Http, Https, None as No};
    let cases = [
        ("Example.COM", (No, "example.com", None, "")),
        ("http://a:8080/x*", (Http, "a", Some(8080), "/x*")),
        ("https://", (Https, "", None, "")),
        (":80", (No, "", Some(80), "")),
        ("a:", (No, "a", None, "")),
        ("[::1]:80", (No, "::1", Some(80), "")),
        ("[0:0::1]", (No, "::1", None, "")),
        ("::1", (No, "::1", None, "")),
        ("*.a.b", (No, "*.a.b", None, "")),
        ("/only", (No, "", None, "/only")),
        ("BÜCHER.example:80", (No, "xn--bcher-kva.example", Some(80), "")),
        ("http://A{env.Host}B", (Http, "a{env.Host}b", None, "")),
    ];
    for (text, (scheme, host, port, path)) in cases {
        assert_eq!(
            parts(text),
            (scheme, host.to_owned(), port, path.to_owned()),
            "{text}"
        );
    }
}

#[test]
fn what_is_no_address_says_why() {
    let cases = [
        ("ws://a", "the scheme ws:// is not one of a site"),
        ("unix://a", "the scheme unix:// is not one of a site"),
        ("a:x", "the port is not a number from 0 to 65535"),
        ("a:65536", "the port is not a number from 0 to 65535"),
        ("a:+1", "the port is not a number from 0 to 65535"),
        ("b\u{ad}\u{fc}.xn--\u{fc}", "this is not an address of a site"),
        ("{a", "this is not an address of a site"),
        ("a b", "this is not an address of a site"),
        ("a@b", "this is not an address of a site"),
    ];
    for (text, expected) in cases {
        assert_eq!(Address::parse(text).unwrap_err().0, expected, "{text}");
    }
}

#[test]
fn the_port_follows_from_the_scheme_and_must_go_with_it() {
    let ports = Ports { http: 80, https: 443 };
    let port = |text: &str| Address::parse(text).unwrap().listen_port(ports);
    assert_eq!(port("a"), Ok(443));
    assert_eq!(port("http://a"), Ok(80));
    assert_eq!(port("https://a"), Ok(443));
    assert_eq!(port("a:80"), Ok(80));
    assert!(port("http://a:443").is_err() && port("https://a:80").is_err());
}

#[test]
fn wildcards_and_placeholders_make_a_host_no_narrower() {
    let specificity = |text: &str| Address::parse(text).unwrap().host_specificity();
    assert_eq!(specificity("*.ab"), 3);
    assert_eq!(specificity("a{env.H}b{env.I}"), 2);
    assert_eq!(specificity("{env.H}"), 0);
}

#[test]
fn wildcards_cover_their_names() {
    for (wide, name) in [
        ("a.b", "a.b"),
        ("*.b", "a.b"),
        ("*.*", "a.b"),
        ("*.b.c", "a.b.c"),
        ("*.*.c", "a.b.c"),
    ] {
        assert!(covers(wide, name), "{wide} {name}");
    }
    for (wide, name) in [("*", "a.b"), ("a.*", "a.b"), ("*.c", "a.b.c"), ("b", "a.b")] {
        assert!(!covers(wide, name), "{wide} {name}");
    }
}

#[test]
fn names_are_public_internal_or_none() {
    for name in ["example.com", "*.example.com", "a", "*"] {
        assert!(is_public(name) && qualifies_for_certificate(name), "{name}");
    }
    for name in [
        "localhost",
        "a.localhost",
        "b.local",
        "c.internal",
        "d.home.arpa",
        "10.0.0.1",
        "::1",
        "*.*.a",
    ] {
        assert!(!is_public(name), "{name}");
    }
    for name in [".a", "a.", "a.*.b", "a$b"] {
        assert!(!qualifies_for_certificate(name), "{name}");
    }
}
