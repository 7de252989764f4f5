//! One name, its published answer, and the loop that keeps it up to date.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, SetOnce};
use tokio::time::{self, Instant};
use tracing::{debug, info, warn};

use super::answer::{Answer, Known, Lookup, LookupError, Service, State};
use super::dns::Dns;
use super::places::Places;
use super::{BACKOFF_START, ResolveSettings};

/// A name that is being watched: a host's addresses, or the services of its SRV records. Get one from
/// [`ResolverSet::watch`](super::ResolverSet::watch) or
/// [`ResolverSet::watch_services`](super::ResolverSet::watch_services).
pub(crate) struct Name<R = IpAddr> {
    host: Box<str>,
    answer: ArcSwap<Answer<R>>,
    /// That of `answer`, written after it.
    generation: AtomicU64,
    first: SetOnce<()>,
    wishes: Arc<Wishes>,
    listing: Option<Listing<R>>,
}

/// Where it is counted that the name leads to addresses, and which those of an answer are.
struct Listing<R> {
    places: Arc<Places>,
    of: fn(&Answer<R>) -> &[IpAddr],
}

/// What is wished of the loop that keeps a name up to date. It keeps nothing alive.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    look_up: Notify,
    /// The name is used no more.
    end: Notify,
}

/// The loop that keeps one name up to date, for as long as somebody else holds the name.
pub(super) struct Refresher<R: Record> {
    host: Box<str>,
    name: Weak<Name<R>>,
    wishes: Arc<Wishes>,
    dns: Arc<dyn Dns>,
    settings: ResolveSettings,
    known: R::Known,
    failures: u32,
}

/// What names are looked up for.
pub(super) trait Record: Clone + fmt::Debug + Eq + Send + Sync + 'static {
    /// What is kept from one look-up to the next, beside the last good answer.
    type Known: Default + Send;

    /// One look-up: the records, sorted and each once, and how long they are valid. The caller bounds the time, and says
    /// what is known if it is over.
    fn look_up(
        dns: &dyn Dns,
        host: &str,
        limit: Duration,
        known: &mut Self::Known,
    ) -> impl Future<Output = Result<(Vec<Self>, Duration), LookupError>> + Send;
}

// === impl Record ===

impl Record for IpAddr {
    type Known = Known;

    async fn look_up(
        dns: &dyn Dns,
        host: &str,
        limit: Duration,
        known: &mut Known,
    ) -> Result<(Vec<Self>, Duration), LookupError> {
        let lookup = time::timeout(limit, dns.lookup(host)).await;
        let lookup = lookup.unwrap_or_else(|_| Lookup::failed(&LookupError::Timeout));
        let ttl = known.accept(lookup)?;
        Ok((known.addresses(), ttl))
    }
}

impl Record for Service {
    type Known = ();

    async fn look_up(
        dns: &dyn Dns,
        host: &str,
        limit: Duration,
        (): &mut (),
    ) -> Result<(Vec<Self>, Duration), LookupError> {
        let found = time::timeout(limit, dns.services(host)).await;
        let found = found.unwrap_or(Err(LookupError::Timeout))?;
        Ok((found.services, found.ttl))
    }
}

// === impl Wishes ===

impl Wishes {
    /// An address failed: the next look-up comes at once, but never sooner than the floor after the one before.
    pub(crate) fn look_up(&self) {
        self.look_up.notify_one();
    }
}

// === impl Name ===

impl Name {
    /// An address instead of a name. What is wished of it is wished of `nobody`.
    pub(super) fn literal(host: &str, address: IpAddr, nobody: &Arc<Wishes>, places: &Arc<Places>) -> Self {
        let name = Self::with_answer(host, Answer::literal(address), Arc::clone(nobody)).listed_in(places);
        name.publish_first();
        name
    }

    /// The name, counted wherever it leads.
    pub(super) fn listed_in(mut self, places: &Arc<Places>) -> Self {
        places.moved(&[], self.current().addresses());
        self.listing = Some(Listing {
            places: Arc::clone(places),
            of: Answer::addresses,
        });
        self
    }
}

impl<R> Name<R> {
    pub(super) fn new(host: &str) -> Self {
        Self::with_answer(host, Answer::never(), Arc::default())
    }

    fn with_answer(host: &str, answer: Answer<R>, wishes: Arc<Wishes>) -> Self {
        Self {
            host: host.into(),
            generation: answer.generation().into(),
            answer: ArcSwap::from_pointee(answer),
            first: SetOnce::new(),
            wishes,
            listing: None,
        }
    }

    /// The host as it was asked for, in lower case.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// What is known now. Never waits, takes no lock.
    pub(crate) fn current(&self) -> Arc<Answer<R>> {
        self.answer.load_full()
    }

