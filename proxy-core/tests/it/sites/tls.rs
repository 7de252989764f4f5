//! TLS sites: certificates by name, ALPN, and the way from HTTP to HTTPS.

use std::net::SocketAddr;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls_pki_types::CertificateDer;

use crate::support::h2_client::H2;
use crate::support::net::Net;
use crate::support::rig::{HOST, Rig, get};
use crate::support::tls;
use crate::support::wire::Wire;

/// A proxy with a plain and a TLS listener on an address of its own, at ports 8080 and 8443.
struct Redirecting {
    rig: Rig,
    plain: SocketAddr,
    secure: SocketAddr,
}

fn redirecting() -> Redirecting {
    let ip = Net::fresh().pod(1);
    let rig = Rig::caddyfile(&format!(
        "{{\n\tadmin off\n\thttp_port 8080\n\thttps_port 8443\n}}\n\
         {HOST} {{\n\tbind {ip}\n\ttls internal\n\trespond secure\n}}\n"
    ));
    Redirecting {
        rig,
        plain: (ip, 8080).into(),
        secure: (ip, 8443).into(),
    }
}

#[tokio::test]
async fn alpn_chooses_h2_over_http11_and_http11_when_that_is_all() {
    let rig = Rig::tls_site("\trespond hi");
    let chosen = async |offered: &[&[u8]]| {
        let stream = tls::connect(rig.addr(), HOST, offered).await;
        stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec)
    };
    assert_eq!(
        chosen(&[b"h2", b"http/1.1"]).await.as_deref(),
        Some(b"h2".as_slice())
    );
    assert_eq!(
        chosen(&[b"http/1.1", b"h2"]).await.as_deref(),
        Some(b"h2".as_slice())
    );
    assert_eq!(
        chosen(&[b"http/1.1"]).await.as_deref(),
        Some(b"http/1.1".as_slice())
    );
    assert_eq!(chosen(&[]).await, None);
}

#[tokio::test]
async fn both_protocols_are_served_over_tls() {
    let rig = Rig::tls_site("\trespond \"over {scheme}\"");
    let answer = rig.tls_wire().await.ask(get("/")).await;
    assert_eq!(String::from_utf8_lossy(&answer.body), "over https");
    let mut h2 = H2::tls(rig.addr(), HOST).await;
    assert_eq!(String::from_utf8_lossy(&h2.get("/").await.body), "over https");
    let stream = tls::connect(rig.addr(), HOST, &[]).await;
    let answer = Wire::over(stream).ask(get("/")).await;
    assert_eq!(
        String::from_utf8_lossy(&answer.body),
        "over https",
        "no ALPN means HTTP/1.1"
    );
}

#[tokio::test]
async fn the_internal_certificate_is_for_the_name_of_the_site() {
    let rig = Rig::tls_site("\trespond hi");
    let stream = tls::connect(rig.addr(), "APP.test", &[]).await;
    let chain = stream
        .get_ref()
        .1
        .peer_certificates()
        .expect("a server shows certificates")
        .to_vec();
    let name = String::from_utf8_lossy(&chain[0]).into_owned();
    assert!(name.contains(HOST), "the name is in the leaf");
}

#[tokio::test]
async fn certificates_are_loaded_from_files_and_chosen_by_server_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let mut text = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n".to_owned();
    for name in ["a.test", "b.test"] {
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new([name.to_owned()])
            .unwrap()
            .signed_by(&key, &authority)
            .unwrap();
        let (cert_file, key_file) = (
            folder.path().join(format!("{name}.crt")),
            folder.path().join(format!("{name}.key")),
        );
        std::fs::write(&cert_file, leaf.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        text.push_str(&format!(
            "https://{name}:0 {{\n\tbind 127.0.0.1\n\ttls {} {}\n\trespond {name}\n}}\n",
            cert_file.display(),
            key_file.display()
        ));
    }
    let rig = Rig::caddyfile(&text);
    let root: CertificateDer<'static> = authority.der().clone();
    for name in ["a.test", "b.test"] {
        let stream = tls::connect_trusting(root.clone(), rig.addr(), name, &[])
            .await
            .expect("a trusted certificate");
        let answer = Wire::over(stream)
            .ask(format!("GET / HTTP/1.1\r\nHost: {name}\r\n\r\n"))
            .await;
        assert_eq!(answer.body, name.as_bytes());
    }
    assert!(
        tls::connect_trusting(root, rig.addr(), "c.test", &[])
            .await
            .is_err(),
        "no other site's certificate"
    );
}

