//! Changes that are based on a version.

use http::header;
use serde_json::json;

use super::rig::{Rig, delete, document, get, post, put};

#[tokio::test]
async fn a_change_of_another_version_is_refused_with_the_one_that_is_there() {
    let rig = Rig::new();
    rig.put("a.test", 80).await;
    let version = rig.put("a.test", 81).await;
    for question in [
        put("a.test")
            .json(&document("a.test", 82))
            .field("If-Match", "\"1\""),
        delete("a.test").field("If-Match", "\"1\""),
        put("a.test")
            .json(&document("a.test", 82))
            .field("If-None-Match", "*"),
        put("a.test")
            .json(&document("a.test", 82))
            .field("If-Match", "\"1\", \"7\""),
        post("/routes/a.test/rollback")
            .json(&json!({ "version": 1 }))
            .field("If-Match", "\"1\""),
    ] {
        let reply = rig.ask(question).await;
        assert_eq!(reply.status, 412);
        assert_eq!(reply.fields[header::ETAG], format!("\"{version}\""));
        let said: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(said["current"], version);
    }
    assert_eq!(rig.stored("a.test").await.unwrap(), document("a.test", 81));
}

#[tokio::test]
async fn a_change_of_the_version_that_is_there_is_made() {
    let rig = Rig::new();
    let first = put("a.test")
        .json(&document("a.test", 80))
        .field("If-None-Match", "*");
    rig.says(200, first).await;
    let second = put("a.test")
        .json(&document("a.test", 81))
        .field("If-Match", "\"1\"");
    rig.says(200, second).await;
    let third = put("a.test")
        .json(&document("a.test", 82))
        .field("If-Match", "\"7\", \"2\"");
    rig.says(200, third).await;
    rig.says(
        200,
        put("a.test").json(&document("a.test", 83)).field("If-Match", "*"),
    )
    .await;
    rig.says(200, delete("a.test").field("If-Match", "\"4\"")).await;
    assert_eq!(rig.stored("a.test").await, None);
}

#[tokio::test]
async fn a_condition_on_what_is_not_there_fails() {
    let rig = Rig::new();
    for question in [
        put("a.test").json(&document("a.test", 80)).field("If-Match", "*"),
        put("a.test")
            .json(&document("a.test", 80))
            .field("If-Match", "\"1\""),
        delete("a.test").field("If-Match", "\"1\""),
    ] {
        let said = rig.says(412, question).await;
        assert_eq!(said["current"], json!(null));
    }
    assert_eq!(rig.revision().await.number, 0);
}

#[tokio::test]
async fn a_condition_that_makes_no_sense_changes_nothing() {
    let rig = Rig::new();
    rig.put("a.test", 80).await;
    for (name, value) in [
        ("If-Match", "1"),
        ("If-Match", "W/\"1\""),
        ("If-None-Match", "\"1\""),
    ] {
        let question = put("a.test").json(&document("a.test", 81)).field(name, value);
        rig.refused(400, question).await;
    }
    assert_eq!(rig.revision().await.number, 1);
}

#[tokio::test]
async fn who_has_the_document_already_gets_none() {
    let rig = Rig::new();
    let version = rig.put("a.test", 80).await;
    for known in [
        format!("\"{version}\""),
        format!("W/\"{version}\""),
        "\"7\", \"1\"".to_owned(),
        "*".to_owned(),
    ] {
        let reply = rig
            .ask(get("/routes/a.test").field("If-None-Match", &known))
            .await;
        assert_eq!((reply.status.as_u16(), reply.body.len()), (304, 0), "{known}");
        assert_eq!(reply.fields[header::ETAG], "\"1\"");
    }
    rig.says(200, get("/routes/a.test").field("If-None-Match", "\"7\""))
        .await;
}
