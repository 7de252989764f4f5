//! Accepting connections, and the TLS handshake before HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncRead;
use tokio::time;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::Listener;
use super::acceptor::{Accepted, Acceptor, is_about_the_connection};
use super::handshake::{self, Opened};
use super::socket::{Socket, Stream};
use crate::facts::{Admission, TlsFacts};
use crate::forward::view::Proxied;
use crate::forward::worker::Worker;
use crate::http::clients::{Admitted, Clients};
use crate::http::connection::{ConnState, Connection};
use crate::http::server::{self, HttpSettings, Protocol, Service};
use crate::http::sweep::Registration;
use crate::request::PeerName;
use crate::tls::TlsPlan;

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
    let Some((mut arrival, mut stream, _open)) = arrive(stream, peer, listener, worker, service) else {
        return;
    };
    // Boxed: most connections are named by nobody.
    match Box::pin(arrival.named(&mut stream, false)).await {
        Some(ahead) => stream.give_back(ahead),
        None => return,
    }
    // It may have waited for a balancer to name it.
    let Some((plan, terms)) = arrival.terms() else {
        return;
    };
    match plan {
        None => {
            arrival.admission.terms = terms;
            arrival.serve(stream, None, Bytes::new()).await;
        }
        // Boxed: a plain connection carries no room for what TLS needs.
        Some(_) => Box::pin(arrival.secured(stream)).await,
    }
}

/// Counts a connection, and finds what its listener has for it. `None`: the listener has gone.
fn arrive<V: Service>(
    stream: Stream,
    peer: Option<SocketAddr>,
    listener: Arc<Listener>,
    worker: Arc<Worker>,
    service: V,
) -> Option<(Box<Arrival<V>>, Socket, Registration)> {
    let view = listener.place.view(&worker.view);
    let entry = view.entry(&listener.place).cloned()?;
    let server = view.servers.get(entry.server);
    let asks = server.is_some_and(|server| {
        server.rules.asked.connection || server.serves_hosts && view.hosts.ask_for_connections()
    });
    let local = asks.then(|| stream.local_address()).flatten();
    drop(view);
    let state = Arc::new(ConnState::in_group(listener.place.group()));
    let open = worker.connections.register(Arc::clone(&state), entry.limits);
    if worker.tasks.stop().is_cancelled() || listener.place.is_closed() {
        open.leave(worker.view.current().grace);
    }
    if let Some(keepalive) = &entry.keepalive {
        stream.set_keepalive(keepalive);
    }
    let stream = Socket::new(stream, Arc::clone(&state));
    let arrival = Arrival {
        peer,
        local,
        secured: None,
        state,
        proxied: entry.proxied,
        clients: Arc::clone(listener.place.clients()),
        most: entry.most_per_client.unwrap_or(u32::MAX),
        admitted: None,
        http: entry.http,
        service,
        listener,
        worker,
        admission: Admission::default(),
    };
    Some((Box::new(arrival), stream, open))
}

/// A connection before it speaks HTTP. Boxed: most connections wait for their next request, and have no use for it then.
struct Arrival<V> {
    peer: Option<SocketAddr>,
    local: Option<SocketAddr>,
    secured: Option<TlsFacts>,
    state: Arc<ConnState>,
    proxied: Option<Arc<Proxied>>,
    /// All are counted, as the next configuration may limit them.
    clients: Arc<Clients>,
    /// How many connections its client may have.
    most: u32,
    admitted: Option<Admitted>,
    http: HttpSettings,
    service: V,
    listener: Arc<Listener>,
    worker: Arc<Worker>,
    admission: Admission,
}

// === impl Arrival ===

impl<V: Service> Arrival<V> {
    /// On which terms the listener lets connections in now, and how often they have changed.
    fn terms(&self) -> Option<(Option<Arc<TlsPlan>>, u64)> {
        let place = &self.listener.place;
        let view = place.view(&self.worker.view);
        let entry = view.entry(place)?;
        Some((entry.tls.clone(), entry.terms))
    }

    /// Takes the client from a PROXY protocol header, if one is looked for at this place. Gives what was read behind it;
    /// `None`: the connection is to be closed.
    async fn named(&mut self, stream: &mut (impl AsyncRead + Unpin), behind_tls: bool) -> Option<Bytes> {
        let proxied = self.proxied.as_ref();
        let Some(proxied) = proxied.filter(|proxied| proxied.behind_tls == behind_tls) else {
            let comes_later = self.proxied.is_some() && !behind_tls;
            return (comes_later || self.is_admitted()).then(Bytes::new);
        };
        let begin = proxied.protocol.begin(stream, self.peer);
        match server::unless_closed(&self.state, begin).await? {
            Ok(begun) => {
                self.peer = begun.client.or(self.peer);
                self.is_admitted().then_some(begun.ahead)
            }
            Err(error) => {
                debug!(peer = %PeerName(self.peer), %error, "connection refused");
                None
            }
        }
    }

    /// Counts the connection for its client; `false` if that has as many as it may have.
    fn is_admitted(&mut self) -> bool {
        let (Some(peer), None) = (self.peer, &self.admitted) else {
            return true;
        };
        self.admitted = self.clients.admit(peer.ip(), self.most);
        if self.admitted.is_none() {
            debug!(peer = %PeerName(self.peer), "connection refused: its client has as many as it may have");
        }
        self.admitted.is_some()
    }

    async fn secured(mut self: Box<Self>, stream: Socket) {
        let terms = || self.terms().and_then(|(plan, terms)| Some((plan?, terms)));
        let handshake = Box::pin(handshake::shake_hands(terms, stream));
        match server::unless_closed(&self.state, handshake).await {
            Some(Ok(Opened::Secured(mut stream, admission))) => {
                if self.terms().is_none_or(|(_, terms)| terms != admission.terms) {
                    debug!(peer = %PeerName(self.peer), "the terms have changed during the handshake");
                    return;
                }
                self.admission = admission;
                self.state.set_admitted();
                let session = stream.get_ref().1;
                self.secured = Some(handshake::facts(session));
                let protocol = match session.alpn_protocol() {
                    Some(b"h2") => Protocol::Http2,
                    _ => Protocol::Http1,
                };
                if let Some(ahead) = Box::pin(self.named(&mut stream, true)).await {
                    self.serve(*stream, Some(protocol), ahead).await;
                }
            }
            Some(Ok(Opened::Told)) => debug!(peer = %PeerName(self.peer), "HTTP came where TLS is spoken"),
            Some(Err(error)) => debug!(peer = %PeerName(self.peer), %error, "TLS handshake failed"),
            None => {}
        }
    }

    /// Speaks HTTP; `ahead` was read before.
    fn serve(
        self,
        stream: impl http1_codec::Stream + 'static,
        known: Option<Protocol>,
        ahead: Bytes,
    ) -> impl Future<Output = ()> + Send {
        // The rest of it is gone before the first byte is read.
        self.state.set_admitted();
        let connection = match self.peer {
            Some(peer) => Connection::new(peer, known.is_some()),
            None => Connection::local(known.is_some()),
        };
        let connection = connection
            .with_facts(self.local, self.secured)
            .with_admission(self.admission);
        let connection = Arc::new(connection.with_state(self.state));
        let (http, service, admitted) = (self.http, self.service, self.admitted);
        async move {
            let _admitted = admitted;
            server::serve(stream, known, ahead, connection, http, service).await;
        }
    }
}
