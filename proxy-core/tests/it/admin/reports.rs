//! What the API tells beside the configuration: upstreams, pods, the internal authority.

use std::net::Ipv4Addr;

use proxy_core::AdminOptions;
use serde_json::{Value, json};

use crate::support::admin::{AdminRig, Ask, Client};
use crate::support::browser::Browser;
use crate::support::dns::DnsServer;
use crate::support::net::Net;
use crate::support::origin::Origin;
use crate::support::pod::Pod;
use crate::support::rig::{Doors, HOST, get};
use crate::support::wait::eventually;
use crate::support::wire::Wire;

async fn json_at(client: &Client, path: &str) -> Value {
    serde_json::from_str(&client.get(path).await).unwrap()
}

fn site(directives: &str) -> String {
    format!("{{\n\tadmin 127.0.0.1:0\n}}\nhttp://{HOST}:0 {{\n\tbind 127.0.0.1\n{directives}\n}}\n")
}

#[tokio::test]
async fn upstreams_are_told_with_their_requests_in_flight() {
    let (one, two) = (
        Origin::bind(Ipv4Addr::LOCALHOST).await,
        Origin::bind(Ipv4Addr::LOCALHOST).await,
    );
    let text = site(&format!(
        "\treverse_proxy /one/* {}\n\treverse_proxy /two/* {}",
        one.addr(),
        two.addr()
    ));
    let rig = AdminRig::caddyfile(&text).await;
    let client = rig.client().await;
    let counts = || async {
        let all = json_at(&client, "/reverse_proxy/upstreams").await;
        let of = |origin: &Origin| {
            let address = origin.addr().to_string();
            let found = all
                .as_array()
                .unwrap()
                .iter()
                .find(|upstream| upstream["address"] == address);
            found.unwrap()["num_requests"].as_u64().unwrap()
        };
        (of(&one), of(&two))
    };
    assert_eq!(counts().await, (0, 0));
    let (mut first, mut second) = (Wire::connect(rig.site()).await, Wire::connect(rig.site()).await);
    first.send(get("/one/a")).await;
    let mut at_one = one.accept().await;
    at_one.head().await;
    second.send(get("/one/b")).await;
    let mut also_at_one = one.accept().await;
    also_at_one.head().await;
    assert_eq!(counts().await, (2, 0));
    // An answer counts to its end, not to its beginning.
    at_one
        .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha")
        .await;
    first.head().await;
    first.exactly(2).await;
    assert_eq!(counts().await, (2, 0));
    // A reload forgets nobody.
    client
        .done(&Ask::new("POST", "/config/apps/http/grace_period").json("\"1s\""))
        .await;
    assert_eq!(counts().await, (2, 0));
    at_one.send("lf").await;
    first.exactly(2).await;
    second.reset();
    eventually("no request in flight", async || {
        (counts().await == (0, 0)).then_some(())
    })
    .await;
    drop(also_at_one);
}

