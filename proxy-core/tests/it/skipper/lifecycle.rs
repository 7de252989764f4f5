//! What happens to a request on its way: filters in both phases, answers of filters and of shunts, the snapshot.

use std::net::Ipv4Addr;

use crate::support::origin::{Recorder, Reply};
use crate::support::rig::{get, post};
use crate::support::wait::eventually;

use super::filters::Seen;
use super::{RoutesFile, backend, get_with, rig, rig_with, told, until_told};

#[tokio::test]
async fn filters_see_requests_in_order_and_answers_in_reverse() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = rig(&format!(
        "any: * -> mark(\"a\") -> mark(\"b\") -> mark(\"c\") -> {};",
        backend(origin.addr())
    ));
    let answer = rig.get("/").await;
    assert_eq!(answer.head.all("x-order"), ["c", "b", "a"]);
    assert_eq!(origin.only_request().head.all("x-order"), ["a", "b", "c"]);
}

#[tokio::test]
async fn behind_a_filter_that_answers_no_filter_runs_and_its_own_second_phase_does() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "never").await;
    let rig = rig(&format!(
        "any: * -> mark(\"a\") -> serve(418, \"served\") -> mark(\"b\") -> {};",
        backend(origin.addr())
    ));
    let answer = rig.get("/").await;
    assert_eq!(told(&answer), (418, "served".to_owned()));
    assert_eq!(answer.head.all("x-order"), ["serve", "a"]);
    assert_eq!(answer.head.field("content-length").as_deref(), Some("6"));
    assert_eq!(origin.accepted(), 0, "the backend is left out");
}

#[tokio::test]
async fn a_filter_may_put_another_answer_in_place_of_the_backends() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "from the backend").await;
    let rig = rig(&format!(
        "any: * -> mark(\"a\") -> answers(201, \"other\") -> mark(\"b\") -> {};",
        backend(origin.addr())
    ));
    let answer = rig.get("/").await;
    assert_eq!(told(&answer), (201, "other".to_owned()));
    assert_eq!(
        answer.head.all("x-order"),
        ["a"],
        "what b noted went with the answer"
    );
    assert_eq!(origin.requests().len(), 1);
}

#[tokio::test]
async fn bodies_that_no_backend_gets_do_not_stand_in_the_way_of_the_next_request() {
    let rig = rig("s: Path(\"/shunt\") -> <shunt>; f: Path(\"/serve\") -> serve(200, \"s\") -> <shunt>;");
    let mut wire = rig.wire().await;
    let long = "x".repeat(40_000);
    for _ in 0..3 {
        let answer = wire.ask(post("/shunt", &long)).await;
        assert_eq!(told(&answer), (404, String::new()));
        let answer = wire.ask(post("/serve", &long)).await;
        assert_eq!(told(&answer), (200, "s".to_owned()));
        let answer = wire.ask(post("/none", &long)).await;
        assert_eq!(told(&answer), (404, "Not Found\n".to_owned()));
    }
}

