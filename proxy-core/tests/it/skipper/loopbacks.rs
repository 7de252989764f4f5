//! Requests that go through the routes again.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use crate::support::origin::Recorder;
use crate::support::rig::post;

use super::filters::Seen;
use super::{backend, directives, get_at, nobody, rig, rig_with, told};

/// Routes that lead to each other `count` times before one answers.
fn chain(count: usize) -> String {
    let mut routes = String::new();
    for step in 0..count {
        write!(
            routes,
            "r{step}: Path(\"/\") && Header(\"X-Step\", \"{step}\") -> setRequestHeader(\"X-Step\", \"{next}\") -> <loopback>;",
            next = step + 1
        )
        .expect("writing to memory");
    }
    format!(
        "{routes} last: Path(\"/\") && Header(\"X-Step\", \"{count}\") -> serve(200, \"end\") -> <shunt>;"
    )
}

async fn status(lines: &str, count: usize) -> u16 {
    let rig = rig_with(lines, &chain(count));
    let first = super::get_with("/", "X-Step: 0\r\n");
    rig.wire().await.ask(first).await.head.status()
}

#[tokio::test]
async fn nine_times_is_the_most_unless_another_number_is_given() {
    for (lines, count, expected) in [
        ("", 9, 200),
        ("", 10, 500),
        ("\t\tmax_loopbacks 0", 9, 200),
        ("\t\tmax_loopbacks 0", 10, 500),
        ("\t\tmax_loopbacks 2", 2, 200),
        ("\t\tmax_loopbacks 2", 3, 500),
        ("\t\tmax_loopbacks -1", 0, 200),
        ("\t\tmax_loopbacks -1", 1, 500),
    ] {
        assert_eq!(status(lines, count).await, expected, "{count} with {lines:?}");
    }
}

#[tokio::test]
async fn inner_filters_see_the_answer_before_outer_ones() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = rig(&format!(
        "out: Path(\"/a\") -> mark(\"outer\") -> setRequestHeader(\"X-Inner\", \"1\") -> <loopback>;
         in: Path(\"/a\") && Header(\"X-Inner\", \"1\") -> mark(\"inner\") -> {};",
        backend(origin.addr())
    ));
    let answer = rig.get("/a").await;
    assert_eq!(answer.head.all("x-order"), ["inner", "outer"]);
    assert_eq!(origin.only_request().head.all("x-order"), ["outer", "inner"]);
}

