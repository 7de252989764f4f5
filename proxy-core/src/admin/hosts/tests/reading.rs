//! The list of hosts.

use route_sources::Kind;
use serde_json::json;

use super::rig::{Rig, get};
use crate::control::{HostState, ServedHost};

#[tokio::test]
async fn hosts_are_told_with_their_sources_and_versions() {
    let rig = Rig::new();
    rig.put("b.test", 80).await;
    rig.put("b.test", 81).await;
    rig.serves(&[("a.test", Kind::Docker), ("b.test", Kind::Store)]);
    let said = rig.says(200, get("/routes")).await;
    assert_eq!(
        said,
        json!({
            "hosts": [
                { "host": "a.test", "source": "docker", "state": "served" },
                {
                    "host": "b.test", "source": "store", "state": "served",
                    "version": 2, "revision": 2, "schema_version": 2,
                },
            ],
            "next": null,
        })
    );
}

#[tokio::test]
async fn hosts_come_page_by_page() {
    let rig = Rig::new();
    let names: Vec<String> = (10..35).map(|number| format!("h{number}.test")).collect();
    let hosts: Vec<(&str, Kind)> = names.iter().map(|name| (name.as_str(), Kind::File)).collect();
    rig.serves(&hosts);
    let (mut seen, mut path) = (Vec::new(), "/routes?limit=10".to_owned());
    loop {
        let said = rig.says(200, get(&path)).await;
        let page = said["hosts"].as_array().unwrap();
        assert!(page.len() <= 10);
        seen.extend(page.iter().map(|host| host["host"].as_str().unwrap().to_owned()));
        let Some(next) = said["next"].as_str() else { break };
        path = format!("/routes?limit=10&after={next}");
    }
    assert_eq!(seen, names);
    let last = rig.says(200, get("/routes?limit=25")).await;
    assert_eq!(last["next"], json!(null));
    let behind = rig.says(200, get("/routes?after=h34.test")).await;
    assert_eq!(behind, json!({ "hosts": [], "next": null }));
}

#[tokio::test]
async fn documents_that_cannot_be_read_are_marked() {
    let rig = Rig::new();
    rig.put_text("bad.test", "{\"host\":\"bad.test\",\"no_such_field\":1}", 2)
        .await;
    rig.put_text("new.test", "{\"schema_version\":99,\"host\":\"new.test\"}", 99)
        .await;
    *rig.view.hosts.lock().unwrap() = vec![
        ServedHost {
            host: "bad.test".parse().unwrap(),
            alias_of: None,
            source: Kind::Store,
            state: HostState::Kept("unknown field".to_owned()),
        },
        ServedHost {
            host: "new.test".parse().unwrap(),
            alias_of: None,
            source: Kind::Store,
            state: HostState::Unavailable("newer".to_owned()),
        },
    ];
    let said = rig.says(200, get("/routes")).await;
    let [bad, new] = said["hosts"].as_array().unwrap().as_slice() else {
        panic!("two hosts: {said}")
    };
    assert_eq!(
        (&bad["state"], &bad["reason"]),
        (&json!("kept"), &json!("unknown field"))
    );
    assert!(bad["unreadable"].is_string(), "{bad}");
    assert_eq!(
        (&new["state"], &new["schema_version"]),
        (&json!("unavailable"), &json!(99))
    );
    assert!(new["unreadable"].as_str().unwrap().contains("99"), "{new}");
    // What is stored is told as it is.
    let text = rig.ask(get("/routes/new.test")).await;
    assert_eq!(text.body, "{\"schema_version\":99,\"host\":\"new.test\"}");
}

#[tokio::test]
async fn aliases_have_the_version_of_their_document() {
    let rig = Rig::new();
    rig.put("a.test", 80).await;
    *rig.view.hosts.lock().unwrap() = vec![ServedHost {
        host: "www.a.test".parse().unwrap(),
        alias_of: Some("a.test".parse().unwrap()),
        source: Kind::Store,
        state: HostState::Served,
    }];
    let said = rig.says(200, get("/routes")).await;
    assert_eq!(
        (&said["hosts"][0]["alias_of"], &said["hosts"][0]["version"]),
        (&json!("a.test"), &json!(1))
    );
}

#[tokio::test]
async fn a_host_without_a_document_is_not_found() {
    let rig = Rig::new();
    rig.serves(&[("a.test", Kind::Docker)]);
    let error = rig.refused(404, get("/routes/a.test")).await;
    assert!(error.contains("the store has no document for a.test"), "{error}");
}

#[tokio::test]
async fn all_documents_of_the_store_come_page_by_page() {
    let rig = Rig::new();
    for number in 10..15 {
        rig.put(&format!("h{number}.test"), 80).await;
    }
    rig.put_text("bad.test", "no JSON", 2).await;
    let first = rig.says(200, get("/routes/documents?limit=4")).await;
    assert_eq!(first["revision"]["number"], 6);
    assert_eq!(first["documents"][0]["text"], "no JSON");
    assert_eq!(
        (&first["documents"][1]["host"], &first["documents"][1]["version"]),
        (&json!("h10.test"), &json!(1))
    );
    assert_eq!(first["next"], "h12.test");
    let second = rig
        .says(200, get("/routes/documents?limit=4&after=h12.test"))
        .await;
    assert_eq!(second["documents"].as_array().unwrap().len(), 2);
    assert_eq!(second["next"], json!(null));
}
