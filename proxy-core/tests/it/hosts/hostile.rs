//! What hosts of sources must not be able to do to others.

use std::net::Ipv4Addr;

use route_sources::{Held, Kind, Route};
use serde_json::json;

use super::{Stage, route, to};
use crate::support::origin::Recorder;

#[tokio::test]
async fn a_wildcard_of_a_source_takes_no_host_of_the_configuration() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "source").await;
    let stage = Stage::with("http://shop.test:0 {\n\tbind 127.0.0.1\n\trespond \"file\"\n}\n").await;
    stage.say(Kind::Docker, vec![to("*.test", origin.addr())]).await;
    assert_eq!(stage.get("other.test", "/").await.text(), "source");
    assert_eq!(stage.get("shop.test", "/").await.text(), "file");
    // What is meant for this host alone comes first, as ever.
    let own = vec![to("*.test", origin.addr()), to("shop.test", origin.addr())];
    stage.say(Kind::Docker, own).await;
    assert_eq!(stage.get("shop.test", "/").await.text(), "source");
    stage.say(Kind::Docker, vec![to("*.test", origin.addr())]).await;
    assert_eq!(stage.get("shop.test", "/").await.text(), "file");
    stage.say(Kind::Docker, Vec::new()).await;
    assert_eq!(stage.get("shop.test", "/").await.text(), "file");
    assert_eq!(stage.get("other.test", "/").await.head.status(), 404);
}

#[tokio::test]
async fn an_answer_of_503_is_no_version_that_is_kept() {
    let stage = Stage::new().await;
    let broken = |number: u16| {
        let handler = format!("no_such_handler_{number}");
        route(json!({"host": "a.test", "handlers": [{"handler": handler}]}))
    };
    let held = Held {
        host: "a.test".parse().unwrap(),
        reason: "its document is of a later version".to_owned(),
    };
    for before in [broken(1), Route::Held(held.into())] {
        stage.say(Kind::Docker, vec![before]).await;
        stage.say(Kind::Docker, vec![broken(2)]).await;
        assert_eq!(stage.get("a.test", "/").await.head.status(), 503);
        let unbuilt = stage.rig.control().hosts().unbuilt;
        assert!(unbuilt.len() == 1 && !unbuilt[0].kept, "{unbuilt:?}");
    }
}

#[tokio::test]
async fn a_host_of_the_configuration_is_served_on_while_the_document_in_its_place_cannot_be_built() {
    let stage = Stage::with("http://shop.test:0 {\n\tbind 127.0.0.1\n\trespond \"file\"\n}\n").await;
    let broken = route(json!({"host": "shop.test", "handlers": [{"handler": "no_such_handler"}]}));
    stage.say(Kind::Docker, vec![broken]).await;
    assert_eq!(stage.get("shop.test", "/").await.text(), "file");
    assert!(stage.rig.control().hosts().unbuilt[0].kept);
}

#[tokio::test]
async fn a_name_is_the_same_in_whatever_form_it_is_asked_for() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "hello").await;
    let stage = Stage::new().await;
    let routes = vec![
        to("shop.test", origin.addr()),
        to("2001:DB8:0:0::1", origin.addr()),
    ];
    stage.say(Kind::Docker, routes).await;
    for host in [
        "shop.test",
        "SHOP.Test",
        "shop.test.",
        "Shop.test.:8080",
        "[2001:db8::1]",
        "[2001:db8::1]:80",
    ] {
        let answer = stage.get(host, "/").await;
        assert_eq!((answer.head.status(), answer.text()), (200, "hello"), "{host}");
    }
    for host in [
        "shop.test..",
        "xshop.test",
        "shop.test:80:80",
        "[shop.test]",
        "shop%2etest",
    ] {
        assert_ne!(stage.get(host, "/").await.text(), "hello", "{host}");
    }
    // The target of a request says which host is meant, not the field.
    let request = "GET http://shop.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n";
    let answer = super::Answer::from(stage.rig.wire().await.ask(request).await);
    assert_eq!(answer.text(), "hello");
    let request = "GET http://other.test/ HTTP/1.1\r\nHost: shop.test\r\n\r\n";
    let answer = super::Answer::from(stage.rig.wire().await.ask(request).await);
    assert_ne!(answer.text(), "hello");
}

#[tokio::test]
async fn hosts_may_swap_their_names_and_aliases_in_one_snapshot() {
    let (one, other) = (
        Recorder::saying(Ipv4Addr::LOCALHOST, "one").await,
        Recorder::saying(Ipv4Addr::LOCALHOST, "other").await,
    );
    let stage = Stage::new().await;
    let with = |host: &str, alias: &str, address: std::net::SocketAddr| {
        route(json!({"host": host, "aliases": [alias], "upstreams": [{"address": address.to_string()}]}))
    };
    let bodies = async || {
        let mut bodies = Vec::new();
        for host in ["a.test", "b.test", "c.test", "d.test"] {
            bodies.push(stage.get(host, "/").await.text().to_owned());
        }
        bodies
    };
    stage
        .say(
            Kind::Docker,
            vec![
                with("a.test", "b.test", one.addr()),
                with("c.test", "d.test", other.addr()),
            ],
        )
        .await;
    assert_eq!(bodies().await, ["one", "one", "other", "other"]);
    stage
        .say(
            Kind::Docker,
            vec![
                with("b.test", "a.test", one.addr()),
                with("c.test", "d.test", other.addr()),
            ],
        )
        .await;
    assert_eq!(bodies().await, ["one", "one", "other", "other"]);
    stage
        .say(
            Kind::Docker,
            vec![
                with("b.test", "d.test", one.addr()),
                with("c.test", "a.test", other.addr()),
            ],
        )
        .await;
    assert_eq!(bodies().await, ["other", "one", "other", "one"]);
}
