//! What a driver does when it is told to.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use http::Response;
use http1_codec::server::{Command, Phase};

use crate::support::{Frames, Refusal, Script, TestBody, each_wire, echo, handler, ok, serving};

const GET: &str = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
const CLOSING: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nGET /a []";

#[tokio::test(start_paused = true)]
async fn an_idle_connection_that_drains_closes() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        serving(wire, Arc::clone(&script), handler(echo), async |mut client| {
            client.expect_silence().await;
            script.command(Command::Drain);
            client.expect_end().await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_comes_while_an_idle_connection_is_asked_to_go_is_answered() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        serving(wire, Arc::clone(&script), handler(echo), async |mut client| {
            client.send(GET).await;
            client
                .expect("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nGET /a []")
                .await;
            client.expect_silence().await;
            // Both are there before the server looks.
            script.command(Command::Drain);
            client.send(GET).await;
            let answer = client.rest().await;
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_head_that_has_begun_is_answered_before_the_connection_drains() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        serving(wire, Arc::clone(&script), handler(echo), async |mut client| {
            client.send(GET.split_at(5).0).await;
            client.expect_silence().await;
            script.command(Command::Drain);
            client.expect_silence().await;
            client.send(GET.split_at(5).1).await;
            client.expect(CLOSING).await;
            client.expect_end().await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_request_in_flight_is_answered_before_the_connection_drains() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        let slow = handler(|request| async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            echo(request).await
        });
        serving(wire, Arc::clone(&script), slow, async |mut client| {
            client.send(GET).await;
            client.expect_silence().await;
            script.command(Command::Drain);
            client.expect_silence().await;
            tokio::time::sleep(Duration::from_secs(4)).await;
            client.expect(CLOSING).await;
            client.expect_end().await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_flight_is_finished_before_the_connection_drains() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        let service =
            handler(|_| async { Ok(Response::new(TestBody::new(Slow(Frames::default().data("a"))))) });
        serving(wire, Arc::clone(&script), service, async |mut client| {
            client.send(GET).await;
            client
                .expect("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n")
                .await;
            script.command(Command::Drain);
            tokio::time::sleep(Duration::from_secs(2)).await;
            client.expect("0\r\n\r\n").await;
            client.expect_end().await;
        })
        .await
        .unwrap();
    })
    .await;
}

/// Frames, and the end two seconds later.
struct Slow(Frames);

impl http_body::Body for Slow {
    type Data = bytes::Bytes;
    type Error = String;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<bytes::Bytes>, String>>> {
        use std::task::Poll;
        match std::task::ready!(std::pin::Pin::new(&mut self.0).poll_frame(cx)) {
            None => {
                self.0 = Frames::default().stuck();
                let waker = cx.waker().clone();
                let mut set = tokio::task::JoinSet::new();
                set.spawn(async move {
                    tokio::time::sleep(Duration::from_secs(2)).await;
                    waker.wake();
                });
                set.detach_all();
                self.0 = Frames::default().fail();
                Poll::Pending
            }
            Some(Err(_)) => Poll::Ready(None),
            some => Poll::Ready(some),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_that_takes_too_long_is_answered_408() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        serving(wire, Arc::clone(&script), handler(echo), async |mut client| {
            client.send("GET / HT").await;
            client.expect_silence().await;
            script.command(Command::TimeOut);
            let answer = client.rest().await;
            assert!(
                answer.starts_with("HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n"),
                "{answer}"
            );
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_that_takes_too_long_closes_without_a_word() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        serving(wire, Arc::clone(&script), handler(echo), async |mut client| {
            client.send(GET).await;
            client
                .expect("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nGET /a []")
                .await;
            client.expect_silence().await;
            script.command(Command::TimeOut);
            client.expect_end().await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_takes_too_long_fails() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        serving(wire, Arc::clone(&script), handler(echo), async |mut client| {
            client
                .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc")
                .await;
            client.expect_silence().await;
            assert_eq!(script.phase(), Some(Phase::Body));
            script.command(Command::TimeOut);
            let answer = client.rest().await;
            assert!(
                answer.starts_with("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n"),
                "{answer}"
            );
            assert!(
                answer.ends_with("\r\n\r\nthe body did not come in time"),
                "{answer}"
            );
            let phases = script.phases();
            let body = phases.iter().rposition(|phase| *phase == Phase::Body).unwrap();
            assert_eq!(phases[body + 1], Phase::Request);
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_a_body_behind_its_answer_is_not_waited_for_for_ever() {
    for command in [Command::Drain, Command::TimeOut, Command::Close] {
        each_wire(async |wire| {
            let script = Arc::new(Script::default());
            let early = handler(|_| async { Ok(Response::new(TestBody::empty())) });
            serving(wire, Arc::clone(&script), early, async |mut client| {
                client
                    .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc")
                    .await;
                client
                    .expect("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                    .await;
                client.expect_silence().await;
                assert_eq!(script.phase(), Some(Phase::Body), "the sweeper counts its time");
                script.command(command);
                client.expect_end().await;
            })
            .await
            .unwrap();
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn closing_at_once_needs_no_answer() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        let never = handler(|_| async {
            pending::<()>().await;
            Err(Refusal)
        });
        serving(wire, Arc::clone(&script), never, async |mut client| {
            client.send(GET).await;
            client.expect_silence().await;
            script.command(Command::Close);
            client.expect_end().await;
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn closing_at_once_cuts_an_answer() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        let service =
            handler(|_| async { Ok(Response::new(TestBody::new(Frames::default().data("a").stuck()))) });
        serving(wire, Arc::clone(&script), service, async |mut client| {
            client.send(GET).await;
            client
                .expect("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n")
                .await;
            script.command(Command::Close);
            client.expect_end().await;
        })
        .await
        .unwrap_err();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_closes_behind_the_last_answer_is_not_waited_for_for_ever() {
    for command in [Command::TimeOut, Command::Close] {
        each_wire(async |wire| {
            let script = Arc::new(Script::default());
            let deaf = handler(|_| async { ok("no") });
            serving(wire, Arc::clone(&script), deaf, async |mut client| {
                client
                    .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n")
                    .await;
                client.expect_end_behind("no").await;
                assert_eq!(script.phase(), Some(Phase::Closing));
                script.command(command);
                client.expect_gone().await;
            })
            .await
            .unwrap();
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_phases_of_a_connection_are_told() {
    each_wire(async |wire| {
        let script = Arc::new(Script::default());
        serving(wire, Arc::clone(&script), handler(echo), async |mut client| {
            client.send(GET).await;
            client
                .expect("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nGET /a []")
                .await;
            client.expect_silence().await;
        })
        .await
        .unwrap();
        assert_eq!(script.phases(), [Phase::Request, Phase::Head, Phase::Leaving]);
    })
    .await;
}
