//! A proxy with routes in Skipper's language and a filter of your own, as a service in an axum server.
//!
//! ```sh
//! cargo run -p proxy-core --example skipper      # prints `Hello, world!`
//! ```

use std::io::Write as _;
use std::net::SocketAddr;

use caddy_config::Eskip;
use eskip::filters::{Filter, FilterContext, Flow};
use http::HeaderMap;
use proxy_core::{BoxError, Options, Proxy};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// Gives the request a field with what `:echo` in its path stands for.
#[derive(Debug)]
struct SetEchoHeader;

impl Filter for SetEchoHeader {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        if let Some(echo) = cx.exchange.param("echo").and_then(|echo| echo.parse().ok()) {
            cx.request.headers.insert("x-echo", echo);
        }
        Flow::Next
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let body = hello().await?;
    std::io::stdout().write_all(format!("{body}\n").as_bytes())?;
    Ok(())
}

/// Runs both servers for as long as one request takes, and gives the body of its answer.
pub(crate) async fn hello() -> Result<String, BoxError> {
    // A target server, which answers with the field X-Echo of the request.
    let target = TcpListener::bind("127.0.0.1:0").await?;
    let backend = target.local_addr()?;
    let echo = axum::Router::new().fallback(async |headers: HeaderMap| {
        let echo = headers.get("x-echo").map(|echo| echo.as_bytes().to_vec());
        echo.unwrap_or_default()
    });

    // The proxy does not listen by itself: it is mounted in another server.
    let mut options = Options {
        listen: false,
        ..Options::default()
    };

    // All filters that there are, and one more.
    options.filters.add(
        "setEchoHeader",
        ("sets X-Echo to a part of the path", "setEchoHeader()"),
        |_args| Ok(SetEchoHeader),
    );

    // A route that names it.
    let document = format!(r#"Path("/return/:echo") -> setEchoHeader() -> "http://{backend}""#);
    let routes = Eskip {
        inline: vec![document],
        ..Eskip::default()
    };

    let proxy = Proxy::build(&routes.into_embedded("routes"), &options)?;
    let service = proxy.handler("routes").ok_or("the server has this name")?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = axum::Router::new().fallback_service(service);

    let stop = CancellationToken::new();
    tokio::select! {
        body = get(address, "/return/Hello,+world!") => body,
        served = async { axum::serve(target, echo).await } => Err(format!("the target ended: {served:?}").into()),
        served = async { axum::serve(listener, router).await } => Err(format!("axum ended: {served:?}").into()),
        report = proxy.run(stop.clone()) => Err(format!("the proxy ended: {report:?}").into()),
    }
}

/// The body of an answer that has a length.
async fn get(address: SocketAddr, path: &str) -> Result<String, BoxError> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (_head, body) = answer.split_once("\r\n\r\n").ok_or("the answer has no end")?;
    Ok(body.to_owned())
}
