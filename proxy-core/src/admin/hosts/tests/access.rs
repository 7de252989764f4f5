//! Who may ask.

use http::header;

use super::rig::{READER, Rig, WRITER, delete, document, get, post, put};

#[tokio::test]
async fn without_tokens_this_machine_may_do_everything() {
    let rig = Rig::new();
    for peer in [
        Some("127.0.0.1"),
        Some("127.1.2.3"),
        Some("::1"),
        Some("::ffff:127.0.0.1"),
        None,
    ] {
        let question = put("a.test").json(&document("a.test", 80)).from(peer);
        rig.says(200, question).await;
        rig.says(200, get("/routes").from(peer)).await;
        rig.says(200, get("/replicas").from(peer)).await;
    }
}

#[tokio::test]
async fn without_tokens_nobody_else_may_do_anything() {
    let rig = Rig::new();
    for peer in ["10.0.0.1", "192.168.1.1", "2001:db8::1", "::ffff:10.0.0.1"] {
        for path in [
            "/routes",
            "/replicas",
            "/routes/status",
            "/routes/a.test",
            "/routes/a/b/c",
        ] {
            let error = rig.refused(403, get(path).from(Some(peer))).await;
            assert!(error.contains("no tokens"), "{error}");
        }
        let question = put("a.test").json(&document("a.test", 80)).from(Some(peer));
        rig.refused(403, question).await;
    }
    assert_eq!(rig.stored("a.test").await, None);
}

#[tokio::test]
async fn a_proxy_without_sources_tells_strangers_nothing() {
    let rig = Rig::new();
    let stranger = get("/routes").from(Some("10.0.0.1"));
    assert_eq!(rig.ask_of(None, stranger).await.status, 403);
    let reply = rig.ask_of(None, get("/routes")).await;
    assert_eq!(reply.status, 409);
    assert!(reply.error.unwrap().contains("route_sources"));
}

#[tokio::test]
async fn tokens_are_asked_of_everybody() {
    let rig = Rig::guarded();
    for peer in [Some("127.0.0.1"), Some("10.0.0.1"), None] {
        let reply = rig.ask(get("/routes").from(peer)).await;
        assert_eq!(reply.status, 401);
        assert_eq!(reply.fields[header::WWW_AUTHENTICATE], "Bearer realm=\"doorway\"");
        rig.says(200, get("/routes").from(peer).token(READER)).await;
        let question = put("a.test").json(&document("a.test", 80)).from(peer);
        rig.says(200, question.token(WRITER)).await;
    }
}

#[tokio::test]
async fn other_secrets_are_refused() {
    let rig = Rig::guarded();
    for wrong in [
        "Bearer a-secret-of-nobody",
        "Bearer a-secret-of-writer",
        "bearer a-secret-of-writersx",
    ] {
        let reply = rig.ask(get("/routes").field("Authorization", wrong)).await;
        assert_eq!(reply.status, 401, "{wrong}");
        assert_eq!(
            reply.fields[header::WWW_AUTHENTICATE],
            "Bearer realm=\"doorway\", error=\"invalid_token\""
        );
    }
    for wrong in ["", "Bearer", "Bearer ", "Basic YTpi", WRITER] {
        let reply = rig.ask(get("/routes").field("Authorization", wrong)).await;
        assert_eq!(reply.status, 401, "{wrong}");
    }
    let twice = get("/routes").token(WRITER).token(WRITER);
    rig.refused(401, twice).await;
}

#[tokio::test]
async fn the_scheme_of_a_token_is_of_any_case() {
    let rig = Rig::guarded();
    for scheme in ["bearer", "BEARER", "Bearer"] {
        let question = get("/routes").field("Authorization", &format!("{scheme}  {READER}"));
        rig.says(200, question).await;
    }
}

#[tokio::test]
async fn a_token_for_reading_changes_nothing() {
    let rig = Rig::guarded();
    rig.says(200, put("a.test").json(&document("a.test", 80)).token(WRITER))
        .await;
    for question in [
        put("a.test").json(&document("a.test", 81)),
        delete("a.test"),
        post("/routes/a.test/rollback").json(&serde_json::json!({ "version": 1 })),
        post("/routes/forget/a.test"),
        post("/routes/accept-loss"),
    ] {
        let reply = rig.ask(question.token(READER)).await;
        assert_eq!(reply.status, 403);
        assert!(reply.fields.contains_key(header::WWW_AUTHENTICATE));
    }
    assert_eq!(rig.revision().await.number, 1);
    let validate = post("/routes/validate")
        .json(&document("a.test", 81))
        .token(READER);
    rig.says(200, validate).await;
}

#[tokio::test]
async fn whoever_changes_something_is_remembered() {
    let rig = Rig::guarded();
    let question = put("a.test").json(&document("a.test", 80)).token(WRITER);
    rig.says(200, question.field("X-Doorway-Author", "somebody else"))
        .await;
    let said = rig.says(200, get("/routes/a.test/history").token(READER)).await;
    assert_eq!(said["changes"][0]["author"], "deploy");

    let rig = Rig::new();
    rig.put("a.test", 80).await;
    let question = delete("a.test").field("X-Doorway-Author", " ann ");
    rig.says(200, question).await;
    let said = rig.says(200, get("/routes/a.test/history")).await;
    assert_eq!(said["changes"][0]["author"], "ann");
    assert_eq!(said["changes"][1]["author"], "local");
}

#[tokio::test]
async fn an_author_is_a_short_name() {
    let rig = Rig::new();
    for author in ["", " ", "a\tb", &"a".repeat(65)] {
        let question = put("a.test").json(&document("a.test", 80));
        rig.refused(400, question.field("X-Doorway-Author", author)).await;
    }
    assert_eq!(rig.stored("a.test").await, None);
}

#[tokio::test]
async fn nothing_that_is_said_holds_a_secret() {
    let rig = Rig::guarded();
    rig.store.go(true);
    for path in ["/routes/status", "/routes/a.test", "/replicas", "/routes"] {
        let reply = rig.ask(get(path).token(READER)).await;
        let said = format!("{reply:?} {rig:?} {:?}", rig.api);
        for secret in [WRITER, READER, "sesame"] {
            assert!(!said.contains(secret), "{path}: {said}");
        }
    }
}

#[test]
fn tokens_let_others_in_to_routes_alone() {
    let (guarded, open) = (Rig::guarded(), Rig::new());
    let peer = |ip: &str| Some(std::net::SocketAddr::new(ip.parse().unwrap(), 1));
    let refused = crate::admin::hosts::stranger(Some(&guarded.api), peer("10.0.0.1")).unwrap();
    assert_eq!(refused.status, 403);
    for (api, from) in [
        (Some(&guarded.api), peer("127.0.0.1")),
        (Some(&guarded.api), None),
        (Some(&open.api), peer("10.0.0.1")),
        (None, peer("10.0.0.1")),
    ] {
        assert!(crate::admin::hosts::stranger(api, from).is_none(), "{from:?}");
    }
}
