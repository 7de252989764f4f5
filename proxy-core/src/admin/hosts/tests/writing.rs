//! Documents that are written, and those that are not.

use http::header;
use serde_json::json;

use super::rig::{Rig, delete, document, get, post, put};

#[tokio::test]
async fn a_document_is_written_read_and_removed() {
    let rig = Rig::new();
    let said = rig.says(200, put("A.test").json(&document("a.test", 80))).await;
    assert_eq!((&said["host"], &said["version"]), (&json!("a.test"), &json!(1)));
    assert_eq!(said["revision"]["number"], 1);
    assert_eq!(rig.view.syncs(), 1);

    let reply = rig.ask(get("/routes/a.test")).await;
    assert_eq!(reply.fields[header::ETAG], "\"1\"");
    assert_eq!(reply.fields["doorway-revision"], "1");
    assert_eq!(reply.fields[header::CONTENT_TYPE], "application/json");
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&reply.body).unwrap(),
        document("a.test", 80)
    );

    let said = rig.says(200, delete("a.test")).await;
    assert_eq!(said["revision"]["number"], 2);
    assert_eq!(rig.view.syncs(), 2);
    assert_eq!(rig.stored("a.test").await, None);
}

#[tokio::test]
async fn a_document_is_kept_as_it_is_written() {
    let rig = Rig::new();
    let text = "{ \"host\" : \"a.test\",\n  \"upstreams\": [] }";
    let question = put("a.test")
        .text(text)
        .field("Content-Type", "application/json; charset=utf-8");
    let reply = rig.ask(question).await;
    assert_eq!(reply.fields[header::ETAG], "\"1\"");
    assert_eq!(rig.ask(get("/routes/a.test")).await.body, text);
}

#[tokio::test]
async fn an_older_document_is_taken_and_kept_in_its_version() {
    let rig = Rig::new();
    let old = json!({ "schema_version": 1, "route": { "host": "a.test", "upstreams": [{ "ip": "127.0.0.1", "port": 80 }] } });
    rig.says(200, put("a.test").json(&old)).await;
    rig.serves(&[("a.test", route_sources::Kind::Store)]);
    let said = rig.says(200, get("/routes")).await;
    assert_eq!(said["hosts"][0]["schema_version"], 1);
    assert_eq!(said["hosts"][0].get("unreadable"), None);
}

#[tokio::test]
async fn all_that_is_wrong_with_a_document_is_said_with_its_places() {
    let rig = Rig::new();
    let wrong = json!({
        "host": "a.test",
        "upstrems": [],
        "upstreams": [{ "address": "nowhere" }, { "address": "a:1", "weight": 0 }],
    });
    for question in [put("a.test").json(&wrong), post("/routes/validate").json(&wrong)] {
        let said = rig.says(422, question).await;
        let problems = said["problems"].as_array().unwrap();
        assert!(!problems.is_empty(), "{said}");
        for problem in problems {
            assert!(
                problem["place"].is_string() && problem["message"].is_string(),
                "{said}"
            );
        }
    }
    assert_eq!(rig.stored("a.test").await, None);
    assert_eq!(rig.view.syncs(), 0);
}

