//! The hosts that sources of routes define: each is a site of its own, and one is replaced without a look at the others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasher as _;
use std::iter;
use std::sync::Arc;

use route_sources::{HostName, Kind};

use super::proxy::{self, Proxy};
use super::view::{ClusterId, Clusters, Rules};
use crate::geo::{Source, Terms};
use crate::skipper::table::Table;
use crate::tls::HostKey;
use crate::upstream::cluster::Cluster;

/// The parts that a change copies one of. A power of two.
const SHARDS: usize = 1024;

/// From the names of hosts to their sites. Cheap to clone; a change of one host copies a thousandth of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    /// None as long as there are no hosts.
    shards: Box<[Arc<Shard>]>,
    hasher: Hasher,
    wildcards: usize,
    /// Sites that somebody must look after.
    demanding: Arc<BTreeMap<HostName, Arc<Site>>>,
    /// Sites that ask what connections are.
    asking: usize,
    /// Sources that have not said yet what they know.
    awaited: BTreeSet<Kind>,
}

/// Sources name these hosts: nobody chooses them so that they collide.
type Hasher = foldhash::fast::RandomState;

type Shard = HashMap<HostName, Arc<Site>, Hasher>;

/// What serves a host.
#[derive(Debug, Default)]
pub(crate) struct Site {
    pub(crate) rules: Rules,
    pub(super) tables: Box<[Arc<Table>]>,
    clusters: Clusters,
    /// What clients of HTTPS are shown.
    key: Option<Arc<HostKey>>,
    /// Who knows the countries of clients, and how each is kept up to date.
    geo: Box<[(Arc<Source>, Terms)]>,
    stand: Stand,
}

/// What a site stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stand {
    /// What somebody wants to be served.
    #[default]
    Served,
    /// A host that cannot be served.
    Unavailable,
    /// A host that the configuration serves itself.
    Configured,
}

// === impl Hosts ===

impl Hosts {
    /// The same after a change: names with their new sites, and names that have none any more.
    pub(crate) fn with(&self, changes: impl IntoIterator<Item = (HostName, Option<Arc<Site>>)>) -> Self {
        let mut next = self.clone();
        if next.shards.is_empty() {
            next.shards = iter::repeat_with(Arc::default).take(SHARDS).collect();
        }
        for (name, site) in changes {
            next.change(name, site);
        }
        next
    }

    fn change(&mut self, name: HostName, site: Option<Arc<Site>>) {
        let place = self.place(name.as_str());
        let Some(shard) = self.shards.get_mut(place) else {
            return;
        };
        // Each shard is copied once: afterwards it is nobody else's.
        let shard = Arc::make_mut(shard);
        let old = match &site {
            Some(site) => shard.insert(name.clone(), Arc::clone(site)),
            None => shard.remove(name.as_str()),
        };
        let count = |all: &mut usize, was: bool, is: bool| {
            *all = (*all + usize::from(is)).saturating_sub(usize::from(was))
        };
        let asks = |site: &Option<Arc<Site>>| site.as_ref().is_some_and(|site| site.rules.asked.connection);
        count(&mut self.asking, asks(&old), asks(&site));
        if name.is_wildcard() {
            count(&mut self.wildcards, old.is_some(), site.is_some());
        }
        let demands = |site: &Option<Arc<Site>>| site.as_ref().is_some_and(|site| site.is_demanding());
        match site {
            Some(site) if site.is_demanding() => {
                Arc::make_mut(&mut self.demanding).insert(name, site);
            }
            _ if demands(&old) => {
                Arc::make_mut(&mut self.demanding).remove(name.as_str());
            }
            _ => {}
        }
    }

    /// The site of `host`, which is in lower case: its own, else that of the hosts beside it. A host of the configuration has
    /// none, whatever there is for the hosts beside it.
    pub(crate) fn get(&self, host: &str) -> Option<&Site> {
        if self.shards.is_empty() {
            return None;
        }
        self.find(host)
            .or_else(|| self.by_wildcard(host))
            .map(|site| &**site)
            .filter(|site| site.stand != Stand::Configured)
    }

    fn by_wildcard(&self, host: &str) -> Option<&Arc<Site>> {
        if self.wildcards == 0 {
            return None;
        }
        let (_, parent) = host.split_once('.')?;
        self.find(&format!("*.{parent}"))
    }

    fn find(&self, name: &str) -> Option<&Arc<Site>> {
        self.shards.get(self.place(name))?.get(name)
    }

