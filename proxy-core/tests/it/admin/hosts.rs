//! Routes of a store, over real sockets: behind the checks of the whole API, and served once they are written.

use serde_json::{Value, json};

use super::site;
use crate::support::admin::{AdminRig, Ask, Client};
use crate::support::wait::eventually;

/// A proxy that serves what a store in memory has, and these tokens.
fn with_a_store(tokens: &str) -> String {
    format!(
        "{{\n\tadmin 127.0.0.1:0\n\troute_sources {{\n\t\tlisten http://127.0.0.1:0\n\t\tstore memory {{\n\
         \t\t\tsnapshot off\n\t\t\tsync_interval 1s\n\t\t}}\n\t\t{tokens}\n\t}}\n}}\n"
    )
}

/// Starts it, and waits until its sources run.
async fn start(tokens: &str) -> (AdminRig, Client) {
    let rig = AdminRig::caddyfile(&with_a_store(tokens)).await;
    let client = rig.client().await;
    eventually("the sources run", async || {
        let status = client.ask(&Ask::new("GET", "/routes")).await.head.status();
        (status != 409).then_some(())
    })
    .await;
    (rig, client)
}

fn saying(host: &str, text: &str) -> String {
    json!({ "host": host, "handlers": [{ "handler": "static_response", "body": text }] }).to_string()
}

async fn json_at(client: &Client, path: &str) -> Value {
    serde_json::from_str(&client.get(path).await).unwrap()
}

#[tokio::test]
async fn a_route_is_served_once_it_is_written_and_waited_for() {
    let (rig, client) = start("").await;
    let site = Client { address: rig.site() };
    let ask = Ask::new("GET", "/").field("Host", "a.test");
    for text in ["first", "second"] {
        let put = Ask::new("PUT", "/routes/a.test?wait=20s").json(saying("a.test", text));
        let answer = client.ask(&put).await;
        assert_eq!(answer.head.status(), 200, "{}", answer.text());
        assert_eq!(site.ask(&ask).await.text(), text);
    }
    let listed = json_at(&client, "/routes").await;
    assert_eq!(
        (&listed["hosts"][0]["host"], &listed["hosts"][0]["version"]),
        (&json!("a.test"), &json!(2))
    );
    let status = json_at(&client, "/routes/status").await;
    assert_eq!(status["applied"]["revision"], status["store"]["revision"]);
    let delete = client.ask(&Ask::new("DELETE", "/routes/a.test?wait=20s")).await;
    assert_eq!(delete.head.status(), 200, "{}", delete.text());
    assert_ne!(site.ask(&ask).await.text(), "second");
    rig.stop().await;
}

#[tokio::test]
async fn a_proxy_without_sources_has_no_routes_to_tell() {
    let rig = AdminRig::start(&site("hello")).await;
    let client = rig.client().await;
    for path in ["/routes", "/routes/a.test", "/replicas"] {
        let error = client.refused(409, &Ask::new("GET", path)).await;
        assert!(error.contains("route_sources"), "{error}");
    }
    rig.stop().await;
}

#[tokio::test]
async fn pages_of_others_ask_for_nothing() {
    let (rig, client) = start("").await;
    for ask in [
        Ask::new("PUT", "/routes/a.test")
            .json(saying("a.test", "x"))
            .field("Origin", "http://evil.test"),
        Ask::new("GET", "/routes").field("Host", "evil.test"),
        Ask::new("DELETE", "/routes/a.test").field("Origin", "http://evil.test"),
    ] {
        client.refused(403, &ask).await;
    }
    assert_eq!(json_at(&client, "/routes").await["hosts"], json!([]));
    rig.stop().await;
}

#[tokio::test]
async fn tokens_are_asked_for_as_the_running_configuration_says() {
    let (rig, client) = start("token ci write a-secret-of-machines").await;
    let answer = client.ask(&Ask::new("GET", "/routes")).await;
    assert_eq!(answer.head.status(), 401);
    assert_eq!(answer.head.all("www-authenticate"), ["Bearer realm=\"doorway\""]);
    let shown = |secret: &str| Ask::new("GET", "/routes").field("Authorization", &format!("Bearer {secret}"));
    assert_eq!(
        client.ask(&shown("a-secret-of-machines")).await.head.status(),
        200
    );
    // Another secret counts from the next configuration on.
    let path = "/config/apps/http/route_sources/tokens/0/secret";
    client
        .done(&Ask::new("PATCH", path).json("\"another-secret-of-machines\""))
        .await;
    eventually("the new secret counts", async || {
        let answer = client.ask(&shown("another-secret-of-machines")).await;
        (answer.head.status() == 200).then_some(())
    })
    .await;
    client.refused(401, &shown("a-secret-of-machines")).await;
    rig.stop().await;
}

#[tokio::test]
async fn a_body_that_is_too_large_ends_its_connection() {
    let (rig, client) = start("").await;
    let put = Ask::new("PUT", "/routes/a.test").json(vec![b' '; (1 << 20) + 1]);
    let answer = client.ask(&put).await;
    assert_eq!(answer.head.status(), 413);
    assert_eq!(answer.head.all("connection"), ["close"]);
    rig.stop().await;
}
