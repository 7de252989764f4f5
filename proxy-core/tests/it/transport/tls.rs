//! TLS to upstreams: whom the proxy believes, what it says, and which HTTP comes of it.

use std::net::SocketAddr;

use crate::support::dns::DnsServer;
use crate::support::rig::{HOST, Rig, build, get, options};
use crate::support::secure::{Authority, Secure};
use crate::transport::{proxy, to};

/// A site that forwards to `name`, which leads to `upstream`, believing `authority`.
async fn named(name: &str, upstream: SocketAddr, authority: &Authority, more: &str) -> (Rig, DnsServer) {
    let dns = DnsServer::start().await;
    dns.set(name, &[upstream.ip()], 30);
    let options = format!(
        "resolvers {}\ntls_trust_pool file {}\n{more}",
        dns.address(),
        authority.file()
    );
    (to(format!("https://{name}:{}", upstream.port()), &options), dns)
}

fn trusting(authority: &Authority, more: &str) -> String {
    format!("tls_trust_pool file {}\n{more}", authority.file())
}

async fn status(rig: &Rig) -> u16 {
    rig.get("/").await.head.status()
}

#[tokio::test]
async fn an_upstream_with_a_good_certificate_is_believed_and_told_its_own_name() {
    let authority = Authority::new();
    let upstream = Secure::start(authority.sign(&["app.internal"])).await;
    let (rig, _dns) = named("app.internal", upstream.addr(), &authority, "").await;
    assert_eq!(rig.get("/").await.body, b"ok");
    let request = upstream.last();
    assert_eq!(request.server_name.as_deref(), Some("app.internal"));
    let host = format!("app.internal:{}", upstream.addr().port());
    assert_eq!((request.host, request.scheme.as_deref()), (host, Some("https")));
    assert_eq!(request.protocol, "h2", "both are offered");
}

#[tokio::test]
async fn an_address_is_looked_for_among_the_addresses_of_the_certificate() {
    let authority = Authority::new();
    let upstream = Secure::start(authority.sign(&["127.0.0.1"])).await;
    let rig = to(format!("https://{}", upstream.addr()), &trusting(&authority, ""));
    assert_eq!(status(&rig).await, 200);
    assert_eq!(upstream.last().server_name, None, "addresses are not sent");
}

#[tokio::test]
async fn what_is_not_believed_is_a_502_and_no_request_gets_there() {
    let (authority, other) = (Authority::new(), Authority::new());
    for leaf in [
        authority.sign(&["other.internal", "127.0.0.2"]),
        authority.sign_expired(&["127.0.0.1"]),
        other.sign(&["127.0.0.1"]),
    ] {
        let upstream = Secure::start(leaf).await;
        let rig = to(format!("https://{}", upstream.addr()), &trusting(&authority, ""));
        assert_eq!(status(&rig).await, 502);
        upstream.failure().await;
        assert!(upstream.requests().is_empty());
    }
}

#[tokio::test]
async fn the_systems_authorities_do_not_know_a_private_one() {
    let authority = Authority::new();
    let upstream = Secure::start(authority.sign(&["127.0.0.1"])).await;
    for options in ["", "tls_trust_pool system"] {
        let rig = to(format!("https://{}", upstream.addr()), options);
        assert_eq!(status(&rig).await, 502);
    }
}

#[tokio::test]
async fn the_name_can_be_said_and_any_certificate_taken_where_that_is_said() {
    let authority = Authority::new();
    let upstream = Secure::start(authority.sign(&["app.internal"])).await;
    let to = |options: &str| to(format!("https://{}", upstream.addr()), options);
    let rig = to(&trusting(&authority, "tls_server_name app.internal"));
    assert_eq!(status(&rig).await, 200);
    assert_eq!(upstream.last().server_name.as_deref(), Some("app.internal"));
    assert_eq!(status(&to(&trusting(&authority, ""))).await, 502);
    assert_eq!(status(&to("tls_insecure_skip_verify")).await, 200);
}

