//! How answers go out.

use std::sync::Arc;

use http::{HeaderMap, Response};

use crate::support::{Frames, Script, TestBody, each_wire, handler, serving};

/// What a server sends for an answer with this body to a request with this first line.
async fn sent(line: &str, status: u16, body: impl Fn() -> Frames + Send + Sync) -> String {
    sent_with(line, status, &HeaderMap::new(), body).await
}

async fn sent_with(
    line: &str,
    status: u16,
    headers: &HeaderMap,
    body: impl Fn() -> Frames + Send + Sync,
) -> String {
    let all = std::cell::RefCell::new(Vec::new());
    each_wire(async |wire| {
        let service = handler(|_| {
            let mut response = Response::new(TestBody::new(body()));
            *response.status_mut() = status.try_into().unwrap();
            *response.headers_mut() = headers.clone();
            async { Ok(response) }
        });
        let served = serving(wire, Arc::new(()), service, async |mut client| {
            client.send(format!("{line}\r\nHost: a\r\n\r\n")).await;
            client.finish().await;
            let text = client.rest().await;
            all.borrow_mut().push(text);
        })
        .await;
        drop(served);
    })
    .await;
    let all = all.into_inner();
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    all[0].clone()
}

#[tokio::test(start_paused = true)]
async fn a_body_of_unknown_length_is_sent_in_chunks() {
    let text = sent("GET / HTTP/1.1\r\nConnection: close", 200, || {
        Frames::default().data("abc").wait().data("d".repeat(20))
    })
    .await;
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert_eq!(
        head,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked"
    );
    assert_eq!(body, format!("3\r\nabc\r\n14\r\n{}\r\n0\r\n\r\n", "d".repeat(20)));
}

#[tokio::test(start_paused = true)]
async fn trailers_go_out_behind_chunks_and_nowhere_else() {
    let frames = || Frames::default().data("abc").trailer("x-sum", "7");
    let text = sent("GET / HTTP/1.1\r\nConnection: close", 200, frames).await;
    assert!(text.ends_with("3\r\nabc\r\n0\r\nx-sum: 7\r\n\r\n"), "{text}");
    let text = sent("GET / HTTP/1.1\r\nConnection: close", 200, || {
        frames().of_length(3)
    })
    .await;
    assert!(text.ends_with("content-length: 3\r\n\r\nabc"), "{text}");
    let text = sent("GET / HTTP/1.0", 200, frames).await;
    assert!(text.ends_with("\r\n\r\nabc"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_old_client_gets_a_body_of_unknown_length_until_the_end() {
    let text = sent("GET / HTTP/1.0", 200, || {
        Frames::default().data("abc").wait().data("de")
    })
    .await;
    assert_eq!(text, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabcde");
}

#[tokio::test(start_paused = true)]
async fn the_control_knows_while_a_clean_end_would_complete_an_answer() {
    type Make = fn() -> Frames;
    let whole: Make = || Frames::default().data("abc");
    let failing: Make = || Frames::default().data("abc").fail();
    let counted: Make = || Frames::default().data("abc").of_length(3);
    let cases: [(&str, Make, &[bool]); 5] = [
        ("HTTP/1.0", whole, &[true, false]),
        ("HTTP/1.0", failing, &[true]),
        ("HTTP/1.0", counted, &[]),
        ("HTTP/1.1", whole, &[]),
        ("HTTP/1.1", failing, &[]),
    ];
    for (version, frames, heard) in cases {
        each_wire(async |wire| {
            let script = Arc::new(Script::default());
            let service = handler(|_| {
                let body = TestBody::new(frames());
                async { Ok(Response::new(body)) }
            });
            let served = serving(wire, Arc::clone(&script), service, async |mut client| {
                client
                    .send(format!("GET / {version}\r\nHost: a\r\nConnection: close\r\n\r\n"))
                    .await;
                client.finish().await;
                client.rest().await;
            })
            .await;
            assert_eq!(script.open_end(), heard, "{version}: {served:?}");
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn answers_without_a_body_have_none_whatever_they_say() {
    let close = "GET / HTTP/1.1\r\nConnection: close";
    let frames = || Frames::default().data("abc");
    let exact = || frames().of_length(3);
    let text = sent("HEAD / HTTP/1.1\r\nConnection: close", 200, exact).await;
    assert_eq!(
        text,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 3\r\n\r\n"
    );
    let text = sent("HEAD / HTTP/1.1\r\nConnection: close", 200, frames).await;
    assert_eq!(text, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
    let text = sent(close, 204, exact).await;
    assert_eq!(text, "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    let mut headers = HeaderMap::new();
    headers.insert("content-length", "7".parse().unwrap());
    headers.insert("transfer-encoding", "chunked".parse().unwrap());
    let text = sent_with(close, 304, &headers, exact).await;
    assert_eq!(
        text,
        "HTTP/1.1 304 Not Modified\r\nconnection: close\r\ncontent-length: 7\r\n\r\n"
    );
    let text = sent_with(close, 204, &headers, exact).await;
    assert_eq!(text, "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_not_as_long_as_it_said_never_looks_complete() {
    let close = "GET / HTTP/1.1\r\nConnection: close";
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\n";
    let short = sent(close, 200, || Frames::default().data("abc").of_length(5)).await;
    assert_eq!(short, format!("{head}abc"));
    let long = sent(close, 200, || {
        Frames::default().data("abc").wait().data("defg").of_length(5)
    })
    .await;
    assert_eq!(long, format!("{head}abc"));
    let nothing = sent(close, 200, || Frames::default().wait().of_length(5)).await;
    assert_eq!(nothing, head);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_fails_never_looks_complete() {
    let close = "GET / HTTP/1.1\r\nConnection: close";
    let chunked = sent(close, 200, || Frames::default().data("abc").wait().fail()).await;
    assert!(chunked.ends_with("\r\n\r\n3\r\nabc\r\n"), "{chunked}");
    let exact = sent(close, 200, || Frames::default().data("abc").fail().of_length(5)).await;
    assert!(exact.ends_with("\r\n\r\nabc"), "{exact}");
}

#[tokio::test(start_paused = true)]
async fn a_service_can_end_a_connection_with_its_answer() {
    let mut headers = HeaderMap::new();
    headers.insert("connection", "x, Close".parse().unwrap());
    let text = sent_with("GET / HTTP/1.1", 200, &headers, || {
        Frames::default().data("abc").of_length(3)
    })
    .await;
    assert_eq!(
        text,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 3\r\n\r\nabc"
    );
}

#[tokio::test(start_paused = true)]
async fn an_interim_status_is_no_answer() {
    for status in [100, 103, 199] {
        assert_eq!(sent("GET / HTTP/1.1", status, Frames::default).await, "");
    }
}
