//! What a configuration may say: the cases of doors-caddy that are not about a file's syntax, and more.

use doors_routing::{ConfigError, Router, UpstreamBlock, UpstreamError};
use doors_token::{KeyError, TokenCipher};

use super::{block, cipher};

fn cookie(name: &str) -> Option<String> {
    Some(name.to_owned())
}

fn parse(pod_cidr: &str, host: &str, port: &str) -> Result<UpstreamBlock, Vec<UpstreamError>> {
    UpstreamBlock::parse(pod_cidr, host, port)
}

fn errors(cookie_name: Option<String>, blocks: Vec<UpstreamBlock>) -> Vec<ConfigError> {
    Router::try_new(cipher(), cookie_name, blocks)
        .unwrap_err()
        .into_iter()
        .collect()
}

#[test]
fn a_full_configuration_is_taken_in_its_order() {
    let blocks = vec![
        parse("10.0.0.0/24", "svc.namespace.svc.cluster.local", "8080").unwrap(),
        parse("fd00:1::9/64", "[fd00::1]", "65535").unwrap(),
    ];
    let router = Router::try_new(cipher(), cookie("upstream"), blocks).unwrap();
    let servers: Vec<_> = router
        .servers()
        .iter()
        .map(|server| (server.pod_cidr().to_string(), server.host(), server.port()))
        .collect();
    assert_eq!(
        servers,
        [
            ("10.0.0.0/24".to_owned(), "svc.namespace.svc.cluster.local", 8080),
            ("fd00:1::/64".to_owned(), "[fd00::1]", 65535),
        ]
    );
    assert!(router.warnings().is_empty());
}

#[test]
fn an_upstream_is_needed() {
    assert_eq!(errors(None, vec![]), [ConfigError::NoUpstream]);
    assert_eq!(errors(cookie("upstream"), vec![]), [ConfigError::NoUpstream]);
}

#[test]
fn one_upstream_needs_no_cookie_name_and_two_do() {
    assert!(Router::try_new(cipher(), None, vec![block("10.0.0.0/24")]).is_ok());
    assert!(Router::try_new(cipher(), cookie("upstream"), vec![block("10.0.0.0/24")]).is_ok());
    let two = vec![block("10.0.0.0/24"), block("10.0.1.0/24")];
    assert_eq!(errors(None, two.clone()), [ConfigError::CookieNameMissing]);
    assert!(Router::try_new(cipher(), cookie("upstream"), two).is_ok());
}

#[test]
fn a_cookie_name_is_a_token_even_where_it_is_not_needed() {
    for name in [
        "",
        " ",
        "up stream",
        "up=stream",
        "up;stream",
        "\"up\"",
        "up,",
        "über",
        "up\r\n",
        "a/b",
        "a@b",
    ] {
        let error = errors(cookie(name), vec![block("10.0.0.0/24")]);
        assert_eq!(error, [ConfigError::CookieName(name.to_owned())]);
    }
    for name in ["upstream", "__Host-up", "a!#$%&'*+-.^_`|~9"] {
        assert!(
            Router::try_new(cipher(), cookie(name), vec![block("10.0.0.0/24")]).is_ok(),
            "{name}"
        );
    }
}

#[test]
fn whatever_is_missing_is_named() {
    assert_eq!(parse("", "h", "1"), Err(vec![UpstreamError::CidrMissing]));
    assert_eq!(
        parse("10.0.0.0/24", "", "1"),
        Err(vec![UpstreamError::HostMissing])
    );
    assert_eq!(
        parse("10.0.0.0/24", "h", ""),
        Err(vec![UpstreamError::PortMissing])
    );
    assert_eq!(
        parse("", "", ""),
        Err(vec![
            UpstreamError::CidrMissing,
            UpstreamError::HostMissing,
            UpstreamError::PortMissing
        ])
    );
}

