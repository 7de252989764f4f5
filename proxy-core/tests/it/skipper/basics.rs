//! The way of a request: its route, filters in both phases, backends.

use std::net::Ipv4Addr;

use crate::support::origin::{Origin, Recorder};

use super::{backend, rig, rig_with};

#[tokio::test]
async fn a_request_goes_to_the_backend_of_its_route_with_the_backends_host() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "from the backend").await;
    let to = backend(origin.addr());
    let rig = rig(&format!(
        "api: Path(\"/api/:id\") -> setRequestHeader(\"X-Id\", \"${{id}}\") -> setResponseHeader(\"X-From\", \"here\") -> {to};"
    ));
    let answer = rig.get("/api/7%2F8?x=1").await;
    assert_eq!(
        (answer.head.status(), answer.body.as_slice()),
        (200, &b"from the backend"[..])
    );
    assert_eq!(answer.head.field("x-from").as_deref(), Some("here"));
    let request = origin.only_request();
    assert_eq!(request.head.target(), "/api/7%2F8?x=1");
    assert_eq!(request.head.field("x-id").as_deref(), Some("7/8"));
    assert_eq!(request.head.field("host"), Some(origin.addr().to_string()));
    assert_eq!(request.head.field("x-forwarded-for"), None);

    let missing = rig.get("/other").await;
    assert_eq!(
        (missing.head.status(), missing.body.as_slice()),
        (404, &b"Not Found\n"[..])
    );
    assert_eq!(
        missing.head.field("x-content-type-options").as_deref(),
        Some("nosniff")
    );
}

#[tokio::test]
async fn a_shunt_answers_404_unless_a_filter_answers() {
    let rig =
        rig("a: Path(\"/a\") -> <shunt>; b: Path(\"/b\") -> setResponseHeader(\"X\", \"1\") -> <shunt>;");
    let answer = rig.get("/a").await;
    assert_eq!((answer.head.status(), answer.body.len()), (404, 0));
    assert_eq!(rig.get("/b").await.head.field("x").as_deref(), Some("1"));
}

#[tokio::test]
async fn a_loopback_sees_the_host_that_a_filter_set_and_ends_after_nine_rounds() {
    let rig = rig_with(
        "",
        "a: Path(\"/a\") -> setRequestHeader(\"Host\", \"inner.test\") -> setResponseHeader(\"X-Outer\", \"1\") -> <loopback>;
         inner: Path(\"/a\") && Host(/^inner.test$/) -> setResponseHeader(\"X-Inner\", \"1\") -> <shunt>;
         round: Path(\"/round\") -> <loopback>;",
    );
    let answer = rig.get("/a").await;
    assert_eq!(answer.head.status(), 404);
    assert_eq!(
        (
            answer.head.field("x-outer").as_deref(),
            answer.head.field("x-inner").as_deref()
        ),
        (Some("1"), Some("1"))
    );
    assert_eq!(rig.get("/round").await.head.status(), 500);
}

#[tokio::test]
async fn a_dynamic_backend_goes_where_filters_say_and_nowhere_else() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "dynamic").await;
    let rig = rig(&format!(
        "a: Path(\"/a\") -> setDynamicBackendUrl(\"http://{}\") -> <dynamic>; b: * -> <dynamic>;",
        origin.addr()
    ));
    assert_eq!(rig.get("/a").await.body, b"dynamic");
    assert_eq!(
        origin.only_request().head.field("host"),
        Some(origin.addr().to_string())
    );
    assert_eq!(rig.get("/b").await.head.status(), 502);
}

#[tokio::test]
async fn a_backend_that_refuses_gives_502_and_others_take_its_requests() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "lives").await;
    let dead = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let gone = dead.addr();
    drop(dead);
    let rig = rig(&format!(
        "one: Path(\"/one\") -> {}; many: * -> <roundRobin, {}, {}>;",
        backend(gone),
        backend(gone),
        backend(origin.addr())
    ));
    let answer = rig.get("/one").await;
    assert_eq!(
        (answer.head.status(), answer.body.as_slice()),
        (502, &b"Bad Gateway\n"[..])
    );
    for _ in 0..4 {
        assert_eq!(rig.get("/many").await.body, b"lives");
    }
}
