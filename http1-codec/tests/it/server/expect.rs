//! `Expect: 100-continue`, and interim answers.

use std::sync::Arc;

use http::{Response, StatusCode};

use crate::support::{Frames, Script, TestBody, all_of, each_wire, echo, handler, ok, serving};

const HEAD: &str = "POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_is_told_once_to_go_on() {
    each_wire(async |wire| {
        serving(wire, Arc::new(()), handler(echo), async |mut client| {
            for _ in 0..2 {
                client.send(HEAD).await;
                client.expect(CONTINUE).await;
                client.send("a").await;
                client.expect_silence().await;
                client.send("bc").await;
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
async fn a_client_is_not_told_to_go_on_unless_its_body_is_asked_for() {
    each_wire(async |wire| {
        let unread = handler(|_| async { ok("no") });
        serving(wire, Arc::new(()), unread, async |mut client| {
            client.send(HEAD).await;
            client
                .expect("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno")
                .await;
            client.expect_end().await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_is_not_told_to_go_on_once_an_answer_has_begun() {
    each_wire(async |wire| {
        let late = handler(|request| async {
            let first = Frames::default().data("begun").wait();
            Ok(Response::new(TestBody::new(Behind(Some(first), request.into_body()))))
        });
        let served = serving(wire, Arc::new(()), late, async |mut client| {
            client.send(HEAD).await;
            client
                .expect("HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbegun\r\n")
                .await;
            client.expect_silence().await;
            client.send("abc").await;
            client.expect_end_behind("c\r\n0\r\n\r\n").await;
        });
        served.await.unwrap();
    })
    .await;
}

/// One body behind the other.
struct Behind<B>(Option<Frames>, B);

impl<B> http_body::Body for Behind<B>
where
    B: http_body::Body<Data = bytes::Bytes> + Unpin,
    B::Error: ToString,
{
    type Data = bytes::Bytes;
    type Error = String;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<bytes::Bytes>, String>>> {
        if let Some(first) = &mut self.0 {
            match std::task::ready!(std::pin::Pin::new(first).poll_frame(cx)) {
                None => self.0 = None,
                some => return std::task::Poll::Ready(some),
            }
        }
        std::pin::Pin::new(&mut self.1)
            .poll_frame(cx)
            .map_err(|error| error.to_string())
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_wait_is_not_told_to_go_on() {
    serving(
        crate::support::Wire::Whole,
        Arc::new(()),
        handler(echo),
        async |mut client| {
            client.send(format!("{HEAD}abc")).await;
            client.expect("HTTP/1.1 200 OK\r\n").await;
        },
    )
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_old_client_never_hears_an_interim_answer() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        let early = Arc::clone(&script);
        let service = handler(move |request: http::Request<_>| {
            early.interim(StatusCode::EARLY_HINTS);
            async move {
                let (data, _) = all_of(request.into_body()).await;
                ok(data)
            }
        });
        serving(wire, script, service, async |mut client| {
            client
                .send("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
                .await;
            client.expect_silence().await;
            client.send("abc").await;
            client
                .expect("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 3\r\n\r\nabc")
                .await;
            client.expect_end().await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn interim_answers_come_before_their_own_answer_only() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        let early = Arc::clone(&script);
        let service = handler(move |request: http::Request<_>| {
            if request.uri().path() == "/hints" {
                // In the same moment as the answer.
                early.interim(StatusCode::EARLY_HINTS);
                early.interim(StatusCode::PROCESSING);
            }
            async { ok("") }
        });
        serving(wire, script, service, async |mut client| {
            client.send("GET /hints HTTP/1.1\r\nHost: a\r\n\r\n").await;
            client
                .expect(
                    "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n\
                     HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
                )
                .await;
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            client
                .expect("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn interim_answers_do_not_wait_for_the_answer() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        let early = Arc::clone(&script);
        let service = handler(move |_| {
            let early = Arc::clone(&early);
            async move {
                tokio::time::sleep(std::time::Duration::from_secs(5)).await;
                early.interim(StatusCode::EARLY_HINTS);
                tokio::time::sleep(std::time::Duration::from_secs(5)).await;
                ok("")
            }
        });
        serving(wire, script, service, async |mut client| {
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            tokio::time::sleep(std::time::Duration::from_secs(6)).await;
            client.expect("HTTP/1.1 103 Early Hints\r\n\r\n").await;
            client.expect_silence().await;
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
            client
                .expect("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_interim_answer_comes_once_the_answer_has_begun() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        let early = Arc::clone(&script);
        let service =
            handler(|_| async { Ok(Response::new(TestBody::new(Frames::default().data("a").stuck()))) });
        serving(wire, script, service, async |mut client| {
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            client
                .expect("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n")
                .await;
            early.interim(StatusCode::EARLY_HINTS);
            client.expect_silence().await;
        })
        .await
        .unwrap_err();
    })
    .await;
}
