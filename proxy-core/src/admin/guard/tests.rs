//! What Caddy 2.11.7 answers to each head, with the same endpoint.

use http::Request;

use super::*;

fn guard(listen: &str, port: u16, admin: &Admin) -> Guard {
    Guard::new(admin, &listen.parse().unwrap(), port)
}

/// What becomes of a GET with these fields: the origin that is allowed, or why it is refused.
fn ask(guard: &Guard, fields: &[(&str, &str)]) -> Result<Option<String>, Refusal> {
    let mut request = Request::get("/config/");
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let answer = guard.check(&request.body(()).unwrap().into_parts().0)?;
    let origin = answer.get(header::ACCESS_CONTROL_ALLOW_ORIGIN);
    Ok(origin.map(|origin| origin.to_str().unwrap().to_owned()))
}

const HERE: (&str, &str) = ("host", "localhost:2019");

#[test]
fn only_names_of_the_loopback_interface_are_hosts_of_a_loopback_endpoint() {
    for listen in ["localhost:2019", "127.0.0.1:2019", "[::1]:2019"] {
        let guard = guard(listen, 2019, &Admin::default());
        for host in ["localhost:2019", "127.0.0.1:2019", "[::1]:2019", "LOCALHOST:2019"] {
            assert_eq!(ask(&guard, &[("host", host)]), Ok(None), "{host}");
        }
        for host in [
            "localhost",
            "evil.com:2019",
            "localhost.:2019",
            "127.0.0.2:2019",
            "",
        ] {
            assert_eq!(
                ask(&guard, &[("host", host)]),
                Err(Refusal::Host(host.to_owned()))
            );
        }
    }
    let other = guard("127.0.0.2:2019", 2019, &Admin::default());
    assert_eq!(ask(&other, &[("host", "127.0.0.2:2019")]), Ok(None));
}

#[test]
fn the_port_is_the_one_that_the_system_chose() {
    let guard = guard("localhost:0", 40_000, &Admin::default());
    assert_eq!(ask(&guard, &[("host", "localhost:40000")]), Ok(None));
    assert!(ask(&guard, &[("host", "localhost:0")]).is_err());
}

#[test]
fn hosts_are_free_where_the_endpoint_is_everywhere_or_a_socket() {
    for listen in [":2019", "0.0.0.0:2019", "[::]:2019", "unix//run/admin.sock"] {
        let guard = guard(listen, 2019, &Admin::default());
        assert_eq!(ask(&guard, &[("host", "evil.com")]), Ok(None));
        assert_eq!(
            ask(&guard, &[("host", "a"), ("origin", "http://localhost:2019")]),
            Err(Refusal::Origin("http://localhost:2019".to_owned()))
        );
        assert_eq!(
            ask(&guard, &[("host", "a"), ("sec-fetch-mode", "cors")]),
            Err(Refusal::Origin(String::new()))
        );
    }
}

#[test]
fn what_only_browsers_send_is_looked_at_first() {
    let guard = guard("localhost:2019", 2019, &Admin::default());
    for (field, refusal) in [
        (("upgrade", "websocket"), Refusal::WebSocket),
        (("upgrade", "WebSocket"), Refusal::WebSocket),
        (("sec-fetch-mode", "no-cors"), Refusal::NoCors),
        (("origin", "null"), Refusal::NullOrigin),
    ] {
        assert_eq!(ask(&guard, &[("host", "evil.com"), field]), Err(refusal));
    }
}

