//! Waiting for events: every wait of the suite has the same generous bound, and says what it waited for.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time;

/// Long enough for a busy machine, short enough to end a hung test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Awaits `event`, or fails the test naming it.
pub(crate) async fn within<T>(what: &str, event: impl Future<Output = T>) -> T {
    match time::timeout(PATIENCE, event).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: did not happen within {PATIENCE:?}"),
    }
}

/// Repeats `attempt` until it gives a value, yielding to everything else in between.
///
/// For state that is only visible by asking the proxy again, such as a changed DNS answer.
pub(crate) async fn eventually<T>(what: &str, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        let mut pause = time::interval(Duration::from_millis(10));
        loop {
            pause.tick().await;
            if let Some(value) = attempt().await {
                return value;
            }
        }
    };
    within(what, asking).await
}

/// Tells waiting tests that some shared state changed.
#[derive(Debug)]
pub(crate) struct Changes(watch::Sender<()>);

// === impl Changes ===

impl Changes {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(()))
    }

    /// Wakes everyone who waits in [`Changes::until`].
    pub(crate) fn announce(&self) {
        self.0.send_replace(());
    }

    /// Evaluates `check` now and after every change until it gives a value.
    pub(crate) async fn until<T>(&self, what: &str, mut check: impl FnMut() -> Option<T>) -> T {
        let mut changed = self.0.subscribe();
        let waiting = async {
            loop {
                changed.mark_unchanged();
                if let Some(value) = check() {
                    return value;
                }
                changed.changed().await.expect("the sender lives as long as self");
            }
        };
        within(what, waiting).await
    }
}
