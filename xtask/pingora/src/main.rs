//! A minimal proxy on Pingora, for the bench: from 127.0.0.1:LISTEN to 127.0.0.1:ORIGIN over plain HTTP/1.1.
//!
//! `pingora-peer LISTEN ORIGIN POOL` serves, `pingora-peer version` says which Pingora this is.

use std::net::{Ipv4Addr, SocketAddr};

use async_trait::async_trait;
use pingora::prelude::*;
use pingora::server::configuration::ServerConf;

/// Sends everything to one origin.
struct Forward(SocketAddr);

#[async_trait]
impl ProxyHttp for Forward {
    type CTX = ();

    fn new_ctx(&self) {}

    async fn upstream_peer(&self, _: &mut Session, (): &mut ()) -> Result<Box<HttpPeer>> {
        Ok(Box::new(HttpPeer::new(self.0, false, String::new())))
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index)?.parse::<u16>().ok();
    match (number(0), number(1), number(2)) {
        (Some(listen), Some(origin), Some(pool)) => serve(listen, origin, pool.into()),
        _ => println!("pingora {}", version().unwrap_or("unknown")),
    }
}

fn serve(listen: u16, origin: u16, pool: usize) {
    let settings = ServerConf {
        threads: 1,
        work_stealing: true,
        upstream_keepalive_pool_size: pool,
        grace_period_seconds: Some(0),
        graceful_shutdown_timeout_seconds: Some(0),
        ..ServerConf::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, settings);
    server.bootstrap();
    let origin = SocketAddr::from((Ipv4Addr::LOCALHOST, origin));
    let mut service = http_proxy_service(&server.configuration, Forward(origin));
    service.add_tcp(&format!("127.0.0.1:{listen}"));
    server.add_service(service);
    server.run_forever();
}

/// The version that the lock file names.
fn version() -> Option<&'static str> {
    let package = include_str!("../Cargo.lock")
        .split("name = \"pingora\"\n")
        .nth(1)?;
    package.split('"').nth(1)
}
