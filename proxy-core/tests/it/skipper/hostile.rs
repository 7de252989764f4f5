//! What clients send to get around what filters do.

use std::net::Ipv4Addr;

use crate::support::origin::Recorder;

use super::{backend, get_with, rig};

#[tokio::test]
async fn no_client_takes_a_field_away_that_a_filter_has_set() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let to = backend(origin.addr());
    let rig = rig(&format!("* -> setRequestHeader(\"X-User\", \"ann\") -> {to}"));
    let fields = "Connection: close, X-User, X-Mine\r\nX-User: forged\r\nX-Mine: 1\r\n";
    let answer = rig.wire().await.ask(get_with("/", fields)).await;
    assert_eq!(answer.head.status(), 200);
    let request = origin.only_request();
    assert_eq!(request.head.all("x-user"), ["ann"]);
    assert_eq!(request.head.field("x-mine"), None);
    assert_eq!(request.head.field("connection"), None);
}

#[tokio::test]
async fn a_query_that_becomes_too_long_is_refused_rather_than_left_as_it_was() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let to = backend(origin.addr());
    let rig = rig(&format!(
        "* -> setQuery(\"user\", \"${{request.header.X-User}}\") -> {to}"
    ));
    // Each of them takes three bytes in a query.
    let fields = format!("X-User: {}\r\n", "!".repeat(24_000));
    let answer = rig.wire().await.ask(get_with("/?user=admin", &fields)).await;
    assert_eq!(answer.head.status(), 414);
    assert!(
        origin.requests().is_empty(),
        "the client's own user must not pass"
    );
    let answer = rig
        .wire()
        .await
        .ask(get_with("/?user=admin", "X-User: ann\r\n"))
        .await;
    assert_eq!(answer.head.status(), 200);
    assert_eq!(origin.only_request().head.target(), "/?user=ann");
}

#[tokio::test]
async fn the_answer_to_a_head_tells_no_length_that_a_get_would_not_have() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "hello").await;
    let to = backend(origin.addr());
    let rig = rig(&format!(
        "wrap: Path(\"/wrap\") -> wrapContent(\"<\", \">\") -> {to};
         sed: Path(\"/sed\") -> sed(\"hello\", \"good day\") -> {to};
         made: Path(\"/made\") -> wrapContent(\"<\", \">\") -> inlineContent(\"text\") -> <shunt>;
         put: Path(\"/put\") -> inlineContentIfStatus(200, \"a text\") -> {to};
         same: Path(\"/same\") -> logBody(\"response\", 10) -> {to};"
    ));
    for (path, length) in [
        ("/wrap", None),
        ("/sed", None),
        ("/made", None),
        ("/put", Some("6")),
        ("/same", Some("5")),
    ] {
        let request = format!("HEAD {path} HTTP/1.1\r\nHost: a.test\r\n\r\n");
        let mut wire = rig.wire().await;
        wire.send(request).await;
        let answer = wire.answer_to("HEAD").await;
        assert_eq!(answer.head.status(), 200, "{path}");
        assert_eq!(answer.head.field("content-length").as_deref(), length, "{path}");
        assert!(answer.body.is_empty(), "{path}");
    }
}
