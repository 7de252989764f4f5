//! The handlers of a site that are no backend: respond, header, redir, handle, route.

use std::net::Ipv4Addr;

use crate::support::origin::{Recorder, Reply};
use crate::support::rig::{HOST, Rig, get, post};

#[tokio::test]
async fn respond_answers_with_its_text_and_status() {
    let rig = Rig::site(
        "\trespond /hello \"Hello, you!\"\n\trespond /teapot 418\n\trespond /both \"gone\" 410\n\trespond rest",
    );
    let cases = [
        ("/hello", 200, "Hello, you!"),
        ("/teapot", 418, ""),
        ("/both", 410, "gone"),
        ("/x", 200, "rest"),
    ];
    for (path, status, body) in cases {
        let answer = rig.get(path).await;
        assert_eq!(
            (
                answer.head.status(),
                String::from_utf8_lossy(&answer.body).as_ref()
            ),
            (status, body),
            "{path}"
        );
    }
    let mut wire = rig.wire().await;
    wire.send(format!("HEAD /hello HTTP/1.1\r\nHost: {HOST}\r\n\r\n"))
        .await;
    let answer = wire.answer_to("HEAD").await;
    assert_eq!(answer.head.field("content-length").as_deref(), Some("11"));
    assert_eq!(wire.ask(get("/x")).await.body, b"rest");
}

#[tokio::test]
async fn an_answer_without_an_upstream_leaves_the_connection_usable_although_a_body_came() {
    let rig = Rig::site("\trespond hi");
    let mut wire = rig.wire().await;
    for _ in 0..3 {
        assert_eq!(wire.ask(post("/", "a small body")).await.body, b"hi");
    }
    wire.send(format!(
        "POST / HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    ))
    .await;
    assert_eq!(wire.answer().await.body, b"hi");
}

#[tokio::test]
async fn header_sets_adds_and_deletes_fields_of_the_answer() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::keep(
            "HTTP/1.1 200 OK\r\nServer: hidden\r\nX-Add: 1\r\nX-Set: old\r\nContent-Length: 0\r\n\r\n",
        )
    })
    .await;
    let rig = Rig::site(&format!(
        "\theader {{\n\t\t-Server\n\t\t+X-Add 2\n\t\tX-Set new\n\t\tdefer\n\t}}\n\treverse_proxy {}",
        origin.addr()
    ));
    let head = rig.get("/").await.head;
    assert!(!head.has("server"), "{head:?}");
    assert_eq!(head.all("x-add"), ["1", "2"]);
    assert_eq!(head.all("x-set"), ["new"]);
}

#[tokio::test]
async fn header_applies_to_matching_paths_alone() {
    let rig = Rig::site("\theader /private/* Cache-Control no-store\n\trespond hi");
    assert_eq!(
        rig.get("/private/x").await.head.field("cache-control").as_deref(),
        Some("no-store")
    );
    assert!(!rig.get("/public").await.head.has("cache-control"));
}

#[tokio::test]
async fn redir_answers_with_a_location_and_placeholders_filled_in() {
    let rig = Rig::site(
        "\tredir /old /new\n\tredir /moved https://other.test{uri} permanent\n\tredir /see /there 303\n\trespond hi",
    );
    let cases = [
        ("/old", 302, "/new"),
        ("/moved?a=b%2Fc", 301, "https://other.test/moved?a=b%2Fc"),
        ("/see", 303, "/there"),
    ];
    for (path, status, location) in cases {
        let head = rig.get(path).await.head;
        assert_eq!(
            (head.status(), head.field("location").as_deref()),
            (status, Some(location)),
            "{path}"
        );
    }
    assert_eq!(rig.get("/other").await.head.status(), 200);
}

#[tokio::test]
async fn a_redirect_cannot_be_split_by_what_the_client_sends() {
    let rig = Rig::site("\tredir https://other.test{uri}");
    let head = rig.get("/%0d%0aSet-Cookie:%20evil=1?%0d%0aX:y").await.head;
    assert_eq!(
        head.field("location").as_deref(),
        Some("https://other.test/%0d%0aSet-Cookie:%20evil=1?%0d%0aX:y")
    );
    assert!(!head.has("set-cookie"));
}

