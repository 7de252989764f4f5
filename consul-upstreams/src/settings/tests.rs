//! Addresses, defaults, and the environment.

use std::collections::HashMap;

use super::*;

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

#[test]
fn addresses_have_a_scheme_a_host_and_perhaps_a_path() {
    for (text, base) in [
        ("", "http://127.0.0.1:8500/"),
        (" ", "http://127.0.0.1:8500/"),
        ("http://consul.test", "http://consul.test/"),
        (
            "https://consul.test:8501/prefix/",
            "https://consul.test:8501/prefix/",
        ),
        ("consul.test:8500", "http://consul.test:8500/"),
        ("127.0.0.1:8500", "http://127.0.0.1:8500/"),
        ("http://[::1]:8500", "http://[::1]:8500/"),
    ] {
        let address = address(text);
        assert_eq!(
            (address.base.as_str(), &address.place),
            (base, &Place::Network),
            "{text}"
        );
    }
    assert_eq!(
        address("unix:///run/c.sock").place,
        Place::Socket("/run/c.sock".to_owned())
    );
}

#[test]
fn addresses_that_are_none_are_refused_without_being_shown() {
    for text in [
        "ftp://secret",
        "x://secret",
        "tcp://secret:1",
        "unix://",
        "http://",
        "http://a b",
        "http://secret:secret@a",
        "http://secret@a",
        "http://a?secret",
        "http://a#secret",
        "https://:8500",
        "a:99999",
        "HTTP2://x",
    ] {
        let problem = Address::parse(text).unwrap_err();
        assert!(!problem.contains("secret"), "{text}");
    }
}

#[test]
fn nothing_stands_for_the_defaults() {
    let settings = Settings {
        refresh: Duration::ZERO,
        timeout: Duration::ZERO,
        ..Settings::default()
    };
    let checked = settings.checked().unwrap();
    assert_eq!(checked.refresh, Duration::from_secs(60));
    assert_eq!(checked.timeout, Duration::from_secs(5));
    assert_eq!(checked.grace, Duration::ZERO);
    assert_eq!(checked.address.base.as_str(), "http://127.0.0.1:8500/");
}

#[test]
fn all_that_is_wrong_is_said_with_its_name() {
    let settings = Settings {
        address: Some("ftp://a".to_owned()),
        refresh: Duration::MAX,
        locality: Some(Locality {
            node_meta: " ".to_owned(),
            local_value: String::new(),
            minimum: 1,
        }),
        token: Some("two words".into()),
        tag: Some(String::new()),
        tls: Tls {
            client_key: Some("key.pem".into()),
            ..Tls::default()
        },
        ..Settings::default()
    };
    let error = settings.check().unwrap_err();
    let fields: Vec<_> = error.errors().iter().map(SettingError::field).collect();
    assert_eq!(
        fields,
        [
            "refresh",
            "locality.node_meta",
            "locality.local_value",
            "tls",
            "token",
            "tag",
            "address"
        ]
    );
    assert!(!error.to_string().contains("two words"));
    assert!(!format!("{settings:?}").contains("two words"));
}

fn filled(mut settings: Settings, variables: &[(&str, &str)]) -> Settings {
    let all: HashMap<_, _> = variables.iter().copied().collect();
    settings
        .fill_in(&|name| all.get(name).map(|value| (*value).to_owned()))
        .unwrap();
    settings
}

#[test]
fn the_environment_fills_in_what_is_not_set() {
    let all = [
        ("CONSUL_HTTP_ADDR", "consul.test:8501"),
        ("CONSUL_HTTP_TOKEN", "t"),
        ("CONSUL_HTTP_TOKEN_FILE", "/t"),
        ("CONSUL_HTTP_AUTH", "u:p"),
        ("CONSUL_HTTP_SSL", "true"),
        ("CONSUL_HTTP_SSL_VERIFY", "0"),
        ("CONSUL_CACERT", "/ca.pem"),
        ("CONSUL_CAPATH", "/ca"),
        ("CONSUL_CLIENT_CERT", "/c.pem"),
        ("CONSUL_CLIENT_KEY", "/k.pem"),
        ("CONSUL_TLS_SERVER_NAME", "server.dc1.consul"),
        ("CONSUL_NAMESPACE", "ns"),
        ("CONSUL_PARTITION", "p"),
    ];
    let settings = filled(Settings::default(), &all);
    assert_eq!(settings.address.as_deref(), Some("https://consul.test:8501"));
    assert_eq!(settings.token, Some("t".into()));
    assert_eq!(settings.token_file, Some("/t".into()));
    assert_eq!(settings.basic_auth, Some("u:p".into()));
    assert_eq!(settings.namespace.as_deref(), Some("ns"));
    assert_eq!(settings.partition.as_deref(), Some("p"));
    assert_eq!(
        settings.tls,
        Tls {
            ca: Some("/ca.pem".into()),
            ca_path: Some("/ca".into()),
            client_cert: Some("/c.pem".into()),
            client_key: Some("/k.pem".into()),
            server_name: Some("server.dc1.consul".to_owned()),
            insecure: true,
        }
    );

    let own = Settings {
        address: Some("http://own".to_owned()),
        token_file: Some("/own".into()),
        namespace: Some("own".to_owned()),
        ..Settings::default()
    };
    let settings = filled(own, &all);
    assert_eq!(settings.address.as_deref(), Some("http://own"), "its scheme wins");
    assert_eq!((settings.token, settings.token_file), (None, Some("/own".into())));
    assert_eq!(settings.namespace.as_deref(), Some("own"));
}

#[test]
fn empty_variables_are_none_and_bad_ones_are_named() {
    let settings = filled(
        Settings::default(),
        &[("CONSUL_HTTP_TOKEN", ""), ("CONSUL_HTTP_SSL", "")],
    );
    assert_eq!(settings, Settings::default());
    let settings = filled(Settings::default(), &[("CONSUL_HTTP_SSL", "1")]);
    assert_eq!(settings.address.as_deref(), Some("https://127.0.0.1:8500"));
    let error = Settings::default()
        .fill_in(&|name| (name == "CONSUL_HTTP_SSL").then(|| "yes".to_owned()))
        .unwrap_err();
    assert_eq!(error.field(), "CONSUL_HTTP_SSL");
}
