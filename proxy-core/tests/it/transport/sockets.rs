//! Unix sockets, the PROXY protocol, and where connections come from.

use std::net::Ipv4Addr;
use std::path::Path;

use tokio::net::UnixListener;

use crate::support::net::Net;
use crate::support::origin::{Origin, Recorder};
use crate::support::rig::{HOST, Rig, get};
use crate::support::wait::within;
use crate::support::wire::Wire;
use crate::transport::{proxy, to};

async fn accept(listener: &UnixListener) -> Wire {
    let accepted = within("a connection to the socket", listener.accept()).await;
    Wire::over(accepted.unwrap().0)
}

fn socket(folder: &Path, name: &str) -> (UnixListener, String) {
    let path = folder.join(name);
    let listener = UnixListener::bind(&path).unwrap();
    (listener, path.display().to_string())
}

#[tokio::test]
async fn a_unix_socket_gets_the_clients_host_and_keeps_its_connection() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, path) = socket(folder.path(), "app.sock");
    let rig = Rig::site(&format!(
        "\treverse_proxy unix/{path} {{\n\
         \t\theader_up X-Up \"{{http.reverse_proxy.upstream.hostport}} {{http.reverse_proxy.upstream.port}}\"\n\t}}"
    ));
    let mut client = rig.wire().await;
    client.send(get("/a")).await;
    let mut upstream = accept(&listener).await;
    for more in [true, false] {
        let head = upstream.head().await;
        assert_eq!(head.field("host").as_deref(), Some(HOST));
        assert_eq!(head.field("x-up"), Some(format!("{path} 0")));
        upstream
            .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .await;
        assert_eq!(client.answer().await.body, b"ok");
        if more {
            client.send(get("/b")).await;
        }
    }
}

#[tokio::test]
async fn sockets_are_told_apart_and_one_that_is_gone_is_a_502() {
    let folder = tempfile::tempdir().unwrap();
    let (one, first) = socket(folder.path(), "1.sock");
    let (two, second) = socket(folder.path(), "2.sock");
    let rig = Rig::site(&format!(
        "\thandle /1 {{\n\t\treverse_proxy unix/{first}\n\t}}\n\thandle /2 {{\n\t\treverse_proxy unix/{second}\n\t}}\n\
         \thandle /3 {{\n\t\treverse_proxy unix/{first}.gone\n\t}}"
    ));
    for (path, listener) in [("/1", &one), ("/2", &two)] {
        let mut client = rig.wire().await;
        client.send(get(path)).await;
        let mut upstream = accept(listener).await;
        assert_eq!(upstream.head().await.target(), path);
        upstream
            .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .await;
        assert_eq!(client.answer().await.body, b"ok");
    }
    assert_eq!(rig.get("/3").await.head.status(), 502);
}

#[tokio::test]
async fn a_unix_socket_may_speak_http_2() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, path) = socket(folder.path(), "h2.sock");
    let rig = Rig::site(&format!("\treverse_proxy unix+h2c/{path}"));
    let mut client = rig.wire().await;
    client.send(get("/")).await;
    let (stream, _) = within("a connection", listener.accept()).await.unwrap();
    let mut server = h2::server::handshake(stream).await.unwrap();
    let (request, mut answer) = server.accept().await.unwrap().unwrap();
    assert_eq!(request.uri().authority().unwrap(), HOST);
    let empty = http::Response::builder().status(204).body(()).unwrap();
    answer.send_response(empty, true).unwrap();
    tokio::select! {
        answer = client.answer() => assert_eq!(answer.head.status(), 204),
        _ = server.accept() => unreachable!("no other request comes"),
    }
}

#[tokio::test]
async fn the_client_is_named_in_front_of_the_first_request_and_of_no_other() {
    for (version, header) in [
        ("v1", b"PROXY TCP4 127.0.0.1 0.0.0.0 0 0\r\n".to_vec()),
        (
            "v2",
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x01\0\0\0\0\0\0\0\0".to_vec(),
        ),
    ] {
        let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
        let rig = to(origin.addr(), &format!("proxy_protocol {version}"));
        let mut client = rig.wire().await;
        client.send(get("/")).await;
        let mut upstream = origin.accept().await;
        assert_eq!(upstream.exactly(header.len()).await, header);
        for more in [true, false] {
            assert_eq!(upstream.head().await.target(), "/");
            upstream
                .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                .await;
            assert_eq!(client.answer().await.body, b"ok");
            if more {
                // Another connection of the same client.
                client = rig.wire().await;
                client.send(get("/")).await;
            }
        }
    }
}

