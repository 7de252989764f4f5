//! Accepting connections, and the TLS handshake before HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::Listener;
use super::acceptor::{Accepted, Acceptor, is_about_the_connection};
use super::socket::{Socket, Stream};
use crate::forward::view::Entry;
use crate::forward::worker::Worker;
use crate::http::connection::Connection;
use crate::http::server::{self, HttpSettings, Protocol, Service};
use crate::request::PeerName;

/// The longest wait after a failed accept, such as one for want of file descriptors.
const MAX_BACKOFF: Duration = Duration::from_secs(1);
const MIN_BACKOFF: Duration = Duration::from_millis(10);

/// Accepts until `stop`. A failed accept never ends the loop: it waits a little, as what failed, such as
/// the number of file descriptors, needs time to come back.
pub(crate) async fn accept(
    socket: Acceptor,
    listener: Arc<Listener>,
    worker: Arc<Worker>,
    service: impl Service,
    close: CancellationToken,
) {
    let mut backoff = MIN_BACKOFF;
    loop {
        let accepted = tokio::select! {
            biased;
            () = close.cancelled() => break,
            accepted = socket.accept() => accepted,
        };
        match accepted {
            Ok(accepted) => {
                backoff = MIN_BACKOFF;
                begin(accepted, &listener, &worker, &service);
            }
            Err(error) if is_about_the_connection(&error) => {}
            Err(error) => {
                if backoff == MIN_BACKOFF {
                    warn!(address = %listener.address, %error, "cannot accept connections; trying again");
                }
                close.run_until_cancelled(time::sleep(backoff)).await;
                backoff = (backoff * 2).min(MAX_BACKOFF);
            }
        }
    }
    let closed = socket.close(|accepted| begin(accepted, &listener, &worker, &service));
    if let Err(error) = closed {
        warn!(address = %listener.address, %error, "connections that waited are lost");
    }
}

fn begin((stream, peer): Accepted, listener: &Arc<Listener>, worker: &Arc<Worker>, service: &impl Service) {
    worker.counters.connections.add();
    let task = connection(
        stream,
        peer,
        Arc::clone(listener),
        Arc::clone(worker),
        service.clone(),
    );
    worker.tasks.spawn("connection", task);
}

async fn connection(
    stream: Stream,
    peer: Option<SocketAddr>,
    listener: Arc<Listener>,
    worker: Arc<Worker>,
    service: impl Service,
) {
    let view = listener.place.view(&worker.view);
    let Some(Entry {
        tls, http, limits, ..
    }) = view.entry(&listener.place).cloned()
    else {
        return;
    };
    drop(view);
    let group = listener.place.group();
    let connection = match peer {
        Some(peer) => Connection::new(peer, tls.is_some()),
        None => Connection::local(tls.is_some()),
    };
    let connection = Arc::new(connection.in_group(group));
    let state = Arc::clone(connection.state());
    let open = worker.connections.register(Arc::clone(&state), limits);
    if worker.tasks.stop().is_cancelled() || listener.place.is_retired() {
        open.leave(worker.view.current().grace);
    }
    let stream = Socket::new(stream, state);
    match tls {
        None => server::serve(stream, None, connection, http, service).await,
        // Boxed: a plain connection carries no room for what TLS needs.
        Some(tls) => {
            let acceptor = TlsAcceptor::from(tls);
            Box::pin(secured(acceptor, stream, connection, http, service)).await;
        }
    }
}

async fn secured(
    acceptor: TlsAcceptor,
    stream: Socket,
    connection: Arc<Connection>,
    http: HttpSettings,
    service: impl Service,
) {
    let (state, peer) = (Arc::clone(connection.state()), PeerName(connection.peer()));
    let handshake = Box::pin(acceptor.accept(stream));
    match server::unless_closed(&state, handshake).await {
        Some(Ok(stream)) => {
            let protocol = match stream.get_ref().1.alpn_protocol() {
                Some(b"h2") => Protocol::Http2,
                _ => Protocol::Http1,
            };
            server::serve(stream, Some(protocol), connection, http, service).await;
        }
        Some(Err(error)) => debug!(%peer, %error, "TLS handshake failed"),
        None => {}
    }
}