#[tokio::test]
async fn what_filters_keep_goes_when_the_answer_has_gone() {
    let seen = Seen::new();
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let routes = format!(
        "a: Path(\"/a\") -> holds() -> {to}; s: Path(\"/s\") -> holds() -> serve(200, \"\") -> <shunt>;
         l: Path(\"/l\") -> holds() -> <loopback>; w: Path(\"/w\") -> holds() -> waits() -> <shunt>;",
        to = backend(origin.addr())
    );
    let rig = super::site(&seen.options(), &super::directives("", &routes));
    for (path, status) in [("/a", 200), ("/s", 200), ("/l", 500)] {
        assert_eq!(rig.get(path).await.head.status(), status, "{path}");
        until_released(&seen).await;
    }
    // A client that leaves takes its own with it.
    let mut wire = rig.wire().await;
    wire.send(get("/w")).await;
    eventually("the filter holds something", async || {
        (seen.held() == 1).then_some(())
    })
    .await;
    wire.reset();
    until_released(&seen).await;
}

async fn until_released(seen: &Seen) {
    eventually("all is released", async || (seen.held() == 0).then_some(())).await;
}

#[tokio::test]
async fn a_request_is_answered_from_the_table_that_it_came_to() {
    let version = |number: u32| {
        format!(
            "out: Path(\"/a\") -> waits() -> setRequestHeader(\"X-Inner\", \"1\") -> <loopback>;
             inner: Path(\"/a\") && Header(\"X-Inner\", \"1\") -> serve(200, \"v{number}\") -> <shunt>;
             now: Path(\"/now\") -> serve(200, \"v{number}\") -> <shunt>;"
        )
    };
    let (seen, file) = (Seen::new(), RoutesFile::new(&version(1)));
    let rig = super::site(&seen.options(), &file.directives());
    let mut wire = rig.wire().await;
    wire.send(get("/a")).await;
    until_told(&rig, "/now", 200, "v1").await;
    file.write(&version(2));
    until_told(&rig, "/now", 200, "v2").await;
    seen.gate.add_permits(1);
    assert_eq!(told(&wire.answer().await), (200, "v1".to_owned()));
    // The next one on the same connection comes to the new one.
    wire.send(get("/a")).await;
    seen.gate.add_permits(1);
    assert_eq!(told(&wire.answer().await), (200, "v2".to_owned()));
}

#[tokio::test]
async fn a_slow_answer_comes_to_its_end_although_its_route_is_gone() {
    let origin = crate::support::origin::Origin::bind(Ipv4Addr::LOCALHOST).await;
    let file = RoutesFile::new(&format!(
        "a: Path(\"/a\") -> mark(\"old\") -> {};",
        backend(origin.addr())
    ));
    let rig = file.rig();
    let mut client = rig.wire().await;
    client.send(get("/a")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    file.write("b: Path(\"/b\") -> serve(200, \"b\") -> <shunt>;");
    until_told(&rig, "/b", 200, "b").await;
    assert_eq!(rig.get("/a").await.head.status(), 404);
    upstream
        .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhe")
        .await;
    assert_eq!(client.head().await.all("x-order"), ["old"]);
    assert_eq!(client.exactly(2).await, b"he");
    upstream.send("re").await;
    assert_eq!(client.exactly(2).await, b"re");
}

#[tokio::test]
async fn the_head_and_each_piece_of_an_answer_are_passed_on_at_once() {
    let origin = crate::support::origin::Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = rig(&format!("any: * -> {};", backend(origin.addr())));
    let mut client = rig.wire().await;
    client.send(get("/events")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Grpc-Status\r\n\r\n")
        .await;
    assert_eq!(client.head().await.status(), 200);
    for piece in ["one", "two"] {
        upstream.send_chunk(piece).await;
        assert_eq!(client.chunk().await.as_deref(), Some(piece.as_bytes()));
    }
    upstream.send("0\r\nGrpc-Status: 0\r\n\r\n").await;
    assert_eq!(client.chunk().await, None);
    assert_eq!(client.trailers().await, ["grpc-status: 0"]);
}

#[tokio::test]
async fn an_answer_that_is_cut_is_cut_for_the_client_too() {
    let origin = crate::support::origin::Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = rig(&format!("any: * -> {};", backend(origin.addr())));
    let mut client = rig.wire().await;
    client.send(get("/")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await;
    upstream.send_chunk("half").await;
    assert_eq!(client.head().await.status(), 200);
    assert_eq!(client.chunk().await.as_deref(), Some(&b"half"[..]));
    drop(upstream);
    let (rest, _) = client.rest().await;
    assert!(!rest.ends_with(b"0\r\n\r\n"), "{rest:?}");
}

#[tokio::test]
async fn the_backend_sees_the_path_as_it_came_and_nothing_that_is_not_the_clients() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    // What stands behind the host of a backend says nothing. Dot segments are resolved, as for every route of the proxy:
    // predicates and backends are to agree on what is asked for.
    let rig = rig(&format!("any: * -> \"http://{}/ignored?x=y\";", origin.addr()));
    let fields = "X-Own: 1\r\nConnection: X-Private\r\nX-Private: 2\r\nKeep-Alive: 3\r\nTE: trailers\r\n";
    for path in ["//a/../b%2Fc?q=%20&;", "/a//b/./c", "/%7Euser/"] {
        assert_eq!(
            rig.wire().await.ask(get_with(path, fields)).await.head.status(),
            200
        );
    }
    let requests = origin.requests();
    let targets: Vec<_> = requests.iter().map(|request| request.head.target()).collect();
    assert_eq!(targets, ["//b%2Fc?q=%20&;", "/a//b/c", "/%7Euser/"]);
    let head = &requests[0].head;
    assert_eq!(head.field("x-own").as_deref(), Some("1"));
    for absent in [
        "x-private",
        "keep-alive",
        "x-forwarded-for",
        "x-forwarded-proto",
        "x-forwarded-host",
        "via",
        "user-agent",
        "accept-encoding",
    ] {
        assert_eq!(head.field(absent), None, "{absent}");
    }
}

#[tokio::test]
async fn what_the_backend_says_of_itself_stays() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::keep("HTTP/1.1 200 OK\r\nServer: app\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\nx")
    })
    .await;
    let rig = rig(&format!("any: * -> {};", backend(origin.addr())));
    let answer = rig.get("/").await;
    for (name, value) in [
        ("server", Some("app")),
        ("content-encoding", Some("gzip")),
        ("via", None),
        ("x-hop", None),
    ] {
        assert_eq!(answer.head.field(name).as_deref(), value, "{name}");
    }
}

#[tokio::test]
async fn a_request_without_a_route_gets_the_configured_status() {
    let rig = rig_with("\t\tdefault_status 503", "a: Path(\"/a\") -> <shunt>;");
    assert_eq!(
        told(&rig.get("/b").await),
        (503, "Service Unavailable\n".to_owned())
    );
}

#[tokio::test]
async fn wildcards_of_the_path_are_what_the_client_meant() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = rig(&format!(
        "r: Path(\"/return/:echo\") -> setRequestHeader(\"X-Echo\", \"${{echo}}\") -> {};",
        backend(origin.addr())
    ));
    assert_eq!(rig.get("/return/Hello,+world!").await.head.status(), 200);
    let head = origin.only_request().head;
    assert_eq!(head.field("x-echo").as_deref(), Some("Hello, world!"));
    assert_eq!(head.target(), "/return/Hello,+world!");
}