#[tokio::test]
async fn several_problems_come_at_once() {
    let rig = Rig::new();
    let wrong = json!({ "host": "a b", "aliases": ["c d", "e:80"] });
    let said = rig.says(422, post("/routes/validate").json(&wrong)).await;
    let places: Vec<_> = said["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["place"].clone())
        .collect();
    assert!(
        places.contains(&json!("host")) && places.contains(&json!("aliases[1]")),
        "{said}"
    );
}

#[tokio::test]
async fn what_is_no_json_is_refused_where_it_ends() {
    let rig = Rig::new();
    for text in [
        "",
        "{",
        "{\"host\": \"a.test\",}",
        "\u{0}",
        "[]",
        "null",
        "{\"host\":1}",
    ] {
        let question = put("a.test").text(text).field("Content-Type", "application/json");
        let said = rig.says(422, question).await;
        assert!(said["problems"][0]["message"].is_string(), "{text}: {said}");
    }
    let question = put("a.test")
        .text("{\n  \"host\": x")
        .field("Content-Type", "application/json");
    let said = rig.says(422, question).await;
    let place = said["problems"][0]["place"].as_str().unwrap();
    assert!(place.starts_with("line 2, column "), "{place}");
}

#[tokio::test]
async fn a_newer_document_is_refused() {
    let rig = Rig::new();
    let newer = json!({ "schema_version": 99, "host": "a.test", "whatever": true });
    let error = rig.refused(422, put("a.test").json(&newer)).await;
    assert!(error.contains("99"), "{error}");
}

#[tokio::test]
async fn a_document_is_about_the_host_of_its_path() {
    let rig = Rig::new();
    let said = rig.says(422, put("b.test").json(&document("a.test", 80))).await;
    assert_eq!(said["problems"][0]["place"], "host");
    rig.says(200, put("a.test.").json(&document("A.TEST", 80))).await;
}

#[tokio::test]
async fn what_the_proxy_cannot_build_is_not_written() {
    let rig = Rig::new();
    let said = rig
        .says(
            422,
            put("unbuildable.test").json(&document("unbuildable.test", 80)),
        )
        .await;
    assert_eq!(
        said["problems"],
        json!([{ "place": "handlers[0]", "message": "it cannot be built" }])
    );
    assert_eq!(rig.stored("unbuildable.test").await, None);
}

#[tokio::test]
async fn a_document_may_be_checked_without_being_written() {
    let rig = Rig::new();
    let said = rig
        .says(200, post("/routes/validate").json(&document("a.test", 80)))
        .await;
    assert_eq!((&said["valid"], &said["host"]), (&json!(true), &json!("a.test")));
    assert_eq!(said["document"]["upstreams"][0]["address"], "127.0.0.1:80");
    assert_eq!(rig.stored("a.test").await, None);
    assert_eq!(rig.revision().await.number, 0);
}

#[tokio::test]
async fn a_body_says_that_it_is_json() {
    let rig = Rig::new();
    for content_type in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let question = put("a.test")
            .text("{\"host\":\"a.test\"}")
            .field("Content-Type", content_type);
        rig.refused(415, question).await;
    }
    rig.refused(415, put("a.test").text("{\"host\":\"a.test\"}"))
        .await;
}

#[tokio::test]
async fn a_body_has_at_most_a_mebibyte() {
    let rig = Rig::new();
    let long = format!("{{\"host\":\"a.test\"}}{}", " ".repeat(1 << 20));
    let question = put("a.test")
        .text(&long)
        .field("Content-Type", "application/json");
    let reply = rig.ask(question).await;
    assert_eq!(reply.status, 413);
    assert_eq!(reply.fields[header::CONNECTION], "close");
}

#[tokio::test]
async fn what_is_not_there_is_not_removed() {
    let rig = Rig::new();
    let error = rig.refused(404, delete("a.test")).await;
    assert!(error.contains("a.test"), "{error}");
    assert_eq!(rig.revision().await.number, 0);
    assert_eq!(rig.view.syncs(), 0);
}

#[tokio::test]
async fn a_proxy_without_a_store_says_so() {
    let mut rig = Rig::new();
    rig.api.store = None;
    for question in [
        put("a.test").json(&document("a.test", 80)),
        delete("a.test"),
        get("/routes/a.test"),
        get("/routes/a.test/history"),
        get("/replicas"),
        post("/routes/accept-loss"),
        post("/routes/a.test/rollback").json(&json!({ "version": 1 })),
    ] {
        let error = rig.refused(409, question).await;
        assert!(error.contains("no store"), "{error}");
    }
    rig.says(200, get("/routes")).await;
    let status = rig.says(200, get("/routes/status")).await;
    assert_eq!(status["store"], json!(null));
    rig.says(200, post("/routes/validate").json(&document("a.test", 80)))
        .await;
}

#[tokio::test]
async fn what_is_asked_is_known() {
    let rig = Rig::new();
    for path in [
        "/routes?befor=a",
        "/routes?limit=0",
        "/routes?limit=1001",
        "/routes/a.test/history?document",
    ] {
        rig.refused(400, get(path)).await;
    }
    rig.refused(400, put("a.test?wait=soon").json(&document("a.test", 80)))
        .await;
    rig.refused(400, delete("a.test?wiat=1s")).await;
    assert_eq!(rig.revision().await.number, 0);
}
