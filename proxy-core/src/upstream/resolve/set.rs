//! All watched names, and the one task that keeps them up to date.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::ResolveSettings;
use super::dns::{Dns, NameServers};
use super::name::{Name, Refresher};
use super::system::System;

/// The names in use, each once. Share it behind an [`Arc`]; [`run`](Self::run) must run for names to get answers.
pub(crate) struct ResolverSet {
    settings: ResolveSettings,
    make_dns: MakeDns,
    watched: Mutex<Watched>,
    added: Notify,
}

/// Makes what asks these name servers; none stands for the system's own.
type MakeDns = Box<dyn Fn(&[SocketAddr], &ResolveSettings) -> Arc<dyn Dns> + Send + Sync>;

/// A name is told apart by its name servers too: they may give different answers.
type Key = (Box<[SocketAddr]>, Box<str>);

/// Only weak references, so that a name ends with its last user.
#[derive(Default)]
struct Watched {
    names: HashMap<Key, Weak<Name>>,
    dns: HashMap<Box<[SocketAddr]>, Weak<dyn Dns>>,
    added: Vec<Job>,
}

/// A name whose refreshing has not begun.
struct Job {
    key: Key,
    name: Arc<Name>,
    dns: Arc<dyn Dns>,
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

    fn with_dns(
        settings: ResolveSettings,
        make_dns: impl Fn(&[SocketAddr], &ResolveSettings) -> Arc<dyn Dns> + Send + Sync + 'static,
    ) -> Self {
        Self {
            settings,
            make_dns: Box::new(make_dns),
            watched: Mutex::default(),
            added: Notify::new(),
        }
    }

    /// The name for `host`, looked up at these name servers; without any, as the system does it: its hosts file, its
    /// name servers, its search domains. A name with a trailing dot is never tried in a search domain.
    ///
    /// An address, also in brackets, needs no look-up and is known at once. The first look-up of a new name starts after
    /// [`begin`](Self::begin), as soon as [`run`](Self::run) gets to it. The name is kept up to date as long as the result lives.
    pub(crate) fn watch(&self, host: &str, servers: &[SocketAddr]) -> Arc<Name> {
        if let Some(address) = literal(host) {
            return Arc::new(Name::literal(host, address));
        }
        let key: Key = (servers.into(), host.to_lowercase().into());
        let mut watched = self.watched();
        if let Some(name) = watched.names.get(&key).and_then(Weak::upgrade) {
            return name;
        }
        let dns = watched.dns(&key.0, || (self.make_dns)(servers, &self.settings));
        let name = Arc::new(Name::new(&key.1));
        watched.names.insert(key.clone(), Arc::downgrade(&name));
        watched.added.push(Job {
            key,
            name: Arc::clone(&name),
            dns,
        });
        name
    }

    /// Starts to look up the names that were added and are still in use, so that a configuration that was refused asks
    /// for none.
    pub(crate) fn begin(&self) {
        self.added.notify_one();
    }

    /// Keeps all names up to date, those watched later too, until `stop` is cancelled. Run it once; it may run on any
    /// tokio runtime with time and I/O.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut refreshing = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.added.notified() => {
                    let added = std::mem::take(&mut self.watched().added);
                    refreshing.extend(added.into_iter().map(|job| self.refresh(job)));
                }
                Some(()) = refreshing.next() => {}
            }
        }
    }

    async fn refresh(&self, job: Job) {
        let key = job.key;
        let refresher = Refresher::new(job.name, job.dns, self.settings.clone());
        refresher.run(|name| self.retire(&key, name)).await;
    }

    /// Forgets `name` if the caller holds the last reference. Nobody can get a new one meanwhile, for that takes the
    /// lock.
    fn retire(&self, key: &Key, name: &Arc<Name>) -> bool {
        let mut watched = self.watched();
        let unused = Arc::strong_count(name) == 1;
        if unused {
            watched.names.remove(key);
        }
        unused
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
    fn dns(&mut self, servers: &[SocketAddr], make: impl FnOnce() -> Arc<dyn Dns>) -> Arc<dyn Dns> {
        if let Some(dns) = self.dns.get(servers).and_then(Weak::upgrade) {
            return dns;
        }
        self.dns.retain(|_, dns| dns.strong_count() > 0);
        let dns = make();
        self.dns.insert(servers.into(), Arc::downgrade(&dns));
        dns
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
