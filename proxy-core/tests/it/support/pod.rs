//! A pod of a Doors app, as a proxy sees one: sessions in its own memory, a session cookie named by its token, the
//! id cookie, pages, resources, hooks, silent sync streams, streamed reports, undo and drain.
//!
//! The test owns the clock: a sync stream says nothing until the test pushes a frame or rolls it.

mod requests;
mod state;
mod streams;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use doors_token::TokenCipher;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

pub(crate) use self::requests::{CLICK, LINK};
pub(crate) use self::state::State;
use self::state::{Shared, Step};
use super::wait::within;

/// The secret that all pods and the proxy of a test share.
pub(crate) const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// The name of the id cookie.
pub(crate) const ID_COOKIE: &str = "upstream";

/// What a pod speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Protocol {
    Http1,
    /// HTTP/2 in the clear by prior knowledge.
    H2c,
}

/// A running pod. It is killed when dropped.
pub(crate) struct Pod {
    addr: SocketAddr,
    shared: Arc<Shared>,
    leave: CancellationToken,
    serving: AbortOnDropHandle<()>,
}

// === impl Pod ===

impl Pod {
    /// Starts a pod on `ip`; with port 0 on any free one.
    pub(crate) async fn start(ip: impl Into<IpAddr>, port: u16) -> Self {
        Self::speaking(Protocol::Http1, ip, port).await
    }

    /// Starts a pod that speaks `protocol`.
    pub(crate) async fn speaking(protocol: Protocol, ip: impl Into<IpAddr>, port: u16) -> Self {
        let ip = ip.into();
        let listener = TcpListener::bind((ip, port))
            .await
            .expect("the pod's address is free");
        let addr = listener.local_addr().expect("the listener is bound");
        let shared = Arc::new(Shared::new(
            token_for(ip),
            ip.to_string().replace(['.', ':'], "x"),
        ));
        let leave = CancellationToken::new();
        let serving = tokio::spawn(serve(listener, protocol, Arc::clone(&shared), leave.clone()));
        Self {
            addr,
            shared,
            leave,
            serving: AbortOnDropHandle::new(serving),
        }
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its id: the encrypted address.
    pub(crate) fn token(&self) -> &str {
        self.shared.token()
    }

    /// Looks at what the pod knows and has seen.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.shared.look(look)
    }

    /// Evaluates `check` now and after every change until it gives a value.
    pub(crate) async fn until<T>(&self, what: &str, check: impl Fn(&State) -> Option<T>) -> T {
        self.shared.until(what, check).await
    }

    /// Waits until `instance` has an open sync stream.
    pub(crate) async fn until_synced(&self, instance: &str) {
        self.until_syncs(instance, 1).await;
    }

    /// Waits until `instance` has opened this many sync streams, the newest of which is open.
    pub(crate) async fn until_syncs(&self, instance: &str, count: usize) {
        let what = format!("sync stream {count}");
        self.until(&what, |state| (state.syncs(instance) >= count).then_some(()))
            .await;
    }

    /// Sends one frame with `text` on the sync stream of `instance`.
    pub(crate) fn push(&self, instance: &str, text: &str) {
        self.shared.send(instance, Step::Frame(streams::frame(text)));
    }

    /// Ends the sync stream of `instance` as at the end of its roll time.
    pub(crate) fn roll(&self, instance: &str) {
        self.shared.send(instance, Step::Last(streams::ROLL));
    }

    /// Cuts the sync stream of `instance` without its end mark or a clean end.
    pub(crate) fn cut(&self, instance: &str) {
        self.shared.send(instance, Step::Cut);
    }

    /// Starts draining: the id cookie is no longer sent, links and undo end their instance.
    pub(crate) fn drain(&self) {
        self.shared.drain();
    }

    /// Waits until a draining pod has no instance left.
    pub(crate) async fn until_empty(&self) {
        self.until("an empty pod", |state| state.is_empty().then_some(()))
            .await;
    }

    /// Exits as a pod does after its drain: stops listening, finishes what is open, closes.
    pub(crate) async fn exit(self) {
        self.leave.cancel();
        within("the pod's exit", self.serving)
            .await
            .expect("the pod does not panic");
    }

    /// Dies at once: the address refuses connections, open ones are cut.
    pub(crate) async fn kill(self) {
        let Self { shared, serving, .. } = self;
        serving.abort();
        let _cancelled = within("the pod's death", serving).await;
        let closed = |state: &State| (state.open_connections == 0).then_some(());
        shared.until("the end of the pod's connections", closed).await;
    }
}

/// The token of a pod on `ip`.
pub(crate) fn token_for(ip: impl Into<IpAddr>) -> String {
    TokenCipher::new(SECRET)
        .expect("a valid secret")
        .encode(ip.into())
}

async fn serve(listener: TcpListener, protocol: Protocol, shared: Arc<Shared>, leave: CancellationToken) {
    // Dropped with this task, so that killing the pod cuts its connections.
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = leave.cancelled() => break,
        };
        let (stream, _) = accepted.expect("the listener is open");
        connections.spawn(converse(stream, protocol, Arc::clone(&shared), leave.clone()));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn converse(stream: TcpStream, protocol: Protocol, shared: Arc<Shared>, leave: CancellationToken) {
    stream.set_nodelay(true).expect("the socket is open");
    let _open = shared.connection();
    let service = service_fn(move |request| requests::answer(Arc::clone(&shared), request));
    // A connection that ends badly is the proxy's or the client's doing; the tests see it elsewhere.
    match protocol {
        Protocol::Http1 => {
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                _ = connection.as_mut() => {}
                () = leave.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    let _ended = connection.await;
                }
            }
        }
        Protocol::H2c => {
            let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service);
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                _ = connection.as_mut() => {}
                () = leave.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    let _ended = connection.await;
                }
            }
        }
    }
}
