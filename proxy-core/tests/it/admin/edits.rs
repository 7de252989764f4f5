//! Loads and edits: what changes, what does not, and that it does so whole.

use futures_util::future::join_all;

use super::{load, saying, says, site};
use crate::support::admin::{AdminRig, Ask};
use crate::support::logs;
use crate::support::pod::SECRET;
use crate::support::wait::eventually;

const ROUTES: &str = "/config/apps/http/servers/s/routes";

#[tokio::test]
async fn a_load_and_an_edit_change_what_is_served_and_what_is_shown() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    assert_eq!(says(&rig).await, "first");
    client.done(&load(site("second"))).await;
    assert_eq!(says(&rig).await, "second");
    client
        .done(&Ask::new("PATCH", "/id/text/handle/0/body").json("\"third\""))
        .await;
    assert_eq!(says(&rig).await, "third");
    let handler = format!("{ROUTES}/0/handle");
    assert_eq!(
        client.get(&handler).await,
        "[{\"body\":\"third\",\"handler\":\"static_response\"}]\n"
    );
    let report = rig.stop().await;
    assert!(report.drained, "{report:?}");
}

#[tokio::test]
async fn a_caddyfile_is_loaded_as_its_json_and_may_use_variables() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let text = "{\n\tadmin 127.0.0.1:0\n}\n:0 {\n\tbind 127.0.0.1\n\trespond {$GREETING}\n}\n";
    let ask = |path: &str| {
        Ask::new("POST", path)
            .body(text)
            .field("Content-Type", "text/caddyfile")
    };
    client.done(&ask("/load")).await;
    assert_eq!(says(&rig).await, "hello");
    let adapted: serde_json::Value = serde_json::from_str(&client.ask(&ask("/adapt")).await.text()).unwrap();
    let running: serde_json::Value = serde_json::from_str(&client.get("/config/").await).unwrap();
    assert_eq!(adapted["result"], running);
}

#[tokio::test]
async fn what_is_refused_changes_nothing_whoever_is_at_fault() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let before = client.get("/config/").await;
    let unknown = site("second").replace("\"handle\"", "\"hndle\"");
    let error = client.refused(400, &load(unknown)).await;
    assert!(
        error.starts_with("loading config: loading new config: apps.http.servers.s.routes[0].hndle: "),
        "{error}"
    );
    // A port that somebody has is known only when it is to be bound.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let listen = format!("[\"{address}\"]");
    let ask = Ask::new("PATCH", "/config/apps/http/servers/s/listen").json(listen);
    let error = client.refused(400, &ask).await;
    assert!(
        error.starts_with(&format!("loading new config: cannot listen on {address}: ")),
        "{error}"
    );
    for body in ["{bad", "[]", "17", "{\"@id\":[]}"] {
        client.refused(400, &load(body)).await;
        client.refused(400, &Ask::new("POST", ROUTES).json(body)).await;
    }
    // Without a name, this makes Caddy panic.
    let matcher = r#"{"match":[{"expression":{"expr":"true"}}],"handle":[]}"#;
    let ask = Ask::new("POST", ROUTES).json(matcher);
    let answer = client.ask(&ask).await;
    assert!([200, 400].contains(&answer.head.status()), "{}", answer.text());
    if answer.head.status() == 200 {
        client.done(&Ask::new("DELETE", &format!("{ROUTES}/1"))).await;
    }
    assert_eq!(client.get("/config/").await, before);
    assert_eq!(says(&rig).await, "first");
    // The next edit starts from what runs, not from what was refused.
    client
        .done(&Ask::new("PATCH", "/id/text/handle/0/body").json("\"second\""))
        .await;
    assert_eq!(client.get("/config/").await, before.replace("first", "second"));
}

#[tokio::test]
async fn an_empty_body_removes_nothing_and_a_delete_does() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    for ask in [
        load(""),
        Ask::new("POST", "/load"),
        Ask::new("POST", "/config/").json(""),
        Ask::new("PATCH", "/config/").json(""),
        load("null"),
        load(" null\n"),
        Ask::new("POST", "/config/").json("null"),
        Ask::new("PATCH", "/config/").json("null"),
        Ask::new("POST", "/load")
            .body("")
            .field("Content-Type", "text/caddyfile"),
    ] {
        client.refused(400, &ask).await;
        assert_eq!(says(&rig).await, "first");
    }
    client.done(&Ask::new("DELETE", "/config/apps")).await;
    assert_eq!(client.get("/config/apps").await, "null\n");
    assert!(rig.control.addresses().is_empty(), "nothing is served any more");
}

