//! Which route a request comes to, and what is logged of it.

use std::net::Ipv4Addr;

use crate::support::ends::{Back, Upstreams};
use crate::support::logs::AccessLog;
use crate::support::origin::Recorder;
use crate::support::rig::{Rig, get};
use crate::support::wait::eventually;

use super::{backend, caddyfile, directives, filters, get_with, rig, rig_with, site, told};

async fn text(rig: &Rig, path: &str) -> String {
    told(&rig.get(path).await).1
}

#[tokio::test]
async fn the_path_is_matched_piece_by_piece_and_forwarded_as_it_came() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = rig(&format!(
        "id: Path(\"/api/:id\") -> setRequestHeader(\"X-Id\", \"${{id}}\") -> {};",
        backend(origin.addr())
    ));
    for (path, id) in [
        ("/api/foo%2Fbar", "foo/bar"),
        ("/api/a%20b", "a b"),
        ("/api/a+b", "a b"),
        ("/x/../api/c", "c"),
    ] {
        assert_eq!(rig.get(path).await.head.status(), 200, "{path}");
        let head = origin.take_requests().remove(0).head;
        assert_eq!(head.field("x-id").as_deref(), Some(id), "{path}");
        let forwarded = path.strip_prefix("/x/..").unwrap_or(path);
        assert_eq!(head.target(), forwarded);
    }
    assert_eq!(rig.get("/api/foo/bar").await.head.status(), 404);
}

#[tokio::test]
async fn routes_at_one_place_are_told_apart_by_weight_and_then_by_id() {
    let says = |text: &str| format!("serve(200, \"{text}\") -> <shunt>;");
    let rig = rig(&[
        "path: Path(\"/x\") -> ".to_owned() + &says("path"),
        "tree: PathSubtree(\"/x\") -> ".to_owned() + &says("tree"),
        "get: PathSubtree(\"/x\") && Header(\"X-Heavy\", \"1\") && Weight(5) -> ".to_owned() + &says("heavy"),
        "b: Path(\"/tie\") && Method(\"GET\") -> ".to_owned() + &says("b"),
        "a: Path(\"/tie\") && Method(\"GET\") -> ".to_owned() + &says("a"),
        "one: Path(\"/n/:x\") -> ".to_owned() + &says("one"),
        "two: Path(\"/n/:y/z\") -> ".to_owned() + &says("two"),
        "rest: * -> ".to_owned() + &says("rest"),
    ]
    .concat());
    for (path, expected) in [
        ("/x/y", "tree"),
        ("/tie", "a"),
        ("/n/1", "one"),
        ("/n/1/z", "two"),
        ("/n/1/q", "rest"),
    ] {
        assert_eq!(text(&rig, path).await, expected, "{path}");
    }
    let answer = rig.wire().await.ask(get_with("/x", "X-Heavy: 1\r\n")).await;
    assert_eq!(told(&answer).1, "heavy");
}

