//! One pod: an HTTP/1.1 server on its own loopback address that speaks like a Doors app.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::app::{App, Body};
use super::shared::Shared;

/// How many connections a pod serves at once; more wait to be accepted.
const MAX_CONNECTIONS: usize = 256;
/// How long a request's head may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a pod waits for the answers under way when it stops.
const STOP_LIMIT: Duration = Duration::from_secs(2);
/// How long it waits after the system refused to accept a connection, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A pod that listens and does not serve yet.
#[derive(Debug)]
pub(super) struct Server {
    listener: TcpListener,
    app: App,
}

// === impl Server ===

impl Server {
    /// Listens at `address`, a loopback address: nobody outside of this machine can reach a pod.
    pub(super) async fn bind(address: Ipv4Addr, port: u16, shared: Arc<Shared>) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((address, port))).await?;
        Ok(Self {
            listener,
            app: App::new(address, shared),
        })
    }

    /// Serves until `stop` is cancelled, then finishes what is under way.
    pub(super) async fn run(self, stop: CancellationToken) {
        let connections = TaskTracker::new();
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = accept(&self.listener, &permits) => accepted,
            };
            match accepted {
                Ok((stream, permit)) => {
                    let (app, stop) = (self.app.clone(), stop.clone());
                    connections.spawn(async move {
                        serve(stream, app, stop).await;
                        drop(permit);
                    });
                }
                Err(_) => time::sleep(ACCEPT_PAUSE).await,
            }
        }
        drop(self.listener);
        connections.close();
        // The connections that are left after the limit end with the process.
        let _ended = time::timeout(STOP_LIMIT, connections.wait()).await;
    }
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

/// Serves one connection. Its errors concern the other end alone, which notices them by itself.
async fn serve(stream: TcpStream, app: App, stop: CancellationToken) {
    // Each tick is a small write that must not wait for the one before to be acknowledged.
    let _best_effort = stream.set_nodelay(true);
    let answer = service_fn(|request: Request<Incoming>| {
        let answer = app.answer(&request, &stop);
        async move { Ok::<Response<Body>, Infallible>(answer) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    let mut connection = pin!(server.serve_connection(TokioIo::new(stream), answer));
    tokio::select! {
        _closed = connection.as_mut() => {}
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _closed = connection.await;
        }
    }
}
