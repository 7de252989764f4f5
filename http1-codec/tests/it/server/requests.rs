//! Requests in order on one connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Wire, each_wire, echo, handler, ok, serving};

#[tokio::test(start_paused = true)]
async fn a_connection_has_one_request_after_the_other() {
    each_wire(async |wire| {
        serving(wire, Arc::new(()), handler(echo), async |mut client| {
            for path in ["/a", "/b"] {
                client
                    .send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"))
                    .await;
                client
                    .expect(&format!(
                        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nGET {path} []"
                    ))
                    .await;
            }
            client.expect_silence().await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn pipelined_requests_are_answered_in_order() {
    each_wire(async |wire| {
        serving(wire, Arc::new(()), handler(echo), async |mut client| {
            let requests = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\
                 POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n\
                 GET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n\
                 GET /4 HTTP/1.1\r\nHost: a\r\n\r\n";
            client
                .exchange(
                    requests,
                    "HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\nPOST /1 [abc]\
                     HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\nPOST /2 [de]\
                     HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nGET /3 []",
                )
                .await;
            client.expect_end().await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_behind_a_malformed_request_is_run() {
    for wire in [Wire::Whole, Wire::Dribbled] {
        let runs = AtomicUsize::new(0);
        let counting = handler(|_| {
            runs.fetch_add(1, Ordering::Relaxed);
            async { ok("") }
        });
        serving(wire, Arc::new(()), counting, async |mut client| {
            client
                .send(
                    "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n\
                     GET /2 HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n\
                     GET /3 HTTP/1.1\r\nHost: a\r\n\r\n",
                )
                .await;
            let answers = client.rest().await;
            let (first, second) = answers.split_at("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".len());
            assert_eq!(first, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
            assert!(
                second.starts_with("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n"),
                "{second}"
            );
            assert!(second.ends_with("a field name is malformed"), "{second}");
        })
        .await
        .unwrap();
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_client_gets_one_answer_unless_it_asks_for_more() {
    each_wire(async |wire| {
        serving(wire, Arc::new(()), handler(echo), async |mut client| {
            client
                .send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                .await;
            client
                .expect("HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 9\r\n\r\nGET /a []")
                .await;
            client.send("GET /b HTTP/1.0\r\n\r\n").await;
            client
                .expect("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nGET /b []")
                .await;
            client.expect_end().await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_may_end_its_side_behind_a_request_that_says_close() {
    for connection in ["HTTP/1.1\r\nHost: a\r\nConnection: close", "HTTP/1.0"] {
        each_wire(async |wire| {
            let slow = handler(|request| async {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                echo(request).await
            });
            serving(wire, Arc::new(()), slow, async |mut client| {
                client.send(format!("GET /a {connection}\r\n\r\n")).await;
                client.finish().await;
                assert!(client.rest().await.ends_with("GET /a []"));
            })
            .await
            .unwrap();
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_part_of_a_head_is_no_request() {
    each_wire(async |wire| {
        serving(wire, Arc::new(()), handler(echo), async |mut client| {
            client.send("GET /a HTTP/1.1\r\nHost: a\r\n").await;
            client.finish().await;
            client.expect_end().await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_was_read_before_comes_first() {
    let (near, far) = tokio::io::duplex(1024);
    let ahead = bytes::Bytes::from_static(b"GET /a HTTP/1.1\r\nHo");
    let server = http1_codec::server::serve(
        near,
        ahead,
        http1_codec::HeadLimits::default(),
        Arc::new(()),
        handler(echo),
    );
    let client = async {
        let mut client = crate::support::Peer::new(far);
        client.send("st: a\r\n\r\n").await;
        client
            .expect("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nGET /a []")
            .await;
    };
    tokio::join!(server, client).0.unwrap();
}
