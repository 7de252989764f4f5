//! To which addresses names lead, all names together.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many names lead to each address. Whoever keeps connections asks it, without a look at the names.
#[derive(Debug, Default)]
pub(crate) struct Places {
    counts: Mutex<HashMap<IpAddr, u32>>,
    /// How often an address was left by its last name.
    left: AtomicU64,
}

/// A look at all of them. Names wait while it is held.
pub(crate) struct Listed<'a>(MutexGuard<'a, HashMap<IpAddr, u32>>);

// === impl Places ===

impl Places {
    /// A number that is another one once a name has left an address to which no other leads.
    pub(crate) fn left(&self) -> u64 {
        self.left.load(Ordering::Acquire)
    }

    /// What names lead to now.
    pub(crate) fn listed(&self) -> Listed<'_> {
        Listed(self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A name leads to `new` instead of `old`.
    pub(super) fn moved(&self, old: &[IpAddr], new: &[IpAddr]) {
        let Listed(mut counts) = self.listed();
        for address in new {
            *counts.entry(*address).or_default() += 1;
        }
        let mut is_left = false;
        for address in old {
            let Some(count) = counts.get_mut(address) else {
                continue;
            };
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(address);
                is_left = true;
            }
        }
        drop(counts);
        if is_left {
            self.left.fetch_add(1, Ordering::Release);
        }
    }
}

// === impl Listed ===

impl Listed<'_> {
    /// Whether any name leads there.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        self.0.contains_key(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_left_with_its_last_name() {
        let (a, b): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let places = Places::default();
        places.moved(&[], &[a]);
        places.moved(&[], &[a, b]);
        assert_eq!(places.left(), 0);
        places.moved(&[a], &[b]);
        assert!(places.listed().has(a), "the other name leads there yet");
        assert_eq!(places.left(), 0);
        places.moved(&[a, b], &[]);
        assert!(!places.listed().has(a));
        assert!(places.listed().has(b));
        assert_eq!(places.left(), 1);
        places.moved(&[b], &[b]);
        assert_eq!(places.left(), 1, "what stays is not left");
    }
}