#[tokio::test]
async fn a_certificate_that_was_given_itself_is_believed_for_its_names() {
    let authority = Authority::new();
    let (good, bad) = (
        rcgen::KeyPair::generate().unwrap(),
        rcgen::KeyPair::generate().unwrap(),
    );
    for (key, name, expected) in [(good, "127.0.0.1", 200), (bad, "127.0.0.2", 502)] {
        let mut params = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
        // As `openssl req -x509` makes them.
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let file = authority.folder().join("own.pem");
        std::fs::write(&file, certificate.pem()).unwrap();
        let leaf = crate::support::secure::Leaf {
            certificate: certificate.der().clone(),
            key,
        };
        let upstream = Secure::start(leaf).await;
        let options = format!("tls_trust_pool file {}", file.display());
        let rig = to(format!("https://{}", upstream.addr()), &options);
        assert_eq!(status(&rig).await, expected);
    }
}

#[tokio::test]
async fn a_client_certificate_is_shown_to_whom_asks_for_one() {
    let authority = Authority::new();
    let leaf = authority.sign(&["127.0.0.1"]);
    let upstream = Secure::with(leaf.server(&["h2", "http/1.1"], Some(&authority))).await;
    let (certificate, key) = authority.client_files();
    let auth = format!("tls_client_auth {} {}", certificate.display(), key.display());
    let to = |options: &str| {
        to(
            format!("https://{}", upstream.addr()),
            &trusting(&authority, options),
        )
    };
    assert_eq!(status(&to(&auth)).await, 200);
    assert_eq!(upstream.last().shown, 1);
    assert_eq!(status(&to("")).await, 502);
}

#[tokio::test]
async fn alpn_decides_which_http_is_spoken() {
    let authority = Authority::new();
    for (offered, versions, spoken) in [
        (&["h2", "http/1.1"][..], "", Some("h2")),
        (&["http/1.1"], "", Some("http/1.1")),
        (&[], "", Some("http/1.1")),
        (&["h2"], "", Some("h2")),
        (&["h2", "http/1.1"], "versions 1.1", Some("http/1.1")),
        (&["h2", "http/1.1"], "versions 2", Some("h2")),
        (&[], "versions 2", None),
        (&["h2"], "versions 1.1", None),
    ] {
        let leaf = authority.sign(&["127.0.0.1"]);
        let upstream = Secure::with(leaf.server(offered, None)).await;
        let rig = to(
            format!("https://{}", upstream.addr()),
            &trusting(&authority, versions),
        );
        let expected = if spoken.is_some() { 200 } else { 502 };
        for _ in 0..2 {
            assert_eq!(status(&rig).await, expected, "{offered:?} {versions}");
        }
        if let Some(spoken) = spoken {
            assert_eq!(upstream.last().protocol, spoken, "{offered:?} {versions}");
            assert_eq!(upstream.accepted(), 1, "{offered:?} {versions}");
        }
    }
}

#[tokio::test]
async fn an_upgrade_goes_over_http_1_although_the_upstream_has_http_2() {
    let authority = Authority::new();
    let upstream = Secure::start(authority.sign(&["127.0.0.1"])).await;
    let rig = to(format!("https://{}", upstream.addr()), &trusting(&authority, ""));
    assert_eq!(status(&rig).await, 200);
    let mut wire = rig.wire().await;
    wire.send(format!(
        "GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
    ))
    .await;
    assert_eq!(wire.head().await.status(), 101);
    wire.send("marco").await;
    assert_eq!(wire.exactly(5).await, b"marco");
    let protocols: Vec<String> = upstream
        .requests()
        .into_iter()
        .map(|request| request.protocol)
        .collect();
    assert_eq!(protocols, ["h2", "http/1.1"]);
    assert_eq!(status(&rig).await, 200);
    assert_eq!(upstream.accepted(), 2, "what is no upgrade stays on HTTP/2");
}

