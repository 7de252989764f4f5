//! What servers have said of tokens lately, so that they are not asked the same with every request.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::Info;

/// Answers that are kept.
const MOST: usize = 10_000;

/// How long all of them may be together, in bytes as they came.
const MOST_BYTES: usize = 8 << 20;

/// Who was asked about which token: a digest, so that no token is kept.
pub(super) type Key = [u8; 32];

/// The answers, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    known: HashMap<Key, Answer>,
    /// The keys in the order in which they came. One that came again is there again.
    order: VecDeque<(Key, u64)>,
    bytes: usize,
    count: u64,
}

#[derive(Debug)]
struct Answer {
    info: Info,
    until: Instant,
    bytes: usize,
    number: u64,
}

// === impl Answers ===

impl Answers {
    /// What was said of a token, if it still counts.
    pub(super) fn get(&self, key: &Key, now: Instant) -> Option<Info> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = kept.known.get(key)?;
        (now < answer.until).then(|| answer.info.clone())
    }

    /// Keeps what was said, in `bytes`, until a time.
    pub(super) fn put(&self, key: Key, info: Info, bytes: usize, until: Instant) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.put(key, info, bytes, until);
    }
}

// === impl Kept ===

impl Kept {
    fn put(&mut self, key: Key, info: Info, bytes: usize, until: Instant) {
        self.count = self.count.wrapping_add(1);
        let answer = Answer {
            info,
            until,
            bytes,
            number: self.count,
        };
        if let Some(before) = self.known.insert(key, answer) {
            self.bytes = self.bytes.saturating_sub(before.bytes);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.order.push_back((key, self.count));
        while self.order.len() > MOST || self.bytes > MOST_BYTES {
            let Some((key, number)) = self.order.pop_front() else {
                return;
            };
            if self.known.get(&key).is_some_and(|answer| answer.number == number)
                && let Some(answer) = self.known.remove(&key)
            {
                self.bytes = self.bytes.saturating_sub(answer.bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::filters::tokens::Claims;

    fn now() -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn key(number: usize) -> Key {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_le_bytes());
        key
    }

    #[test]
    fn an_answer_counts_until_its_time() {
        let (answers, now) = (Answers::default(), now());
        let second = Duration::from_secs(1);
        answers.put(key(1), Info::new(Claims::new()), 2, now + second);
        assert!(answers.get(&key(1), now).is_some());
        assert!(answers.get(&key(2), now).is_none());
        assert!(answers.get(&key(1), now + second).is_none());
    }

    #[test]
    fn only_so_many_answers_and_bytes_are_kept() {
        let now = now();
        let until = now + Duration::from_secs(1);
        let mut kept = Kept::default();
        for number in 0..MOST + 5 {
            kept.put(key(number), Info::new(Claims::new()), 1, until);
            // The same one again and again.
            kept.put(key(usize::MAX), Info::new(Claims::new()), 1, until);
        }
        assert!(kept.order.len() == MOST && kept.known.len() <= MOST);
        assert_eq!(kept.bytes, kept.known.len());
        assert!(kept.known.contains_key(&key(MOST + 4)) && !kept.known.contains_key(&key(0)));
        kept.put(key(1), Info::new(Claims::new()), MOST_BYTES, until);
        assert_eq!((kept.known.len(), kept.bytes), (1, MOST_BYTES));
        kept.put(key(2), Info::new(Claims::new()), MOST_BYTES + 1, until);
        assert_eq!((kept.known.len(), kept.bytes), (0, 0));
    }
}
