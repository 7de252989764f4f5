//! Upstreams that are found out while the proxy runs: the addresses of names, what SRV records list, and what requests
//! fill in for placeholders.
//!
//! A [`Directory`] holds the names of one source, each with a [`Listing`] of its upstreams, which follows what the
//! resolver says of it. A request puts the lists of its sources together and goes on with one [`Found`]: a later change
//! does not touch it. Only the first request for a name waits.

mod consul;
mod directory;
mod listing;
#[cfg(test)]
mod tests;
mod wanted;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use consul_upstreams::{LookupError, ServiceName, Tier};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

pub(crate) use self::consul::{Catalog, Consuls, Key};
pub(crate) use self::directory::{Directories, Directory, Spec};
pub(crate) use self::listing::{Care, Families, Listing, Making, WayTo};
pub(crate) use self::wanted::{Asked, Unusable, Wanted};
use super::cluster::Upstream;

/// How long a look-up in Consul may wait until it begins.
const TURN: Duration = Duration::from_secs(1);

/// The sources of a proxy whose configuration does not name all of its upstreams.
#[derive(Debug, Default)]
pub(crate) struct Dynamic {
    first: Group,
    /// They take the place of the first ones for as long as those have no upstream.
    then: Group,
}

/// Sources whose upstreams are one list, in their order.
#[derive(Debug, Default)]
pub(crate) struct Group {
    sources: Box<[Finder]>,
    /// The list of the last request that put one together.
    joined: ArcSwapOption<Joined>,
}

/// One source.
#[derive(Clone, Debug)]
pub(crate) enum Finder {
    /// The configuration names the upstreams.
    Fixed(Arc<[Upstream]>),
    /// The same name for all requests.
    Always(Arc<Listing>, Arc<Directory>),
    /// What each request asks for in its query of this number.
    Each(usize, Arc<Directory>),
    /// A service in Consul, the same one or that of the query of this number.
    Consul(Result<ServiceName, usize>, Arc<Catalog>),
}

#[derive(Debug)]
struct Joined {
    parts: Vec<Arc<[Upstream]>>,
    all: Arc<[Upstream]>,
}

/// The upstreams of one request.
#[derive(Debug)]
pub(crate) struct Found<'v> {
    dynamic: &'v Dynamic,
    first: Vec<Part>,
    then: Vec<Part>,
    list: Arc<[Upstream]>,
    unusable: Option<Unusable>,
}

#[derive(Debug)]
enum Part {
    Fixed(Arc<[Upstream]>),
    Listing(Arc<Listing>),
    Consul(consul::Seen),
}

// === impl Dynamic ===

impl Dynamic {
    pub(crate) fn new(first: Vec<Finder>, then: Vec<Finder>) -> Self {
        Self {
            first: Group::new(first),
            then: Group::new(then),
        }
    }