#[tokio::test]
async fn an_upgraded_connection_is_a_request_until_it_ends() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = AdminRig::caddyfile(&site(&format!("\treverse_proxy {}", origin.addr()))).await;
    let client = rig.client().await;
    let requests = || async { json_at(&client, "/reverse_proxy/upstreams").await[0]["num_requests"].clone() };
    let mut wire = Wire::connect(rig.site()).await;
    let upgrade = "Connection: Upgrade\r\nUpgrade: chat\r\n\r\n";
    wire.send(format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n{upgrade}"))
        .await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send(format!("HTTP/1.1 101 Switching Protocols\r\n{upgrade}"))
        .await;
    wire.head().await;
    upstream.send("hello").await;
    wire.exactly(5).await;
    assert_eq!(requests().await, 1);
    wire.finish().await;
    drop(upstream);
    eventually("the end of the tunnel", async || {
        (requests().await == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_draining_pod_is_seen_until_it_has_nothing_to_do() {
    let server = Net::fresh().server(1);
    let old = Pod::start(server.pod(1), 0).await;
    let new = Pod::start(server.pod(2), old.addr().port()).await;
    let dns = DnsServer::start().await;
    dns.set("svc.test", &[old.addr().ip()], 0);
    let doors = Doors::server(server, "svc.test", old.addr().port()).resolver(dns.address());
    let rig = AdminRig::caddyfile(&site(&doors.directives())).await;
    let client = rig.client().await;
    assert_eq!(client.get("/doors/pods").await, "[]\n");

    let mut browser = Browser::clear(rig.site(), HOST).await;
    let tab = browser.load("/").await;
    assert_eq!(client.get("/doors/pods").await, "[]\n", "no token was used yet");
    let mut sync = browser.sync().await;
    old.until_synced(&tab.instance).await;
    let pod = || async {
        let all = json_at(&client, "/doors/pods").await;
        let found = all
            .as_array()
            .unwrap()
            .iter()
            .find(|pod| pod["address"] == old.addr().to_string());
        found.cloned().unwrap()
    };
    let seen = pod().await;
    assert_eq!(
        (
            &seen["server"],
            &seen["requests"],
            &seen["streams"],
            &seen["fresh"]
        ),
        (
            &json!(format!("svc.test:{}", old.addr().port())),
            &json!(1),
            &json!(0),
            &json!(true)
        )
    );
    old.push(&tab.instance, "news");
    sync.response().await;
    let seen = pod().await;
    assert_eq!((&seen["requests"], &seen["streams"]), (&json!(0), &json!(1)));

    dns.set("svc.test", &[new.addr().ip()], 0);
    eventually("the name to leave the old pod", async || {
        (pod().await["fresh"] == false).then_some(())
    })
    .await;
    assert_eq!(pod().await["streams"], 1);
    old.roll(&tab.instance);
    drop(sync);
    eventually("an empty pod", async || {
        let seen = pod().await;
        (seen["requests"] == 0 && seen["streams"] == 0).then_some(())
    })
    .await;
    assert!(
        !client.get("/doors/pods").await.contains(&tab.token),
        "tokens stay secret"
    );
}

#[tokio::test]
async fn asking_for_the_authority_makes_none() {
    let rig = AdminRig::caddyfile(&site("\trespond hello")).await;
    let client = rig.client().await;
    let error = client.refused(404, &Ask::new("GET", "/pki/ca/local")).await;
    assert!(error.contains("is not made yet"), "{error}");

    let text = "{\n\tadmin 127.0.0.1:0\n\tauto_https disable_redirects\n}\nhttps://a.test:0 {\n\tbind 127.0.0.1\n\ttls internal\n}\n";
    let rig = AdminRig::caddyfile(text).await;
    let client = rig.client().await;
    let shown = json_at(&client, "/pki/ca/local").await;
    assert_eq!(
        (&shown["id"], &shown["name"]),
        (&json!("local"), &json!("Doorway Local Authority"))
    );
    let chain = client.ask(&Ask::new("GET", "/pki/ca/local/certificates")).await;
    assert_eq!(
        chain.head.all("content-type"),
        ["application/pem-certificate-chain"]
    );
    assert_eq!(shown["root_certificate"], chain.text());
    client.refused(405, &Ask::new("POST", "/pki/ca/local")).await;
}

#[tokio::test]
async fn a_proxy_without_an_endpoint_has_none() {
    let options = AdminOptions {
        address: "off".to_owned(),
        ..AdminOptions::default()
    };
    let rig = AdminRig::with_options("{}", options).await;
    assert_eq!(rig.admin.address().await, None);
    rig.stop().await;
}

#[tokio::test]
async fn metrics_tell_of_the_proxy_in_both_formats() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = AdminRig::caddyfile(&site(&format!("\treverse_proxy {}", origin.addr()))).await;
    let client = rig.client().await;
    let mut wire = Wire::connect(rig.site()).await;
    wire.send(get("/")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    client
        .done(&Ask::new("POST", "/config/apps/http/grace_period").json("\"1s\""))
        .await;
    let refused = client
        .ask(&Ask::new("POST", "/config/apps/nonsense").json("{}"))
        .await;
    assert_eq!(refused.head.status(), 400);

    let text = client.get("/metrics").await;
    let address = origin.addr();
    for line in [
        "doorway_requests_total 1",
        "doorway_connections_total 1",
        "doorway_connections_open 1",
        &format!("doorway_upstream_requests_in_flight{{upstream=\"{address}\"}} 1"),
        &format!("caddy_reverse_proxy_upstreams_healthy{{upstream=\"{address}\"}} 1"),
        "doorway_config_loads_total{result=\"accepted\"} 2",
        // A document that is no configuration does not come so far as to be loaded, and counts all the same.
        "doorway_config_loads_total{result=\"refused\"} 1",
        "caddy_admin_http_requests_total{code=\"200\",handler=\"admin\",method=\"POST\",path=\"/config/\"} 1",
        "caddy_admin_http_requests_total{code=\"400\",handler=\"admin\",method=\"POST\",path=\"/config/\"} 1",
        "caddy_admin_http_request_errors_total{handler=\"admin\",method=\"POST\",path=\"/config/\"} 1",
        "caddy_config_last_reload_successful 0",
        "# TYPE process_cpu_seconds_total counter",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }

    let ask = Ask::new("GET", "/metrics").field("Accept", "application/openmetrics-text; version=1.0.0");
    let answer = client.ask(&ask).await;
    assert_eq!(
        answer.head.field("content-type").as_deref(),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    assert!(answer.text().ends_with("# EOF\n"));
}
