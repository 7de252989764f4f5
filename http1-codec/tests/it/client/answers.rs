//! How answers are read.

use http::{Response, StatusCode};
use http1_codec::client::{Answer, Cause};
use http1_codec::{HeadError, HeadLimits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Frames, Kept, TestBody, Wire, all_of, connected, each_wire, get, read, request, send};

/// How an answer with these bytes is read, and whether its connection can be used again.
async fn seen(method: &str, text: &str, closes: bool) -> (u16, String, Result<(), String>, bool) {
    let all = std::cell::RefCell::new(Vec::new());
    each_wire(async |wire| {
        let (connection, mut server) = connected(wire);
        let kept = Kept::default();
        let client = async {
            let request = request(method, "/", TestBody::empty());
            match send(connection, request, &kept).await {
                Ok(answer) => read(answer).await,
                Err(error) => (
                    StatusCode::BAD_GATEWAY,
                    String::new(),
                    Err(error.cause.to_string()),
                ),
            }
        };
        let serves = async {
            server
                .expect(&format!("{method} / HTTP/1.1\r\nhost: a\r\n\r\n"))
                .await;
            server.try_send(text).await;
            if closes {
                server.finish().await;
            }
        };
        let ((status, data, end), ()) = tokio::join!(client, serves);
        let one = (status.as_u16(), data, end, kept.take().is_some());
        all.borrow_mut().push(one);
    })
    .await;
    let all = all.into_inner();
    assert!(all.iter().all(|one| *one == all[0]), "{text:?}: {all:?}");
    all[0].clone()
}

