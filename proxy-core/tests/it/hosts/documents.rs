//! What documents can say.

use std::net::Ipv4Addr;
use std::sync::Arc;

use route_sources::{Held, Kind, Route};
use serde_json::json;

use super::{Stage, route, to};
use crate::support::origin::Recorder;

#[tokio::test]
async fn a_host_its_aliases_and_those_of_a_wildcard_are_served_and_no_others() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "hello").await;
    let stage = Stage::new().await;
    let upstreams = json!([{"address": origin.addr().to_string()}]);
    let routes = vec![
        route(json!({"host": "shop.test", "aliases": ["www.shop.test"], "upstreams": upstreams})),
        route(json!({"host": "*.apps.test", "upstreams": upstreams})),
    ];
    stage.say(Kind::Docker, routes).await;
    for host in ["shop.test", "SHOP.test:80", "www.shop.test", "a.apps.test"] {
        let answer = stage.get(host, "/").await;
        assert_eq!((answer.head.status(), answer.text()), (200, "hello"), "{host}");
    }
    for host in ["other.test", "apps.test", "a.b.apps.test", "127.0.0.1"] {
        assert_eq!(stage.get(host, "/").await.head.status(), 404, "{host}");
    }
}

#[tokio::test]
async fn the_first_path_that_matches_is_taken_and_fields_are_changed_on_the_way() {
    let (api, rest) = (
        Recorder::saying(Ipv4Addr::LOCALHOST, "api").await,
        Recorder::saying(Ipv4Addr::LOCALHOST, "rest").await,
    );
    let stage = Stage::new().await;
    let document = json!({
        "host": "shop.test",
        "headers": {"response": {"set": [{"name": "X-Edge", "value": "1"}]}},
        "paths": [
            {
                "patterns": ["/api/*", "/v1"],
                "upstreams": [{"address": api.addr().to_string()}],
                "headers": {"request": {"set": [{"name": "X-Path", "value": "api"}]}}
            },
            {"patterns": ["/api/never"], "handlers": [{"handler": "static_response", "body": "never"}]}
        ],
        "upstreams": [{"address": rest.addr().to_string()}]
    });
    stage.say(Kind::Docker, vec![route(document)]).await;
    for (path, body) in [
        ("/api/x", "api"),
        ("/v1", "api"),
        ("/api/never", "api"),
        ("/", "rest"),
    ] {
        let answer = stage.get("shop.test", path).await;
        assert_eq!((answer.head.status(), answer.text()), (200, body), "{path}");
        assert_eq!(answer.head.field("x-edge").as_deref(), Some("1"), "{path}");
    }
    let requests = api.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.head.field("x-path").as_deref() == Some("api"))
    );
    assert!(rest.only_request().head.field("x-path").is_none());
}

#[tokio::test]
async fn handlers_and_routes_of_skippers_serve_hosts_too() {
    let stage = Stage::new().await;
    let routes = vec![
        route(
            json!({"host": "a.test", "handlers": [{"handler": "static_response", "status_code": 201, "body": "a"}]}),
        ),
        route(
            json!({"host": "b.test", "eskip": "r: Path(\"/x\") -> status(202) -> inlineContent(\"b\") -> <shunt>;"}),
        ),
        route(
            json!({"host": "c.test", "paths": [{"patterns": ["/x"], "handlers": [{"handler": "static_response", "body": "c"}]}]}),
        ),
    ];
    stage.say(Kind::Kubernetes, routes).await;
    for (host, path, status, body) in [
        ("a.test", "/", 201, "a"),
        ("b.test", "/x", 202, "b"),
        ("b.test", "/", 404, "Not Found\n"),
        ("c.test", "/x", 200, "c"),
        ("c.test", "/", 404, ""),
    ] {
        let answer = stage.get(host, path).await;
        assert_eq!(
            (answer.head.status(), answer.text()),
            (status, body),
            "{host}{path}"
        );
    }
}

#[tokio::test]
async fn a_host_without_upstreams_and_one_that_is_held_answer_503() {
    let stage = Stage::new().await;
    let held = Held {
        host: "held.test".parse().unwrap(),
        reason: "its document is of a later version".to_owned(),
    };
    let routes = vec![
        route(json!({"host": "empty.test", "upstreams": []})),
        Route::Held(Arc::new(held)),
    ];
    stage.say(Kind::Docker, routes).await;
    for host in ["empty.test", "held.test"] {
        assert_eq!(stage.get(host, "/").await.head.status(), 503, "{host}");
    }
    let status = stage.rig.control().hosts();
    assert_eq!(status.without_upstreams.len(), 2);
}

#[tokio::test]
async fn what_cannot_be_connected_to_is_not_the_answer_while_another_upstream_can() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "hello").await;
    let gone = Recorder::saying(Ipv4Addr::LOCALHOST, "gone").await;
    let address = gone.addr();
    gone.vanish().await;
    let stage = Stage::new().await;
    let upstreams = json!([{"address": address.to_string()}, {"address": origin.addr().to_string()}]);
    let document = json!({"host": "a.test", "load_balancing": "first", "upstreams": upstreams});
    stage
        .say(Kind::Docker, vec![route(document), to("b.test", address)])
        .await;
    assert_eq!(stage.get("a.test", "/").await.text(), "hello");
    assert_eq!(stage.get("b.test", "/").await.head.status(), 502);
}
