//! What is refused unless a setting allows it.

use std::net::Ipv4Addr;

use proxy_core::Options;

use crate::support::origin::Recorder;
use crate::support::rig::{HOST, Rig, options};

#[tokio::test]
async fn bare_line_feeds_end_the_lines_of_a_head_if_they_are_allowed_and_only_there() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let site = format!(
        "{{\n\tadmin off\n}}\nhttp://{HOST}:0 {{\n\tbind 127.0.0.1\n\treverse_proxy {}\n}}\n",
        origin.addr()
    );
    let head = format!("POST /lax HTTP/1.1\nHost: {HOST}\nTransfer-Encoding: chunked\n\n");
    for (bare_line_feeds, body, status) in [
        (true, "1\r\nx\r\n0\r\n\r\n", 200),
        (true, "1\nx\n0\n\n", 400),
        (false, "1\r\nx\r\n0\r\n\r\n", 400),
    ] {
        let options = Options {
            bare_line_feeds,
            ..options()
        };
        let rig = Rig::with_options(&options, &site);
        let answer = rig.wire().await.ask(format!("{head}{body}")).await;
        assert_eq!(answer.head.status(), status, "{bare_line_feeds} {body:?}");
    }
    let request = origin.only_request();
    assert_eq!(
        (request.head.target(), request.body.as_slice()),
        ("/lax", &b"x"[..])
    );
}
