//! Bodies that filters refuse, change or make.

use std::net::Ipv4Addr;

use crate::support::origin::Recorder;
use crate::support::rig::{HOST, post};

use super::{backend, rig};

#[tokio::test]
async fn a_body_with_a_blocked_text_is_refused_wherever_it_is_cut() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let to = backend(origin.addr());
    let rig = rig(&format!(
        "block: Path(\"/block\") -> blockContent(\"evil\") -> {to};
         held: Path(\"/held\") -> sedRequest(\"a+\", \"-\", 4, \"abort\") -> {to};"
    ));
    let answer = rig.wire().await.ask(post("/block", "a good body")).await;
    assert_eq!(answer.head.status(), 200);
    let request = origin.only_request();
    assert_eq!(request.body, b"a good body");
    assert_eq!(request.head.field("content-length").as_deref(), Some("11"));

    let answer = rig.wire().await.ask(post("/block", "an evil body")).await;
    assert_eq!(answer.head.status(), 400);
    let chunks = format!(
        "POST /block HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nev\r\n2\r\nil\r\n0\r\n\r\n"
    );
    assert_eq!(rig.wire().await.ask(chunks).await.head.status(), 400);
    let answer = rig.wire().await.ask(post("/held", "aaaaaaaa")).await;
    assert_eq!(answer.head.status(), 413);
}

#[tokio::test]
async fn bodies_are_changed_on_their_way() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "from the backend").await;
    let to = backend(origin.addr());
    let rig = rig(&format!(
        "* -> wrapContent(\"<\", \">\") -> sed(\"backend\", \"proxy\") -> sedRequest(\"foo\", \"quux\") -> {to}"
    ));
    let answer = rig.wire().await.ask(post("/", "a foo")).await;
    assert_eq!(answer.body, b"<from the proxy>");
    let request = origin.only_request();
    assert_eq!(request.body, b"a quux");
    assert_eq!(request.head.field("content-length"), None);
}

#[tokio::test]
async fn answers_of_filters_are_whole() {
    let rig = rig(
        "inline: Path(\"/inline\") -> wrapContent(\"<\", \">\") -> status(201) -> inlineContent(\"<p>\") -> <shunt>;
         long: Path(\"/long\") -> repeatContent(\"0123456789\", 100000) -> <shunt>;
         away: Path(\"/away\") -> redirectTo(308, \"//other.test\") -> <shunt>;",
    );
    let answer = rig.get("/inline").await;
    assert_eq!(
        (answer.head.status(), answer.body.as_slice()),
        (201, &b"<<p>>"[..])
    );
    assert_eq!(
        answer.head.field("content-type").as_deref(),
        Some("text/html; charset=utf-8")
    );
    let answer = rig.get("/long").await;
    assert_eq!(answer.head.field("content-length").as_deref(), Some("100000"));
    assert!(answer.body == b"0123456789".repeat(10_000));
    let answer = rig.get("/away?a=1").await;
    assert_eq!(answer.head.status(), 308);
    assert_eq!(
        answer.head.field("location").as_deref(),
        Some("https://other.test/away?a=1")
    );
}