#[tokio::test(start_paused = true)]
async fn answers_end_where_they_say() {
    for (head, body) in [
        ("Content-Length: 3", "abc"),
        ("Transfer-Encoding: chunked", "2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\n"),
        (
            "Transfer-Encoding: chunked",
            "2  \r\nab\r\n1\r\nc\r\n0\r\nX-Sum: 7\r\n\r\n",
        ),
        ("Content-Length: 3\r\nContent-Length: 3", "abc"),
    ] {
        let text = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
        assert_eq!(
            seen("GET", &text, false).await,
            (200, "abc".to_owned(), Ok(()), true),
            "{text}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn answers_without_a_body_have_none_whatever_they_say() {
    for (method, status) in [("HEAD", 200), ("GET", 204), ("GET", 304)] {
        for head in ["Content-Length: 3", "Transfer-Encoding: chunked", "X: y"] {
            let text = format!("HTTP/1.1 {status} X\r\n{head}\r\n\r\n");
            assert_eq!(
                seen(method, &text, false).await,
                (status, String::new(), Ok(()), true),
                "{text}"
            );
        }
    }
    let text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(seen("GET", text, false).await, (200, String::new(), Ok(()), true));
}

#[tokio::test(start_paused = true)]
async fn connections_end_with_some_answers() {
    for (text, body) in [
        ("HTTP/1.1 200 OK\r\n\r\nabc", "abc"),
        ("HTTP/1.0 200 OK\r\n\r\nabc", "abc"),
        ("HTTP/1.1 200 OK\r\n\r\n", ""),
        ("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc"),
        (
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
            "abc",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            "a",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc"),
    ] {
        assert_eq!(
            seen("GET", text, true).await,
            (200, body.to_owned(), Ok(()), false),
            "{text}"
        );
    }
    let old = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(
        seen("GET", old, false).await,
        (200, "abc".to_owned(), Ok(()), true)
    );
}

#[tokio::test(start_paused = true)]
async fn a_cut_answer_is_an_error() {
    for (text, data) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "abc"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc",
            "abc",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            "abc",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
            "abc",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ""),
    ] {
        assert_eq!(
            seen("GET", text, true).await,
            (
                200,
                data.to_owned(),
                Err("the body is cut short".to_owned()),
                false
            ),
            "{text}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_answers_are_errors() {
    for (text, error) in [
        ("ICY 200 OK\r\n\r\n", "the answer is not valid: "),
        ("HTTP/1.1 700 X\r\n\r\n", "the answer is not valid: "),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            "the answer is not valid: ",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "the answer is not valid: ",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx",
            "a chunk size is malformed",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX y\r\n\r\n",
            "the trailers are malformed",
        ),
    ] {
        let (_, _, end, reusable) = seen("GET", text, false).await;
        let end = end.unwrap_err();
        assert!(end.starts_with(error), "{text}: {end}");
        assert!(!reusable, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn bytes_behind_an_answer_end_its_connection() {
    for text in [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcEVIL",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\r\n",
    ] {
        assert_eq!(
            seen("GET", text, false).await,
            (200, "abc".to_owned(), Ok(()), false),
            "{text}"
        );
    }
    for text in [
        "HTTP/1.1 204 No Content\r\n\r\nx",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 1\r\n\r\nx",
    ] {
        assert!(!seen("GET", text, false).await.3, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn interim_answers_are_told_and_come_before_the_answer() {
    each_wire(async |wire| {
        let (connection, mut server) = connected(wire);
        let mut interim = Vec::new();
        let kept = Kept::default();
        let client = async {
            let on_interim =
                |head: &Response<()>| interim.push((head.status().as_u16(), head.headers().len()));
            let limits = HeadLimits::default();
            let answer = connection
                .send(Box::new(get("/")), &[], &limits, kept.clone(), on_interim)
                .await
                .unwrap();
            assert_eq!(read(answer).await.1, "ok");
        };
        let serves = server.exchange(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\nLink: y\r\n\r\n\
             HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
        );
        tokio::join!(client, serves);
        assert_eq!(interim, [(100, 0), (103, 2)]);
        assert_eq!(kept.len(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_follows_a_101_is_the_new_protocol_on_both_sides() {
    each_wire(async |wire| {
        let (connection, mut server) = connected(wire);
        let kept = Kept::default();
        let client = async {
            let answer = send(connection, get("/"), &kept).await.unwrap();
            assert_eq!(answer.headers()["upgrade"], "x");
            let Answer::Upgraded(mut io) = answer.into_body() else {
                panic!("not upgraded");
            };
            let mut read = [0; 3];
            io.read_exact(&mut read).await.unwrap();
            assert_eq!(&read, b"abc");
            io.write_all(b"hello").await.unwrap();
            io.shutdown().await.unwrap();
        };
        let serves = async {
            server.expect("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
            server
                .send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nabc")
                .await;
            server.expect("hello").await;
            server.expect_end().await;
        };
        tokio::join!(client, serves);
        assert_eq!(kept.len(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_and_its_request_can_go_on_at_once() {
    each_wire(async |wire| {
        let (connection, mut server) = connected(wire);
        let kept = Kept::default();
        let (mut pieces, body) = http_body_util::channel::Channel::<bytes::Bytes, String>::new(1);
        let client = async {
            let request = request("POST", "/", TestBody::new(body));
            let answer = send(connection, request, &kept).await.unwrap();
            assert_eq!(read(answer).await, (StatusCode::OK, "abcd".to_owned(), Ok(())));
        };
        let serves = async {
            server
                .expect("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
                .await;
            server
                .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
                .await;
            pieces.send_data("xy".into()).await.unwrap();
            server.expect("2\r\nxy\r\n").await;
            server.send("2\r\ncd\r\n").await;
            drop(pieces);
            server.expect("0\r\n\r\n").await;
            server.send("0\r\n\r\n").await;
        };
        tokio::join!(client, serves);
        assert_eq!(kept.len(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_request_goes_on_while_nobody_takes_the_answer() {
    let (connection, mut server) = connected(Wire::Narrow);
    let kept = Kept::default();
    let body = Frames::default().data("abc").wait().data("d".repeat(50)).wait();
    let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
    let client = async {
        let answer = send(connection, request("POST", "/", TestBody::new(body)), &kept)
            .await
            .unwrap();
        let Answer::Streaming(mut answer) = answer.into_body() else {
            panic!("not streaming");
        };
        let aside = std::future::poll_fn(|cx| {
            answer.poll_upload(cx);
            std::task::Poll::<()>::Pending
        });
        drop(tokio::time::timeout(std::time::Duration::from_millis(100), aside).await);
        assert_eq!(all_of(answer).await.0, "a");
    };
    let serves = async {
        let head = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n";
        server.exchange(text.split_at(text.len() - 20).0, head).await;
        server
            .exchange(
                text.split_at(text.len() - 20).1,
                &format!("32\r\n{}\r\n0\r\n\r\n", "d".repeat(50)),
            )
            .await;
    };
    tokio::join!(client, serves);
    assert_eq!(kept.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn interim_answers_without_end_are_an_error() {
    let (connection, mut server) = connected(Wire::Whole);
    let flood = async {
        server.expect("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        server.send("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1001)).await;
        std::future::pending::<()>().await;
    };
    let kept = Kept::default();
    let error = tokio::select! {
        answer = send(connection, get("/"), &kept) => answer.unwrap_err(),
        () = flood => unreachable!("it never ends"),
    };
    assert!(matches!(error.cause, Cause::Head(HeadError::TooManyInterim)));
}