#[tokio::test]
async fn a_page_over_http_is_redirected_to_https_with_path_and_query() {
    let Redirecting { rig, plain, secure } = redirecting();
    let head = Wire::connect(plain).await.ask(get("/a%2Fb//c?d=e&f")).await.head;
    assert_eq!(head.status(), 308);
    assert_eq!(
        head.field("location").as_deref(),
        Some("https://app.test/a%2Fb//c?d=e&f")
    );
    let stream = tls::connect(secure, HOST, &[b"http/1.1"]).await;
    assert_eq!(Wire::over(stream).ask(get("/")).await.body, b"secure");
    assert!(rig.stop().await.drained);
}

#[tokio::test]
async fn the_redirect_drops_the_port_of_the_host_and_keeps_its_name() {
    let Redirecting { plain, rig: _rig, .. } = redirecting();
    for host in ["app.test:8080", "APP.test.:8080", "app.test"] {
        let head = Wire::connect(plain)
            .await
            .ask(format!("GET /x HTTP/1.1\r\nHost: {host}\r\n\r\n"))
            .await
            .head;
        let location = head
            .field("location")
            .expect("a redirect")
            .to_ascii_lowercase()
            .replace("test.", "test");
        assert_eq!(location, "https://app.test/x", "{host}");
    }
}

#[tokio::test]
async fn plain_http_on_a_tls_port_harms_nobody() {
    let rig = Rig::tls_site("\trespond hi");
    let mut wire = rig.wire().await;
    wire.send(get("/")).await;
    let (bytes, _) = wire.rest().await;
    assert!(!bytes.starts_with(b"HTTP/1.1 200"));
    let mut h2 = H2::tls(rig.addr(), HOST).await;
    assert_eq!(h2.get("/").await.body, b"hi");
}

#[tokio::test]
async fn a_system_request_is_never_answered_with_a_redirect() {
    let server = Net::fresh().server(1);
    let pod = crate::support::pod::Pod::start(server.pod(1), 0).await;
    let ip = Net::fresh().pod(1);
    let doors = crate::support::rig::Doors::server(server, server.pod(1), pod.addr().port());
    let text = format!(
        "{{\n\tadmin off\n\thttp_port 8080\n\thttps_port 8443\n}}\n\
         {HOST} {{\n\tbind {ip}\n\ttls internal\n{}\n}}\n",
        doors.directives()
    );
    let _rig = Rig::caddyfile(&text);
    let plain = SocketAddr::from((ip, 8080));
    let mut browser = crate::support::browser::Browser::tls((ip, 8443).into(), HOST).await;
    browser.load("/").await;
    assert_eq!(browser.click().await.status, 200);
    let path = format!("/~/{}/h/{}/1", pod.token(), browser.tab().instance);
    let answer = Wire::connect(plain)
        .await
        .ask(crate::support::rig::post(&path, "{}"))
        .await;
    assert!(
        !(300..400).contains(&answer.head.status()),
        "{}",
        answer.head.start()
    );
}

#[tokio::test]
async fn routes_can_tell_what_a_handshake_agreed_on_and_where_it_came_in() {
    let asks = "\trespond \"{tls_version} {tls_cipher} {http.request.tls.proto} {http.request.tls.server_name} \
                {http.request.tls.resumed} {http.request.local.port}\"";
    let rig = Rig::tls_site(asks);
    let port = rig.addr().port();
    let answer = rig.tls_wire().await.ask(get("/")).await;
    let expected = format!("tls1.3 TLS_AES_256_GCM_SHA384 http/1.1 {HOST} false {port}");
    assert_eq!(String::from_utf8(answer.body).unwrap(), expected);

    let plain = Rig::site("\trespond \"{tls_version}{http.request.local.port}\"");
    let answer = plain.get("/").await;
    assert_eq!(answer.body, plain.addr().port().to_string().into_bytes());
}