#[tokio::test]
async fn of_several_handle_blocks_only_the_first_that_matches_runs() {
    let rig = Rig::site(
        "\thandle /api/* {\n\t\theader X-Block api\n\t\trespond api\n\t}\n\
         \thandle /api/deep/* {\n\t\theader X-Block deep\n\t\trespond deep\n\t}\n\
         \thandle {\n\t\theader X-Block rest\n\t\trespond rest\n\t}",
    );
    for (path, block) in [
        ("/api/x", "api"),
        ("/api/deep/x", "deep"),
        ("/", "rest"),
        ("/apix", "rest"),
    ] {
        let answer = rig.get(path).await;
        assert_eq!(String::from_utf8_lossy(&answer.body), block, "{path}");
        assert_eq!(answer.head.all("x-block"), [block], "{path}");
    }
}

#[tokio::test]
async fn route_keeps_the_written_order_of_directives() {
    // Outside a route, redir goes before respond whatever is written first.
    let rig = Rig::site("\troute {\n\t\trespond first\n\t\tredir * /elsewhere\n\t}");
    assert_eq!(rig.get("/").await.body, b"first");
    let rig = Rig::site("\trespond first\n\tredir * /elsewhere");
    assert_eq!(rig.get("/").await.head.status(), 302);
}

#[tokio::test]
async fn sites_may_split_paths_between_upstreams() {
    let first = Recorder::saying(Ipv4Addr::LOCALHOST, "first").await;
    let second = Recorder::saying(Ipv4Addr::LOCALHOST, "second").await;
    let rig = Rig::site(&format!(
        "\thandle /one/* {{\n\t\treverse_proxy {}\n\t}}\n\treverse_proxy /two* {}\n\trespond /three none 404",
        first.addr(),
        second.addr()
    ));
    assert_eq!(rig.get("/one/x").await.body, b"first");
    assert_eq!(rig.get("/two").await.body, b"second");
    assert_eq!(rig.get("/three").await.head.status(), 404);
    assert_eq!(
        first.only_request().head.target(),
        "/one/x",
        "no prefix is taken off"
    );
}

#[tokio::test]
async fn several_fixed_upstreams_share_the_load_and_cover_for_one_that_is_down() {
    let first = Recorder::saying(Ipv4Addr::LOCALHOST, "up").await;
    let second = Recorder::saying(Ipv4Addr::LOCALHOST, "up").await;
    let rig = Rig::site(&format!("\treverse_proxy {} {}", first.addr(), second.addr()));
    for _ in 0..40 {
        assert_eq!(rig.get("/").await.body, b"up");
    }
    assert!(!first.requests().is_empty() && !second.requests().is_empty());
    first.vanish().await;
    for _ in 0..20 {
        assert_eq!(rig.get("/").await.body, b"up");
    }
}

#[tokio::test]
async fn a_doors_site_and_plain_sites_live_side_by_side() {
    let rig = Rig::site(
        "\thandle /healthz {\n\t\trespond ok\n\t}\n\thandle {\n\t\tdoors_handler {\n\t\t\tsecret \
         MDEyMzQ1Njc4OWFiY2RlZg==\n\t\t\tupstream {\n\t\t\t\tpod_cidr 127.99.1.0/24\n\t\t\t\thost 127.99.1.1\n\
         \t\t\t\tupstream_port 9\n\t\t\t}\n\t\t}\n\t\treverse_proxy {\n\t\t\tdynamic doors_upstreams\n\t\t}\n\t}",
    );
    assert_eq!(rig.get("/healthz").await.body, b"ok");
    assert_eq!(rig.get("/~/garbage/x").await.head.status(), 410);
    assert_eq!(rig.get("/page").await.head.status(), 502);
}
