//! `cache` in a running proxy.

use std::net::Ipv4Addr;

use crate::support::origin::{Recorder, Reply};

use super::{backend, rig};

#[tokio::test]
async fn an_answer_that_is_kept_costs_the_backend_one_request() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |request| {
        let length = request.head.target().len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncache-control: max-age=60\r\netag: \"a\"\r\ncontent-length: {length}\r\n\r\n{}",
            request.head.target()
        );
        Reply::keep(head)
    })
    .await;
    let rig = rig(&format!(
        "a: * -> setResponseHeader(\"X-Outer\", \"1\") -> cache() -> setResponseHeader(\"X-Inner\", \"1\") -> {};",
        backend(origin.addr())
    ));
    for (number, path) in ["/a", "/a", "/b", "/a", "/b"].into_iter().enumerate() {
        let answer = rig.get(path).await;
        assert_eq!(
            (answer.head.status(), answer.body.as_slice()),
            (200, path.as_bytes())
        );
        let (outer, inner) = (answer.head.field("x-outer"), answer.head.field("x-inner"));
        assert_eq!(
            (outer.as_deref(), inner.as_deref()),
            (Some("1"), Some("1")),
            "{number}"
        );
        let is_kept = answer.head.field("x-cache").as_deref() == Some("HIT");
        assert_eq!(is_kept, [false, true, false, true, true][number], "{number}");
        assert_eq!(answer.head.has("age"), is_kept);
    }
    assert_eq!(origin.requests().len(), 2);
    let mut wire = rig.wire().await;
    let known = "GET /a HTTP/1.1\r\nhost: app.test\r\nif-none-match: \"a\"\r\n\r\n";
    let answer = wire.ask(known).await;
    assert_eq!((answer.head.status(), answer.body.len()), (304, 0));
    wire.send("HEAD /a HTTP/1.1\r\nhost: app.test\r\n\r\n").await;
    let head = wire.answer_to("HEAD").await;
    assert_eq!(
        (head.head.status(), head.head.field("content-length").as_deref()),
        (200, Some("2"))
    );
    assert_eq!(origin.requests().len(), 2);
}
