//! Futures that are dropped at each of their polls.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http1_codec::HeadLimits;
use http1_codec::server::serve;
use tokio::io::duplex;

use crate::support::{
    Dribble, Frames, Io, Kept, Peer, TestBody, Wire, connected, echo, handler, read, request, send,
};

/// Polls a future this many times at most, then drops it.
async fn at_most<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = Some(Box::pin(future));
    let mut left = polls;
    poll_fn(move |cx| {
        let Some(running) = &mut future else {
            return Poll::Ready(None);
        };
        if left == 0 {
            future = None;
            return Poll::Ready(None);
        }
        left -= 1;
        running.as_mut().poll(cx).map(Some)
    })
    .await
}

/// Cuts an exchange at each poll; what is kept of its connection must do for another one.
async fn an_exchange_is_cut(wire: Wire, answer: &str, data: &str) {
    const SENT: &str =
        "POST /1 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n";
    let mut kept_once = false;
    for polls in 0.. {
        let (connection, mut server) = connected(wire);
        let kept = Kept::default();
        let exchange = async {
            let body = Frames::default().data("abc").wait().data("d");
            let answer = send(connection, request("POST", "/1", TestBody::new(body)), &kept).await;
            read(answer.unwrap()).await
        };
        let serves = async {
            let asked = server.asks(SENT).await;
            if asked {
                server.try_send(answer).await;
            }
        };
        let (done, ()) = tokio::join!(at_most(polls, exchange), serves);
        match kept.take() {
            None => {
                assert!(done.is_none());
                server.expect_closed().await;
            }
            Some(connection) => {
                kept_once = true;
                let again = send(connection, request("POST", "/2", TestBody::full("x")), &kept);
                let head = "POST /2 HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nx";
                let serves = async {
                    server.expect(head).await;
                    server
                        .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain")
                        .await;
                };
                let again = async { read(again.await.unwrap()).await.1 };
                let (answer, ()) = tokio::join!(again, serves);
                assert_eq!(answer, "again");
            }
        }
        if let Some((_, read, end)) = done {
            assert_eq!((read.as_str(), end), (data, Ok(())));
            assert!(kept_once && polls > 1);
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_exchange_that_is_dropped_leaves_its_connection_closed_or_good() {
    for wire in [Wire::Whole, Wire::Narrow, Wire::Dribbled] {
        for (answer, data) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nxyz", "xyz"),
            (
                "HTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n1\r\nz\r\n0\r\n\r\n",
                "xyz",
            ),
            ("HTTP/1.1 204 No Content\r\n\r\n", ""),
        ] {
            an_exchange_is_cut(wire, answer, data).await;
        }
    }
}

/// Drops a server at this poll; whether it had ended before, and what its client has heard.
async fn a_server_is_cut(polls: usize, dribbled: bool) -> (bool, String) {
    const REQUESTS: &str = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\
        POST /2 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n\
        GET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let runs = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&runs);
    let service = handler(move |request| {
        let guard = Running::new(&counted);
        async move {
            let answer = echo(request).await;
            drop(guard);
            answer
        }
    });
    let (near, far) = duplex(if dribbled { 1024 } else { 7 });
    let near: Io = match dribbled {
        true => Box::new(Dribble::new(near)),
        false => Box::new(near),
    };
    let server = serve(near, Bytes::new(), HeadLimits::default(), Arc::new(()), service);
    let mut client = Peer::new(far);
    let (served, answers) = tokio::join!(at_most(polls, server), client.talk(REQUESTS));
    assert_eq!(*runs.lock().unwrap(), 0);
    (served.is_some(), answers)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_dropped_closes_its_connection_and_ends_its_request() {
    for dribbled in [true, false] {
        let (ended, all) = a_server_is_cut(usize::MAX, dribbled).await;
        assert!(ended);
        assert_eq!(all.matches("HTTP/1.1 200 OK").count(), 3);
        for polls in 0.. {
            let (ended, answers) = a_server_is_cut(polls, dribbled).await;
            assert!(all.starts_with(&answers), "{answers:?}");
            if ended {
                assert!(polls > 2);
                break;
            }
        }
    }
}

/// A request that runs.
struct Running(Arc<Mutex<u32>>);

impl Running {
    fn new(runs: &Arc<Mutex<u32>>) -> Self {
        *runs.lock().unwrap() += 1;
        Self(Arc::clone(runs))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        *self.0.lock().unwrap() -= 1;
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_dropped_takes_its_request_with_it() {
    let (connection, mut server) = connected(Wire::Whole);
    let kept = Kept::default();
    let body = Frames::default().data("abc").stuck();
    let client = async {
        let answer = send(connection, request("POST", "/", TestBody::new(body)), &kept).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        drop(answer.unwrap());
    };
    let serves = async {
        server
            .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
            .await;
        assert!(!server.rest().await.ends_with("0\r\n\r\n"));
    };
    tokio::join!(client, serves);
    assert_eq!(kept.len(), 0);
}
