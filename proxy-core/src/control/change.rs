//! What becomes of the listeners when the configuration changes: pure, so that it can be tested for every change.

use std::collections::HashMap;
use std::hash::Hash;

/// How to come from old listeners to new ones, as indices of both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Old and new index of those that stay, whatever they serve.
    pub(super) kept: Vec<(usize, usize)>,
    /// New indices of those to open.
    pub(super) added: Vec<usize>,
    /// Old indices of those to close.
    pub(super) removed: Vec<usize>,
}

/// The changes from `old` to `new`, each listener told by a key that it has once.
pub(super) fn changes<K: Eq + Hash>(old: &[K], new: &[K]) -> Changes {
    let mut left: HashMap<&K, usize> = old.iter().enumerate().map(|(index, key)| (key, index)).collect();
    let mut changes = Changes::default();
    for (index, key) in new.iter().enumerate() {
        match left.remove(key) {
            Some(before) => changes.kept.push((before, index)),
            None => changes.added.push(index),
        }
    }
    changes.removed = left.into_values().collect();
    changes.removed.sort_unstable();
    changes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Keys without repetition, in any order.
    fn keys() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::btree_set(0_u8..12, 0..12)
            .prop_map(|keys| keys.into_iter().collect::<Vec<_>>())
            .prop_shuffle()
    }

    proptest! {
        #[test]
        fn the_changes_lead_from_the_old_listeners_to_the_new_ones(old in keys(), new in keys()) {
            let changes = changes(&old, &new);
            let mut applied: BTreeSet<u8> = old.iter().copied().collect();
            for index in &changes.removed {
                prop_assert!(applied.remove(&old[*index]), "what is removed was there");
            }
            for (before, after) in &changes.kept {
                prop_assert_eq!(old[*before], new[*after]);
                prop_assert!(applied.contains(&old[*before]), "what is kept is not removed");
            }
            for index in &changes.added {
                prop_assert!(applied.insert(new[*index]), "what is added was not there");
            }
            prop_assert_eq!(applied, new.iter().copied().collect());
            prop_assert_eq!(changes.kept.len() + changes.added.len(), new.len());
            prop_assert_eq!(changes.kept.len() + changes.removed.len(), old.len());
        }

        #[test]
        fn the_same_listeners_in_another_order_are_no_change(old in keys(), shuffle in any::<u64>()) {
            let mut new = old.clone();
            new.rotate_left(usize::try_from(shuffle % 12).unwrap() % old.len().max(1));
            let changes = changes(&old, &new);
            prop_assert_eq!((changes.added, changes.removed), (vec![], vec![]));
        }
    }
}
