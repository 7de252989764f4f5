//! Versions, cipher suites, groups and protocols: what is spoken, and what is refused when it is configured.

use rustls::crypto::aws_lc_rs::{cipher_suite, kx_group};
use rustls::version::{TLS12, TLS13};

use super::{refused, rig, site, sites};
use crate::support::h2_client::H2;
use crate::support::rig::{HOST, Rig, get};
use crate::support::tls::Client;
use crate::support::wire::End;

fn with(tls: &str) -> Rig {
    rig(&[site(HOST, &format!("\t\t{tls}"), "\trespond hi")])
}

#[tokio::test]
async fn only_the_versions_that_are_named_are_spoken() {
    for (tls, expected) in [
        ("protocols tls1.2", [true, true]),
        ("protocols tls1.3", [false, true]),
        ("protocols tls1.2 tls1.2", [true, false]),
    ] {
        let rig = with(tls);
        for (version, expected) in [&TLS12, &TLS13].into_iter().zip(expected) {
            let connected = Client::new().version(version).connect(rig.addr(), HOST).await;
            assert_eq!(connected.is_ok(), expected, "{tls} and {version:?}");
        }
    }
}

#[tokio::test]
async fn of_the_old_cipher_suites_only_those_that_are_named_are_on_offer() {
    let rig = with("ciphers TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256");
    let (named, other) = (
        cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    );
    let both = Client::new().version(&TLS12).suites(&[other, named]);
    let stream = both.connect(rig.addr(), HOST).await.unwrap();
    let chosen = stream
        .get_ref()
        .1
        .negotiated_cipher_suite()
        .map(|suite| suite.suite());
    assert_eq!(chosen, Some(named.suite()));
    let without = Client::new().version(&TLS12).suites(&[other]);
    assert!(without.connect(rig.addr(), HOST).await.is_err());
    assert!(
        Client::new()
            .version(&TLS13)
            .connect(rig.addr(), HOST)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn only_the_groups_that_are_named_are_on_offer() {
    for (tls, group) in [
        ("curves secp384r1", kx_group::SECP384R1),
        ("curves x25519mlkem768 x25519", kx_group::X25519MLKEM768),
    ] {
        let rig = with(tls);
        let all = Client::new().groups(&[kx_group::SECP256R1, group]);
        let stream = all.connect(rig.addr(), HOST).await.unwrap();
        let chosen = stream
            .get_ref()
            .1
            .negotiated_key_exchange_group()
            .map(|group| group.name());
        assert_eq!(chosen, Some(group.name()), "{tls}");
        let other = Client::new().groups(&[kx_group::SECP256R1]);
        assert!(other.connect(rig.addr(), HOST).await.is_err(), "{tls}");
    }
}

#[tokio::test]
async fn protocols_are_agreed_on_in_the_order_of_the_site_as_far_as_the_server_speaks_them() {
    let both: &[&[u8]] = &[b"h2", b"http/1.1"];
    for (tls, options, offered, expected) in [
        ("alpn http/1.1", "", both, Some("http/1.1")),
        ("alpn http/1.1 h2", "", both, Some("http/1.1")),
        ("alpn h2", "", both, Some("h2")),
        (
            "alpn h2 http/1.1",
            "\tservers {\n\t\tprotocols h1\n\t}\n",
            both,
            Some("http/1.1"),
        ),
        (
            "protocols tls1.2",
            "\tservers {\n\t\tprotocols h1\n\t}\n",
            both,
            Some("http/1.1"),
        ),
        ("alpn http/1.1", "", &both[..1], None),
    ] {
        let rig = Rig::caddyfile(&sites(options, &[site(HOST, &format!("\t\t{tls}"), "")]));
        let connected = Client::new().alpn(offered).connect(rig.addr(), HOST).await;
        let chosen = connected
            .ok()
            .and_then(|stream| stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec));
        let chosen = chosen.map(|chosen| String::from_utf8(chosen).unwrap());
        assert_eq!(chosen.as_deref(), expected, "{tls} and {options}");
    }
}

#[tokio::test]
async fn each_site_of_a_listener_has_its_own_terms() {
    let rig = rig(&[
        site("old.test", "\t\tprotocols tls1.2 tls1.2", "\trespond old"),
        site("new.test", "\t\tprotocols tls1.3", "\trespond new"),
        site("any.test", "", "\trespond any"),
    ]);
    for (host, expected) in [
        ("old.test", [true, false]),
        ("new.test", [false, true]),
        ("any.test", [true, true]),
    ] {
        for (version, expected) in [&TLS12, &TLS13].into_iter().zip(expected) {
            let asked = Client::new().version(version).ask(rig.addr(), host, host).await;
            let body = asked.ok().map(|(answer, _)| answer.body);
            let named = host.strip_suffix(".test").map(|name| name.as_bytes().to_vec());
            assert_eq!(body, named.filter(|_| expected), "{host} with {version:?}");
        }
    }
}

#[test]
fn what_is_not_spoken_is_an_error_with_a_way_out() {
    let h1 = "\tservers {\n\t\tprotocols h1\n\t}\n";
    for (tls, options, parts) in [
        ("curves secp521r1", "", ["secp521r1", "x25519mlkem768, x25519"]),
        ("alpn spdy/3", "", ["spdy/3", "h2 and http/1.1"]),
        (
            "alpn h2",
            h1,
            ["no protocol that the server speaks", "http/1.1 for h1"],
        ),
        (
            "ciphers TLS_RSA_WITH_AES_128_CBC_SHA",
            "",
            ["expected one of", "TLS_ECDHE_RSA"],
        ),
    ] {
        let error = refused(&sites(options, &[site(HOST, &format!("\t\t{tls}"), "")]));
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

#[tokio::test]
async fn plain_http_on_a_tls_port_is_told_so_in_caddys_words() {
    let rig = Rig::tls_site("\trespond hi");
    let told = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    for request in [get("/"), "DELETE /x HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()] {
        let mut wire = rig.wire().await;
        // The first bytes may come one by one.
        wire.send(&request[..3]).await;
        wire.send(&request[3..]).await;
        let (bytes, end) = wire.rest().await;
        assert_eq!((String::from_utf8_lossy(&bytes).as_ref(), end), (told, End::Fin));
    }
    // A client that is still sending is told, too.
    let mut wire = rig.wire().await;
    wire.send(get("/").replace("Host", &format!("A: {}\r\nHost", "a".repeat(10_000))))
        .await;
    let (bytes, end) = wire.rest().await;
    assert_eq!((String::from_utf8_lossy(&bytes).as_ref(), end), (told, End::Fin));
    let mut h2 = H2::tls(rig.addr(), HOST).await;
    assert_eq!(h2.get("/").await.body, b"hi");
}
