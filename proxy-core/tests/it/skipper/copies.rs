//! `teeLoopback`: copies that go through the routes by themselves.

use std::net::Ipv4Addr;

use crate::support::origin::Recorder;
use crate::support::wait::eventually;

use super::{backend, rig};

#[tokio::test]
async fn a_copy_goes_through_the_routes_and_nobody_waits_for_it() {
    let (main, shadow) = (
        Recorder::saying(Ipv4Addr::LOCALHOST, "main").await,
        Recorder::saying(Ipv4Addr::LOCALHOST, "shadow").await,
    );
    let rig = rig(&format!(
        r#"main: Path("/a") -> setRequestHeader("X-Copied", "1") -> teeLoopback("test") -> preserveHost("true") -> {};
           shadow: Path("/a") && Tee("test") && Weight(10) -> preserveHost("true") -> {};"#,
        backend(main.addr()),
        backend(shadow.addr())
    ));
    let mut wire = rig.wire().await;
    let request =
        "POST /a?x=1 HTTP/1.1\r\nhost: app.test\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(wire.ask(request).await.body, b"main");
    let copy = eventually("the copy", async || shadow.requests().pop()).await;
    let own = main.only_request();
    for request in [&own, &copy] {
        assert_eq!(
            (request.head.target(), request.body.as_slice()),
            ("/a?x=1", &b"abc"[..])
        );
        assert_eq!(request.head.field("host").as_deref(), Some("app.test"));
        assert_eq!(request.head.field("x-copied").as_deref(), Some("1"));
    }
    assert_eq!(shadow.requests().len(), 1);
}

#[tokio::test]
async fn copies_of_copies_come_to_an_end() {
    let main = Recorder::saying(Ipv4Addr::LOCALHOST, "main").await;
    let rig = rig(&format!(
        "all: * -> teeLoopback(\"again\") -> {};",
        backend(main.addr())
    ));
    assert_eq!(rig.get("/").await.body, b"main");
    let all = || (main.requests().len() == 10).then_some(());
    eventually("the request and nine copies", async || all()).await;
    assert_eq!(rig.get("/").await.body, b"main");
    eventually("the same again", async || {
        (main.requests().len() == 20).then_some(())
    })
    .await;
}