#[tokio::test]
async fn a_session_is_resumed_on_the_next_connection_and_in_the_next_configuration() {
    let authority = Authority::new();
    let leaf = authority.sign(&["127.0.0.1"]);
    let upstream = Secure::with(leaf.server(&["http/1.1"], None)).await;
    let directives = proxy(
        format!("https://{}", upstream.addr()),
        &trusting(&authority, "keepalive off"),
    );
    let text = |more: &str| {
        format!("{{\n\tadmin off\n}}\nhttp://{HOST}:0 {{\n\tbind 127.0.0.1\n{directives}\n{more}\n}}\n")
    };
    let rig = Rig::caddyfile(&text(""));
    for _ in 0..2 {
        assert_eq!(status(&rig).await, 200);
    }
    rig.reload(&text("\theader X-New yes")).await;
    assert_eq!(status(&rig).await, 200);
    let resumed: Vec<bool> = upstream
        .requests()
        .iter()
        .map(|request| request.resumed)
        .collect();
    assert_eq!(resumed, [false, true, true]);
}

#[tokio::test]
async fn header_up_has_the_last_word_on_the_host() {
    let authority = Authority::new();
    let upstream = Secure::start(authority.sign(&["127.0.0.1"])).await;
    for (line, host) in [
        ("header_up Host {host}", HOST.to_owned()),
        ("header_up X-Other 1", upstream.addr().to_string()),
        ("header_up -Host", upstream.addr().to_string()),
    ] {
        let rig = Rig::site(&format!(
            "\treverse_proxy https://{} {{\n\t\t{line}\n\t\ttransport http {{\n{}\n\t\t}}\n\t}}",
            upstream.addr(),
            trusting(&authority, "")
        ));
        assert_eq!(status(&rig).await, 200);
        assert_eq!(upstream.last().host, host, "{line}");
    }
}

#[tokio::test]
async fn two_proxies_with_other_settings_never_share_a_connection() {
    let authority = Authority::new();
    let leaf = authority.sign(&["127.0.0.1", "a.test", "b.test"]);
    let upstream = Secure::start(leaf).await;
    let (certificate, key) = authority.client_files();
    let auth = format!("tls_client_auth {} {}", certificate.display(), key.display());
    let settings = [
        trusting(&authority, ""),
        trusting(&authority, "tls_server_name a.test"),
        trusting(&authority, "tls_server_name b.test"),
        trusting(&authority, &auth),
        trusting(&authority, "read_timeout 1m"),
        "tls_insecure_skip_verify".to_owned(),
    ];
    let paths: Vec<String> = settings
        .iter()
        .enumerate()
        .map(|(number, options)| {
            let proxy = proxy(format!("https://{}", upstream.addr()), options);
            format!("\thandle /{number} {{\n{proxy}\n\t}}")
        })
        .collect();
    let rig = Rig::site(&paths.join("\n"));
    for _ in 0..2 {
        for number in 0..settings.len() {
            assert_eq!(rig.get(&format!("/{number}")).await.head.status(), 200);
        }
    }
    assert_eq!(upstream.accepted(), settings.len());
    let connections: Vec<usize> = upstream
        .requests()
        .iter()
        .map(|request| request.connection)
        .collect();
    let (first, second) = connections.split_at(settings.len());
    assert_eq!(first, second, "each goes on with its own");
}

#[tokio::test]
async fn two_proxies_with_the_same_settings_do() {
    let authority = Authority::new();
    let upstream = Secure::start(authority.sign(&["127.0.0.1"])).await;
    let one = proxy(format!("https://{}", upstream.addr()), &trusting(&authority, ""));
    let rig = Rig::site(&format!(
        "\thandle /1 {{\n{one}\n\t}}\n\thandle /2 {{\n{one}\n\t}}"
    ));
    for path in ["/1", "/2"] {
        assert_eq!(rig.get(path).await.head.status(), 200);
    }
    assert_eq!(upstream.accepted(), 1);
}

