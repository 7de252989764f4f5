//! The limits of a process, with what they remember of their clients.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, Hash};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foldhash::quality::RandomState;

use super::window::{Rate, Window};

/// How many parts a limiter has, each with its own lock.
const SHARDS: usize = 16;

/// How many clients a part remembers: 100,000 in all.
const MOST_CLIENTS: usize = 100_000 / SHARDS;

/// How many times a part remembers, for all of its clients: 64 MB in all.
const MOST_TIMES: usize = 4_194_304 / SHARDS;

/// How much less is remembered when something was to be forgotten, so that it is not looked for with each request.
const ENOUGH_CLIENTS: usize = MOST_CLIENTS / 4 * 3;
const ENOUGH_TIMES: usize = MOST_TIMES / 4 * 3;

/// Counts the requests of each client, up to 100,000 of them. If there are more, those that were silent for longest are
/// forgotten.
#[derive(Debug)]
pub(crate) struct Limiter {
    rate: Rate,
    began: Instant,
    /// When the last request was, in nanoseconds since it began.
    newest: AtomicU64,
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
}

/// Who is counted: an address, or a hash.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Client(pub(crate) u128);

#[derive(Debug, Default)]
struct Shard {
    clients: HashMap<Client, Window, RandomState>,
    /// How many times all of their windows hold.
    times: usize,
}

/// Limiters by what tells them apart. They outlive the routes that use them, as long as they remember something.
pub(crate) struct Limiters<K>(Mutex<Known<K>>);

struct Known<K> {
    limiters: HashMap<K, Arc<Limiter>>,
    /// How many there may be before those that remember nothing are looked for.
    most: usize,
}

// === impl Limiters ===

impl<K: Eq + Hash> Limiters<K> {
    /// The limiter of a key. Such a limiter is made if there is none.
    pub(crate) fn get<Q>(&self, key: &Q, rate: Rate, now: Instant) -> Arc<Limiter>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let mut known = locked(&self.0);
        if let Some(limiter) = known.limiters.get(key) {
            return Arc::clone(limiter);
        }
        if known.limiters.len() >= known.most {
            let in_use = |limiter: &Arc<Limiter>| Arc::strong_count(limiter) > 1 || !limiter.is_idle(now);
            known.limiters.retain(|_, limiter| in_use(limiter));
            known.most = known.limiters.len().saturating_mul(2).max(LEAST_KNOWN);
        }
        let limiter = Arc::new(Limiter::new(rate, now));
        known.limiters.insert(key.to_owned(), Arc::clone(&limiter));
        limiter
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        locked(&self.0).limiters.len()
    }
}

/// So many limiters are kept without a thought.
const LEAST_KNOWN: usize = 64;

impl<K> Default for Limiters<K> {
    fn default() -> Self {
        Self(Mutex::new(Known {
            limiters: HashMap::new(),
            most: LEAST_KNOWN,
        }))
    }
}

impl<K> fmt::Debug for Limiters<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Limiters")
    }
}

// === impl Limiter ===

impl Limiter {
    fn new(rate: Rate, now: Instant) -> Self {
        Self {
            rate,
            began: now,
            newest: AtomicU64::new(0),
            hasher: RandomState::default(),
            shards: Default::default(),
        }
    }

    /// Lets a request through, or says how long it is until the client's next one will be.
    pub(crate) fn allow(&self, client: Client, now: Instant) -> Result<(), Duration> {
        let now = self.since(now);
        self.newest.fetch_max(now, Ordering::Relaxed);
        let number = usize::try_from(self.hasher.hash_one(client)).unwrap_or_default() % SHARDS;
        match self.shards.get(number) {
            Some(shard) => locked(shard).allow(client, self.rate, now),
            None => Ok(()),
        }
    }

    /// Whether it remembers nothing that counts.
    fn is_idle(&self, now: Instant) -> bool {
        let newest = Duration::from_nanos(self.newest.load(Ordering::Relaxed));
        // Twice, because times may count as a little later than they were.
        let window = self.rate.window.saturating_mul(2);
        Duration::from_nanos(self.since(now)) >= newest.saturating_add(window)
    }

    fn since(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.began);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

// === impl Shard ===

impl Shard {
    fn allow(&mut self, client: Client, rate: Rate, now: u64) -> Result<(), Duration> {
        let is_new = !self.clients.contains_key(&client);
        if self.times >= MOST_TIMES || (is_new && self.clients.len() >= MOST_CLIENTS) {
            self.forget(rate, now);
        }
        let window = self.clients.entry(client).or_default();
        let before = window.runs();
        let allowed = window.allow(rate, now);
        self.times = self.times.saturating_sub(before).saturating_add(window.runs());
        allowed
    }