    fn place(&self, name: &str) -> usize {
        // The upper bits: the maps go by the lower ones.
        usize::try_from(self.hasher.hash_one(name) >> 54).unwrap_or(0) % SHARDS
    }

    /// Every site, one with aliases once for each name.
    pub(crate) fn sites(&self) -> impl Iterator<Item = &Site> {
        self.shards
            .iter()
            .flat_map(|shard| shard.values())
            .map(|site| &**site)
    }

    /// Sites with something that somebody must look after.
    pub(crate) fn demanding(&self) -> impl Iterator<Item = &Site> {
        self.demanding.values().map(|site| &**site)
    }

    /// Whether any asks what connections are.
    pub(crate) fn ask_for_connections(&self) -> bool {
        self.asking > 0
    }

    /// Whether this name has something of its own that is worth to be kept.
    pub(crate) fn has(&self, name: &HostName) -> bool {
        self.find(name.as_str())
            .is_some_and(|site| site.stand != Stand::Unavailable)
    }

    /// The same, but that these sources have not said yet what they know.
    pub(crate) fn awaiting(mut self, kinds: BTreeSet<Kind>) -> Self {
        self.awaited = kinds;
        self
    }

    /// The same, once a source has said what it knows.
    pub(crate) fn without_awaiting(mut self, kind: Kind) -> Self {
        self.awaited.remove(&kind);
        self
    }

    /// Whether a source has not said yet what it knows.
    pub(crate) fn awaits(&self, kind: Kind) -> bool {
        self.awaited.contains(&kind)
    }

    /// The sources that have not said yet what they know.
    pub(crate) fn awaited(&self) -> &BTreeSet<Kind> {
        &self.awaited
    }

    /// Whether every source has said what it knows.
    pub(crate) fn is_complete(&self) -> bool {
        self.awaited.is_empty()
    }

    /// How many names there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.len()).sum()
    }
}

// === impl Site ===

impl Site {
    pub(crate) fn new(
        rules: Rules,
        clusters: Clusters,
        tables: Vec<Arc<Table>>,
        geo: Vec<(Arc<Source>, Terms)>,
        key: Option<Arc<HostKey>>,
    ) -> Self {
        Self {
            rules,
            tables: tables.into(),
            clusters,
            geo: geo.into(),
            key,
            stand: Stand::Served,
        }
    }

    /// The place of a host that the configuration serves itself.
    pub(crate) fn configured() -> Self {
        Self {
            stand: Stand::Configured,
            ..Self::default()
        }
    }

    /// The site of a host that cannot be served: it always answers in the same way.
    pub(crate) fn unavailable(rules: Rules) -> Self {
        Self {
            rules,
            stand: Stand::Unavailable,
            ..Self::default()
        }
    }

    /// Its certificate, if it has one of its own.
    pub(crate) fn key(&self) -> Option<&Arc<HostKey>> {
        self.key.as_ref()
    }

    /// Who knows the countries of clients, and how each is kept up to date.
    pub(crate) fn geo(&self) -> &[(Arc<Source>, Terms)] {
        &self.geo
    }

    /// Every cluster.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        self.parts().flat_map(Clusters::iter)
    }

    pub(super) fn cluster(&self, id: ClusterId) -> Option<&Cluster> {
        let (part, number) = self.part(id)?;
        part.get(number)
    }

    /// What the proxy does with heads.
    pub(super) fn proxy(&self, id: ClusterId) -> &Proxy {
        let proxy = self.part(id).and_then(|(part, number)| part.proxy(number));
        proxy.unwrap_or(&proxy::PLAIN)
    }

    fn part(&self, id: ClusterId) -> Option<(&Clusters, usize)> {
        match id {
            ClusterId::Config(number) => Some((&self.clusters, number)),
            ClusterId::Table(table, number) => Some((&self.tables.get(table)?.clusters, number)),
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Clusters> {
        iter::once(&self.clusters).chain(self.tables.iter().map(|table| &table.clusters))
    }

    /// Whether somebody must look after one of its clusters.
    fn is_demanding(&self) -> bool {
        !self.geo.is_empty()
            || self.clusters().any(|cluster| {
                cluster.source.dynamic().is_some()
                    || cluster.transport.most.is_some()
                    || cluster
                        .source
                        .upstreams()
                        .any(|upstream| upstream.health().check.is_some())
            })
    }
}

#[cfg(test)]
mod tests;
