//! The bodies of requests.

use std::future::pending;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use http_body_util::BodyExt as _;
use http1_codec::server::{RequestBody, Service};

use crate::support::{Frames, TestBody, Wire, all_of, each_wire, echo, handler, ok, serving};

#[tokio::test(start_paused = true)]
async fn bodies_come_by_length_and_in_chunks() {
    each_wire(async |wire| {
        serving(wire, Arc::new(()), handler(echo), async |mut client| {
            for body in [
                "Content-Length: 3\r\n\r\nabc",
                "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n2;x=\"y\"\r\nbc\r\n0\r\n\r\n",
                "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n",
            ] {
                client
                    .send(format!("POST /a HTTP/1.1\r\nHost: a\r\n{body}"))
                    .await;
                client
                    .expect("HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\nPOST /a [abc]")
                    .await;
            }
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_says_what_is_known_of_its_length() {
    let service = handler(|request: Request<RequestBody>| async {
        let mut body = request.into_body();
        let hint = |body: &RequestBody| {
            (
                http_body::Body::size_hint(body).exact(),
                http_body::Body::is_end_stream(body),
            )
        };
        let before = hint(&body);
        let whole = body.whole();
        let (data, _) = all_of(&mut body).await;
        ok(format!("{before:?} {whole:?} {data:?} {:?}", hint(&body)))
    });
    serving(Wire::Whole, Arc::new(()), service, async |mut client| {
        for (head, rest, seen) in [
            ("", "", "(Some(0), true) Some(b\"\") \"\" (Some(0), true)"),
            (
                "Content-Length: 0\r\n",
                "",
                "(Some(0), true) Some(b\"\") \"\" (Some(0), true)",
            ),
            (
                "Content-Length: 3\r\n",
                "",
                "(Some(3), false) None \"abc\" (Some(0), true)",
            ),
            (
                "Content-Length: 3\r\n",
                "abc",
                "(Some(3), false) Some(b\"abc\") \"\" (Some(0), true)",
            ),
            (
                "Transfer-Encoding: chunked\r\n",
                "3\r\nabc\r\n0\r\n\r\n",
                "(None, false) None \"abc\" (Some(0), true)",
            ),
        ] {
            client
                .send(format!("POST / HTTP/1.1\r\nHost: a\r\n{head}\r\n{rest}"))
                .await;
            if rest.is_empty() && head.contains('3') {
                client.expect_silence().await;
                client.send("abc").await;
            }
            client
                .expect(&format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{seen}",
                    seen.len()
                ))
                .await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn trailers_come_behind_the_data() {
    each_wire(async |wire| {
        let service = handler(|request: Request<RequestBody>| async {
            let (data, trailers) = all_of(request.into_body()).await;
            ok(format!("{data} {:?}", trailers.unwrap()))
        });
        serving(wire, Arc::new(()), service, async |mut client| {
            client
                .send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 7\r\n\r\n")
                .await;
            client
                .expect("HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\na {\"x-sum\": \"7\"}")
                .await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_malformed_body_is_an_error_and_ends_the_connection() {
    for body in ["x", "3\r\nabcd\r\n", "3\nabc", "0\r\nX y\r\n\r\n"] {
        each_wire(async |wire| {
            serving(wire, Arc::new(()), handler(echo), async |mut client| {
                client
                    .send(format!(
                        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{body}"
                    ))
                    .await;
                let answer = client.rest().await;
                assert!(
                    answer.starts_with("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n"),
                    "{answer}"
                );
            })
            .await
            .unwrap();
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_cut_is_an_error() {
    for body in [
        "Content-Length: 5\r\n\r\nabc",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ] {
        each_wire(async |wire| {
            serving(wire, Arc::new(()), handler(echo), async |mut client| {
                client.send(format!("POST / HTTP/1.1\r\nHost: a\r\n{body}")).await;
                client.finish().await;
                let answer = client.rest().await;
                assert!(answer.ends_with("\r\n\r\nthe body is cut short"), "{answer}");
            })
            .await
            .unwrap();
        })
        .await;
    }
}

/// A service that reads no body.
fn deaf() -> impl Service {
    handler(|_| async { ok("no") })
}

#[tokio::test(start_paused = true)]
async fn a_small_body_that_nobody_reads_does_not_end_the_connection() {
    for wire in [Wire::Whole, Wire::Dribbled] {
        serving(wire, Arc::new(()), deaf(), async |mut client| {
            for _ in 0..2 {
                client
                    .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n")
                    .await;
                client
                    .expect("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno")
                    .await;
                client.send("x".repeat(5000)).await;
            }
        })
        .await
        .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_or_chunked_body_that_nobody_reads_ends_the_connection_behind_the_answer() {
    for head in ["Content-Length: 400000", "Transfer-Encoding: chunked"] {
        for wire in [Wire::Whole, Wire::Narrow] {
            serving(wire, Arc::new(()), deaf(), async |mut client| {
                client
                    .send(format!("POST / HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n"))
                    .await;
                let answer = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno";
                client.exchange("x".repeat(70_000), answer).await;
                client.expect_end().await;
            })
            .await
            .unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_stops_sending_is_left_after_a_while() {
    serving(Wire::Whole, Arc::new(()), deaf(), async |mut client| {
        client
            .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n")
            .await;
        client
            .expect("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno")
            .await;
        client.send("x".repeat(1024 * 1024)).await;
        client.try_send("x".repeat(100)).await;
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_kept_reads_nothing_of_what_follows_its_message() {
    each_wire(async |wire| {
        let kept = Mutex::new(Vec::new());
        let keeping = handler(|request: Request<RequestBody>| async {
            let mut body = request.into_body();
            let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
            if first.len() < 3 {
                drop(body.frame().await);
            }
            kept.lock().unwrap().push(body);
            ok("")
        });
        serving(wire, Arc::new(()), keeping, async |mut client| {
            for _ in 0..2 {
                client
                    .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n")
                    .await;
                client.send("ab").await;
                client
                    .expect("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                    .await;
            }
            let mut first = kept.lock().unwrap().remove(0);
            assert!(matches!(first.frame().await, None | Some(Err(_))));
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_kept_unread_reads_nothing_once_the_answer_is_out() {
    each_wire(async |wire| {
        let kept = Mutex::new(None);
        let keeping = handler(|request: Request<RequestBody>| {
            *kept.lock().unwrap() = Some(request.into_body());
            async { ok("") }
        });
        serving(wire, Arc::new(()), keeping, async |mut client| {
            client
                .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
                .await;
            client
                .expect("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .await;
            client.expect_end().await;
            let body = kept.lock().unwrap().take().unwrap();
            let reads = async {
                let (data, end) = all_of(body).await;
                assert_eq!(data, "");
                end.unwrap_err();
            };
            let sends = async {
                client.try_send("def").await;
                drop(client);
            };
            tokio::join!(reads, sends);
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_kept_does_not_hold_the_connection() {
    let kept = Arc::new(Mutex::new(None));
    let keeping = handler(|request: Request<RequestBody>| {
        *kept.lock().unwrap() = Some(request.into_body());
        pending()
    });
    let (near, far) = tokio::io::duplex(1024);
    let mut client = crate::support::Peer::new(far);
    let mut server = Box::pin(http1_codec::server::serve(
        near,
        bytes::Bytes::new(),
        http1_codec::HeadLimits::default(),
        Arc::new(()),
        keeping,
    ));
    client
        .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
        .await;
    tokio::select! {
        biased;
        _ = &mut server => unreachable!("there is no answer"),
        () = client.expect_silence() => {}
    }
    let mut body = kept.lock().unwrap().take().unwrap();
    drop(server);
    client.expect_end().await;
    assert!(body.frame().await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn an_answer_can_be_made_of_its_request_while_that_comes() {
    each_wire(async |wire| {
        let echoing = handler(|request: Request<RequestBody>| async {
            Ok(Response::new(TestBody::new(request.into_body())))
        });
        serving(wire, Arc::new(()), echoing, async |mut client| {
            for _ in 0..2 {
                client
                    .send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
                    .await;
                client
                    .expect("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n")
                    .await;
                client.expect_silence().await;
                client.send("1\r\nb\r\n0\r\nX-Sum: 7\r\n\r\n").await;
                client.expect("1\r\nb\r\n0\r\nx-sum: 7\r\n\r\n").await;
            }
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_early_answer_ends_the_connection_if_its_request_goes_on() {
    each_wire(async |wire| {
        let early = handler(|request: Request<RequestBody>| async {
            let mut body = request.into_body();
            drop(body.frame().await);
            Ok(Response::new(TestBody::new(Frames::default().data("early").wait().data("end"))))
        });
        serving(wire, Arc::new(()), early, async |mut client| {
            client
                .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc")
                .await;
            client
                .expect("HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\nearly\r\n3\r\nend\r\n0\r\n\r\n")
                .await;
            client.expect_end().await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_nobody_takes_is_not_read_ahead() {
    let waiting = handler(|request: Request<RequestBody>| async {
        let body = request.into_body();
        pending::<()>().await;
        drop(body);
        ok("")
    });
    let served = serving(Wire::Narrow, Arc::new(()), waiting, async |mut client| {
        client
            .send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            .await;
        client.expect_full_behind(64 * 1024).await;
    });
    let deadline = std::time::Duration::from_secs(60);
    assert!(tokio::time::timeout(deadline, served).await.is_err());
}
