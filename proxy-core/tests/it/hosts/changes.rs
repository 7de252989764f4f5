//! What changes while requests come, and what does not.

use std::net::Ipv4Addr;

use proxy_core::Options;
use route_sources::{Kind, Snapshot, channel};
use serde_json::json;

use super::{Answer, Stage, config, route, to};
use crate::support::origin::{Origin, Recorder, Reply};
use crate::support::rig::{Rig, options};
use crate::support::wait::{eventually, within};

#[tokio::test]
async fn the_larger_source_wins_and_the_next_takes_over_when_it_is_gone() {
    let (docker, kubernetes) = (
        Recorder::saying(Ipv4Addr::LOCALHOST, "docker").await,
        Recorder::saying(Ipv4Addr::LOCALHOST, "kubernetes").await,
    );
    let stage = Stage::with("http://a.test:0 {\n\tbind 127.0.0.1\n\trespond \"file\"\n}\n").await;
    let body = async || stage.get("a.test", "/").await.text().to_owned();
    stage
        .say(Kind::Kubernetes, vec![to("a.test", kubernetes.addr())])
        .await;
    stage.say(Kind::Docker, vec![to("a.test", docker.addr())]).await;
    assert_eq!(body().await, "kubernetes");
    let conflicts = stage.rig.control().hosts().conflicts;
    assert_eq!(conflicts.len(), 1);
    assert_eq!(
        (conflicts[0].winner, &conflicts[0].shadowed[0]),
        (Kind::Kubernetes, &Kind::Docker)
    );
    stage.say(Kind::Kubernetes, Vec::new()).await;
    assert_eq!(body().await, "docker");
    stage.say(Kind::Docker, Vec::new()).await;
    assert_eq!(body().await, "file");
}

#[tokio::test]
async fn a_change_of_one_host_touches_no_connection_of_another() {
    let (one, other) = (
        Recorder::saying(Ipv4Addr::LOCALHOST, "one").await,
        Recorder::saying(Ipv4Addr::LOCALHOST, "other").await,
    );
    let stage = Stage::new().await;
    let steady = to("a.test", one.addr());
    stage.say(Kind::Docker, vec![steady.clone()]).await;
    let mut client = stage.rig.wire().await;
    let ask = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
    assert_eq!(Answer::from(client.ask(ask).await).text(), "one");
    for number in 0..3 {
        let host = format!("b{number}.test");
        stage
            .say(Kind::Docker, vec![steady.clone(), to(&host, other.addr())])
            .await;
        assert_eq!(
            Answer::from(client.ask(ask).await).text(),
            "one",
            "over the same connection"
        );
        assert_eq!(stage.get(&host, "/").await.text(), "other");
    }
    assert_eq!(one.accepted(), 1, "the upstream's connection is the same too");
    // An equal document that was read anew is no change either.
    stage.say(Kind::Docker, vec![to("a.test", one.addr())]).await;
    assert_eq!(Answer::from(client.ask(ask).await).text(), "one");
    assert_eq!(one.accepted(), 1);
}

#[tokio::test]
async fn a_request_in_flight_ends_although_its_host_is_removed() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let stage = Stage::new().await;
    stage.say(Kind::Docker, vec![to("a.test", origin.addr())]).await;
    let mut client = stage.rig.wire().await;
    client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
    let mut upstream = within("a connection", origin.accept()).await;
    within("the request", upstream.head()).await;
    upstream
        .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        .await;
    stage.say(Kind::Docker, Vec::new()).await;
    assert_eq!(
        stage.get("a.test", "/").await.head.status(),
        404,
        "for others it is gone"
    );
    upstream.send("world").await;
    let answer = Answer::from(within("the answer", client.answer()).await);
    assert_eq!((answer.head.status(), answer.text()), (200, "helloworld"));
}

