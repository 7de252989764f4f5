//! What handlers change of a request, and what later ones see of it.

use std::net::Ipv4Addr;

use super::said;
use crate::support::origin::Recorder;
use crate::support::rig::{HOST, Rig, get};

#[tokio::test]
async fn the_upstream_gets_what_the_handlers_made_of_the_request() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::site(&format!(
        "\thandle_path /api/* {{\n\t\turi query -secret\n\t\trequest_header X-From {{http.request.orig_uri}}\n\
         \t\trequest_header Host inner.test\n\t\treverse_proxy {}\n\t}}",
        origin.addr()
    ));
    rig.get("/api/a%2Fb?z=%20&secret=1&;odd&a").await;
    let head = origin.only_request().head;
    assert_eq!(head.target(), "/a%2Fb?z=%20&;odd&a");
    assert_eq!(head.all("x-from"), ["/api/a%2Fb?z=%20&secret=1&;odd&a"]);
    assert_eq!(head.all("host"), ["inner.test"]);
}

#[tokio::test]
async fn variables_are_known_to_conditions_and_texts_behind_them() {
    let rig = Rig::site(
        "\tmap {path} {color} {size} {\n\t\t/red crimson big\n\t\t~^/blue-(.*) blue-$1 -\n\t\tdefault grey small\n\t}\n\
         \tvars tone \"{color}/{size}\"\n\tvars /quiet loud false\n\
         \t@blue vars_regexp shade {color} ^blue-(\\w+)$\n\t@loud vars loud false\n\
         \trespond @loud quiet\n\trespond @blue \"{re.shade.1} of {vars.tone}\"\n\trespond {vars.tone}",
    );
    for (path, expected) in [
        ("/red", "crimson/big"),
        ("/blue-sky", "sky of blue-sky/small"),
        ("/other", "grey/small"),
        ("/quiet", "quiet"),
    ] {
        assert_eq!(said(&rig.get(path).await), (200, expected.to_owned()), "{path}");
    }
}

#[tokio::test]
async fn a_map_follows_what_it_looks_at() {
    let rig = Rig::site(
        "\troute {\n\t\tmap {path} {where} {\n\t\t\t/old before\n\t\t\t/new after\n\t\t}\n\t\theader X-First {where}\n\
         \t\trewrite * /new\n\t\trespond {where}\n\t}",
    );
    let answer = rig.get("/old").await;
    assert_eq!(said(&answer).1, "after");
    assert_eq!(answer.head.all("x-first"), ["before"]);
}

#[tokio::test]
async fn a_site_finds_its_routes_again_when_the_host_was_changed() {
    let rig = Rig::site(
        "\t@inner host inner.test\n\troute {\n\t\trespond @inner never\n\t\trequest_header Host inner.test\n\
         \t\trespond @inner \"{host}\"\n\t\trespond outer\n\t}",
    );
    assert_eq!(said(&rig.get("/x").await).1, "inner.test");
}

#[tokio::test]
async fn named_routes_run_where_they_are_invoked() {
    let text = format!(
        "{{\n\tadmin off\n\tauto_https off\n}}\n&(tag) {{\n\tvars tag \"tagged {{path}}\"\n\theader X-Tag 1\n}}\n\
         &(end) {{\n\tinvoke tag\n\trespond \"{{vars.tag}}\"\n}}\n\
         http://{HOST}:0 {{\n\tbind 127.0.0.1\n\thandle /a {{\n\t\tinvoke end\n\t}}\n\
         \thandle /b {{\n\t\tinvoke tag\n\t\trespond \"own {{vars.tag}}\"\n\t}}\n}}\n"
    );
    let rig = Rig::caddyfile(&text);
    let mut wire = rig.wire().await;
    for (path, expected) in [("/a", "tagged /a"), ("/b", "own tagged /b")] {
        let answer = wire.ask(get(path)).await;
        assert_eq!(
            (said(&answer).1.as_str(), answer.head.all("x-tag")),
            (expected, vec!["1".to_owned()])
        );
    }
}

#[tokio::test]
async fn nothing_that_a_client_sends_is_taken_for_a_placeholder() {
    let rig = Rig::site(
        "\tvars said \"{query.q}\"\n\tmap {query.q} {mapped} {\n\t\t~(.*) \"<$1>\"\n\t}\n\
         \trewrite /to* /there?{query}\n\trespond \"{vars.said} {mapped} {uri}\"",
    );
    for sent in ["{http.request.host}", "{env.PATH}", "$1", "{vars.said}"] {
        let escaped = sent.replace('{', "%7B").replace('}', "%7D");
        let answer = rig.get(&format!("/to?q={escaped}")).await;
        assert_eq!(
            said(&answer).1,
            format!("{sent} <{sent}> /there?q={escaped}"),
            "{sent}"
        );
    }
}
