//! All watched names, and the one task that keeps them up to date.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::ResolveSettings;
use super::answer::Service;
use super::dns::{Dns, NameServers};
use super::name::{Name, Record, Refresher, Wishes};
use super::places::Places;
use super::system::System;

/// The names in use, each once. Share it behind an [`Arc`]; [`run`](Self::run) must run for names to get answers.
pub(crate) struct ResolverSet {
    settings: ResolveSettings,
    make_dns: MakeDns,
    watched: Mutex<Watched>,
    begun: Notify,
    /// Where names lead.
    places: Arc<Places>,
    /// Who looks up addresses.
    nobody: Arc<Wishes>,
}

/// How a name is looked up.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct Terms {
    /// Who is asked; none stands for the system's own resolver.
    pub(crate) servers: Box<[SocketAddr]>,
    /// The longest time between two look-ups. Default: that of the set.
    pub(crate) refresh: Option<Duration>,
    /// The limit of one look-up. Default: that of the set.
    pub(crate) timeout: Option<Duration>,
}

/// When the first look-up of a name begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// With [`ResolverSet::begin`].
    Begun,
    /// At once: a request waits for it.
    Now,
}

/// Makes what asks these name servers; none stands for the system's own.
type MakeDns = Box<dyn Fn(&[SocketAddr], &ResolveSettings) -> Arc<dyn Dns> + Send + Sync>;

/// A name is told apart by how it is looked up too: other name servers may give other answers.
type Key = (Terms, Box<str>);

/// Who is asked, and the limit of one look-up.
type DnsKey = (Box<[SocketAddr]>, Option<Duration>);

/// Only weak references, so that a name ends with its last user.
#[derive(Default)]
struct Watched {
    names: HashMap<Key, Weak<Name>>,
    services: HashMap<Key, Weak<Name<Service>>>,
    dns: HashMap<DnsKey, Weak<dyn Dns>>,
    /// They wait for [`ResolverSet::begin`].
    added: Vec<Job>,
    begun: Vec<Job>,
}

/// A name whose refreshing has not begun.
enum Job {
    Name(Added<IpAddr>),
    Services(Added<Service>),
}

struct Added<R: Record> {
    key: Key,
    refresher: Refresher<R>,
}

/// A kind of names that the set holds.
trait Watchable: Record {
    fn of(watched: &mut Watched) -> &mut HashMap<Key, Weak<Name<Self>>>;
    fn job(added: Added<Self>) -> Job;

    /// A new name, which is counted if it leads to addresses.
    fn counted(name: Name<Self>, _places: &Arc<Places>) -> Name<Self> {
        name
    }
}

// === impl ResolverSet ===

impl ResolverSet {
    /// A set without names.
    pub(crate) fn new(settings: ResolveSettings) -> Self {
        Self::with_dns(settings, |servers, settings| {
            if servers.is_empty() {
                Arc::new(System::new(settings.timeout))
            } else {
                match NameServers::new(servers, settings.timeout) {
                    Ok(servers) => Arc::new(servers),
                    Err(error) => Arc::new(error),
                }
            }
        })
    }

    pub(super) fn with_dns(
        settings: ResolveSettings,
        make_dns: impl Fn(&[SocketAddr], &ResolveSettings) -> Arc<dyn Dns> + Send + Sync + 'static,
    ) -> Self {
        Self {
            settings,
            make_dns: Box::new(make_dns),
            watched: Mutex::default(),
            begun: Notify::new(),
            places: Arc::default(),
            nobody: Arc::default(),
        }
    }

    /// Where its names lead.
    pub(crate) fn places(&self) -> &Arc<Places> {
        &self.places
    }

    /// The name for `host`, looked up at these name servers; without any, as the system does it: its hosts file, its
    /// name servers, its search domains. A name with a trailing dot is never tried in a search domain.
    ///
    /// An address, also in brackets, needs no look-up and is known at once. The first look-up of a new name starts after
    /// [`begin`](Self::begin), as soon as [`run`](Self::run) gets to it. The name is kept up to date as long as the result lives.
    pub(crate) fn watch(&self, host: &str, servers: &[SocketAddr]) -> Arc<Name> {
        let servers = servers.into();
        self.watch_as(
            host,
            &Terms {
                servers,
                ..Terms::default()
            },
            When::Begun,
        )
    }

    /// As [`ResolverSet::watch`], with more to say.
    pub(crate) fn watch_as(&self, host: &str, terms: &Terms, when: When) -> Arc<Name> {
        match literal(host) {
            Some(address) => Arc::new(Name::literal(host, address, &self.nobody, &self.places)),
            None => self.add(host, terms, when),
        }
    }

