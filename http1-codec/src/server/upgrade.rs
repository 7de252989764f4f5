//! Handing a connection over when its answer is a 101.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;

use crate::upgraded::{Stream, Upgraded};

type Client = Upgraded<Box<dyn Stream>>;

/// Waits for the connection of the request in whose extensions it is: it comes once a 101 is written. `None` if
/// the answer was another one, or the connection went to another clone of this.
#[derive(Clone)]
pub struct OnUpgrade(Arc<Mutex<Option<oneshot::Receiver<Client>>>>);

/// The driver's end.
pub(super) struct Offer(oneshot::Sender<Client>);

pub(super) fn offer() -> (Offer, OnUpgrade) {
    let (sender, receiver) = oneshot::channel();
    (Offer(sender), OnUpgrade(Arc::new(Mutex::new(Some(receiver)))))
}

// === impl Offer ===

impl Offer {
    pub(super) fn fulfil(self, upgraded: Client) {
        // Whoever is not there to take it has closed it by that.
        drop(self.0.send(upgraded));
    }
}

// === impl OnUpgrade ===

impl Future for OnUpgrade {
    type Output = Option<Client>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(receiver) = waiting.as_mut() else {
            return Poll::Ready(None);
        };
        let client = ready!(Pin::new(receiver).poll(cx)).ok();
        *waiting = None;
        Poll::Ready(client)
    }
}

impl fmt::Debug for OnUpgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnUpgrade")
    }
}
