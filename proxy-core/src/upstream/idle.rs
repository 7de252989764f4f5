//! How many idle connections one transport keeps in all, whatever they lead to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The idle connections of one transport, of all workers.
#[derive(Debug)]
pub(crate) struct IdleTotal {
    most: usize,
    now: AtomicUsize,
}

/// The right to keep one connection idle; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct IdlePlace(Arc<IdleTotal>);

// === impl IdleTotal ===

impl IdleTotal {
    /// For at most so many connections.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            now: AtomicUsize::new(0),
        }
    }

    /// A place for one more, if there is one.
    pub(crate) fn place(self: &Arc<Self>) -> Option<IdlePlace> {
        let one_more = |now: usize| (now < self.most).then_some(now + 1);
        let taken = self
            .now
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        taken.is_ok().then(|| IdlePlace(Arc::clone(self)))
    }
}

// === impl IdlePlace ===

impl Drop for IdlePlace {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_places_and_one_that_is_given_back_is_free_again() {
        let total = Arc::new(IdleTotal::new(2));
        let (first, second) = (total.place(), total.place());
        assert!(first.is_some() && second.is_some());
        assert!(total.place().is_none());
        drop(first);
        assert!(total.place().is_some());
    }
}
