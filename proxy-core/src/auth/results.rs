//! Results of comparisons, kept under a key that tells nothing about the password.

use std::collections::{HashSet, VecDeque};

use blake2::Blake2sMac256;
use blake2::digest::{FixedOutput as _, KeyInit as _, Update as _};

/// How many passwords that were right are remembered, and how many that were wrong. Each has room of its own: a
/// flood of wrong ones must not drive out those that are in use.
const KEPT: usize = 1000;

/// What a hash and a password are remembered under.
pub(super) type Key = [u8; 32];

/// Makes keys, which mean nothing to who does not know the secret of this process.
pub(super) struct Keys {
    secret: Key,
}

/// What was found out.
#[derive(Debug, Default)]
pub(super) struct Results {
    right: Recent,
    wrong: Recent,
}

/// Keys, of which the oldest make room for new ones.
#[derive(Debug, Default)]
struct Recent {
    keys: HashSet<Key>,
    order: VecDeque<Key>,
}

// === impl Keys ===

impl Keys {
    /// `None` if the system has no randomness.
    pub(super) fn random() -> Option<Self> {
        let mut secret = Key::default();
        getrandom::fill(&mut secret).ok()?;
        Some(Self { secret })
    }

    pub(super) fn key(&self, hash: &str, password: &[u8]) -> Key {
        // A key of the right length is always taken.
        let Ok(mut mac) = Blake2sMac256::new_from_slice(&self.secret) else {
            return Key::default();
        };
        mac.update(&(hash.len() as u64).to_le_bytes());
        mac.update(hash.as_bytes());
        mac.update(password);
        mac.finalize_fixed().into()
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys(..)")
    }
}

// === impl Results ===

impl Results {
    pub(super) fn get(&self, key: &Key) -> Option<bool> {
        if self.right.keys.contains(key) {
            Some(true)
        } else {
            self.wrong.keys.contains(key).then_some(false)
        }
    }

    pub(super) fn insert(&mut self, key: Key, is_right: bool) {
        let recent = if is_right {
            &mut self.right
        } else {
            &mut self.wrong
        };
        recent.insert(key);
    }
}

// === impl Recent ===

impl Recent {
    fn insert(&mut self, key: Key) {
        if !self.keys.insert(key) {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.keys.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> Key {
        let mut key = Key::default();
        key[..4].copy_from_slice(&number.to_le_bytes());
        key
    }

    #[test]
    fn wrong_passwords_drive_out_no_right_ones() {
        let mut results = Results::default();
        results.insert(key(0), true);
        (1..=5000).for_each(|number| results.insert(key(number), false));

        assert_eq!(results.get(&key(0)), Some(true));
        assert_eq!(results.get(&key(5000)), Some(false));
        assert_eq!(results.get(&key(1)), None);
        assert_eq!(
            (results.wrong.keys.len(), results.wrong.order.len()),
            (KEPT, KEPT)
        );
    }

    #[test]
    fn keys_depend_on_every_part_and_on_the_process() {
        let keys = Keys::random().unwrap();
        let key = keys.key("ab", b"c");
        assert_eq!(key, keys.key("ab", b"c"));
        assert_ne!(key, keys.key("a", b"bc"));
        assert_ne!(key, keys.key("ab", b"d"));
        assert_ne!(key, Keys::random().unwrap().key("ab", b"c"));
    }
}