#[tokio::test]
async fn many_requests_at_once_share_a_connection() {
    let authority = Authority::new();
    let upstream = Secure::start(authority.sign(&["127.0.0.1"])).await;
    let rig = to(format!("https://{}", upstream.addr()), &trusting(&authority, ""));
    assert_eq!(status(&rig).await, 200);
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut wire = rig.wire().await;
        wire.send(get("/")).await;
        clients.push(wire);
    }
    for wire in &mut clients {
        assert_eq!(wire.answer().await.body, b"ok");
    }
    assert_eq!(upstream.accepted(), 1);
}

#[tokio::test]
async fn an_upstream_that_does_not_shake_hands_is_a_504_in_time() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let rig = to(format!("https://{address}"), "tls_timeout 50ms");
    assert_eq!(status(&rig).await, 504);
}

#[tokio::test]
async fn a_handshake_that_fails_lets_the_request_go_elsewhere() {
    let (authority, other) = (Authority::new(), Authority::new());
    let good = Secure::start(authority.sign(&["127.0.0.1"])).await;
    let bad = Secure::start(other.sign(&["127.0.0.1"])).await;
    let rig = Rig::site(&format!(
        "\treverse_proxy https://{} https://{} {{\n\t\tlb_policy first\n\t\ttransport http {{\n{}\n\t\t}}\n\t}}",
        bad.addr(),
        good.addr(),
        trusting(&authority, "")
    ));
    let answer = rig
        .wire()
        .await
        .ask(crate::support::rig::post("/", "order"))
        .await;
    assert_eq!(answer.head.status(), 200);
    assert!(bad.requests().is_empty());
}

#[tokio::test]
async fn ports_can_be_excepted() {
    let origin = crate::support::origin::Recorder::saying(std::net::Ipv4Addr::LOCALHOST, "clear").await;
    let port = origin.addr().port();
    let rig = to(
        format!("https://{}", origin.addr()),
        &format!("tls_except_ports {port}"),
    );
    assert_eq!(rig.get("/").await.body, b"clear");
    let host = origin.only_request().head.field("host");
    assert_eq!(host, Some(origin.addr().to_string()), "as in Caddy");
}

#[test]
fn what_cannot_be_done_is_said_with_the_way_out() {
    for (lines, words) in [
        (
            "tls_curves secp521r1",
            "use x25519mlkem768, x25519, secp256r1 or secp384r1",
        ),
        ("tls_renegotiation once", "leave it out"),
        ("tls_client_auth name.test", "name the files"),
        (
            "tls_server_name {http.request.host}",
            "a reverse_proxy for each name",
        ),
        ("tls\nversions h2c", "leave versions out"),
        ("tls_trust_pool file /nowhere/ca.pem", "check the path"),
        ("tls\nversions 3", "leave the option out"),
        (
            "network_proxy url http://127.0.0.1:1",
            "`network_proxy none` says so",
        ),
        (
            "forward_proxy_url http://127.0.0.1:1",
            "`network_proxy none` says so",
        ),
        ("local_address eth0", "not an IP address"),
    ] {
        let text = format!(
            "{{\n\tadmin off\n}}\nhttp://{HOST}:0 {{\n{}\n}}\n",
            proxy("127.0.0.1:1", lines)
        );
        let error = build(&options(), &text).err().unwrap_or_default();
        assert!(error.contains(words), "{lines}: {error}");
    }
    let socket =
        "http://:0 {\n\treverse_proxy unix//run/a.sock {\n\t\ttransport http {\n\t\t\ttls\n\t\t}\n\t}\n}\n";
    let error = build(&options(), socket).err().unwrap_or_default();
    assert!(error.contains("tls_server_name"), "{error}");
}
