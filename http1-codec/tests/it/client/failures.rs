//! Requests without an answer, and what is known of their fate.

use http1_codec::client::{Answer, Cause, SendError};

use crate::support::{
    Frames, Io, Kept, TestBody, Wire, all_of, connected, each_wire, get, read, request, send,
};

const HEAD: &str = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n";

fn post() -> http::Request<TestBody> {
    request(
        "POST",
        "/",
        TestBody::new(Frames::default().data("abc").of_length(3)),
    )
}

#[tokio::test(start_paused = true)]
async fn a_request_is_whole_if_its_connection_took_nothing() {
    for wire in [Wire::Whole, Wire::Dribbled] {
        let (connection, server) = connected(wire);
        drop(server);
        let kept = Kept::default();
        let error = send(connection, post(), &kept).await.unwrap_err();
        assert!(!error.wrote && !error.received && !error.reused);
        assert_eq!(error.request.uri().path(), "/");
        assert_eq!(all_of(error.request.into_body()).await.0, "abc");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stale_connection_is_known_as_such() {
    each_wire(async |wire| {
        let (connection, mut server) = connected(wire);
        let kept = Kept::default();
        let serves = server.exchange(
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
        );
        let (answer, ()) = tokio::join!(send(connection, get("/"), &kept), serves);
        assert_eq!(read(answer.unwrap()).await.2, Ok(()));
        let reused = kept.take().unwrap();
        let closes = async {
            server.expect(HEAD).await;
            server.finish().await;
        };
        let (answer, ()) = tokio::join!(send(reused, post(), &kept), closes);
        let error = answer.unwrap_err();
        assert!(error.wrote && !error.received && error.reused);
        assert!(matches!(error.cause, Cause::Closed));
        assert_eq!(kept.len(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn half_an_answer_is_known_as_such() {
    each_wire(async |wire| {
        let (connection, mut server) = connected(wire);
        let kept = Kept::default();
        let half = async {
            server.send("HTTP/1.1 200").await;
            server.finish().await;
        };
        let (answer, ()) = tokio::join!(send(connection, get("/"), &kept), half);
        let SendError {
            cause,
            wrote,
            received,
            ..
        } = answer.unwrap_err();
        assert!(wrote && received);
        assert!(matches!(cause, Cause::Closed));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_may_answer_and_close_without_reading_the_request() {
    each_wire(async |wire| {
        let (connection, mut server) = connected(wire);
        let kept = Kept::default();
        let body = TestBody::full("x".repeat(2 * 1024 * 1024));
        let serves = async {
            server
                .send("HTTP/1.1 413 X\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
                .await;
            drop(server);
        };
        let client = async {
            let answer = send(connection, request("POST", "/", body), &kept).await.unwrap();
            let (status, data, end) = read(answer).await;
            assert_eq!((status.as_u16(), data.as_str(), end), (413, "no", Ok(())));
        };
        tokio::join!(client, serves);
        assert_eq!(kept.len(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_fails_takes_the_request_with_it() {
    each_wire(async |wire| {
        let long = || Frames::default().data("abc").wait().data("defg").of_length(5);
        let short = || Frames::default().data("abc").wait().of_length(5);
        for (body, fails) in [
            (Frames::default().data("abc").wait().fail(), true),
            (Frames::default().fail(), true),
            (long(), false),
            (short(), false),
        ] {
            let (connection, mut server) = connected(wire);
            let kept = Kept::default();
            let sent = send(connection, request("POST", "/", TestBody::new(body)), &kept);
            let (answer, rest) = tokio::join!(sent, server.rest());
            match answer.unwrap_err().cause {
                Cause::Body(error) if fails => assert_eq!(error, "failed"),
                Cause::Length if !fails => {}
                other => panic!("{other:?}"),
            }
            assert!(!rest.ends_with("0\r\n\r\n") && !rest.ends_with("abcde"), "{rest}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_fails_takes_the_answer_with_it() {
    for aside in [true, false] {
        each_wire(async |wire| {
            let (connection, mut server) = connected(wire);
            let kept = Kept::default();
            let (mut pieces, body) = http_body_util::channel::Channel::<bytes::Bytes, String>::new(1);
            let client = async {
                let answer = send(connection, request("POST", "/", TestBody::new(body)), &kept)
                    .await
                    .unwrap();
                pieces.send_data("abc".into()).await.unwrap();
                pieces.abort("failed".to_owned());
                let Answer::Streaming(mut answer) = answer.into_body() else {
                    panic!("not streaming");
                };
                if aside {
                    let upload = std::future::poll_fn(|cx| {
                        answer.poll_upload(cx);
                        std::task::Poll::<()>::Pending
                    });
                    drop(tokio::time::timeout(std::time::Duration::from_millis(50), upload).await);
                }
                assert_eq!(all_of(answer).await.1.unwrap_err(), "the request's body failed");
            };
            let serves = async {
                server.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n").await;
                assert!(!server.rest().await.ends_with("0\r\n\r\n"));
            };
            tokio::join!(client, serves);
            assert_eq!(kept.len(), 0);
        })
        .await;
    }
}

#[test]
fn a_connection_shows_its_stream() {
    let (connection, _server) = connected(Wire::Whole);
    let _: &Io = connection.get_ref();
}
