//! One name, its published answer, and the loop that keeps it up to date.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, SetOnce};
use tokio::time::{self, Instant};
use tracing::{debug, info, warn};

use super::answer::{Answer, Known, Lookup, LookupError, State};
use super::dns::Dns;
use super::{BACKOFF_START, ResolveSettings};

/// A host name that is being watched. Get one from [`ResolverSet::watch`](super::ResolverSet::watch).
pub(crate) struct Name {
    host: Box<str>,
    answer: ArcSwap<Answer>,
    /// That of `answer`, written after it.
    generation: AtomicU64,
    first: SetOnce<()>,
    hint: Notify,
}

/// The state of the loop that keeps one name up to date.
pub(super) struct Refresher {
    name: Arc<Name>,
    dns: Arc<dyn Dns>,
    settings: ResolveSettings,
    known: Known,
    failures: u32,
}

// === impl Name ===

impl Name {
    pub(super) fn new(host: &str) -> Self {
        Self::with_answer(host, Answer::never())
    }

    pub(super) fn literal(host: &str, address: IpAddr) -> Self {
        let name = Self::with_answer(host, Answer::literal(address));
        name.publish_first();
        name
    }

    fn with_answer(host: &str, answer: Answer) -> Self {
        Self {
            host: host.into(),
            generation: answer.generation().into(),
            answer: ArcSwap::from_pointee(answer),
            first: SetOnce::new(),
            hint: Notify::new(),
        }
    }

    /// The host as it was asked for, in lower case.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// What is known now. Never waits, takes no lock.
    pub(crate) fn current(&self) -> Arc<Answer> {
        self.answer.load_full()
    }

    /// [`Answer::generation`] of what is known now, by far cheaper than [`current`](Self::current): for a cache that keeps
    /// an answer and asks with each request whether it still holds. The answer that is loaded after a new number was seen
    /// has that number, or a later one.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Waits until the first look-up has ended, well or not, and says what is known then. The caller bounds it.
    pub(crate) async fn ready(&self) -> Arc<Answer> {
        self.first.wait().await;
        self.current()
    }

    /// Says that an address of this name refused a connection: the next look-up comes at once, but never sooner than
    /// the floor after the one before.
    pub(crate) fn hint_failed(&self) {
        self.hint.notify_one();
    }

    fn publish(&self, answer: Answer) {
        if *self.answer.load_full() != answer {
            let generation = answer.generation();
            self.answer.store(Arc::new(answer));
            self.generation.store(generation, Ordering::Release);
        }
        self.publish_first();
    }

    fn publish_first(&self) {
        // It fails when it was set before, which is as good.
        let _already = self.first.set(());
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Name")
            .field("host", &self.host)
            .field("answer", &self.answer)
            .finish_non_exhaustive()
    }
}

// === impl Refresher ===

impl Refresher {
    pub(super) fn new(name: Arc<Name>, dns: Arc<dyn Dns>, settings: ResolveSettings) -> Self {
        Self {
            name,
            dns,
            settings,
            known: Known::default(),
            failures: 0,
        }
    }

    /// Looks the name up again and again until `retire` says that nobody uses it.
    pub(super) async fn run(mut self, retire: impl Fn(&Arc<Name>) -> bool) {
        while !retire(&self.name) {
            let delay = self.refresh().await;
            let due = Instant::now() + delay;
            time::sleep(self.settings.floor.min(delay)).await;
            tokio::select! {
                () = time::sleep_until(due) => {}
                () = self.name.hint.notified() => {}
            }
        }
    }

    /// One look-up. Says how long to wait for the next.
    async fn refresh(&mut self) -> Duration {
        let lookup = time::timeout(self.settings.timeout, self.dns.lookup(&self.name.host)).await;
        let lookup = lookup.unwrap_or_else(|_| Lookup::failed(&LookupError::Timeout));
        match self.known.accept(lookup) {
            Ok(ttl) => {
                self.succeeded();
                ttl.clamp(self.settings.floor, self.settings.ceiling)
            }
            Err(error) => {
                let delay = backoff(
                    self.failures,
                    &self.settings,
                    RandomState::new().hash_one(&self.name.host),
                );
                self.failed(error);
                delay
            }
        }
    }

    fn succeeded(&mut self) {
        let before = self.name.current();
        let answer = before.next(self.known.addresses(), State::Fresh);
        let (host, addresses) = (&self.name.host, answer.addresses());
        if self.failures > 0 {
            info!(%host, ?addresses, failures = self.failures, "the name resolves again");
        } else if answer.generation() != before.generation() {
            debug!(%host, ?addresses, "addresses changed");
        }
        self.failures = 0;
        self.name.publish(answer);
    }

    fn failed(&mut self, error: LookupError) {
        let before = self.name.current();
        let (host, addresses) = (&self.name.host, before.addresses());
        if self.failures > 0 {
            debug!(%host, %error, failures = self.failures, "still cannot resolve");
        } else if addresses.is_empty() {
            warn!(%host, %error, "cannot resolve; requests for it fail until it resolves");
        } else {
            warn!(%host, %error, ?addresses, "cannot resolve; keeping the last good addresses");
        }
        self.failures = self.failures.saturating_add(1);
        self.name
            .publish(before.next(before.addresses().to_vec(), State::Stale(error)));
    }
}

/// The wait after a failure that `earlier` others went before: doubling, between [`BACKOFF_START`] and the ceiling, plus
/// up to a quarter by `random`, so that many names do not ask a recovering server in step.
fn backoff(earlier: u32, settings: &ResolveSettings, random: u64) -> Duration {
    let doubled = BACKOFF_START.saturating_mul(1 << earlier.min(16));
    let base = doubled.clamp(settings.floor, settings.ceiling);
    base + base / 4 * u32::from(random.to_le_bytes()[0]) / 255
}

#[cfg(test)]
mod tests;