#[test]
fn a_port_is_a_whole_number_from_1_to_65535() {
    for port in [
        "-1",
        "0",
        "65536",
        "+80",
        "080",
        "8o8o",
        "80.0",
        " 80",
        "99999999999999999999",
        "http",
    ] {
        assert_eq!(
            parse("10.0.0.0/24", "h", port),
            Err(vec![UpstreamError::Port(port.to_owned())])
        );
    }
    assert_eq!(parse("10.0.0.0/24", "h", "1").unwrap().port, 1);
    assert_eq!(parse("10.0.0.0/24", "h", "65535").unwrap().port, 65535);
}

#[test]
fn a_cidr_is_an_address_and_a_prefix_in_canonical_digits() {
    for cidr in [
        "10.0.0.0",
        "10.0.0.0/",
        "/24",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/024",
        "10.0.0.0/+24",
        "10.0.0/24",
        "010.0.0.0/8",
        "10.0.0.0/24/1",
        "10.0.0.0/255.255.255.0",
        "fd00::/129",
        "fe80::1%eth0/64",
        "fe80::/64%eth0",
        " 10.0.0.0/24",
        "10.0.0.0 /24",
        "pods",
        "[fd00::]/64",
    ] {
        assert_eq!(
            parse(cidr, "h", "80"),
            Err(vec![UpstreamError::Cidr(cidr.to_owned())])
        );
    }
    for cidr in [
        "10.0.0.7/24",
        "0.0.0.0/0",
        "10.0.0.7/32",
        "::/0",
        "fd00::7/64",
        "::ffff:10.0.0.0/120",
    ] {
        assert!(parse(cidr, "h", "80").is_ok(), "{cidr}");
    }
}

#[test]
fn a_host_is_a_name_or_an_address_without_a_port() {
    for host in [
        "h:80",
        "10.0.0.1:80",
        "[fd00::1]:80",
        "http://h",
        "h/x",
        "a b",
        "h\n",
        "user@h",
        "[h]",
        "*.h",
        "h?",
    ] {
        assert_eq!(
            parse("10.0.0.0/24", host, "80"),
            Err(vec![UpstreamError::Host(host.to_owned())])
        );
    }
    for host in [
        "localhost",
        "svc-2.ns.svc.cluster.local.",
        "10.0.0.1",
        "fd00::1",
        "[fd00::1]",
        "my_svc",
        "dör.test",
    ] {
        assert!(parse("10.0.0.0/24", host, "80").is_ok(), "{host}");
    }
}

#[test]
fn a_bad_secret_never_gets_as_far_as_a_router() {
    assert_eq!(TokenCipher::new("not base64").unwrap_err(), KeyError::Base64);
    assert_eq!(TokenCipher::new("").unwrap_err(), KeyError::Length { bytes: 0 });
    assert_eq!(TokenCipher::with_secrets([]).unwrap_err(), KeyError::Missing);
}

#[test]
fn all_errors_come_at_once_and_in_order() {
    let bad = UpstreamBlock {
        pod_cidr: "10.0.0.0/24".parse().unwrap(),
        host: "a b".to_owned(),
        port: 0,
    };
    let errors = Router::try_new(cipher(), None, vec![block("10.0.0.0/24"), bad]).unwrap_err();
    let at = |error| ConfigError::Upstream { index: 1, error };
    assert_eq!(
        errors[..],
        [
            ConfigError::CookieNameMissing,
            at(UpstreamError::Host("a b".to_owned())),
            at(UpstreamError::Port("0".to_owned())),
        ]
    );
    assert_eq!(
        errors.to_string(),
        "a cookie name is needed with more than one upstream\n\
         upstream 2: \"a b\" is neither a host name nor an address (the port has its own setting)\n\
         upstream 2: \"0\" is no port (1 to 65535)"
    );
}

#[test]
fn a_router_shows_no_key_and_serves_many_threads() {
    fn shared<T: Send + Sync + 'static>(_: &T) {}
    let router = Router::try_new(cipher(), None, vec![block("10.0.0.0/24")]).unwrap();
    shared(&router);
    let text = format!("{router:?}");
    assert!(
        text.contains("keys: [Aes256]") && !text.contains("0123456789"),
        "{text}"
    );
}
