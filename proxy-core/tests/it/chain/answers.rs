//! Answers of upstreams that routes decide about.

use std::net::Ipv4Addr;

use super::said;
use crate::support::origin::{Recorded, Recorder, Reply};
use crate::support::rig::{HOST, Rig, get, post};

/// An upstream that answers with the status in `X-Status`, and says so.
async fn by_request() -> Recorder {
    Recorder::start(Ipv4Addr::LOCALHOST, |request: &Recorded| {
        let status = request.head.field("x-status").unwrap_or_else(|| "200".to_owned());
        let body = format!("answer {status}");
        Reply::keep(format!(
            "HTTP/1.1 {status} Words\r\nX-Up: one\r\nX-Secret: 1\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    })
    .await
}

fn asking_for(status: u16, method: &str) -> String {
    format!("{method} /x HTTP/1.1\r\nHost: {HOST}\r\nX-Status: {status}\r\n\r\n")
}

#[tokio::test]
async fn the_first_handler_for_an_answer_replaces_passes_on_or_lets_fall_through() {
    let origin = by_request().await;
    let rig = Rig::site(&format!(
        "\theader X-Early e\n\troute {{\n\treverse_proxy {} {{\n\
         \t\t@gone status 404 410\n\t\thandle_response @gone {{\n\
         \t\t\tcopy_response_headers {{\n\t\t\t\tinclude X-Up\n\t\t\t}}\n\
         \t\t\trespond \"caught {{rp.status_code}} {{rp.header.X-Up}} {{method}} {{uri}}\" 299\n\t\t}}\n\
         \t\t@no status 403\n\t\thandle_response @no {{\n\t\t\theader X-Caught yes\n\t\t\tcopy_response 401\n\t\t}}\n\
         \t\t@fall status 5xx\n\t\thandle_response @fall {{\n\t\t\theader X-Caught fell\n\t\t}}\n\
         \t\t@teapot status 418\n\t\treplace_status @teapot 299\n\t}}\n\trespond behind 298\n\t}}",
        origin.addr()
    ));
    for (status, expected, caught, up, secret) in [
        (200, (200, "answer 200"), None, true, true),
        (404, (299, "caught 404 one GET /x"), None, true, false),
        (403, (401, "answer 403"), Some("yes"), true, true),
        (503, (298, "behind"), Some("fell"), false, false),
        (418, (299, "answer 418"), None, true, true),
    ] {
        let answer = rig.wire().await.ask(asking_for(status, "GET")).await;
        assert_eq!(said(&answer), (expected.0, expected.1.to_owned()), "{status}");
        let head = &answer.head;
        assert_eq!(head.field("x-caught").as_deref(), caught, "{status}");
        assert_eq!((head.has("x-up"), head.has("x-secret")), (up, secret), "{status}");
        assert_eq!(head.all("x-early"), ["e"], "{status}");
    }
}

#[tokio::test]
async fn copy_response_outside_of_handle_response_is_an_error() {
    let rig = Rig::site("\troute {\n\t\tcopy_response\n\t}");
    assert_eq!(rig.get("/").await.head.status(), 500);
}

#[tokio::test]
async fn who_may_pass_goes_on_with_the_fields_and_the_body_and_who_may_not_gets_the_answer() {
    let auth = Recorder::start(Ipv4Addr::LOCALHOST, |request: &Recorded| {
        Reply::keep(match request.head.field("cookie") {
            Some(user) => format!("HTTP/1.1 200 OK\r\nRemote-User: {user}\r\nContent-Length: 5\r\n\r\nhello"),
            None => "HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 5\r\n\r\nlogin".to_owned(),
        })
    })
    .await;
    let app = Recorder::saying(Ipv4Addr::LOCALHOST, "app").await;
    let rig = Rig::site(&format!(
        "\tforward_auth {} {{\n\t\turi /check?a=1\n\t\tcopy_headers Remote-User Remote-Groups\n\t}}\n\treverse_proxy {}",
        auth.addr(),
        app.addr()
    ));
    let ask = async |cookie: &str| {
        let request = format!(
            "POST /page?q=1 HTTP/1.1\r\nHost: {HOST}\r\nRemote-User: forged\r\nRemote-Groups: admins\r\n{cookie}\
             Content-Length: 4\r\n\r\ndata"
        );
        rig.wire().await.ask(request).await
    };
    let answer = ask("").await;
    assert_eq!(said(&answer), (302, "login".to_owned()));
    assert_eq!(answer.head.field("location").as_deref(), Some("/login"));
    assert_eq!(app.requests().len(), 0);

    for _ in 0..3 {
        assert_eq!(said(&ask("Cookie: bob\r\n").await), (200, "app".to_owned()));
    }
    let asked = auth.requests().remove(1);
    assert_eq!((asked.head.method(), asked.head.target()), ("GET", "/check?a=1"));
    assert_eq!(asked.head.all("x-forwarded-method"), ["POST"]);
    assert_eq!(asked.head.all("x-forwarded-uri"), ["/page?q=1"]);
    assert_eq!((asked.body.len(), asked.head.has("content-length")), (0, false));
    let forwarded = app.requests().remove(0);
    assert_eq!(
        (forwarded.head.method(), forwarded.head.target()),
        ("POST", "/page?q=1")
    );
    assert_eq!(forwarded.head.all("remote-user"), ["bob"]);
    assert!(!forwarded.head.has("remote-groups"), "{:?}", forwarded.head);
    assert_eq!(forwarded.body, b"data");
    assert!(
        auth.accepted() < 4,
        "connections to who is asked are kept: {}",
        auth.accepted()
    );
}

#[tokio::test]
async fn a_websocket_passes_who_is_asked_first() {
    let auth = Recorder::saying(Ipv4Addr::LOCALHOST, "yes").await;
    let app = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::Close(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
              Sec-WebSocket-Accept: x\r\n\r\nframes"
                .to_vec(),
        )
    })
    .await;
    let rig = Rig::site(&format!(
        "\tforward_auth {} {{\n\t\turi /check\n\t}}\n\treverse_proxy {}",
        auth.addr(),
        app.addr()
    ));
    let mut client = rig.wire().await;
    client
        .send(format!(
            "GET /ws HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Key: x\r\n\r\n"
        ))
        .await;
    assert_eq!(client.head().await.status(), 101);
    assert_eq!(client.exactly(6).await, b"frames");
    assert!(
        !auth.only_request().head.has("upgrade"),
        "the question is no upgrade"
    );
}

#[tokio::test]
async fn a_body_that_went_to_one_upstream_is_not_sent_to_another_as_if_it_were_empty() {
    let (first, second) = (by_request().await, by_request().await);
    let rig = Rig::site(&format!(
        "\treverse_proxy {} {{\n\t\t@all status 2xx\n\t\thandle_response @all {{\n\t\t\treverse_proxy {}\n\t\t}}\n\t}}",
        first.addr(),
        second.addr()
    ));
    assert_eq!(said(&rig.get("/").await), (200, "answer 200".to_owned()));
    assert_eq!(
        said(&rig.wire().await.ask(post("/", "body")).await),
        (502, String::new())
    );
    assert_eq!((first.requests().len(), second.requests().len()), (2, 1));
}

#[tokio::test]
async fn changes_to_the_request_are_made_for_each_upstream_that_is_tried() {
    let origin = by_request().await;
    // Refuses connections: whichever of the two is tried first, the other one answers.
    let rig = Rig::site(&format!(
        "\treverse_proxy 127.0.0.1:1 {} {{\n\t\theader_up Host {{upstream_hostport}}\n\t\theader_up +X-Try {{rp.upstream.port}}\n\
         \t\theader_down X-Was {{rp.upstream.hostport}}\n\t}}",
        origin.addr()
    ));
    for _ in 0..8 {
        let answer = rig.get("/").await;
        assert_eq!(answer.head.field("x-was"), Some(origin.addr().to_string()));
        let request = origin.take_requests().remove(0).head;
        assert_eq!(request.all("host"), [origin.addr().to_string()]);
        assert_eq!(request.all("x-try"), [origin.addr().port().to_string()]);
        assert_eq!(request.all("x-forwarded-host"), [HOST]);
    }
}

#[tokio::test]
async fn an_answer_that_routes_refuse_leaves_the_clients_connection_usable() {
    let origin = by_request().await;
    let rig = Rig::site(&format!(
        "\treverse_proxy {} {{\n\t\thandle_response {{\n\t\t\terror \"refused\" 502\n\t\t}}\n\t}}\n\
         \thandle_errors {{\n\t\trespond \"{{err.message}} {{rp.status_code}}\"\n\t}}",
        origin.addr()
    ));
    let mut wire = rig.wire().await;
    for status in [200, 404] {
        let answer = wire.ask(asking_for(status, "GET")).await;
        assert_eq!(said(&answer), (502, format!("refused {status}")));
    }
    assert_eq!(said(&wire.ask(get("/")).await).0, 502);
}

#[tokio::test]
async fn a_status_from_a_placeholder_that_ends_no_request_is_an_error_and_never_silence() {
    let origin = by_request().await;
    let rig = Rig::site(&format!(
        "\terror /error nope {{query.s}}\n\tredir /redir /there {{query.s}}\n\trespond /respond it {{query.s}}\n\
         \treverse_proxy /replace {} {{\n\t\treplace_status {{query.s}}\n\t}}",
        origin.addr()
    ));
    for path in ["/error", "/redir", "/respond", "/replace"] {
        for status in [
            "", "x", "0", "99", "100", "101", "102", "103", "199", "1000", "65639", "-404",
        ] {
            // These two may say 103, and the chain goes on.
            if status == "103" && ["/redir", "/respond"].contains(&path) {
                continue;
            }
            let answer = rig.get(&format!("{path}?s={status}")).await;
            assert_eq!(answer.head.status(), 500, "{path} {status}");
        }
        let answer = rig.get(&format!("{path}?s=404")).await;
        assert_eq!(answer.head.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn what_a_client_wrote_is_no_host_for_an_upstream_unless_it_is_one() {
    let origin = by_request().await;
    for more in ["", "\t\theader_up X-To {upstream_hostport}\n"] {
        let rig = Rig::site(&format!(
            "\treverse_proxy {} {{\n\t\theader_up Host {{query.host}}\n{more}\t}}",
            origin.addr()
        ));
        for (given, sent) in [
            ("b.test:8080", "b.test:8080"),
            ("a%0d%0aX:1", ""),
            ("evil.com/x", ""),
            ("a%20b", ""),
            ("", ""),
        ] {
            assert_eq!(rig.get(&format!("/?host={given}")).await.head.status(), 200);
            let request = origin.take_requests().remove(0).head;
            assert_eq!(request.all("host"), [sent], "{given}");
        }
    }
}
