//! Requests that become another protocol.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::support::origin::{Origin, Recorder, Reply};
use crate::support::rig::Rig;
use crate::support::wire::Wire;

use super::{backend, get_with, rig, told};

/// Opens a tunnel through the proxy, and gives both of its ends.
async fn tunnel(rig: &Rig, origin: &Origin, connection: &str) -> (Wire, Wire) {
    let mut client = rig.wire().await;
    let fields = format!("Connection: {connection}\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: x\r\n");
    client.send(get_with("/chat", &fields)).await;
    let mut upstream = origin.accept().await;
    let head = upstream.head().await;
    assert!(
        head.members("connection").contains(&"upgrade".to_owned()),
        "{connection}"
    );
    assert_eq!(head.field("upgrade").as_deref(), Some("WebSocket"));
    assert_eq!(head.field("sec-websocket-key").as_deref(), Some("x"));
    upstream
        .send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Accept: y\r\nX-Own: 1\r\n\r\n")
        .await;
    let head = client.head().await;
    assert_eq!(head.status(), 101);
    assert_eq!(head.field("x-own").as_deref(), Some("1"));
    (client, upstream)
}

async fn assert_carries(client: &mut Wire, upstream: &mut Wire) {
    client.send("from the client").await;
    assert_eq!(upstream.exactly(15).await, b"from the client");
    upstream.send("from the backend").await;
    assert_eq!(client.exactly(16).await, b"from the backend");
}

#[tokio::test]
async fn whatever_else_a_connection_is_asked_for_an_upgrade_is_one() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = rig(&format!("any: * -> mark(\"a\") -> {};", backend(origin.addr())));
    for connection in ["Upgrade", "upgrade", "keep-alive, Upgrade", "Upgrade, keep-alive"] {
        let (mut client, mut upstream) = tunnel(&rig, &origin, connection).await;
        assert_carries(&mut client, &mut upstream).await;
        drop(upstream);
        client.rest_after("the backend has gone").await;
    }
}

#[tokio::test]
async fn tunnels_lead_to_every_kind_of_backend() {
    for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
        let origin = Origin::bind(ip).await;
        let to = backend(origin.addr());
        for route in [
            format!("any: * -> {to};"),
            format!("any: * -> <roundRobin, {to}, {to}>;"),
            format!("any: * -> <consistentHash, {to}>;"),
            format!("any: * -> setDynamicBackendUrl({to}) -> <dynamic>;"),
            format!(
                "a: Path(\"/chat\") -> setRequestHeader(\"X-In\", \"1\") -> <loopback>; b: Header(\"X-In\", \"1\") && Path(\"/chat\") -> {to};"
            ),
            format!("any: * -> consecutiveBreaker(1) -> backendTimeout(\"1h\") -> {to};"),
        ] {
            println!("{route}");
            let rig = rig(&route);
            let (mut client, mut upstream) = tunnel(&rig, &origin, "Upgrade").await;
            assert_carries(&mut client, &mut upstream).await;
            // A tunnel is no failure: the breaker stays closed.
            let (mut client, mut upstream) = tunnel(&rig, &origin, "Upgrade").await;
            assert_carries(&mut client, &mut upstream).await;
        }
    }
}

#[tokio::test]
async fn a_backend_that_wants_no_upgrade_answers_as_it_likes() {
    for (status, text) in [(401, "Unauthorized"), (404, "Not Found"), (200, "OK")] {
        let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| {
            Reply::keep(format!(
                "HTTP/1.1 {status} {text}\r\nWWW-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno"
            ))
        })
        .await;
        let rig = rig(&format!("any: * -> {};", backend(origin.addr())));
        let fields = "Connection: Upgrade\r\nUpgrade: WebSocket\r\n";
        let mut wire = rig.wire().await;
        let answer = wire.ask(get_with("/", fields)).await;
        assert_eq!(told(&answer), (status, "no".to_owned()));
        assert_eq!(answer.head.field("www-authenticate").as_deref(), Some("Basic"));
        // It is a connection as any other.
        assert_eq!(wire.ask(get_with("/", "")).await.head.status(), status);
    }
}

#[tokio::test]
async fn a_backend_that_is_away_is_502_for_upgrades_too() {
    let rig = rig(&format!("any: * -> {};", backend(super::nobody().await)));
    let answer = rig
        .wire()
        .await
        .ask(get_with("/", "Connection: Upgrade\r\nUpgrade: WebSocket\r\n"))
        .await;
    assert_eq!(answer.head.status(), 502);
}

#[tokio::test]
async fn an_upgrade_that_nobody_asked_for_is_an_error() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::keep("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n")
    })
    .await;
    let rig = rig(&format!("any: * -> {};", backend(origin.addr())));
    assert_eq!(rig.get("/").await.head.status(), 500);
}
