//! A whole proxy without a socket: the pipeline as it is, its clients and its upstreams in memory.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use eskip::filters::Filters;
use eskip::routing::Predicates;
use http1_codec::Stream;

use crate::config::compile::{self, Surroundings};
#[cfg(test)]
use crate::config::hosts;
use crate::environment::Environment;
#[cfg(test)]
use crate::forward::hosts::Site;
use crate::forward::pipeline::Handler;
use crate::forward::view::View;
use crate::forward::worker::Worker;
use crate::geo::Sources;
use crate::http::connection::Connection;
use crate::http::server::{self, HttpSettings};
use crate::http::sweep::ConnLimits;
use crate::log::LogFiles;
use crate::metrics::Metrics;
use crate::snapshot::Snapshot;
use crate::upstream::connect::{Connector, Io};
use crate::upstream::discovery::Directories;
use crate::upstream::load::Slots;
use crate::upstream::resolve::{ResolveSettings, ResolverSet};

/// Where a client seems to be.
pub(crate) const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 1);

/// Gives a stream to each address that is connected to, or says why there is none.
pub(crate) struct Upstreams(Box<Dial>);

type Dial = dyn Fn(SocketAddr) -> io::Result<Io> + Send + Sync;

/// One worker.
pub(crate) struct Bench(Arc<Worker>);

// === impl Upstreams ===

impl Upstreams {
    pub(crate) fn new(dial: impl Fn(SocketAddr) -> io::Result<Io> + Send + Sync + 'static) -> Self {
        Self(Box::new(dial))
    }

    pub(crate) fn connect(
        &self,
        addresses: impl Iterator<Item = SocketAddr>,
    ) -> io::Result<(SocketAddr, Io)> {
        let mut result = Err(io::ErrorKind::AddrNotAvailable.into());
        for address in addresses {
            result = (self.0)(address).map(|stream| (address, stream));
            if result.is_ok() {
                break;
            }
        }
        result
    }
}

impl fmt::Debug for Upstreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upstreams")
    }
}

// === impl Bench ===

/// What a Caddyfile becomes. Its upstreams are addresses: nothing looks names up.
///
/// # Panics
///
/// If it is no good.
pub(crate) fn view(caddyfile: &str) -> Arc<Snapshot<View>> {
    let adapted = caddy_config::from_caddyfile("Caddyfile", caddyfile, &|_| None);
    let config = adapted.expect("the Caddyfile is good").config;
    let compiled = compile::compile(&config, &surroundings()).expect("the configuration is good");
    Arc::new(Snapshot::new(View::new(compiled.view, compiled.tables)))
}

/// What a proxy has around it, as it is before anything was configured.
///
/// # Panics
///
/// If the system gives no random numbers.
pub(crate) fn surroundings() -> Surroundings {
    Surroundings {
        resolvers: Arc::new(ResolverSet::new(ResolveSettings::default())),
        certificates: Arc::new(compile::certificates(None).expect("there is no data directory")),
        log_files: LogFiles::default(),
        metrics: Arc::new(Metrics::new(1)),
        passwords: Arc::default(),
        slots: Slots::default(),
        prober: Arc::default(),
        breakers: Arc::default(),
        sheds: Arc::default(),
        backend_limits: Arc::default(),
        gates: Arc::default(),
        directories: Directories::default(),
        consuls: Arc::default(),
        geo: Arc::new(Sources::new(None, &Environment::default(), 1)),
        skipper: Arc::default(),
        filters: Filters::default(),
        predicates: Predicates::default(),
        environment: Environment::default(),
        data: None,
        plain: Arc::default(),
        bare_line_feeds: false,
        strict: false,
    }
}

/// What a host document becomes.
///
/// # Panics
///
/// If it is no good.
#[cfg(test)]
pub(crate) fn site(document: &str) -> Site {
    let document = route_store::document::read(document).expect("the document is good");
    hosts::site(&surroundings(), &document, 443).expect("it can be built")
}

impl Bench {
    pub(crate) fn new(view: Arc<Snapshot<View>>, upstreams: Upstreams) -> Self {
        let mut worker = Worker::new(0, view, Arc::new(Metrics::new(1)), Arc::default());
        worker.connector = Connector::Memory(upstreams);
        Self(Arc::new(worker))
    }

    /// Serves a client until its connection ends, as the listener of the first server does.
    pub(crate) async fn serve(&self, client: impl Stream + 'static, connection: Arc<Connection>) {
        let state = Arc::clone(connection.state());
        let _open = self.0.connections.register(state, ConnLimits::default());
        let handler = Handler::named(Arc::clone(&self.0), "srv0");
        let http = HttpSettings {
            h2c: false,
            ..HttpSettings::default()
        };
        server::serve(client, None, Bytes::new(), connection, http, handler).await;
    }

