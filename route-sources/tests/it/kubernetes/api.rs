//! An API server: lists in pages, watches, writes, and every way to fail.

mod respond;
mod state;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

pub(crate) use self::state::State;

/// The token that callers must show.
pub(crate) const TOKEN: &str = "the-token";

/// A server that runs until it is dropped.
pub(crate) struct Api {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    _stop: DropGuard,
}

/// What connections share.
pub(crate) struct Shared {
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Api {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            state: Mutex::new(State::default()),
            changes: watch::Sender::new(0),
        });
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        tasks.spawn(accept(listener, Arc::clone(&shared), stop.clone(), tasks.clone()));
        Self {
            address,
            shared,
            _stop: stop.drop_guard(),
        }
    }

    /// Changes something, and wakes up who waits for changes.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.shared.state());
        self.shared.changes.send_modify(|number| *number += 1);
        changed
    }

    /// Puts an object, of the kind that its path has.
    pub(crate) fn put(&self, plural: &str, object: Value) {
        self.change(|state| state.put(plural, object));
    }

    pub(crate) fn delete(&self, plural: &str, namespace: &str, name: &str) {
        self.change(|state| state.delete(plural, namespace, name));
    }

    pub(crate) fn object(&self, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        self.shared.state().get(plural, namespace, name).cloned()
    }

    /// Waits until something is as it should be.
    pub(crate) async fn until(&self, what: &str, mut is_so: impl FnMut(&State) -> bool) {
        let mut changes = self.shared.changes.subscribe();
        let wait = async {
            while !is_so(&self.shared.state()) {
                changes.changed().await.unwrap();
            }
        };
        super::bounded(what, wait).await;
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken, tasks: TaskTracker) {
    loop {
        let (stream, _) = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted.unwrap(),
        };
        if shared.state().is_down {
            continue;
        }
        let (shared, stop) = (Arc::clone(&shared), stop.clone());
        tasks.spawn(async move {
            let mut changes = shared.changes.subscribe();
            let service = service_fn(|request| respond::respond(Arc::clone(&shared), request));
            let mut connection =
                std::pin::pin!(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    _ = &mut connection => return,
                    _ = changes.changed() => if shared.state().is_down { return },
                }
            }
        });
    }
}
