//! Upstreams that are found out while the proxy runs: the addresses of names, what SRV records list, and what requests
//! fill in for placeholders.
//!
//! A [`Directory`] holds the names of one source, each with a [`Listing`] of its upstreams, which follows what the
//! resolver says of it. A request puts the lists of its sources together and goes on with one [`Found`]: a later change
//! does not touch it. Only the first request for a name waits.

mod directory;
mod listing;
#[cfg(test)]
mod tests;
mod wanted;

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

pub(crate) use self::directory::{Directories, Directory, Spec};
pub(crate) use self::listing::{Care, Families, Listing, WayTo};
pub(crate) use self::wanted::{Unusable, Wanted};
use super::cluster::Upstream;

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
        mut ask: impl FnMut(usize) -> Result<Wanted, Unusable>,
        now: Instant,
    ) -> Found<'_> {
        let mut unusable = None;
        let mut parts = |group: &Group| {
            let part = |source: &Finder| match source {
                Finder::Fixed(list) => Some(Part::Fixed(Arc::clone(list))),
                Finder::Always(listing, _) => Some(Part::Listing(Arc::clone(listing))),
                Finder::Each(query, directory) => {
                    match ask(*query).and_then(|wanted| directory.find(wanted, now)) {
                        Ok(listing) => Some(Part::Listing(listing)),
                        Err(why) => {
                            unusable.get_or_insert(why);
                            None
                        }
                    }
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
                Finder::Always(..) | Finder::Each(..) => None,
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
        });
        lists.flat_map(|list| list.to_vec()).collect()
    }

    /// The addresses that its upstreams have now.
    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        let addresses = |upstream: &Upstream| upstream.name().current().addresses().to_vec();
        self.known().iter().flat_map(addresses).collect()
    }

    /// Forgets the names that requests did not ask for lately.
    pub(crate) fn forget_idle(&self, now: Instant) {
        for source in self.sources() {
            if let Finder::Each(_, directory) = source {
                directory.forget_idle(now);
            }
        }
    }

    /// What is found out, as it is configured.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.sources().filter_map(|source| match source {
            Finder::Fixed(_) => None,
            Finder::Always(_, directory) | Finder::Each(_, directory) => Some(directory.text()),
        })
    }

    fn sources(&self) -> impl Iterator<Item = &Finder> {
        self.first.sources.iter().chain(&self.then.sources)
    }
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

    /// Whether there may be upstreams once a first look-up has ended.
    pub(crate) fn is_pending(&self) -> bool {
        self.list.is_empty() && self.listings().any(|listing| !listing.is_ready())
    }

    /// Waits until a first look-up brought upstreams, or all have ended. The caller bounds the time.
    pub(crate) async fn ready(&self) {
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
        if list.is_empty() {
            list = self.dynamic.then.join(&self.then);
        }
        let is_same = Arc::ptr_eq(&list, &self.list);
        self.list = list;
        !is_same
    }

    fn listings(&self) -> impl Iterator<Item = &Arc<Listing>> {
        self.first.iter().chain(&self.then).filter_map(|part| match part {
            Part::Fixed(_) => None,
            Part::Listing(listing) => Some(listing),
        })
    }
}

// === impl Part ===

impl Part {
    fn current(&self) -> Arc<[Upstream]> {
        match self {
            Self::Fixed(list) => Arc::clone(list),
            Self::Listing(listing) => listing.current(),
        }
    }
}