    /// The upstreams of a request that comes `now`; `ask` says what it wants in the query of a number.
    pub(crate) fn find(
        &self,
        mut ask: impl FnMut(usize) -> Result<Asked, Unusable>,
        now: Instant,
    ) -> Found<'_> {
        let mut unusable = None;
        let mut parts = |group: &Group| {
            let part = |source: &Finder| match source {
                Finder::Fixed(list) => Some(Part::Fixed(Arc::clone(list))),
                Finder::Always(listing, _) => Some(Part::Listing(Arc::clone(listing))),
                Finder::Each(query, directory) => {
                    let found = ask(*query).and_then(|asked| match asked {
                        Asked::Name(wanted) => directory.find(wanted, now),
                        Asked::Service(_) => Err(Unusable::Host),
                    });
                    usable(found, &mut unusable).map(Part::Listing)
                }
                Finder::Consul(service, catalog) => {
                    let service = match service {
                        Ok(service) => Ok(service.clone()),
                        Err(query) => ask(*query).and_then(|asked| match asked {
                            Asked::Service(service) => Ok(service),
                            Asked::Name(_) => Err(Unusable::Host),
                        }),
                    };
                    let service = usable(service, &mut unusable)?;
                    Some(Part::Consul(catalog.see(service, now)))
                }
            };
            group.sources.iter().filter_map(part).collect()
        };
        let (first, then) = (parts(&self.first), parts(&self.then));
        let mut found = Found {
            dynamic: self,
            first,
            then,
            list: Arc::default(),
            unusable,
        };
        found.renew();
        found
    }

    /// The upstreams that the configuration names.
    pub(crate) fn fixed(&self) -> impl Iterator<Item = &Upstream> {
        self.sources()
            .filter_map(|source| match source {
                Finder::Fixed(list) => Some(&**list),
                Finder::Always(..) | Finder::Each(..) | Finder::Consul(..) => None,
            })
            .flatten()
    }

    /// All upstreams that are known now, whichever request they were found for.
    pub(crate) fn known(&self) -> Vec<Upstream> {
        let lists = self.sources().flat_map(|source| match source {
            Finder::Fixed(list) => vec![Arc::clone(list)],
            Finder::Always(listing, _) => vec![listing.current()],
            Finder::Each(_, directory) => {
                let listings = directory.listings();
                listings.iter().map(|listing| listing.current()).collect()
            }
            Finder::Consul(_, catalog) => catalog.known(),
        });
        lists.flat_map(|list| list.to_vec()).collect()
    }

    /// Forgets the names that requests did not ask for lately.
    pub(crate) fn forget_idle(&self, now: Instant) {
        for source in self.sources() {
            match source {
                Finder::Each(_, directory) => directory.forget_idle(now),
                Finder::Consul(_, catalog) => catalog.forget_idle(),
                Finder::Fixed(_) | Finder::Always(..) => {}
            }
        }
    }

    /// What is found out, as it is configured.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.sources().filter_map(|source| match source {
            Finder::Fixed(_) => None,
            Finder::Always(_, directory) | Finder::Each(_, directory) => Some(directory.text()),
            Finder::Consul(_, catalog) => Some(catalog.text()),
        })
    }

    /// Whether upstreams have weights of their own.
    pub(crate) fn is_weighted(&self) -> bool {
        let has_weights =
            |source: &Finder| matches!(source, Finder::Consul(_, catalog) if catalog.is_weighted());
        self.sources().any(has_weights)
    }

    fn sources(&self) -> impl Iterator<Item = &Finder> {
        self.first.sources.iter().chain(&self.then.sources)
    }
}

/// What was found; the first reason why something was not is kept.
fn usable<T>(found: Result<T, Unusable>, unusable: &mut Option<Unusable>) -> Option<T> {
    found.map_err(|why| unusable.get_or_insert(why)).ok()
}

// === impl Group ===

impl Group {
    fn new(sources: Vec<Finder>) -> Self {
        Self {
            sources: sources.into(),
            joined: ArcSwapOption::empty(),
        }
    }

    /// The upstreams of all parts. As long as none of them changes, it is the same list.
    fn join(&self, parts: &[Part]) -> Arc<[Upstream]> {
        match parts {
            [] => return Arc::default(),
            [only] => return only.current(),
            _ => {}
        }
        let parts: Vec<_> = parts.iter().map(Part::current).collect();
        let joined = self.joined.load();
        let same = joined.as_deref().filter(|joined| joined.is_of(&parts));
        if let Some(same) = same {
            return Arc::clone(&same.all);
        }
        let all: Arc<[Upstream]> = parts.iter().flat_map(|list| list.iter().cloned()).collect();
        self.joined.store(Some(Arc::new(Joined {
            all: Arc::clone(&all),
            parts,
        })));
        all
    }
}

impl Joined {
    fn is_of(&self, parts: &[Arc<[Upstream]>]) -> bool {
        let mut pairs = self.parts.iter().zip(parts);
        self.parts.len() == parts.len() && pairs.all(|(own, other)| Arc::ptr_eq(own, other))
    }
}

// === impl Found ===

