//! How a document came to be, and the way back.

use http::header;
use serde_json::json;

use super::rig::{Rig, delete, document, get, post};

#[tokio::test]
async fn changes_are_told_latest_first() {
    let rig = Rig::new();
    rig.put("a.test", 80).await;
    rig.put("b.test", 80).await;
    rig.put("a.test", 81).await;
    rig.says(200, delete("a.test")).await;
    let said = rig.says(200, get("/routes/a.test/history")).await;
    let kinds: Vec<_> = said["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (&change["kind"], &change["revision"]))
        .collect();
    assert_eq!(
        kinds,
        [
            (&json!("delete"), &json!(4)),
            (&json!("put"), &json!(3)),
            (&json!("put"), &json!(1))
        ]
    );
    let put = &said["changes"][1];
    assert_eq!((&put["schema_version"], &put["kept"]), (&json!(2), &json!(true)));
    assert_eq!(put.get("document"), None);
    assert_eq!(put["at"], 1_000_000);
}

#[tokio::test]
async fn documents_of_the_history_are_told_when_asked_for() {
    let rig = Rig::new();
    let version = rig.put("a.test", 80).await;
    rig.put("a.test", 81).await;
    let said = rig.says(200, get("/routes/a.test/history?documents")).await;
    assert_eq!(said["changes"][1]["document"], document("a.test", 80));
    let reply = rig.ask(get(&format!("/routes/a.test/history/{version}"))).await;
    assert_eq!(reply.fields[header::ETAG], "\"1\"");
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&reply.body).unwrap(),
        document("a.test", 80)
    );
    rig.refused(404, get("/routes/a.test/history/7")).await;
}

#[tokio::test]
async fn a_host_without_changes_is_unknown() {
    let rig = Rig::new();
    rig.refused(404, get("/routes/a.test/history")).await;
    rig.refused(404, get("/routes/a.test/history/1")).await;
    rig.refused(
        404,
        post("/routes/a.test/rollback").json(&json!({ "version": 1 })),
    )
    .await;
}

#[tokio::test]
async fn an_earlier_version_is_made_the_one_that_counts() {
    let rig = Rig::new();
    let first = rig.put("a.test", 80).await;
    rig.put("a.test", 81).await;
    let reply = rig
        .ask(post("/routes/a.test/rollback").json(&json!({ "version": first })))
        .await;
    assert_eq!(
        (reply.status.as_u16(), &reply.fields[header::ETAG]),
        (200, &"\"1\"".parse().unwrap())
    );
    let reply = rig.ask(get("/routes/a.test")).await;
    assert_eq!(
        (&reply.fields[header::ETAG], &reply.fields["doorway-revision"]),
        (&"\"1\"".parse().unwrap(), &"3".parse().unwrap())
    );
    assert_eq!(rig.stored("a.test").await.unwrap(), document("a.test", 80));
    let said = rig.says(200, get("/routes/a.test/history")).await;
    assert_eq!(
        (&said["changes"][0]["kind"], &said["changes"][0]["version"]),
        (&json!("rollback"), &json!(1))
    );
    assert_eq!(rig.view.syncs(), 3);
}

#[tokio::test]
async fn a_removed_document_is_brought_back() {
    let rig = Rig::new();
    let version = rig.put("a.test", 80).await;
    rig.says(200, delete("a.test")).await;
    rig.says(
        200,
        post("/routes/a.test/rollback").json(&json!({ "version": version })),
    )
    .await;
    assert_eq!(rig.stored("a.test").await.unwrap(), document("a.test", 80));
}

#[tokio::test]
async fn what_could_not_be_written_now_is_not_brought_back() {
    let rig = Rig::new();
    rig.put_text("a.test", "{\"host\":\"a.test\",\"was_allowed_once\":1}", 2)
        .await;
    rig.put_text("b.test", "{\"schema_version\":99,\"host\":\"b.test\"}", 99)
        .await;
    rig.put("a.test", 80).await;
    rig.refused(
        422,
        post("/routes/a.test/rollback").json(&json!({ "version": 1 })),
    )
    .await;
    rig.refused(
        422,
        post("/routes/b.test/rollback").json(&json!({ "version": 2 })),
    )
    .await;
    assert_eq!(rig.stored("a.test").await.unwrap(), document("a.test", 80));
}

#[tokio::test]
async fn a_rollback_says_to_which_version() {
    let rig = Rig::new();
    rig.put("a.test", 80).await;
    for wrong in [
        json!({}),
        json!({ "version": "1" }),
        json!({ "version": 1, "force": true }),
        json!(1),
    ] {
        rig.refused(400, post("/routes/a.test/rollback").json(&wrong))
            .await;
    }
    rig.refused(
        404,
        post("/routes/a.test/rollback").json(&json!({ "version": 7 })),
    )
    .await;
    assert_eq!(rig.revision().await.number, 1);
}
