//! Connections of HTTP/2 that are being opened: requests that come meanwhile wait for them instead of opening one each.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::transport::Key;
use crate::error::Reason;

/// How many upstreams are remembered to speak HTTP/1.1.
const MOST_REMEMBERED: usize = 1_024;

/// The connections that a worker is opening and that many requests may share.
#[derive(Debug, Default)]
pub(crate) struct Dials(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    open: HashMap<Key, Vec<Arc<Progress>>, foldhash::fast::RandomState>,
    /// Where the handshake has last agreed on HTTP/1.1, whose connections serve one request at a time: waiting for them
    /// would be for nothing.
    speak_http1: HashSet<Key, foldhash::fast::RandomState>,
}

/// `None`: it is under way.
type Progress = watch::Sender<Option<Dialed>>;

/// What became of a connection that was to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialed {
    /// It is there, and those who waited may have a place on it.
    Open,
    /// It is of HTTP/1.1.
    OpenToOne,
    /// It could not be opened, for this reason.
    Failed(Reason),
    /// Whoever was opening it has left.
    Left,
}

/// What a request does that finds no connection.
#[derive(Debug)]
pub(crate) enum Turn {
    /// It opens one, and says what became of it.
    Opens(Dial),
    /// Another request is opening one.
    Waits(Wait),
    /// It opens one for itself.
    Alone,
}

/// A connection that is being opened; whoever drops it without having said what became of it has left.
#[derive(Debug)]
pub(crate) struct Dial {
    dials: Arc<Dials>,
    key: Key,
    progress: Arc<Progress>,
}

/// The wait for a connection that another request opens.
#[derive(Debug)]
pub(crate) struct Wait(watch::Receiver<Option<Dialed>>);

// === impl Dials ===

impl Dials {
    /// What a request for a connection of this key is to do, if as many as `streams` may share one. `is_sure` says that it
    /// will be one of HTTP/2.
    pub(crate) fn turn(self: &Arc<Self>, key: Key, streams: usize, is_sure: bool) -> Turn {
        let mut state = self.lock();
        if !is_sure && state.speak_http1.contains(&key) {
            return Turn::Alone;
        }
        let under_way = state.open.entry(key).or_default();
        // The request that opens it has a place, too.
        let has_room = |progress: &&Arc<Progress>| progress.receiver_count() + 1 < streams;
        if let Some(progress) = under_way.iter().find(has_room) {
            return Turn::Waits(Wait(progress.subscribe()));
        }
        let progress = Arc::new(watch::Sender::new(None));
        under_way.push(Arc::clone(&progress));
        Turn::Opens(Dial {
            dials: Arc::clone(self),
            key,
            progress,
        })
    }

    fn ended(&self, dial: &Dial, dialed: Dialed) {
        let mut state = self.lock();
        if let Some(under_way) = state.open.get_mut(&dial.key) {
            under_way.retain(|progress| !Arc::ptr_eq(progress, &dial.progress));
            if under_way.is_empty() {
                state.open.remove(&dial.key);
            }
        }
        match dialed {
            Dialed::OpenToOne => {
                if state.speak_http1.len() >= MOST_REMEMBERED {
                    state.speak_http1.clear();
                }
                state.speak_http1.insert(dial.key);
            }
            Dialed::Open => {
                state.speak_http1.remove(&dial.key);
            }
            Dialed::Failed(_) | Dialed::Left => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Dial ===

impl Dial {
    /// Tells those who wait.
    pub(crate) fn ended(self, dialed: Dialed) {
        self.progress.send_replace(Some(dialed));
    }
}

impl Drop for Dial {
    fn drop(&mut self) {
        let dialed = *self.progress.borrow();
        self.dials.ended(self, dialed.unwrap_or(Dialed::Left));
        if dialed.is_none() {
            self.progress.send_replace(Some(Dialed::Left));
        }
    }
}

// === impl Wait ===

impl Wait {
    /// Waits until it is known what became of the connection.
    pub(crate) async fn dialed(mut self) -> Dialed {
        let dialed = self.0.wait_for(Option::is_some).await;
        dialed.ok().and_then(|dialed| *dialed).unwrap_or(Dialed::Left)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn key(port: u16) -> Key {
        SocketAddr::from(([127, 0, 0, 1], port)).into()
    }

    fn opens(dials: &Arc<Dials>, key: Key) -> Dial {
        match dials.turn(key, 3, false) {
            Turn::Opens(dial) => dial,
            other => panic!("it should open one: {other:?}"),
        }
    }

    fn waits(dials: &Arc<Dials>, key: Key) -> Wait {
        match dials.turn(key, 3, false) {
            Turn::Waits(wait) => wait,
            other => panic!("it should wait: {other:?}"),
        }
    }

    #[tokio::test]
    async fn as_many_wait_as_have_a_place_and_all_of_them_are_told() {
        let dials = Arc::<Dials>::default();
        let first = opens(&dials, key(1));
        let (a, b) = (waits(&dials, key(1)), waits(&dials, key(1)));
        let second = opens(&dials, key(1));
        let c = waits(&dials, key(1));
        let other = opens(&dials, key(2));
        first.ended(Dialed::Open);
        second.ended(Dialed::Failed(Reason::Refused));
        assert_eq!((a.dialed().await, b.dialed().await), (Dialed::Open, Dialed::Open));
        assert_eq!(c.dialed().await, Dialed::Failed(Reason::Refused));
        drop(other);
        assert!(dials.lock().open.is_empty());
    }

    #[tokio::test]
    async fn whoever_waits_for_one_that_left_goes_on() {
        let dials = Arc::<Dials>::default();
        let first = opens(&dials, key(1));
        let wait = waits(&dials, key(1));
        drop(first);
        assert_eq!(wait.dialed().await, Dialed::Left);
        drop(opens(&dials, key(1)));
    }

    #[test]
    fn nobody_waits_where_connections_serve_one_request() {
        let dials = Arc::<Dials>::default();
        opens(&dials, key(1)).ended(Dialed::OpenToOne);
        assert!(matches!(dials.turn(key(1), 3, false), Turn::Alone));
        opens(&dials, key(2)).ended(Dialed::Open);
        let Turn::Opens(sure) = dials.turn(key(1), 3, true) else {
            panic!("it is sure to be one of HTTP/2");
        };
        sure.ended(Dialed::Open);
        opens(&dials, key(1)).ended(Dialed::Open);
        for port in 0..u16::try_from(2 * MOST_REMEMBERED).unwrap() {
            opens(&dials, key(port)).ended(Dialed::OpenToOne);
            assert!(dials.lock().speak_http1.len() <= MOST_REMEMBERED);
        }
    }
}
