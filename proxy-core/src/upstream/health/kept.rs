//! What is kept of upstreams from one configuration to the next, for as long as somebody holds it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Values by the address of an upstream and by their settings: the same settings find the same value again.
#[derive(Debug)]
pub(crate) struct Kept<K, V>(Mutex<HashMap<Arc<str>, Entries<K, V>>>);

/// What is kept of one upstream.
type Entries<K, V> = Vec<(K, Weak<V>)>;

// === impl Kept ===

impl<K: PartialEq, V> Kept<K, V> {
    /// The value of the upstream `host:port` for these settings.
    pub(crate) fn of(&self, label: &Arc<str>, settings: K, make: impl FnOnce(&K) -> V) -> Arc<V> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known
            .get(label)
            .into_iter()
            .flatten()
            .find(|(known, _)| *known == settings);
        if let Some(value) = found.and_then(|(_, value)| value.upgrade()) {
            return value;
        }
        known.retain(|_, values| {
            values.retain(|(_, value)| value.strong_count() > 0);
            !values.is_empty()
        });
        let value = Arc::new(make(&settings));
        let values = known.entry(Arc::clone(label)).or_default();
        values.push((settings, Arc::downgrade(&value)));
        value
    }
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
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
        assert_eq!(kept.0.lock().unwrap().len(), 1, "what nobody holds is forgotten");
    }
}