    /// [`Answer::generation`] of what is known now, by far cheaper than [`current`](Self::current): for a cache that keeps
    /// an answer and asks with each request whether it still holds. The answer that is loaded after a new number was seen
    /// has that number, or a later one.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Waits until the first look-up has ended, well or not, and says what is known then. The caller bounds it.
    pub(crate) async fn ready(&self) -> Arc<Answer<R>> {
        self.first.wait().await;
        self.current()
    }

    /// Whether the first look-up has ended, well or not.
    pub(crate) fn is_ready(&self) -> bool {
        self.first.initialized()
    }

    /// Says that an address of this name refused a connection: the next look-up comes at once, but never sooner than
    /// the floor after the one before.
    pub(crate) fn hint_failed(&self) {
        self.wishes.look_up();
    }

    /// What may be wished of those who look it up.
    pub(crate) fn wishes(&self) -> &Arc<Wishes> {
        &self.wishes
    }

    fn publish_first(&self) {
        // It fails when it was set before, which is as good.
        let _already = self.first.set(());
    }
}

impl<R: PartialEq> Name<R> {
    fn publish(&self, answer: Answer<R>) {
        let before = self.current();
        if *before != answer {
            let generation = answer.generation();
            if let Some(Listing { places, of }) = &self.listing {
                places.moved(of(&before), of(&answer));
            }
            self.answer.store(Arc::new(answer));
            self.generation.store(generation, Ordering::Release);
        }
        self.publish_first();
    }
}

impl<R: fmt::Debug> fmt::Debug for Name<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Name")
            .field("host", &self.host)
            .field("answer", &self.answer)
            .finish_non_exhaustive()
    }
}

impl<R> Drop for Name<R> {
    fn drop(&mut self) {
        self.wishes.end.notify_one();
        if let Some(Listing { places, of }) = &self.listing {
            places.moved(of(&self.answer.load()), &[]);
        }
    }
}

// === impl Refresher ===

impl<R: Record> Refresher<R> {
    pub(super) fn new(name: &Arc<Name<R>>, dns: Arc<dyn Dns>, settings: ResolveSettings) -> Self {
        Self {
            host: name.host.clone(),
            name: Arc::downgrade(name),
            wishes: Arc::clone(&name.wishes),
            dns,
            settings,
            known: R::Known::default(),
            failures: 0,
        }
    }

    /// Those of the name.
    pub(super) fn wishes(&self) -> &Arc<Wishes> {
        &self.wishes
    }

    /// Looks the name up again and again until nobody uses it: then it ends at once, even within a look-up.
    pub(super) async fn run(mut self) {
        let wishes = Arc::clone(&self.wishes);
        tokio::select! {
            biased;
            () = wishes.end.notified() => {}
            () = self.keep_on() => {}
        }
    }

    async fn keep_on(&mut self) {
        loop {
            let delay = self.refresh().await;
            let due = Instant::now() + delay;
            time::sleep(self.settings.floor.min(delay)).await;
            tokio::select! {
                () = time::sleep_until(due) => {}
                () = self.wishes.look_up.notified() => {}
            }
        }
    }

    /// One look-up. Says how long to wait for the next.
    async fn refresh(&mut self) -> Duration {
        let found = R::look_up(&*self.dns, &self.host, self.settings.timeout, &mut self.known).await;
        let Some(name) = self.name.upgrade() else {
            // It ends now.
            return self.settings.ceiling;
        };
        match found {
            Ok((records, ttl)) => {
                self.succeeded(&name, records);
                ttl.clamp(self.settings.floor, self.settings.ceiling)
            }
            Err(error) => {
                let delay = backoff(
                    self.failures,
                    &self.settings,
                    RandomState::new().hash_one(&self.host),
                );
                self.failed(&name, error);
                delay
            }
        }
    }

    fn succeeded(&mut self, name: &Name<R>, records: Vec<R>) {
        let before = name.current();
        let answer = before.next(records, State::Fresh);
        let (host, records) = (&name.host, answer.records());
        if self.failures > 0 {
            info!(%host, ?records, failures = self.failures, "the name resolves again");
        } else if answer.generation() != before.generation() {
            debug!(%host, ?records, "the name leads elsewhere");
        }
        self.failures = 0;
        name.publish(answer);
    }

    fn failed(&mut self, name: &Name<R>, error: LookupError) {
        let before = name.current();
        let (host, records) = (&name.host, before.records());
        if self.failures > 0 {
            debug!(%host, %error, failures = self.failures, "still cannot resolve");
        } else if records.is_empty() {
            warn!(%host, %error, "cannot resolve; requests for it fail until it resolves");
        } else {
            warn!(%host, %error, ?records, "cannot resolve; keeping the last good answer");
        }
        self.failures = self.failures.saturating_add(1);
        name.publish(before.next(before.records().to_vec(), State::Stale(error)));
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
