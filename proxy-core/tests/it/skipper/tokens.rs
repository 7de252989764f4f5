//! Bearer tokens, asked about at another server.

use std::net::Ipv4Addr;

use crate::support::origin::{Recorder, Reply};

use super::{backend, get_with, rig, rig_with, told};

#[tokio::test]
async fn a_request_passes_with_a_token_that_the_server_of_the_settings_knows() {
    let knows = Recorder::start(Ipv4Addr::LOCALHOST, |asked| {
        match asked.head.field("authorization").as_deref() {
            Some("Bearer good") => Reply::ok(r#"{"uid":"ann","scope":["read"]}"#),
            _ => Reply::keep("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
        }
    })
    .await;
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "from the backend").await;
    let rig = rig_with(
        &format!("\t\ttokeninfo_url http://{}/tokeninfo", knows.addr()),
        &format!(
            r#"read: Path("/read") -> oauthTokeninfoAnyScope("read") -> forwardTokenField("X-User", "uid") -> {to};
               write: Path("/write") -> oauthTokeninfoAnyScope("write") -> {to};"#,
            to = backend(origin.addr())
        ),
    );
    let mut wire = rig.wire().await;
    let mut ask = async |path: &str, fields: &str| told(&wire.ask(get_with(path, fields)).await).0;
    assert_eq!(ask("/read", "").await, 401);
    assert_eq!(
        ask("/read", "Authorization: Bearer bad\r\nX-User: root\r\n").await,
        401
    );
    assert_eq!(ask("/write", "Authorization: Bearer good\r\n").await, 403);
    assert!(origin.requests().is_empty());
    assert_eq!(
        ask("/read", "Authorization: Bearer good\r\nX-User: root\r\n").await,
        200
    );
    assert_eq!(origin.only_request().head.field("x-user").as_deref(), Some("ann"));
    assert_eq!(knows.requests().len(), 2, "once for each token");
}

#[tokio::test]
async fn without_that_setting_such_routes_are_left_out() {
    let rig =
        rig(r#"read: * -> oauthTokeninfoAnyScope("read") -> <shunt>; other: Path("/other") -> <shunt>;"#);
    let invalid = rig.control().routes().invalid;
    assert_eq!(invalid.len(), 1);
    let why = &invalid[0].1;
    assert!(why.contains("`tokeninfo_url` or --oauth2-tokeninfo-url"), "{why}");
}
