//! A store that is away.

use http::header;
use route_sources::Kind;
use serde_json::json;

use super::rig::{Rig, delete, document, get, post, put};

#[tokio::test]
async fn changes_wait_for_the_store_to_be_back() {
    let rig = Rig::new();
    rig.put("a.test", 80).await;
    rig.store.go(true);
    for question in [
        put("a.test").json(&document("a.test", 81)),
        put("a.test").json(&document("a.test", 81)).field("If-Match", "*"),
        delete("a.test"),
        post("/routes/a.test/rollback").json(&json!({ "version": 1 })),
        get("/routes/a.test"),
        get("/routes/a.test/history"),
        get("/replicas"),
    ] {
        let reply = rig.ask(question).await;
        assert_eq!(reply.status, 503);
        assert!(reply.fields.contains_key(header::RETRY_AFTER));
        assert_eq!(reply.error.as_deref(), Some("the memory store cannot be reached"));
    }
    rig.store.go(false);
    assert_eq!(rig.put("a.test", 81).await, 2);
}

#[tokio::test]
async fn hosts_are_listed_without_their_versions() {
    let rig = Rig::new();
    rig.put("b.test", 80).await;
    rig.serves(&[("a.test", Kind::Docker), ("b.test", Kind::Store)]);
    rig.store.go(true);
    let said = rig.says(200, get("/routes")).await;
    assert_eq!(said["hosts"].as_array().unwrap().len(), 2);
    assert_eq!(said["hosts"][1].get("version"), None);
    assert_eq!(said["store_error"], "the memory store cannot be reached");
}

#[tokio::test]
async fn the_status_says_so() {
    let rig = Rig::new();
    rig.store.go(true);
    let said = rig.says(200, get("/routes/status")).await;
    assert_eq!(
        said["store"],
        json!({ "kind": "memory", "revision": null, "error": "the memory store cannot be reached" })
    );
}

#[tokio::test]
async fn a_document_is_checked_without_the_store() {
    let rig = Rig::new();
    rig.store.go(true);
    rig.says(200, post("/routes/validate").json(&document("a.test", 80)))
        .await;
    let wrong = put("a.test").json(&json!({ "host": "b.test" }));
    rig.says(422, wrong).await;
}