    /// Forgets clients of whom nothing counts, and if that is not enough a quarter of all, those that were silent for
    /// longest.
    fn forget(&mut self, rate: Rate, now: u64) {
        self.clients.retain(|_, window| !window.is_over(rate, now));
        if self.clients.len() > ENOUGH_CLIENTS || self.count() > ENOUGH_TIMES {
            let mut left = self.clients.len().div_ceil(4);
            let mut all: Vec<u64> = self.clients.values().map(Window::seen).collect();
            if left < all.len() {
                let (_, oldest, _) = all.select_nth_unstable(left);
                let oldest = *oldest;
                self.clients.retain(|_, window| {
                    let goes = left > 0 && window.seen() <= oldest;
                    left = left.saturating_sub(usize::from(goes));
                    !goes
                });
            }
        }
        self.times = self.count();
    }

    fn count(&self) -> usize {
        self.clients.values().map(Window::runs).sum()
    }
}

/// Whoever panicked with the lock has left counts that are as good as any.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(
        clippy::disallowed_methods,
        reason = "any instant will do: time passes only when it is told to"
    )]
    fn now() -> Instant {
        Instant::now()
    }

    fn rate(most: u32) -> Rate {
        Rate {
            most,
            window: Duration::from_secs(60),
        }
    }

    fn clients(limiter: &Limiter) -> usize {
        let shards = limiter.shards.iter();
        shards.map(|shard| locked(shard).clients.len()).sum()
    }

    #[test]
    fn clients_are_counted_apart() {
        let (limiter, now) = (Limiter::new(rate(1), now()), now());
        assert_eq!(limiter.allow(Client(1), now), Ok(()));
        assert!(limiter.allow(Client(1), now).is_err());
        assert_eq!(limiter.allow(Client(2), now), Ok(()));
    }

    #[test]
    fn so_many_clients_are_remembered_and_the_silent_ones_go_first() {
        let (limiter, now) = (Limiter::new(rate(2), now()), now());
        assert_eq!(limiter.allow(Client(u128::MAX), now), Ok(()));
        for number in 0..150_000_u32 {
            let now = now + Duration::from_micros(u64::from(number));
            assert_eq!(limiter.allow(Client(number.into()), now), Ok(()));
            // One that is never silent.
            if number % 1_000 == 0 {
                let allowed = limiter.allow(Client(u128::MAX), now);
                assert_eq!(allowed.is_ok(), number == 0, "{number}");
            }
        }
        assert!(clients(&limiter) <= 100_000, "{}", clients(&limiter));
        assert!(clients(&limiter) > 60_000, "{}", clients(&limiter));
        let newest = Client(149_999);
        let now = now + Duration::from_secs(1);
        assert_eq!(limiter.allow(newest, now), Ok(()));
        assert!(limiter.allow(newest, now).is_err());
    }

    #[test]
    fn clients_of_whom_nothing_counts_go_before_any_other() {
        let mut shard = Shard::default();
        let minute = 60_000_000_000;
        for number in 0..MOST_CLIENTS {
            let at = if number % 2 == 0 { 0 } else { minute };
            assert_eq!(shard.allow(Client(number as u128), rate(1), at), Ok(()));
        }
        assert_eq!(shard.allow(Client(u128::MAX), rate(1), minute), Ok(()));
        assert_eq!(shard.clients.len(), MOST_CLIENTS / 2 + 1);
        assert!(shard.allow(Client(1), rate(1), minute).is_err());
        assert_eq!(shard.times, shard.count());
    }

    #[test]
    fn so_many_times_are_remembered() {
        let mut shard = Shard::default();
        let rate = rate(256);
        for round in 0..256 {
            for client in 0..2_000 {
                assert_eq!(shard.allow(Client(client), rate, round), Ok(()));
            }
            assert!(shard.times <= MOST_TIMES);
        }
        assert_eq!(shard.times, shard.count());
        assert!(shard.clients.len() > 500, "{}", shard.clients.len());
    }

    #[test]
    fn threads_share_a_limit() {
        let (limiter, now) = (Limiter::new(rate(1_000), now()), now());
        let allowed: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..500).filter(|_| limiter.allow(Client(0), now).is_ok()).count()))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(allowed, 1_000);
    }

    #[test]
    fn a_limiter_is_kept_while_it_is_used_or_remembers_something() {
        let (limiters, begin) = (Limiters::<String>::default(), now());
        let used = limiters.get("used", rate(1), begin);
        assert_eq!(used.allow(Client(0), begin), Ok(()));
        assert!(Arc::ptr_eq(&used, &limiters.get("used", rate(1), begin)));
        let remembering = limiters.get("remembering", rate(1), begin);
        let later = begin + Duration::from_secs(300);
        assert_eq!(remembering.allow(Client(0), later), Ok(()));
        drop(remembering);
        for number in 0..500 {
            limiters.get(&number.to_string(), rate(1), begin);
        }
        assert_eq!(limiters.len(), 502, "nothing is over yet");
        for number in 500..5_000 {
            limiters.get(&number.to_string(), rate(1), later);
        }
        assert_eq!(limiters.len(), 4_502, "what is over is forgotten");
        assert!(Arc::ptr_eq(&used, &limiters.get("used", rate(1), later)));
        let remembering = limiters.get("remembering", rate(1), later);
        assert!(remembering.allow(Client(0), later).is_err());
    }
}
