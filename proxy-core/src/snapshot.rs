//! Immutable values that are replaced whole: readers never lock and never see half of an update.

use std::sync::Arc;

use arc_swap::ArcSwap;

/// Publishes immutable values of `T`.
#[derive(Debug)]
pub(crate) struct Snapshot<T>(ArcSwap<T>);

impl<T> Snapshot<T> {
    /// Starts with `first`.
    pub(crate) fn new(first: T) -> Self {
        Self(ArcSwap::from_pointee(first))
    }

    /// The value to use for one whole unit of work. Call it once; the result may be held over `.await`.
    pub(crate) fn current(&self) -> Arc<T> {
        self.0.load_full()
    }

    /// Replaces the value. Only the one writer of it calls this.
    pub(crate) fn publish(&self, next: T) {
        self.0.store(Arc::new(next));
    }
}