    /// What the sweeper does in a second.
    #[cfg(test)]
    pub(crate) fn sweep(&self) {
        self.0.connections.sweep();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::sync::mpsc;

    use super::*;

    /// A proxy in front of an upstream that the test plays, and the client of one connection.
    struct Stage {
        bench: Bench,
        upstreams: mpsc::UnboundedReceiver<DuplexStream>,
    }

    impl Stage {
        fn set() -> Self {
            let (sender, upstreams) = mpsc::unbounded_channel();
            let dial = move |_| {
                let (near, far) = tokio::io::duplex(1 << 16);
                sender.send(far).map_err(io::Error::other)?;
                Ok(Box::new(near) as Io)
            };
            let view = view("{\n\tadmin off\n}\nhttp://a.test {\n\treverse_proxy 127.0.0.1:9\n}\n");
            let bench = Bench::new(view, Upstreams::new(dial));
            Self { bench, upstreams }
        }

        /// Serves one client, who plays this.
        async fn play(&mut self, client: impl AsyncFnOnce(DuplexStream, &mut Self)) {
            let (near, far) = tokio::io::duplex(1 << 16);
            let connection = Arc::new(Connection::new(CLIENT, false));
            let worker = Bench(Arc::clone(&self.bench.0));
            let playing = async { tokio::join!(worker.serve(near, connection), client(far, self)) };
            let ended = tokio::time::timeout(std::time::Duration::from_secs(3600), playing).await;
            assert!(ended.is_ok(), "somebody waits for ever");
        }

        /// Lets all that can happen now happen, `seconds` times, each followed by a look of the sweeper.
        async fn pass(&self, seconds: u32) {
            for _ in 0..seconds {
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                self.bench.sweep();
            }
        }
    }

    const POST: &[u8] =
        b"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_coming_is_a_408_after_a_minute_and_the_upstream_is_let_go() {
        let mut stage = Stage::set();
        stage
            .play(async |mut client, stage| {
                client.write_all(POST).await.unwrap();
                let mut upstream = stage.upstreams.recv().await.unwrap();
                stage.pass(61).await;
                let mut answer = String::new();
                client.read_to_string(&mut answer).await.unwrap();
                assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
                let mut request = String::new();
                upstream.read_to_string(&mut request).await.unwrap();
                assert!(request.ends_with("\r\n\r\n5\r\nhello\r\n"), "{request}");
            })
            .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_of_which_a_byte_comes_each_second_is_waited_for() {
        let mut stage = Stage::set();
        stage
            .play(async |mut client, stage| {
                client.write_all(POST).await.unwrap();
                let mut upstream = stage.upstreams.recv().await.unwrap();
                for _ in 0..40 {
                    client.write_all(b"1\r\nx\r\n").await.unwrap();
                    stage.pass(5).await;
                }
                client.write_all(b"0\r\n\r\n").await.unwrap();
                stage.pass(1).await;
                upstream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    .await
                    .unwrap();
                client.shutdown().await.unwrap();
                let mut answer = String::new();
                client.read_to_string(&mut answer).await.unwrap();
                assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
            })
            .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_closed_after_a_minute_and_the_upstream_is_let_go() {
        let mut stage = Stage::set();
        stage
            .play(async |mut client, stage| {
                client
                    .write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
                    .await
                    .unwrap();
                let mut upstream = stage.upstreams.recv().await.unwrap();
                let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n";
                upstream.write_all(head).await.unwrap();
                let flood = async {
                    let mut sent = 0;
                    while upstream.write_all(&[0; 1024]).await.is_ok() {
                        sent += 1024;
                    }
                    sent
                };
                let (sent, ()) = tokio::join!(flood, stage.pass(62));
                assert!(sent < 1 << 20, "{sent} bytes were taken from the upstream");
                let mut answer = Vec::new();
                client.read_to_end(&mut answer).await.unwrap();
                assert!(answer.len() < sent + head.len() + 200, "{} bytes", answer.len());
            })
            .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_of_a_head_is_a_408_after_a_minute_however_it_drips() {
        let mut stage = Stage::set();
        stage
            .play(async |mut client, stage| {
                client.write_all(b"GET / HTTP/1.1\r\nX: ").await.unwrap();
                for _ in 0..61 {
                    client.write_all(b"x").await.unwrap();
                    stage.pass(1).await;
                }
                let mut answer = String::new();
                client.read_to_string(&mut answer).await.unwrap();
                assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
                assert!(stage.upstreams.try_recv().is_err());
            })
            .await;
    }
}
