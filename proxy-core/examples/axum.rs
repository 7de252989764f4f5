//! Doors apps behind an axum server of your own: axum answers its routes, everything else is proxied.
//!
//! ```sh
//! cargo run -p proxy-core --example axum        # then open http://127.0.0.1:3000/
//! ```
//!
//! It expects Doors pods in 127.0.0.0/29 on port 8080 that share its secret. Without them the proxied pages answer 502.
//! This starts the pod that its configuration calls fresh:
//!
//! ```sh
//! cargo run -p doors-token --example pod -- 127.0.0.2:8080 MDEyMzQ1Njc4OWFiY2RlZg==
//! ```

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use doors_routing::{Decision, Router, UpstreamBlock};
use doors_token::TokenCipher;
use http::{HeaderMap, StatusCode, header};
use proxy_core::{Body, Connection, Handler, Options, Proxy};
use tokio_util::sync::CancellationToken;

const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZg==";

const CADDYFILE: &str = "
{
    auto_https off
}
:80 {
    doors_handler {
        secret {$SECRET}
        upstream {
            pod_cidr 127.0.0.0/29
            host 127.0.0.2
            upstream_port 8080
        }
    }
    reverse_proxy {
        dynamic doors_upstreams
    }
}
";

#[derive(Clone)]
struct App {
    proxy: Handler,
    doors: Arc<Router>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let env = |name: &str| (name == "SECRET").then(|| SECRET.to_owned());
    let config = caddy_config::from_caddyfile("Caddyfile", CADDYFILE, &env)?.config;
    // The proxy does not listen by itself here; it only needs to run for DNS and for idle connections.
    let proxy = Proxy::build(
        &config,
        &Options {
            listen: false,
            ..Options::default()
        },
    )?;
    let handler = proxy.handler("srv0").ok_or("the Caddyfile has one site")?;
    let stop = CancellationToken::new();
    let running = proxy.run(stop.clone());

    // The decision alone, for a server that forwards by other means.
    let block = UpstreamBlock {
        pod_cidr: "127.0.0.0/29".parse()?,
        host: "127.0.0.2".to_owned(),
        port: 8080,
    };
    let doors = Router::try_new(TokenCipher::new(SECRET)?, None, vec![block])?;

    let app = App {
        proxy: handler,
        doors: Arc::new(doors),
    };
    let routes = axum::Router::new()
        .route("/hello", get(|| async { "from axum\n" }))
        .route("/whereis/{*path}", get(whereis))
        .fallback(proxied)
        .with_state(app)
        .into_make_service_with_connect_info::<SocketAddr>();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    tokio::select! {
        served = async { axum::serve(listener, routes).await } => served?,
        report = running => return Err(format!("the proxy ended: {report:?}").into()),
    }
    stop.cancel();
    Ok(())
}

/// Forwards a request of axum's, streaming both ways.
async fn proxied(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let connection = Connection::new(peer, false);
    match app.proxy.handle(request.map(Body::new), &connection).await {
        Ok(response) => response.map(axum::body::Body::new),
        Err(aborted) => (StatusCode::SERVICE_UNAVAILABLE, aborted.to_string()).into_response(),
    }
}

/// Says where a path would go: to which pod, or to which server's fresh deployment.
async fn whereis(State(app): State<App>, headers: HeaderMap, request: Request) -> String {
    let path = request
        .uri()
        .path()
        .strip_prefix("/whereis")
        .unwrap_or_default()
        .to_owned();
    let cookies = headers.get_all(header::COOKIE).iter().map(|line| line.as_bytes());
    match app.doors.decide(&path, cookies) {
        Decision::Pod { addr, .. } => format!("the pod {addr}\n"),
        Decision::Server(number) => format!("server {number}\n"),
        Decision::Any => "any server\n".to_owned(),
        Decision::Gone(reason) => format!("gone: {reason}\n"),
    }
}
