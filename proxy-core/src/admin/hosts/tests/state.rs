//! Status, replicas, and what an operator decides.

use std::sync::atomic::Ordering;

use route_sources::Kind;
use serde_json::json;

use super::rig::{Rig, get, post};

#[tokio::test]
async fn the_status_tells_both_revisions() {
    let rig = Rig::new();
    rig.put("a.test", 80).await;
    let applied = rig.revision().await;
    *rig.view.applied.lock().unwrap() = Some(applied);
    rig.put("a.test", 81).await;
    rig.serves(&[("a.test", Kind::Store)]);
    let said = rig.says(200, get("/routes/status")).await;
    assert_eq!(said["names"], 1);
    assert_eq!(said["applied"]["revision"], json!(applied));
    assert_eq!(said["store"]["kind"], "memory");
    assert_eq!(said["store"]["revision"]["number"], 2);
    assert_eq!(said["store"]["error"], json!(null));
}

#[tokio::test]
async fn nothing_is_applied_before_something_is() {
    let rig = Rig::new();
    let said = rig.says(200, get("/routes/status")).await;
    assert_eq!(said["applied"], json!(null));
}

#[tokio::test]
async fn replicas_say_what_they_have_applied() {
    let rig = Rig::new();
    rig.put("a.test", 80).await;
    let before = rig.revision().await;
    rig.report("edge-b", before).await;
    rig.put("a.test", 81).await;
    rig.report("edge-a", rig.revision().await).await;
    let said = rig.says(200, get("/replicas")).await;
    assert_eq!(said["revision"]["number"], 2);
    let shown: Vec<_> = said["replicas"]
        .as_array()
        .unwrap()
        .iter()
        .map(|replica| (&replica["id"], &replica["current"]))
        .collect();
    assert_eq!(
        shown,
        [
            (&json!("edge-a"), &json!(true)),
            (&json!("edge-b"), &json!(false))
        ]
    );
    assert_eq!(said["replicas"][0]["hostname"], "edge-a.test");
}

#[tokio::test]
async fn a_route_of_a_container_that_is_gone_is_forgotten() {
    let rig = Rig::new();
    *rig.view.remembered.lock().unwrap() = vec!["a.test".parse().unwrap()];
    let said = rig.says(200, post("/routes/forget/A.test")).await;
    assert_eq!(said, json!({ "host": "a.test", "forgotten": true }));
    let error = rig.refused(404, post("/routes/forget/a.test")).await;
    assert!(error.contains("a.test"), "{error}");
}

#[tokio::test]
async fn a_loss_is_accepted_by_who_follows_the_store() {
    let rig = Rig::new();
    rig.refused(409, post("/routes/accept-loss")).await;
    rig.view.followed.store(true, Ordering::Relaxed);
    assert_eq!(
        rig.says(200, post("/routes/accept-loss")).await,
        json!({ "accepted": true })
    );
}

#[tokio::test]
async fn other_paths_and_methods_are_refused() {
    let rig = Rig::new();
    assert_eq!(rig.ask(get("/routes/a/b")).await.status, 404);
    let reply = rig.ask(post("/routes")).await;
    assert_eq!(
        (reply.status.as_u16(), &reply.fields["allow"]),
        (405, &"GET, HEAD".parse().unwrap())
    );
    let error = rig.refused(400, get("/routes/a:80")).await;
    assert!(error.contains("`a:80` is no host"), "{error}");
}
