//! What nobody may send: heads and bodies beyond every measure, and requests that are none.

use super::{says, site};
use crate::support::admin::{AdminRig, Ask};
use crate::support::wire::End;

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_before_it_has_come() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    for path in ["/load", "/config/apps", "/adapt"] {
        let mut wire = client.wire().await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            client.address.port(),
            200 * MIB
        );
        wire.send(head).await;
        let piece = vec![b' '; MIB];
        // It stops listening once it has seen too much.
        for _ in 0..101 {
            if wire.try_send(&piece).await.is_err() {
                break;
            }
        }
        let answer = wire.answer().await;
        assert_eq!(answer.head.status(), 400, "{path}");
        assert_eq!(
            answer.text(),
            "{\"error\":\"reading request body: http: request body too large\"}\n"
        );
    }
    assert_eq!(says(&rig).await, "first");
}

#[tokio::test]
async fn a_large_document_that_is_allowed_is_read() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let spaces = " ".repeat(20 * MIB);
    client
        .done(&Ask::new("POST", "/load").json(format!("{spaces}{}", site("second"))))
        .await;
    assert_eq!(says(&rig).await, "second");
}

#[tokio::test]
async fn a_nesting_bomb_is_an_error_like_any_other() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let bomb = "[".repeat(MIB);
    let error = client
        .refused(400, &Ask::new("POST", "/config/apps").json(bomb))
        .await;
    assert!(error.contains("recursion limit"), "{error}");
    let path = format!("/config{}", "/a".repeat(20_000));
    let error = client.refused(400, &Ask::new("PUT", &path).json("1")).await;
    assert_eq!(error, "the path has too many parts");
    assert_eq!(says(&rig).await, "first");
}

#[tokio::test]
async fn heads_that_are_too_long_or_no_heads_are_refused() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let host = format!("Host: localhost:{}\r\n", client.address.port());
    for (request, status) in [
        (
            format!("GET /config/ HTTP/1.1\r\n{host}X: {}\r\n\r\n", "x".repeat(70_000)),
            431,
        ),
        (
            format!("GET /config/ HTTP/1.1\r\n{host}{}\r\n", "X: y\r\n".repeat(300)),
            431,
        ),
        ("GET /config/ HTTP/1.1\r\n\r\n".to_owned(), 400),
        (format!("GET /config/ HTTP/1.1\r\n{host}{host}\r\n"), 400),
        (format!("GET /config/%zz HTTP/1.1\r\n{host}\r\n"), 400),
        ("nonsense\r\n\r\n".to_owned(), 400),
    ] {
        let mut wire = client.wire().await;
        wire.send(&request).await;
        let answer = wire.answer().await;
        assert_eq!(
            answer.head.status(),
            status,
            "{}",
            &request[..40.min(request.len())]
        );
        assert_ne!(wire.rest().await.1, End::Reset);
    }
    assert_eq!(says(&rig).await, "first");
}

#[tokio::test]
async fn a_connection_serves_one_request_after_the_other() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let mut wire = client.wire().await;
    let get = format!(
        "GET /id/text HTTP/1.1\r\nHost: localhost:{}\r\n\r\n",
        client.address.port()
    );
    for _ in 0..3 {
        assert_eq!(wire.ask(&get).await.head.status(), 200);
    }
    rig.admin.clone().close().await;
    assert_eq!(wire.rest().await, (Vec::new(), End::Fin));
}
