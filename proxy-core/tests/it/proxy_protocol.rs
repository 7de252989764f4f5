//! Balancers in front of the proxy that name the client by the PROXY protocol.

use std::net::Ipv4Addr;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::support::origin::Recorder;
use crate::support::rig::{HOST, Rig, get};
use crate::support::tls;
use crate::support::wire::{End, Wire};

const LINE: &str = "PROXY TCP4 192.0.2.1 192.0.2.2 4711 80\r\n";

/// A site whose listener has these wrappers.
fn wrapped(scheme: &str, wrappers: &str, directives: &str) -> Rig {
    Rig::caddyfile(&format!(
        "{{\n\tadmin off\n\tauto_https disable_redirects\n\tservers {{\n\t\tlistener_wrappers {{\n{wrappers}\n\t\t}}\n\t}}\n}}\n\
         {scheme}://{HOST}:0 {{\n\tbind 127.0.0.1\n{directives}\n}}\n"
    ))
}

const NAMED: &str = "\trespond \"{remote_host}:{remote_port} {client_ip}\"";
const ALLOWED: &str = "\t\t\tproxy_protocol {\n\t\t\t\tallow 127.0.0.0/8\n\t\t\t}";

#[tokio::test]
async fn the_client_is_whom_the_header_names() {
    let rig = wrapped("http", ALLOWED, NAMED);
    let v2 = [
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".as_slice(),
        &[192, 0, 2, 9, 192, 0, 2, 2, 0x12, 0x67, 0, 80],
    ]
    .concat();
    for (header, client) in [
        (LINE.as_bytes(), "192.0.2.1:4711 192.0.2.1"),
        (&v2, "192.0.2.9:4711 192.0.2.9"),
    ] {
        let mut wire = rig.wire().await;
        wire.send(header).await;
        for _ in 0..2 {
            assert_eq!(wire.ask(get("/")).await.body, client.as_bytes());
        }
    }
    // In one piece with the request, and for HTTP/2 too.
    let mut wire = rig.wire().await;
    assert_eq!(
        wire.ask([LINE, &get("/")].concat()).await.body,
        b"192.0.2.1:4711 192.0.2.1"
    );
    let without = String::from_utf8(rig.get("/").await.body).unwrap();
    assert!(without.ends_with(" 127.0.0.1"), "{without}");
}

#[tokio::test]
async fn upstreams_are_told_of_the_client_that_the_header_names() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = wrapped("http", ALLOWED, &format!("\treverse_proxy {}", origin.addr()));
    rig.wire().await.ask([LINE, &get("/")].concat()).await;
    let request = origin.only_request();
    assert_eq!(
        request.head.field("x-forwarded-for").as_deref(),
        Some("192.0.2.1")
    );
}

#[tokio::test]
async fn a_header_that_is_none_or_may_not_be_ends_the_connection_without_an_answer() {
    let denied = "\t\t\tproxy_protocol {\n\t\t\t\tdeny 127.0.0.0/8\n\t\t\t}";
    let required = "\t\t\tproxy_protocol {\n\t\t\t\tfallback_policy require\n\t\t\t}";
    for (wrappers, sent) in [
        (ALLOWED, "PROXY TCP4 nonsense\r\n"),
        (denied, LINE),
        (required, ""),
    ] {
        let rig = wrapped("http", wrappers, NAMED);
        let mut wire = rig.wire().await;
        wire.send([sent, &get("/")].concat()).await;
        let (bytes, _) = wire.rest().await;
        assert_eq!(bytes, b"", "{wrappers}");
    }
}

#[tokio::test]
async fn whom_nobody_trusts_names_nobody() {
    let rig = wrapped("http", "\t\t\tproxy_protocol", NAMED);
    let answer = rig.wire().await.ask([LINE, &get("/")].concat()).await;
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.ends_with(" 127.0.0.1"), "{text}");
}

#[tokio::test]
async fn the_header_stands_before_the_handshake_or_behind_it_as_the_wrappers_are_ordered() {
    let before = wrapped(
        "https",
        &format!("{ALLOWED}\n\t\t\ttls"),
        &format!("\ttls internal\n{NAMED}"),
    );
    let mut stream = TcpStream::connect(before.addr()).await.unwrap();
    stream.write_all(LINE.as_bytes()).await.unwrap();
    let stream = tls::over(stream, HOST, &[b"http/1.1"]).await;
    assert_eq!(
        Wire::over(stream).ask(get("/")).await.body,
        b"192.0.2.1:4711 192.0.2.1"
    );

    let behind = wrapped("https", ALLOWED, &format!("\ttls internal\n{NAMED}"));
    let mut wire = behind.tls_wire().await;
    wire.send(LINE).await;
    assert_eq!(wire.ask(get("/")).await.body, b"192.0.2.1:4711 192.0.2.1");
    let mut wire = behind.tls_wire().await;
    wire.send("PROXY nonsense\r\n").await;
    assert!(matches!(wire.rest().await, (bytes, End::Fin | End::Reset) if bytes.is_empty()));
}
