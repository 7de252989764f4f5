//! Clients that leave.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Response;

use crate::support::{Frames, Refusal, TestBody, each_wire, handler, serving};

struct Flag<'f>(&'f AtomicBool);

impl Drop for Flag<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn the_service_of_a_client_that_leaves_is_dropped() {
    for request in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
    ] {
        each_wire(async |wire| {
            let dropped = AtomicBool::new(false);
            let service = handler(|request| {
                let flag = Flag(&dropped);
                async {
                    crate::support::all_of(request.into_body()).await.1.unwrap();
                    pending::<()>().await;
                    drop(flag);
                    Err(Refusal)
                }
            });
            serving(wire, Arc::new(()), service, async |mut client| {
                client.send(request).await;
                client.expect_silence().await;
                assert!(!dropped.load(Ordering::Relaxed));
            })
            .await
            .unwrap();
            assert!(dropped.load(Ordering::Relaxed));
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_client_that_leaves_is_dropped() {
    each_wire(async |wire| {
        let service =
            handler(|_| async { Ok(Response::new(TestBody::new(Frames::default().data("a").stuck()))) });
        serving(wire, Arc::new(()), service, async |mut client| {
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            client
                .expect("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n")
                .await;
        })
        .await
        .unwrap_err();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_service_can_close_without_an_answer() {
    each_wire(async |wire| {
        let service = handler(|_| async { Err(Refusal) });
        serving(wire, Arc::new(()), service, async |mut client| {
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            client.expect_end().await;
        })
        .await
        .unwrap();
    })
    .await;
}