#[tokio::test]
async fn an_error_within_is_shown_to_no_outer_filter_that_did_not_ask_for_errors() {
    let gone = nobody().await;
    let outer = |path: &str, next: &str| {
        format!(
            "{next}_out: Path(\"{path}\") -> mark(\"a\") -> markErrors(\"b\") -> setRequestHeader(\"X-To\", \"{next}\") -> <loopback>;"
        )
    };
    let rig = rig(&format!(
        "{} {} {} {}
         in1: Path(\"/down\") && Header(\"X-To\", \"down\") -> mark(\"inner\") -> {};
         in2: Path(\"/panics\") && Header(\"X-To\", \"panics\") -> panics(\"request\") -> <shunt>;
         in3: Path(\"/dynamic\") && Header(\"X-To\", \"dynamic\") -> <dynamic>;",
        outer("/down", "down"),
        outer("/panics", "panics"),
        outer("/dynamic", "dynamic"),
        "round: Path(\"/round\") -> mark(\"a\") -> markErrors(\"b\") -> <loopback>;",
        backend(gone)
    ));
    for (path, status, marks) in [
        ("/down", 502, 1),
        ("/panics", 500, 1),
        ("/dynamic", 502, 1),
        ("/round", 500, 10),
    ] {
        let answer = rig.get(path).await;
        assert_eq!(answer.head.status(), status, "{path}");
        assert_eq!(answer.head.all("x-order"), vec!["b"; marks], "{path}");
    }
}

#[tokio::test]
async fn an_inner_request_without_a_route_is_an_error_and_a_404_of_a_shunt_is_none() {
    let rig = rig(
        "out: Path(\"/a\") -> mark(\"outer\") -> setRequestHeader(\"Host\", \"other.test\") -> <loopback>;
         only: Path(\"/a\") && Host(/other/) && False() -> <shunt>;
         b: Path(\"/b\") -> mark(\"outer\") -> setRequestHeader(\"Host\", \"other.test\") -> <loopback>;
         c: Path(\"/b\") && Host(/other/) -> <shunt>;",
    );
    // The outer route is found again and again.
    assert_eq!(rig.get("/a").await.head.status(), 500);
    let answer = rig.get("/b").await;
    assert_eq!(
        (answer.head.status(), answer.head.all("x-order")),
        (404, vec!["outer".to_owned()])
    );
}

#[tokio::test]
async fn wildcards_of_all_rounds_are_known_and_the_newest_of_one_name_counts() {
    let seen = Seen::new();
    let routes = "
        first: Path(\"/:a/:b\") -> notes() -> setRequestHeader(\"X-Inner\", \"1\") -> <loopback>;
        second: Path(\"/:b/y\") && Header(\"X-Inner\", \"1\") && Weight(9) -> notes() -> serve(200, \"\") -> <shunt>;
        third: Path(\"/:a/:c\") && Header(\"X-Inner\", \"1\") && Weight(9) -> notes() -> serve(200, \"\") -> <shunt>;";
    let rig = super::site(&seen.options(), &directives("", routes));
    assert_eq!(rig.get("/x/z").await.head.status(), 200);
    assert_eq!(seen.notes(), ["a=x b=z", "a=x b=z"]);
}

#[tokio::test]
async fn host_predicates_see_the_host_that_a_filter_set() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = rig(&format!(
        "out: Path(\"/\") -> setRequestHeader(\"Host\", \"inner.test\") -> <loopback>;
         any: Path(\"/\") && HostAny(\"inner.test\") -> setRequestHeader(\"X-Seen\", \"${{request.host}}\") -> {};
         field: Path(\"/field\") && Header(\"Host\", \"inner.test\") -> serve(200, \"field\") -> <shunt>;
         round: Path(\"/field\") -> setRequestHeader(\"Host\", \"inner.test\") -> <loopback>;",
        backend(origin.addr())
    ));
    let answer = rig.wire().await.ask(get_at("app.test", "/")).await;
    assert_eq!(answer.head.status(), 200);
    let head = origin.only_request().head;
    assert_eq!(head.field("x-seen").as_deref(), Some("inner.test"));
    // It was set by a filter, and so the backend is told it.
    assert_eq!(head.all("host"), ["inner.test"]);
    // A client's Host is no field for predicates; one that a filter set is.
    let answer = rig.get("/field").await;
    assert_eq!(told(&answer), (200, "field".to_owned()));
}

#[tokio::test]
async fn the_body_goes_along_through_all_rounds() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = rig(&format!(
        "out: Method(\"POST\") -> setRequestHeader(\"X-Inner\", \"1\") -> <loopback>;
         in: Method(\"POST\") && Header(\"X-Inner\", \"1\") -> {};",
        backend(origin.addr())
    ));
    let answer = rig.wire().await.ask(post("/", "the body")).await;
    assert_eq!(answer.head.status(), 200);
    assert_eq!(origin.only_request().body, b"the body");
}

#[tokio::test]
async fn an_answer_with_a_status_may_send_the_request_elsewhere_unless_its_body_is_spent() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        crate::support::origin::Reply::keep("HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno")
    })
    .await;
    let rig = rig(&format!(
        "other: Path(\"/other\") -> mark(\"b\") -> serve(200, \"other\") -> <shunt>;
         a: Path(\"/a\") -> mark(\"a\") -> loopbackIfStatus(404, \"/other\") -> mark(\"dropped\") -> {};",
        backend(origin.addr())
    ));
    let answer = rig.get("/a").await;
    assert_eq!(told(&answer), (200, "other".to_owned()));
    assert_eq!(answer.head.all("x-order"), ["serve", "b", "a"]);
    let answer = rig.wire().await.ask(post("/a", "spent")).await;
    assert_eq!(answer.head.status(), 502);
}
