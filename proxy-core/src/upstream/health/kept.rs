//! What is kept of upstreams from one configuration to the next, for as long as somebody holds it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Values by the address of an upstream and by their settings: the same settings find the same value again.
#[derive(Debug)]
pub(crate) struct Kept<K, V>(Mutex<Known<K, V>>);

#[derive(Debug)]
struct Known<K, V> {
    by_label: HashMap<Arc<str>, Entries<K, V>>,
    /// With so many upstreams those that nobody holds any more are looked for.
    most: usize,
}

/// What is kept of one upstream.
type Entries<K, V> = Vec<(K, Weak<V>)>;

/// So few are not worth a look.
const FEW: usize = 64;

// === impl Kept ===

impl<K: PartialEq, V> Kept<K, V> {
    /// The value of the upstream `host:port` for these settings.
    pub(crate) fn of(&self, label: &Arc<str>, settings: K, make: impl FnOnce(&K) -> V) -> Arc<V> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known
            .by_label
            .get(label)
            .into_iter()
            .flatten()
            .find(|(known, _)| *known == settings);
        if let Some(value) = found.and_then(|(_, value)| value.upgrade()) {
            return value;
        }
        known.prune();
        let value = Arc::new(make(&settings));
        let values = known.by_label.entry(Arc::clone(label)).or_default();
        values.retain(|(_, value)| value.strong_count() > 0);
        values.push((settings, Arc::downgrade(&value)));
        value
    }
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self(Mutex::new(Known {
            by_label: HashMap::new(),
            most: FEW,
        }))
    }
}

// === impl Known ===

impl<K, V> Known<K, V> {
    /// Forgets what nobody holds, each time that there are twice as many as were left the last time.
    fn prune(&mut self) {
        if self.by_label.len() < self.most {
            return;
        }
        self.by_label
            .retain(|_, values| values.iter().any(|(_, value)| value.strong_count() > 0));
        self.most = self.by_label.len().saturating_mul(2).max(FEW);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_settings_find_the_same_value_for_as_long_as_somebody_holds_it() {
        let kept = Kept::<u8, String>::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a:80".into(), "b:80".into());
        let one = kept.of(&a, 1, |_| "one".to_owned());
        let again = kept.of(&a, 1, |_| unreachable!("it is known"));
        assert!(Arc::ptr_eq(&one, &again));
        let other = [
            kept.of(&a, 2, |_| "two".to_owned()),
            kept.of(&b, 1, |_| "b".to_owned()),
        ];
        assert!(other.iter().all(|other| !Arc::ptr_eq(other, &one)));
        drop((one, again, other));
        assert_eq!(*kept.of(&b, 1, |_| "anew".to_owned()), "anew");
    }

    #[test]
    fn what_nobody_holds_is_forgotten() {
        let kept = Kept::<(), ()>::default();
        let label = |n: usize| -> Arc<str> { format!("a{n}:80").into() };
        let held: Vec<_> = (0..10 * FEW).map(|n| kept.of(&label(n), (), |()| ())).collect();
        let count = || kept.0.lock().unwrap().by_label.len();
        assert_eq!(count(), held.len());
        drop(held);
        for n in 0..100 * FEW {
            drop(kept.of(&label(n), (), |()| ()));
            assert!(count() <= 20 * FEW, "{n}");
        }
        assert!(count() <= 2 * FEW);
    }
}
