//! gRPC: what it needs of HTTP/2 from end to end, with messages made by hand.

use std::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::{HeaderMap, Method, Request, Response};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::support::h2_client::{H2, Stream, piece, read};
use crate::support::rig::Rig;
use crate::support::secure::{Authority, accept};
use crate::support::wait::within;

/// A call as the upstream sees it.
type Call = (Request<RecvStream>, SendResponse<Bytes>);

/// An upstream whose calls the test answers, behind a proxy.
struct Stage {
    rig: Rig,
    calls: mpsc::UnboundedReceiver<Call>,
    _authority: Authority,
    _serving: AbortOnDropHandle<()>,
}

impl Stage {
    async fn set(tls: bool) -> Self {
        let authority = Authority::new();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let rig = if tls {
            let options = format!("tls_trust_pool file {}", authority.file());
            super::to(format!("https://{address}"), &options)
        } else {
            Rig::to_h2c(address)
        };
        let config = Arc::new(authority.sign(&["127.0.0.1"]).server(&["h2"], None));
        let (sender, calls) = mpsc::unbounded_channel();
        let serving = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            if tls {
                let stream = accept(stream, &config).await;
                serve(h2::server::handshake(stream).await.unwrap(), sender).await;
            } else {
                serve(h2::server::handshake(stream).await.unwrap(), sender).await;
            }
        });
        Self {
            rig,
            calls,
            _authority: authority,
            _serving: AbortOnDropHandle::new(serving),
        }
    }

    async fn call(&mut self) -> Call {
        within("a call", self.calls.recv()).await.unwrap()
    }
}

async fn serve<S>(mut server: h2::server::Connection<S, Bytes>, calls: mpsc::UnboundedSender<Call>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(call)) = server.accept().await {
        calls.send(call).unwrap();
    }
}

/// A message with its length in front.
fn message(text: &str) -> Bytes {
    let length = u32::try_from(text.len()).unwrap();
    let mut frame = vec![0];
    frame.extend(length.to_be_bytes());
    frame.extend(text.as_bytes());
    frame.into()
}

async fn begin(client: &mut H2, ended: bool) -> Stream {
    let request = client
        .request(Method::POST, "/service/Method")
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    client.open(request.body(()).unwrap(), ended).await
}

fn ok() -> Response<()> {
    let response = Response::builder().header("content-type", "application/grpc");
    response.body(()).unwrap()
}

fn status(code: &'static str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", code.parse().unwrap());
    trailers.insert("grpc-message", "said".parse().unwrap());
    trailers
}

#[tokio::test]
async fn a_unary_call_has_its_message_and_its_trailers() {
    for tls in [false, true] {
        let mut stage = Stage::set(tls).await;
        let mut client = stage.rig.h2().await;
        let mut stream = begin(&mut client, false).await;
        stream.send(message("ask"));
        stream.finish();
        let (request, mut answer) = stage.call().await;
        assert_eq!(request.headers()["te"], "trailers");
        assert_eq!(request.headers()["content-type"], "application/grpc");
        assert_eq!(request.uri().path(), "/service/Method");
        let (body, _) = read(&mut request.into_body()).await.unwrap();
        assert_eq!(body, message("ask"));
        let mut body = answer.send_response(ok(), false).unwrap();
        body.send_data(message("answer"), false).unwrap();
        body.send_trailers(status("0")).unwrap();
        let response = stream.response().await;
        assert_eq!(response.headers()["content-type"], "application/grpc");
        let (body, trailers) = read(&mut response.into_body()).await.unwrap();
        assert_eq!(body, message("answer"));
        assert_eq!(trailers.unwrap(), status("0"));
    }
}

#[tokio::test]
async fn an_error_that_is_trailers_alone_passes() {
    for tls in [false, true] {
        let mut stage = Stage::set(tls).await;
        let mut client = stage.rig.h2().await;
        let mut stream = begin(&mut client, false).await;
        stream.send(message("ask"));
        stream.finish();
        let (_request, mut answer) = stage.call().await;
        let mut response = ok();
        response.headers_mut().extend(status("12"));
        answer.send_response(response, true).unwrap();
        let response = stream.response().await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["grpc-status"], "12");
        assert_eq!(response.headers()["grpc-message"], "said");
        assert!(response.body().is_end_stream());
    }
}

#[tokio::test]
async fn messages_go_both_ways_while_the_call_lasts() {
    for tls in [false, true] {
        let mut stage = Stage::set(tls).await;
        let mut client = stage.rig.h2().await;
        let mut stream = begin(&mut client, false).await;
        let (request, mut answer) = stage.call().await;
        let mut asked = request.into_body();
        let mut answering = answer.send_response(ok(), false).unwrap();
        let mut answered = stream.response().await.into_body();
        for text in ["one", "two", "three"] {
            stream.send(message(text));
            assert_eq!(piece(&mut asked).await.unwrap(), message(text));
            answering.send_data(message(text), false).unwrap();
            assert_eq!(piece(&mut answered).await.unwrap(), message(text));
        }
        stream.finish();
        assert!(piece(&mut asked).await.is_none());
        answering.send_trailers(status("0")).unwrap();
        let (rest, trailers) = read(&mut answered).await.unwrap();
        assert!(rest.is_empty());
        assert_eq!(trailers.unwrap(), status("0"));
    }
}

#[tokio::test]
async fn a_client_that_cancels_cancels_the_call() {
    let mut stage = Stage::set(true).await;
    let mut client = stage.rig.h2().await;
    let stream = begin(&mut client, false).await;
    let (_request, mut answer) = stage.call().await;
    stream.cancel();
    let reset = std::future::poll_fn(|cx| answer.poll_reset(cx));
    within("the end of the call", reset).await.unwrap();
}
