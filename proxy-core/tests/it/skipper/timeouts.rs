//! `backendTimeout`, `readTimeout` and `writeTimeout`.

use std::net::{Ipv4Addr, SocketAddr};

use crate::support::origin::{Deaf, Origin, Recorder, ok};
use crate::support::rig::{get, post};
use crate::support::wire::End;

use super::{SHORT, backend, rig, told};

const LATE: &str = "Gateway Timeout\n";

#[tokio::test]
async fn a_backend_that_is_late_is_504_whatever_it_is_late_with() {
    let deaf = Deaf::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let silent = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let (deaf, to) = (backend(deaf.addr()), backend(silent.addr()));
    let rig = rig(&format!(
        "connect: Path(\"/connect\") -> backendTimeout(\"{SHORT}\") -> {deaf};
         head: Path(\"/head\") -> backendTimeout(\"{SHORT}\") -> {to};
         balanced: Path(\"/balanced\") -> backendTimeout(\"{SHORT}\") -> <{to}, {to}>;
         dynamic: Path(\"/dynamic\") -> setDynamicBackendUrl({to}) -> backendTimeout(\"{SHORT}\") -> <dynamic>;"
    ));
    let mut wire = rig.wire().await;
    for path in ["/connect", "/head", "/balanced", "/dynamic"] {
        assert_eq!(told(&wire.ask(get(path)).await), (504, LATE.to_owned()), "{path}");
    }
    assert_eq!(
        told(&wire.ask(post("/head", "body")).await),
        (504, LATE.to_owned())
    );
}

#[tokio::test]
async fn a_body_that_is_late_is_cut_and_does_not_look_whole() {
    for framing in [
        "Transfer-Encoding: chunked",
        "Content-Length: 9",
        "Connection: close",
    ] {
        let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
        let rig = rig(&format!(
            "any: * -> backendTimeout(\"300ms\") -> {};",
            backend(origin.addr())
        ));
        let mut client = rig.wire().await;
        client.send(get("/")).await;
        let mut upstream = origin.accept().await;
        upstream.head().await;
        let piece = if framing.contains("chunked") {
            "4\r\nhalf\r\n"
        } else {
            "half"
        };
        upstream
            .send(format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n{piece}"))
            .await;
        assert_eq!(client.head().await.status(), 200, "{framing}");
        let (rest, end) = client.rest().await;
        let is_whole =
            rest.ends_with(b"0\r\n\r\n") || !framing.contains("Length") && rest == b"half" && end == End::Fin;
        assert!(
            !is_whole,
            "{framing}: {:?} {end:?}",
            String::from_utf8_lossy(&rest)
        );
        // The backend is left, too.
        upstream.rest_after("the time is over").await;
    }
}

#[tokio::test]
async fn an_answer_in_time_is_not_touched() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "in time").await;
    let rig = rig(&format!(
        "any: * -> backendTimeout(\"1h\") -> readTimeout(\"1h\") -> writeTimeout(\"1h\") -> {};",
        backend(origin.addr())
    ));
    let mut wire = rig.wire().await;
    for _ in 0..3 {
        assert_eq!(told(&wire.ask(post("/", "x")).await), (200, "in time".to_owned()));
    }
    assert_eq!(origin.accepted(), 1, "the connection is kept");
}

#[tokio::test]
async fn times_of_a_request_leave_the_next_ones_of_its_connection_alone() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let silent = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = rig(&format!(
        "read: Path(\"/read\") -> readTimeout(\"{SHORT}\") -> {to}; write: Path(\"/write\") -> writeTimeout(\"{SHORT}\") -> {to};
         late: Path(\"/late\") -> readTimeout(\"200ms\") -> {}; any: * -> {to};",
        backend(silent.addr()),
        to = backend(origin.addr()),
    ));
    let mut client = rig.wire().await;
    client.send(post("/read", "x")).await;
    let mut upstream = origin.accept().await;
    assert_eq!(upstream.try_request().await.expect("a request").body, b"x");
    upstream.send(ok("read")).await;
    assert_eq!(client.answer().await.body, b"read");
    client.send(get("/write")).await;
    upstream.head().await;
    upstream.send(ok("write")).await;
    assert_eq!(client.answer().await.body, b"write");
    client
        .send("POST /slow HTTP/1.1\r\nHost: a.test\r\nContent-Length: 8\r\n\r\nhalf")
        .await;
    upstream.head().await;
    // A longer time than theirs passes for another client before this one goes on.
    let mut late = rig.wire().await;
    late.send("POST /late HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\nhalf")
        .await;
    assert_eq!(late.head().await.status(), 408);
    client.send("rest").await;
    assert_eq!(upstream.exactly(8).await, b"halfrest");
    upstream.send(ok("slow")).await;
    assert_eq!(client.answer().await.body, b"slow");
}

#[tokio::test]
async fn a_client_that_is_late_with_its_body_is_told_so_and_left() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = rig(&format!(
        "any: * -> readTimeout(\"{SHORT}\") -> {};",
        backend(origin.addr())
    ));
    for framing in [
        "Content-Length: 9\r\n\r\nhalf",
        "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ] {
        let mut client = rig.wire().await;
        client
            .send(format!("POST / HTTP/1.1\r\nHost: a.test\r\n{framing}"))
            .await;
        let head = client.head().await;
        assert_eq!(
            (head.status(), head.members("connection")),
            (408, vec!["close".to_owned()])
        );
        client.rest().await;
    }
}

#[tokio::test]
async fn a_client_that_does_not_take_the_answer_in_time_is_left() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = rig(&format!(
        "any: * -> writeTimeout(\"{SHORT}\") -> {};",
        backend(origin.addr())
    ));
    let mut client = rig.wire().await;
    client.send(get("/")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await;
    let piece = "x".repeat(64 * 1024);
    // More than any buffer on the way takes.
    let mut chunks = 0;
    let chunk = format!("10000\r\n{piece}\r\n");
    while upstream.try_send(&chunk).await.is_ok() {
        chunks += 1;
        assert!(
            chunks < 10_000,
            "the proxy reads on for a client that takes nothing"
        );
    }
    let (rest, _) = client.rest().await;
    assert!(!rest.ends_with(b"0\r\n\r\n"));
}