impl Found<'_> {
    pub(crate) fn list(&self) -> &[Upstream] {
        &self.list
    }

    /// Why a source was not asked.
    pub(crate) fn unusable(&self) -> Option<Unusable> {
        self.unusable
    }

    /// Which instances Consul's are, if it has told any.
    pub(crate) fn tier(&self) -> Option<Tier> {
        self.seen().find_map(consul::Seen::tier)
    }

    /// Why Consul told nothing.
    pub(crate) fn failed(&self) -> Option<&LookupError> {
        self.seen().find_map(consul::Seen::error)
    }

    /// Whether the upstreams have weights.
    pub(crate) fn is_weighted(&self) -> bool {
        self.dynamic.is_weighted()
    }

    /// Whether there may be upstreams once a first look-up has ended, or others once Consul has answered.
    pub(crate) fn is_pending(&self) -> bool {
        self.seen().any(|seen| seen.pending().is_some())
            || self.list.is_empty() && self.listings().any(|listing| !listing.is_ready())
    }

    /// How long a request waits that waits for so long for other upstreams: Consul has its own time.
    pub(crate) fn patience(&self, usual: Duration) -> Duration {
        let pending = self.seen().filter_map(consul::Seen::pending).max();
        // It may have to wait for its turn.
        pending.map_or(usual, |timeout| usual.max(timeout + TURN))
    }

    /// Waits until a first look-up brought upstreams, or all have ended, and until Consul has answered. The caller bounds
    /// the time.
    pub(crate) async fn ready(&mut self) {
        let mut seen: FuturesUnordered<_> = self.seen_mut().map(consul::Seen::ready).collect();
        while seen.next().await.is_some() {}
        drop(seen);
        self.renew();
        if self.list.is_empty() {
            self.listed().await;
        }
    }

    /// Asks Consul again before another attempt is made. Says whether the upstreams are others than before.
    pub(crate) async fn look_again(&mut self) -> bool {
        let mut seen: FuturesUnordered<_> = self.seen_mut().map(consul::Seen::look_again).collect();
        while seen.next().await.is_some() {}
        drop(seen);
        self.renew()
    }

    /// Whether there is somebody to ask again.
    pub(crate) fn has_consul(&self) -> bool {
        self.seen().next().is_some()
    }

    /// Waits until a first look-up brought upstreams, or all have ended.
    async fn listed(&self) {
        let mut waiting: FuturesUnordered<_> = self
            .listings()
            .map(|listing| async move {
                listing.ready().await;
                listing
            })
            .collect();
        while let Some(listing) = waiting.next().await {
            if !listing.current().is_empty() {
                return;
            }
        }
    }

    /// Takes the upstreams of now. Says whether they are others than before.
    pub(crate) fn renew(&mut self) -> bool {
        let mut list = self.dynamic.first.join(&self.first);
        // That there are no instances is an answer, and not a failure.
        let is_told = self
            .first
            .iter()
            .any(|part| matches!(part, Part::Consul(seen) if seen.tier().is_some()));
        if list.is_empty() && !is_told {
            list = self.dynamic.then.join(&self.then);
        }
        let is_same = Arc::ptr_eq(&list, &self.list);
        self.list = list;
        !is_same
    }

    fn listings(&self) -> impl Iterator<Item = &Arc<Listing>> {
        self.first.iter().chain(&self.then).filter_map(|part| match part {
            Part::Fixed(_) | Part::Consul(_) => None,
            Part::Listing(listing) => Some(listing),
        })
    }

    fn seen(&self) -> impl Iterator<Item = &consul::Seen> {
        self.first.iter().chain(&self.then).filter_map(|part| match part {
            Part::Fixed(_) | Part::Listing(_) => None,
            Part::Consul(seen) => Some(seen),
        })
    }

    fn seen_mut(&mut self) -> impl Iterator<Item = &mut consul::Seen> {
        let parts = self.first.iter_mut().chain(&mut self.then);
        parts.filter_map(|part| match part {
            Part::Fixed(_) | Part::Listing(_) => None,
            Part::Consul(seen) => Some(seen),
        })
    }
}

// === impl Part ===

impl Part {
    fn current(&self) -> Arc<[Upstream]> {
        match self {
            Self::Fixed(list) => Arc::clone(list),
            Self::Listing(listing) => listing.current(),
            Self::Consul(seen) => seen.current(),
        }
    }
}
