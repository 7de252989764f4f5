//! What follows from the name that a connection is opened for: its policy, its certificate, and the hosts that may be
//! asked for over it.

use rustls::pki_types::CertificateDer;

use super::{client_auth, rig, site, sites};
use crate::support::h2_client::H2;
use crate::support::identity::Identity;
use crate::support::rig::{Rig, options};
use crate::support::tls::Client;

/// What a listener shows to a client that asks for `name`.
async fn shown(rig: &Rig, name: &str) -> Option<CertificateDer<'static>> {
    let stream = Client::new().connect(rig.addr(), name).await.ok()?;
    let chain = stream.get_ref().1.peer_certificates()?;
    Some(chain[0].clone())
}

fn is_for(certificate: Option<&CertificateDer<'_>>, name: &str) -> bool {
    certificate.is_some_and(|der| String::from_utf8_lossy(der).contains(name))
}

/// Two sites on one listener; the first one asks for certificates.
fn guarded(directives: &str) -> [String; 2] {
    let mode = client_auth("\t\t\tmode require");
    [
        site("guarded.test", &mode, &format!("{directives}\trespond guarded")),
        site("open.test", "", &format!("{directives}\trespond open")),
    ]
}

#[tokio::test]
async fn a_host_that_the_connection_was_not_opened_for_is_misdirected() {
    let rig = rig(&guarded(""));
    let (anybody, known) = (Client::new(), Client::new().showing(&Identity::of_its_own("me")));
    assert!(
        anybody
            .ask(rig.addr(), "guarded.test", "guarded.test")
            .await
            .is_err()
    );
    for (client, name, host, status) in [
        (&known, "guarded.test", "guarded.test", 200),
        (&known, "guarded.test", "GUARDED.test:443", 200),
        (&known, "guarded.test", "open.test", 421),
        (&anybody, "open.test", "open.test", 200),
        (&anybody, "open.test", "guarded.test", 421),
        (&anybody, "open.test", "guarded.test.", 421),
        (&anybody, "open.test", "unknown.test", 421),
        // One that connects to an address sends no name.
        (&anybody, "127.0.0.1", "guarded.test", 421),
        (&anybody, "127.0.0.1", "127.0.0.1", 421),
    ] {
        let (answer, _) = client.ask(rig.addr(), name, host).await.unwrap();
        assert_eq!(answer.head.status(), status, "{host} by {name}");
        let expected = name
            .strip_suffix(".test")
            .filter(|_| status == 200)
            .unwrap_or_default();
        assert_eq!(
            String::from_utf8_lossy(&answer.body),
            expected,
            "{host} by {name}"
        );
    }
}

#[tokio::test]
async fn a_misdirected_stream_of_http2_leaves_the_others_alone() {
    let rig = rig(&guarded(""));
    let client = Client::new().alpn(&[b"h2"]);
    let stream = client.connect(rig.addr(), "open.test").await.unwrap();
    let mut h2 = H2::over(stream, "https://open.test".to_owned()).await;
    assert_eq!(h2.get("/").await.body, b"open");
    let other = http::Request::get("https://guarded.test/").body(()).unwrap();
    let answer = h2.open(other, true).await.answer().await;
    assert_eq!((answer.status.as_u16(), answer.body), (421, Vec::new()));
    assert_eq!(h2.get("/").await.body, b"open");
}

#[tokio::test]
async fn strictness_can_be_said_and_routes_for_errors_see_it() {
    let lax = "\tservers {\n\t\tstrict_sni_host insecure_off\n\t}\n";
    let rig = Rig::caddyfile(&sites(lax, &guarded("")));
    let (answer, _) = Client::new()
        .ask(rig.addr(), "open.test", "guarded.test")
        .await
        .unwrap();
    assert_eq!(answer.body, b"guarded", "asked for");

    let strict = "\tservers {\n\t\tstrict_sni_host on\n\t}\n";
    let errors = "\thandle_errors {\n\t\trespond \"no: {err.status_code}\"\n\t}\n\trespond yes";
    let all = ["a.test", "b.test"].map(|host| site(host, "", errors));
    let rig = Rig::caddyfile(&sites(strict, &all));
    let (answer, _) = Client::new().ask(rig.addr(), "a.test", "a.test").await.unwrap();
    assert_eq!(answer.body, b"yes");
    let (answer, _) = Client::new().ask(rig.addr(), "a.test", "b.test").await.unwrap();
    assert_eq!((answer.head.status(), &*answer.body), (421, &b"no: 421"[..]));

    let plain = Rig::caddyfile(&sites("", &all));
    let (answer, _) = Client::new().ask(plain.addr(), "a.test", "b.test").await.unwrap();
    assert_eq!(answer.body, b"yes", "not strict by itself");
}

#[tokio::test]
async fn default_and_fallback_names_choose_a_certificate() {
    let all = ["a.test", "b.test", "c.test"].map(|host| site(host, "", ""));
    let options = "\tdefault_sni b.test\n\tfallback_sni c.test\n";
    let rig = Rig::caddyfile(&sites(options, &all));
    for (name, expected) in [
        ("a.test", "a.test"),
        ("127.0.0.1", "b.test"),
        ("unknown.test", "c.test"),
    ] {
        assert!(is_for(shown(&rig, name).await.as_ref(), expected), "{name}");
    }
    let rig = Rig::caddyfile(&sites("\tdefault_sni b.test\n", &all));
    assert!(is_for(shown(&rig, "127.0.0.1").await.as_ref(), "b.test"));
    assert_eq!(shown(&rig, "unknown.test").await, None);
}

#[tokio::test]
async fn the_default_name_brings_the_policy_of_its_site() {
    let rig = Rig::caddyfile(&sites("\tdefault_sni guarded.test\n", &guarded("")));
    let anybody = Client::new().ask(rig.addr(), "127.0.0.1", "guarded.test").await;
    assert!(anybody.is_err(), "a certificate is asked for");
}

#[tokio::test]
async fn a_name_that_no_policy_is_for_is_refused() {
    let text = r#"{"admin": {"disabled": true}, "apps": {
        "http": {"servers": {"s": {
            "listen": ["127.0.0.1:0"],
            "automatic_https": {"disable_redirects": true},
            "routes": [{"match": [{"host": ["a.test", "b.test"]}], "handle": [{"handler": "static_response", "body": "hi"}]}],
            "tls_connection_policies": [{"match": {"sni": ["a.test"]}}]
        }}},
        "tls": {"automation": {"policies": [{"issuers": [{"module": "internal"}]}]}}
    }}"#;
    let config = caddy_config::from_json("config.json", text).unwrap();
    let proxy = proxy_core::Proxy::build(&config, &options()).unwrap();
    let addr = proxy.addresses()[0];
    let stop = tokio_util::sync::CancellationToken::new();
    let running = tokio::spawn(proxy.run(stop.clone()));
    let client = Client::new();
    assert!(client.ask(addr, "a.test", "a.test").await.is_ok());
    for name in ["b.test", "127.0.0.1"] {
        assert!(client.connect(addr, name).await.is_err(), "{name}");
    }
    stop.cancel();
    assert!(running.await.unwrap().drained);
}
