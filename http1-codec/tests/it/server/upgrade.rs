//! Connections that speak another protocol from now on.

use std::sync::{Arc, Mutex};

use http::{Request, Response, StatusCode};
use http1_codec::server::{OnUpgrade, RequestBody};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Refusal, TestBody, Wire, each_wire, handler, ok, serving};

const GET: &str = "GET /a HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: x\r\n\r\n";
const SWITCHED: &str = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";

fn switching() -> Result<Response<TestBody>, Refusal> {
    Ok(Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header("connection", "upgrade")
        .header("upgrade", "x")
        .body(TestBody::empty())
        .expect("a response"))
}

#[tokio::test(start_paused = true)]
async fn what_follows_a_101_is_the_new_protocol_on_both_sides() {
    each_wire(async |wire| {
        let upgrade = Mutex::new(None);
        let service = handler(|mut request: Request<RequestBody>| {
            *upgrade.lock().unwrap() = request.extensions_mut().remove::<OnUpgrade>();
            async { switching() }
        });
        let script = async |mut client: crate::support::Peer| {
            client.send(format!("{GET}ab")).await;
            client.expect(SWITCHED).await;
            client.send("c").await;
            let waiting = upgrade.lock().unwrap().take().unwrap();
            let again = waiting.clone();
            let mut server = waiting.await.unwrap();
            assert!(again.await.is_none());
            let mut read = [0; 3];
            server.read_exact(&mut read).await.unwrap();
            assert_eq!(&read, b"abc");
            let write = async {
                server.write_all(b"hello").await.unwrap();
                server.shutdown().await.unwrap();
            };
            let ((), ()) = tokio::join!(write, client.expect("hello"));
            client.expect_end().await;
        };
        serving(wire, Arc::new(()), service, script).await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_upgrade_leaves_the_connection_as_it_was() {
    each_wire(async |wire| {
        let service = handler(|mut request: Request<RequestBody>| async move {
            let upgrade = request.extensions_mut().remove::<OnUpgrade>().unwrap();
            drop(upgrade);
            ok("no")
        });
        serving(wire, Arc::new(()), service, async |mut client| {
            for _ in 0..2 {
                client.send(GET).await;
                client
                    .expect("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno")
                    .await;
            }
        })
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nobody_is_upgraded_who_did_not_ask() {
    for request in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n",
        "GET / HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Length: 2\r\n\r\nab",
    ] {
        let service = handler(|request: Request<RequestBody>| async move {
            assert!(request.extensions().get::<OnUpgrade>().is_none());
            switching()
        });
        serving(Wire::Whole, Arc::new(()), service, async |mut client| {
            client.send(request).await;
            client.expect_end().await;
        })
        .await
        .unwrap_err();
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_kept_of_an_earlier_request_does_not_prevent_an_upgrade() {
    each_wire(async |wire| {
        let kept = Mutex::new(None);
        let upgrade = Mutex::new(None);
        let service = handler(|mut request: Request<RequestBody>| {
            let switches = request.uri().path() == "/a";
            *upgrade.lock().unwrap() = request.extensions_mut().remove::<OnUpgrade>();
            let kept = &kept;
            async move {
                if switches {
                    return switching();
                }
                let mut body = request.into_body();
                assert_eq!(crate::support::all_of(&mut body).await.0, "ab");
                *kept.lock().unwrap() = Some(body);
                ok("")
            }
        });
        serving(wire, Arc::new(()), service, async |mut client| {
            client
                .send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n")
                .await;
            client
                .expect("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .await;
            client.send(GET).await;
            client.expect(SWITCHED).await;
            let waiting = upgrade.lock().unwrap().take().unwrap();
            assert!(waiting.await.is_some());
        })
        .await
        .unwrap();
    })
    .await;
}