#[tokio::test]
async fn a_route_that_cannot_be_built_keeps_its_previous_version_and_is_listed() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "before").await;
    let stage = Stage::new().await;
    stage.say(Kind::Docker, vec![to("a.test", origin.addr())]).await;
    let broken = |host: &str| route(json!({"host": host, "handlers": [{"handler": "no_such_handler"}]}));
    stage
        .say(Kind::Docker, vec![broken("a.test"), broken("b.test")])
        .await;
    assert_eq!(stage.get("a.test", "/").await.text(), "before");
    assert_eq!(
        stage.get("b.test", "/").await.head.status(),
        503,
        "there is no version before"
    );
    let unbuilt = stage.rig.control().hosts().unbuilt;
    let told: Vec<_> = unbuilt.iter().map(|one| (one.place.as_str(), one.kept)).collect();
    assert_eq!(told, [("a.test", true), ("b.test", false)]);
    assert!(
        unbuilt[0].reason.contains("unknown or unsupported handler"),
        "{}",
        unbuilt[0].reason
    );
    stage.say(Kind::Docker, vec![to("a.test", origin.addr())]).await;
    assert!(stage.rig.control().hosts().unbuilt.is_empty());
}

#[tokio::test]
async fn requests_wait_until_the_sources_have_spoken() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "hello").await;
    let stage = Stage::silent(&config(""));
    let mut client = stage.rig.wire().await;
    client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
    stage.kubernetes.publish(Snapshot::default());
    stage.docker.publish(Snapshot {
        routes: vec![to("a.test", origin.addr())],
        ..Snapshot::default()
    });
    let answer = Answer::from(within("the answer", client.answer()).await);
    assert_eq!((answer.head.status(), answer.text()), (200, "hello"));
}

#[tokio::test]
async fn a_reload_keeps_the_hosts_of_sources() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "hello").await;
    let stage = Stage::new().await;
    stage.say(Kind::Docker, vec![to("a.test", origin.addr())]).await;
    assert_eq!(stage.get("a.test", "/").await.text(), "hello");
    let applied = stage.rig.reload(&config("").replace("5s", "6s")).await;
    assert_eq!((applied.added.len(), applied.kept), (0, 1));
    assert_eq!(stage.get("a.test", "/").await.text(), "hello");
    assert_eq!(origin.accepted(), 1);
}

#[tokio::test]
async fn a_change_of_one_path_keeps_what_is_known_of_the_upstreams_of_another() {
    let failing = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
    let bad = Recorder::start(Ipv4Addr::LOCALHOST, move |_| Reply::keep(failing)).await;
    let good = Recorder::saying(Ipv4Addr::LOCALHOST, "good").await;
    let address = bad.addr();
    let minute = 60_000_000_000_u64;
    let document = |body: &str| {
        json!({
            "host": "a.test",
            "paths": [
                {"patterns": ["/steady"], "handlers": [{
                    "handler": "reverse_proxy",
                    "upstreams": [{"dial": address.to_string()}, {"dial": good.addr().to_string()}],
                    "load_balancing": {"selection_policy": {"policy": "first"}},
                    "health_checks": {"passive": {
                        "fail_duration": minute, "max_fails": 1, "unhealthy_status": [500]
                    }}
                }]},
                {"patterns": ["/edited"], "handlers": [{"handler": "static_response", "body": body}]}
            ],
            "upstreams": []
        })
    };
    let stage = Stage::new().await;
    stage.say(Kind::Docker, vec![route(document("one"))]).await;
    assert_eq!(stage.get("a.test", "/steady").await.head.status(), 500);
    assert_eq!(stage.get("a.test", "/steady").await.text(), "good");
    stage.say(Kind::Docker, vec![route(document("two"))]).await;
    assert_eq!(stage.get("a.test", "/edited").await.text(), "two");
    assert_eq!(
        stage.get("a.test", "/steady").await.text(),
        "good",
        "it is known yet that the first one is down"
    );
}

#[tokio::test]
async fn files_are_waited_for_although_the_configuration_has_hosts_of_its_own() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "hello").await;
    let (file, snapshots) = channel();
    let options = Options {
        host_sources: vec![(Kind::File, snapshots)],
        ..options()
    };
    let own = "http://b.test:0 {\n\tbind 127.0.0.1\n\trespond \"own\"\n}\n";
    let rig = Rig::with_options(&options, &config(own));
    let mut client = rig.wire().await;
    client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
    let is_known = async || {
        let status = rig.control().hosts();
        status
            .sources
            .iter()
            .any(|source| source.routes > 0)
            .then_some(())
    };
    eventually("the configuration's own host is known", is_known).await;
    file.publish(Snapshot {
        routes: vec![to("a.test", origin.addr())],
        ..Snapshot::default()
    });
    let answer = Answer::from(within("the answer", client.answer()).await);
    assert_eq!((answer.head.status(), answer.text()), (200, "hello"));
}