#[tokio::test]
async fn the_same_configuration_is_loaded_again_only_if_it_must_be() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let running = rig.control.revision();
    let reordered = site("first").replace("\"admin\":{\"listen\":\"127.0.0.1:0\"},", "");
    let reordered = reordered.replacen('{', "{ \"admin\" : { \"listen\":\"127.0.0.1:0\"} , ", 1);
    client.done(&load(reordered)).await;
    let weak = load(site("first")).field("Cache-Control", "max-age=0, must-revalidate");
    client.done(&weak).await;
    assert_eq!(rig.control.revision(), running, "nothing was loaded");
    client
        .done(&load(site("first")).field("Cache-Control", "must-revalidate"))
        .await;
    assert_eq!(rig.control.revision(), running + 1);
}

#[tokio::test]
async fn of_many_edits_for_one_state_exactly_one_is_made() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let shown = client.ask(&Ask::new("GET", "/id/text")).await;
    let etag = shown.head.field("etag").unwrap();
    let edits = (0..12).map(|number| {
        let ask = Ask::new("PATCH", "/id/text/handle/0/body").json(format!("\"edit {number}\""));
        let (client, etag) = (client.clone(), etag.clone());
        async move { client.ask(&ask.field("If-Match", &etag)).await }
    });
    let mut answers: Vec<u16> = join_all(edits)
        .await
        .iter()
        .map(|answer| answer.head.status())
        .collect();
    answers.sort_unstable();
    assert_eq!(answers, [vec![200], vec![412; 11]].concat());
    assert!(says(&rig).await.starts_with("edit "));
}

#[tokio::test]
async fn edits_at_once_all_find_their_place() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let edits = (0..12).map(|number| {
        let route = format!(r#"{{"@id":"r{number}","handle":[]}}"#);
        let (client, ask) = (client.clone(), Ask::new("POST", ROUTES).json(route));
        async move { client.done(&ask).await }
    });
    join_all(edits).await;
    for number in 0..12 {
        let route = client.get(&format!("/id/r{number}")).await;
        assert_eq!(route, format!("{{\"@id\":\"r{number}\",\"handle\":[]}}\n"));
    }
}

#[tokio::test]
async fn a_client_that_does_not_wait_does_not_leave_a_change_half_made() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let mut wire = client.wire().await;
    wire.send(load(site("second")).bytes(&format!("localhost:{}", client.address.port())))
        .await;
    wire.reset();
    eventually("the second text", async || {
        (client.get("/config/").await.contains("second") && says(&rig).await == "second").then_some(())
    })
    .await;
}

#[tokio::test]
async fn no_secret_is_told_but_to_those_who_ask_for_the_configuration() {
    logs::capture();
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let doors = |secret: &str| {
        site("first").replace(
            "\"routes\":[",
            &format!(
                "\"routes\":[{{\"handle\":[{{\"handler\":\"doors_handler\",\"secret\":\"{secret}\",\"upstreams\":\
                 [{{\"pod_cidrs\":[\"10.0.0.0/8\"],\"host\":\"app.test\",\"upstream_port\":80}}]}}]}},"
            ),
        )
    };
    let bad = "bm90IGEga2V5IG9mIGEgdmFsaWQgbGVuZ3Ro-told";
    let error = client.refused(400, &load(doors(bad))).await;
    assert!(!error.contains(bad), "{error}");
    let answer = client.ask(&load(doors(SECRET))).await;
    assert!(!answer.text().contains(SECRET), "{}", answer.text());
    assert_eq!(logs::lines_with(&[bad]), Vec::<String>::new());
    assert_eq!(logs::lines_with(&[SECRET]), Vec::<String>::new());
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let form = || load(saying("127.0.0.1:0", "evil"));
    for (ask, status) in [
        // A form, a script, an image, a redirect, a socket, and a name that was turned around.
        (form().field("Origin", "http://evil.test"), 403),
        (form().field("Sec-Fetch-Mode", "navigate"), 403),
        (form().field("Sec-Fetch-Mode", "no-cors"), 400),
        (form().field("Origin", "null"), 400),
        (form().field("Upgrade", "websocket"), 400),
        (
            form().field("Host", &format!("evil.test:{}", client.address.port())),
            403,
        ),
        (
            Ask::new("OPTIONS", "/load").field("Origin", "http://evil.test"),
            403,
        ),
        (Ask::new("POST", "/stop").field("Origin", "http://evil.test"), 403),
    ] {
        let answer = client.ask(&ask).await;
        assert_eq!(answer.head.status(), status, "{}", answer.text());
        assert_eq!(answer.head.field("access-control-allow-origin"), None);
    }
    assert_eq!(says(&rig).await, "first");
}

#[tokio::test]
async fn a_stop_is_answered_before_it_happens_and_no_change_is_made_after_it() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    client.done(&Ask::new("POST", "/stop")).await;
    rig.admin.asked_to_stop().await;
    client.refused(503, &load(site("second"))).await;
    assert!(rig.stop().await.drained);
}