#[test]
fn a_page_must_be_of_an_allowed_origin() {
    let guard = guard("localhost:2019", 2019, &Admin::default());
    for (origin, allowed) in [
        ("http://localhost:2019", "http://localhost:2019"),
        ("https://localhost:2019", "https://localhost:2019"),
        ("http://127.0.0.1:2019/x", "http://127.0.0.1:2019"),
        ("http://LOCALHOST:2019", "http://LOCALHOST:2019"),
        ("http://user@localhost:2019", "http://user@localhost:2019"),
        ("http://localhost:2019?x", "http://localhost:2019"),
    ] {
        assert_eq!(
            ask(&guard, &[HERE, ("origin", origin)]),
            Ok(Some(allowed.to_owned()))
        );
        let by_referer = [HERE, ("sec-fetch-mode", "cors"), ("referer", origin)];
        assert_eq!(ask(&guard, &by_referer), Ok(Some(allowed.to_owned())));
    }
    for origin in [
        "http://localhost",
        "http://evil",
        "localhost:2019",
        "",
        "http://localhost:2019@evil",
        "http://localhost:2019.evil",
        "http://evil/localhost:2019",
        "http://evil#@localhost:2019",
    ] {
        let expected = Err(Refusal::Origin(origin.to_owned()));
        assert_eq!(ask(&guard, &[HERE, ("origin", origin)]), expected);
    }
    for origin in ["::bad", "http://evil\\@localhost:2019/"] {
        assert_eq!(ask(&guard, &[HERE, ("origin", origin)]), Err(Refusal::BadOrigin));
    }
    assert_eq!(
        ask(&guard, &[HERE, ("referer", "http://evil/")]),
        Ok(None),
        "not a page's"
    );
    for mode in ["cors", "navigate", ""] {
        let refusal = Refusal::Origin(String::new());
        assert_eq!(ask(&guard, &[HERE, ("sec-fetch-mode", mode)]), Err(refusal));
    }
}

#[test]
fn configured_origins_replace_those_that_follow_from_the_address() {
    let origins = ["foo.com", "http://bar.com:81", "https://baz", "http://z/path"].map(str::to_owned);
    let admin = Admin {
        origins: origins.to_vec(),
        ..Admin::default()
    };
    let guard = guard("localhost:2019", 2019, &admin);
    for host in ["foo.com", "bar.com:81", "baz", "z"] {
        assert_eq!(ask(&guard, &[("host", host)]), Ok(None), "{host}");
    }
    assert!(ask(&guard, &[HERE]).is_err());
    let from = |origin| ask(&guard, &[("host", "foo.com"), ("origin", origin)]).is_ok();
    for origin in [
        "http://foo.com",
        "https://foo.com",
        "ftp://foo.com",
        "http://bar.com:81",
        "https://baz",
        "http://z",
    ] {
        assert!(from(origin), "{origin}");
    }
    for origin in ["https://bar.com:81", "http://baz", "foo.com", "http://x:1"] {
        assert!(!from(origin), "{origin}");
    }
}

#[test]
fn an_enforced_origin_must_be_sent_by_everybody() {
    let admin = Admin {
        enforce_origin: true,
        ..Admin::default()
    };
    let guard = guard("localhost:2019", 2019, &admin);
    assert_eq!(ask(&guard, &[HERE]), Err(Refusal::Origin(String::new())));
    assert!(ask(&guard, &[HERE, ("origin", "http://localhost:2019")]).is_ok());
    assert!(ask(&guard, &[HERE, ("referer", "http://localhost:2019/a")]).is_ok());
    assert!(ask(&guard, &[HERE, ("referer", "http://evil/a")]).is_err());
    let both = [
        HERE,
        ("origin", "http://evil"),
        ("referer", "http://localhost:2019/a"),
    ];
    assert!(ask(&guard, &both).is_err());
}

#[test]
fn a_preflight_is_told_what_it_may_send() {
    let guard = guard("localhost:2019", 2019, &Admin::default());
    let request = Request::options("/load")
        .header("host", "localhost:2019")
        .header("origin", "http://localhost:2019");
    let answer = guard.check(&request.body(()).unwrap().into_parts().0).unwrap();
    assert_eq!(answer.get("access-control-allow-methods"), Some(&METHODS));
    assert_eq!(answer.get("access-control-allow-headers"), Some(&HEADERS));
    assert_eq!(answer.get("access-control-allow-credentials"), Some(&CREDENTIALS));
}

#[test]
fn the_host_in_the_target_counts_before_the_field() {
    let guard = guard("localhost:2019", 2019, &Admin::default());
    let head = |target: &str, host: &str| {
        let request = Request::get(target).header("host", host).body(()).unwrap();
        guard.check(&request.into_parts().0)
    };
    assert!(head("http://localhost:2019/config/", "evil").is_ok());
    assert!(head("http://evil/config/", "localhost:2019").is_err());
}
