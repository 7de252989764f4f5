//! What is kept: so many bytes of it, the oldest going first.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName};
use http::{StatusCode, Uri, header};

use super::rules::{self, Terms};

/// Bytes of everything, and of one body.
const MOST: usize = 64 << 20;
pub(super) const MOST_OF_ONE: usize = 1 << 20;

/// Answers of one key, for requests that differ in what they vary with.
const VARIANTS: usize = 16;

/// So few places are not worth a look.
const FEW: usize = 64;

/// How long others wait for the one request that asks for a new answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Everything that is kept by one process.
#[derive(Debug, Default)]
pub(super) struct Store(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    by_key: HashMap<Key, Vec<Arc<Entry>>>,
    /// Keys in the order in which answers came.
    order: VecDeque<(Key, u64)>,
    /// Which keys somebody asks for, since when.
    asking: HashMap<Key, Instant>,
    bytes: usize,
    number: u64,
    /// With so many places in the order those of answers that are gone are looked for.
    most: usize,
}

/// What requests must have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(Arc<str>);

/// One answer.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    vary: Vec<(HeaderName, String)>,
    terms: Terms,
    came: Instant,
    number: u64,
}

/// What there is for a request.
#[derive(Debug)]
pub(super) enum Found {
    Fresh(Arc<Entry>),
    /// It is old, and another request asks for a new one.
    Renewing(Arc<Entry>),
    /// It is old, and this request is to ask.
    Stale(Arc<Entry>),
}

// === impl Key ===

impl Key {
    pub(super) fn new(
        (table, route): (usize, &str),
        (host, tls): (&str, bool),
        uri: &Uri,
        fields: impl Iterator<Item = String>,
    ) -> Self {
        // Line feeds are in none of them.
        let mut key = format!("{table}\n{route}\n{tls}\n{}\n{uri}", host.to_ascii_lowercase());
        for field in fields {
            key.push('\n');
            key.push_str(&field);
        }
        Self(key.into())
    }
}

// === impl Entry ===

impl Entry {
    /// An answer without its body.
    pub(super) fn new(
        status: StatusCode,
        mut headers: HeaderMap,
        (vary, terms): (Vec<(HeaderName, String)>, Terms),
        now: Instant,
    ) -> Self {
        headers.remove(header::AGE);
        Self {
            status,
            headers,
            body: Bytes::new(),
            vary,
            terms,
            came: now,
            number: 0,
        }
    }

    pub(super) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.came)
            .saturating_add(self.terms.age)
    }

    /// Whether it may be told instead of an error.
    pub(super) fn stands_in(&self, now: Instant) -> bool {
        self.age(now) < self.terms.fresh.saturating_add(self.terms.instead_of_error)
    }

    fn is_fresh(&self, now: Instant) -> bool {
        self.age(now) < self.terms.fresh
    }

    fn may_renew(&self, now: Instant) -> bool {
        self.age(now) < self.terms.fresh.saturating_add(self.terms.while_asking)
    }

    /// Whether nobody may be told it any more.
    fn is_over(&self, now: Instant) -> bool {
        !self.may_renew(now) && !self.stands_in(now)
    }

    fn is_for(&self, request: &HeaderMap) -> bool {
        self.vary
            .iter()
            .all(|(name, value)| rules::joined(request, name) == *value)
    }

    fn size(&self, key: &Key) -> usize {
        let fields = self
            .headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + 64);
        fields.sum::<usize>() + self.body.len() + key.0.len() * 2 + 256
    }
}

// === impl Store ===

impl Store {
    pub(super) fn find(&self, key: &Key, request: &HeaderMap, now: Instant) -> Option<Found> {
        let mut kept = self.lock();
        let all = kept.by_key.get(key)?;
        let entry = Arc::clone(all.iter().find(|entry| entry.is_for(request))?);
        if entry.is_fresh(now) {
            return Some(Found::Fresh(entry));
        }
        if entry.is_over(now) {
            return None;
        }
        let since = kept.asking.get(key);
        let is_asked_for = since.is_some_and(|since| now.saturating_duration_since(*since) < PATIENCE);
        if entry.may_renew(now) && is_asked_for {
            return Some(Found::Renewing(entry));
        }
        kept.asking.insert(key.clone(), now);
        Some(Found::Stale(entry))
    }

    pub(super) fn insert(&self, key: Key, mut entry: Entry, body: Bytes) {
        entry.body = body;
        let mut kept = self.lock();
        kept.asking.remove(&key);
        kept.number += 1;
        entry.number = kept.number;
        let size = entry.size(&key);
        if size > MOST_OF_ONE * 2 {
            return;
        }
        kept.drop_same(&key, &entry);
        kept.bytes += size;
        kept.order.push_back((key.clone(), entry.number));
        kept.by_key.entry(key).or_default().push(Arc::new(entry));
        kept.prune();
        while kept.bytes > MOST && kept.drop_oldest() {}
    }

    /// Nothing new came.
    pub(super) fn asked_in_vain(&self, key: &Key) {
        self.lock().asking.remove(key);
    }

    pub(super) fn forget(&self, key: &Key) {
        let mut kept = self.lock();
        kept.asking.remove(key);
        for entry in kept.by_key.remove(key).unwrap_or_default() {
            kept.bytes = kept.bytes.saturating_sub(entry.size(key));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Sums may be a little wrong after a panic, and nothing is that could harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many places and questions are remembered.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        let kept = self.lock();
        kept.order.len() + kept.asking.len()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.lock().bytes
    }
}

// === impl Kept ===

impl Kept {
    /// Drops what `entry` replaces, and the first of too many variants.
    fn drop_same(&mut self, key: &Key, entry: &Entry) {
        let Some(all) = self.by_key.get_mut(key) else {
            return;
        };
        let is_same = |old: &Arc<Entry>| old.vary == entry.vary;
        let place = all
            .iter()
            .position(is_same)
            .or_else(|| (all.len() >= VARIANTS).then_some(0));
        if let Some(place) = place {
            let old = all.remove(place);
            self.bytes = self.bytes.saturating_sub(old.size(key));
        }
    }

    /// Forgets the places of answers that others have replaced, each time that there are twice as many as were left.
    fn prune(&mut self) {
        if self.order.len() < self.most {
            return;
        }
        let by_key = &self.by_key;
        let is_there = |(key, number): &(Key, u64)| {
            let all = by_key.get(key);
            all.is_some_and(|all| all.iter().any(|entry| entry.number == *number))
        };
        self.order.retain(is_there);
        self.asking.retain(|key, _| by_key.contains_key(key));
        self.most = self.order.len().saturating_mul(2).max(FEW);
    }

    /// Drops the oldest answer. Its place in the order may be of one that is gone already.
    fn drop_oldest(&mut self) -> bool {
        let Some((key, number)) = self.order.pop_front() else {
            return false;
        };
        let Some(all) = self.by_key.get_mut(&key) else {
            return true;
        };
        if let Some(place) = all.iter().position(|entry| entry.number == number) {
            let old = all.remove(place);
            self.bytes = self.bytes.saturating_sub(old.size(&key));
        }
        if all.is_empty() {
            self.by_key.remove(&key);
            self.asking.remove(&key);
        }
        true
    }
}