#[tokio::test]
async fn segments_of_traffic_are_told_apart_by_one_number_for_all_rounds_of_a_request() {
    let rig = rig(
        "a: Path(\"/\") && TrafficSegment(0, 0.5) -> mark(\"a\") -> setRequestHeader(\"X-Inner\", \"1\") -> <loopback>;
         b: Path(\"/\") && TrafficSegment(0.5, 1) -> mark(\"b\") -> setRequestHeader(\"X-Inner\", \"1\") -> <loopback>;
         c: Path(\"/\") && Header(\"X-Inner\", \"1\") && TrafficSegment(0, 0.5) && Weight(9) -> mark(\"a\") -> serve(200, \"\") -> <shunt>;
         d: Path(\"/\") && Header(\"X-Inner\", \"1\") && TrafficSegment(0.5, 1) && Weight(9) -> mark(\"b\") -> serve(200, \"\") -> <shunt>;",
    );
    let mut wire = rig.wire().await;
    let mut seen = std::collections::BTreeSet::new();
    // That only one of two comes up is less likely than 1 in 10^29.
    for _ in 0..100 {
        let order = wire.ask(get("/")).await.head.all("x-order");
        assert_eq!(order.len(), 3, "{order:?}");
        assert_eq!(order[1], order[2]);
        seen.insert(order[2].clone());
    }
    assert_eq!(seen.len(), 2);
}

#[tokio::test]
async fn who_asks_is_told_by_the_connection_and_by_x_forwarded_for() {
    let says = |text: &str| format!("serve(200, \"{text}\") -> <shunt>;");
    let rig = rig(&[
        "first: Path(\"/\") && Source(\"10.0.0.0/8\") && Weight(2) -> ".to_owned() + &says("first"),
        "last: Path(\"/\") && SourceFromLast(\"11.0.0.0/8\") && Weight(1) -> ".to_owned() + &says("last"),
        "peer: Path(\"/\") && ClientIP(\"127.0.0.1\") -> ".to_owned() + &says("peer"),
    ]
    .concat());
    for (field, expected) in [
        ("", "peer"),
        ("X-Forwarded-For: 10.1.2.3, 12.0.0.1\r\n", "first"),
        ("X-Forwarded-For: 12.0.0.1, 11.0.0.1\r\n", "last"),
        ("X-Forwarded-For: 12.0.0.1\r\n", "peer"),
    ] {
        let answer = rig.wire().await.ask(get_with("/", field)).await;
        assert_eq!(told(&answer).1, expected, "{field}");
    }
}

#[tokio::test]
async fn routes_know_that_the_proxy_will_stop() {
    let routes = "down: Path(\"/health\") && Shutdown() -> serve(503, \"stopping\") -> <shunt>;
                  up: Path(\"/health\") -> serve(200, \"up\") -> <shunt>;";
    let text =
        caddyfile(0, &directives("", routes)).replace("admin off\n", "admin off\n\tshutdown_delay 1m\n");
    let rig = Rig::with_options(&filters::options(), &text);
    let mut wire = rig.wire().await;
    assert_eq!(told(&wire.ask(get("/health")).await), (200, "up".to_owned()));
    rig.begin_stop();
    eventually("the routes know", async || {
        (told(&wire.ask(get("/health")).await) == (503, "stopping".to_owned())).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_route_says_which_of_its_answers_are_logged_and_what_of_their_queries() {
    let log = AccessLog::new();
    let routes = "
        off: Path(\"/off\") -> disableAccessLog() -> serve(200, \"\") -> <shunt>;
        some: Path(\"/some\") -> enableAccessLog(4, 50, 301) -> serve(200, \"\") -> <shunt>;
        four: Path(\"/four\") -> enableAccessLog(4) -> <shunt>;
        mask: Path(\"/mask\") -> maskAccessLogQuery(\"key\") -> serve(200, \"\") -> <shunt>;
        last: Path(\"/last\") -> serve(200, \"\") -> <shunt>;";
    let rig = site(
        &filters::options(),
        &format!("{}{}", log.directive(), directives("", routes)),
    );
    let mut wire = rig.wire().await;
    for path in ["/off", "/some", "/four", "/mask?key=secret&a=1", "/last"] {
        wire.ask(get(path)).await;
    }
    let lines = log.until_lines(3).await;
    let uris: Vec<_> = lines
        .iter()
        .map(|line| line["request"]["uri"].as_str().unwrap_or_default())
        .collect();
    assert_eq!((uris.len(), uris[0], uris[2]), (3, "/four", "/last"), "{uris:?}");
    assert!(!log.text().contains("secret"), "{uris:?}");
}

#[tokio::test]
async fn a_backend_may_speak_http_2_in_the_clear() {
    let mut upstreams = Upstreams::bind(Back::H2c).await;
    let rig = rig(&format!(
        "any: * -> mark(\"a\") -> \"h2c://{}\";",
        upstreams.addr()
    ));
    let mut client = rig.wire().await;
    client.send(get("/h2")).await;
    let mut upstream = upstreams.next().await;
    assert_eq!(
        (upstream.method(), upstream.target()),
        ("GET".to_owned(), "/h2".to_owned())
    );
    upstream.respond(200, &[("content-length", "0")]).await;
    let answer = client.answer().await;
    assert_eq!(
        (answer.head.status(), answer.head.all("x-order")),
        (200, vec!["a".to_owned()])
    );
}

#[tokio::test]
async fn a_route_without_an_address_is_invalid_and_slashes_at_ends_can_be_left_out() {
    let rig = rig_with(
        "\t\tignore_trailing_slash",
        "empty: Path(\"/empty\") -> \"\"; tree: Path(\"/a/\") -> serve(200, \"a\") -> <shunt>;
         re: Path(\"/b\") && PathRegexp(/b[/]$/) -> serve(200, \"slash\") -> <shunt>;",
    );
    assert_eq!(rig.get("/empty").await.head.status(), 404);
    for path in ["/a", "/a/"] {
        assert_eq!(text(&rig, path).await, "a", "{path}");
    }
    // A regular expression sees the path as it came.
    assert_eq!(text(&rig, "/b/").await, "slash");
    assert_eq!(rig.get("/b").await.head.status(), 404);
}