#[tokio::test]
async fn a_connection_that_names_a_client_serves_no_other() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let site = proxy(origin.addr(), "proxy_protocol v1");
    let rig = Rig::caddyfile(&format!(
        "{{\n\tadmin off\n\tservers {{\n\t\ttrusted_proxies static 127.0.0.0/8\n\t}}\n}}\n\
         http://{HOST}:0 {{\n\tbind 127.0.0.1\n{site}\n}}\n"
    ));
    let ask = |client: &str| format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nX-Forwarded-For: {client}\r\n\r\n");
    let mut open = Vec::new();
    for client in ["192.0.2.1", "192.0.2.2", "2001:db8::1"] {
        let mut wire = rig.wire().await;
        wire.send(ask(client)).await;
        let mut upstream = origin.accept().await;
        let family = if client.contains(':') {
            ("TCP6", "::")
        } else {
            ("TCP4", "0.0.0.0")
        };
        let header = format!("PROXY {} {client} {} 0 0\r\n", family.0, family.1);
        assert_eq!(upstream.exactly(header.len()).await, header.as_bytes());
        upstream.head().await;
        upstream
            .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .await;
        assert_eq!(wire.answer().await.body, b"ok");
        open.push(upstream);
    }
    let mut wire = rig.wire().await;
    wire.send(ask("192.0.2.2")).await;
    open[1].head().await;
}

#[tokio::test]
async fn connections_come_from_the_address_that_was_said() {
    let net = Net::fresh();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let rig = to(address, &format!("local_address {}", net.pod(9)));
    let mut client = rig.wire().await;
    client.send(get("/")).await;
    let (_stream, peer) = within("a connection", listener.accept()).await.unwrap();
    assert_eq!(peer.ip(), net.pod(9));
}

#[tokio::test]
async fn the_header_of_the_client_comes_before_tls() {
    use crate::support::secure::{Authority, accept};

    let authority = Authority::new();
    let config = std::sync::Arc::new(authority.sign(&["127.0.0.1"]).server(&["http/1.1"], None));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = format!("proxy_protocol v1\ntls_trust_pool file {}", authority.file());
    let rig = to(format!("https://{}", listener.local_addr().unwrap()), &options);
    let mut client = rig.wire().await;
    client.send(get("/")).await;
    let (mut stream, _) = within("a connection", listener.accept()).await.unwrap();
    let mut header = [0; 34];
    tokio::io::AsyncReadExt::read_exact(&mut stream, &mut header)
        .await
        .unwrap();
    assert_eq!(header, *b"PROXY TCP4 127.0.0.1 0.0.0.0 0 0\r\n");
    let mut upstream = Wire::over(accept(stream, &config).await);
    upstream.head().await;
}

#[tokio::test]
async fn plain_upstreams_are_as_they_were() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = to(origin.addr(), "dial_fallback_delay -1s\nkeepalive_interval 5s");
    for _ in 0..2 {
        assert_eq!(rig.get("/").await.body, b"ok");
    }
    assert_eq!(origin.accepted(), 1);
    assert_eq!(origin.requests()[1].head.field("host").as_deref(), Some(HOST));
}

#[tokio::test]
async fn the_access_log_names_the_socket() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, path) = socket(folder.path(), "app.sock");
    let log = crate::support::logs::AccessLog::new();
    let rig = Rig::site(&format!("{}\treverse_proxy unix/{path}", log.directive()));
    let mut client = rig.wire().await;
    client.send(get("/")).await;
    let mut upstream = accept(&listener).await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        .await;
    assert_eq!(client.answer().await.body, b"ok");
    assert_eq!(log.until_lines(1).await[0]["upstream"], format!("unix/{path}"));
}

#[test]
fn checks_at_a_port_of_a_socket_are_an_error_with_the_way_out() {
    use crate::support::rig::{build, options};

    let text = |checks: &str| {
        format!("http://{HOST}:0 {{\n\treverse_proxy unix//run/a.sock {{\n\t\t{checks}\n\t}}\n}}\n")
    };
    let error = build(&options(), &text("health_port 8080"))
        .err()
        .unwrap_or_default();
    assert!(error.contains("health_upstream"), "{error}");
    assert!(build(&options(), &text("health_upstream 127.0.0.1:8080")).is_ok());
}