    /// The services that the SRV records of `name` list; otherwise as [`ResolverSet::watch`].
    pub(crate) fn watch_services(&self, name: &str, terms: &Terms, when: When) -> Arc<Name<Service>> {
        self.add(name, terms, when)
    }

    fn add<R: Watchable>(&self, host: &str, terms: &Terms, when: When) -> Arc<Name<R>> {
        let key: Key = (terms.clone(), host.to_lowercase().into());
        let mut watched = self.watched();
        let known = R::of(&mut watched).get(&key).and_then(Weak::upgrade);
        let name = known.unwrap_or_else(|| {
            let settings = self.settings.on(terms);
            let dns = watched.dns(terms, || (self.make_dns)(&terms.servers, &settings));
            let name = Arc::new(R::counted(Name::new(&key.1), &self.places));
            R::of(&mut watched).insert(key.clone(), Arc::downgrade(&name));
            let refresher = Refresher::new(&name, dns, settings);
            watched.added.push(R::job(Added { key, refresher }));
            name
        });
        if when == When::Now {
            watched.begin_with(|job| job.is_of(name.wishes()));
            self.begun.notify_one();
        }
        name
    }

    /// Starts to look up the names that were added and are still in use, so that a configuration that was refused asks
    /// for none.
    pub(crate) fn begin(&self) {
        self.watched().begin_with(|_| true);
        self.begun.notify_one();
    }

    /// Keeps all names up to date, those watched later too, until `stop` is cancelled. Run it once; it may run on any
    /// tokio runtime with time and I/O.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut refreshing = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.begun.notified() => {
                    let begun = std::mem::take(&mut self.watched().begun);
                    refreshing.extend(begun.into_iter().map(|job| self.refresh(job)));
                }
                Some(()) = refreshing.next() => {}
            }
        }
    }

    async fn refresh(&self, job: Job) {
        match job {
            Job::Name(added) => self.refresh_added(added).await,
            Job::Services(added) => self.refresh_added(added).await,
        }
    }

    async fn refresh_added<R: Watchable>(&self, added: Added<R>) {
        added.refresher.run().await;
        let mut watched = self.watched();
        let names = R::of(&mut watched);
        // Unless somebody wanted it again meanwhile.
        if names.get(&added.key).is_some_and(|name| name.strong_count() == 0) {
            names.remove(&added.key);
        }
    }

    /// The number of names that are kept.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let watched = self.watched();
        watched.names.len() + watched.services.len()
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        // Each change is a single insertion or removal: a panic elsewhere leaves nothing half done.
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ResolverSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResolverSet")
            .field("settings", &self.settings)
            .field("names", &self.watched().names.len())
            .finish_non_exhaustive()
    }
}

// === impl Watched ===

impl Watched {
    /// What asks these servers, shared by all names that use them.
    fn dns(&mut self, terms: &Terms, make: impl FnOnce() -> Arc<dyn Dns>) -> Arc<dyn Dns> {
        let key = (terms.servers.clone(), terms.timeout);
        if let Some(dns) = self.dns.get(&key).and_then(Weak::upgrade) {
            return dns;
        }
        self.dns.retain(|_, dns| dns.strong_count() > 0);
        let dns = make();
        self.dns.insert(key, Arc::downgrade(&dns));
        dns
    }

    fn begin_with(&mut self, is_meant: impl FnMut(&mut Job) -> bool) {
        self.begun.extend(self.added.extract_if(.., is_meant));
    }
}

// === impl Job ===

impl Job {
    fn is_of(&self, wishes: &Arc<Wishes>) -> bool {
        let own = match self {
            Self::Name(added) => added.refresher.wishes(),
            Self::Services(added) => added.refresher.wishes(),
        };
        Arc::ptr_eq(own, wishes)
    }
}

// === impl Watchable ===

impl Watchable for IpAddr {
    fn of(watched: &mut Watched) -> &mut HashMap<Key, Weak<Name>> {
        &mut watched.names
    }

    fn job(added: Added<Self>) -> Job {
        Job::Name(added)
    }

    fn counted(name: Name, places: &Arc<Places>) -> Name {
        name.listed_in(places)
    }
}

impl Watchable for Service {
    fn of(watched: &mut Watched) -> &mut HashMap<Key, Weak<Name<Self>>> {
        &mut watched.services
    }

    fn job(added: Added<Self>) -> Job {
        Job::Services(added)
    }
}

/// The address that `host` is, if it is one: `192.0.2.1`, `2001:db8::1` or `[2001:db8::1]`.
fn literal(host: &str) -> Option<IpAddr> {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let address: IpAddr = inner.unwrap_or(host).parse().ok()?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests;
