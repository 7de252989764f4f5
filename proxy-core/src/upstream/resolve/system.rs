//! Names as the system resolves them: its hosts file, its name servers, its search domains.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hickory_resolver::Hosts;
use hickory_resolver::config::{ResolverConfig, ResolverOpts};
use hickory_resolver::net::NetError;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name as DnsName, RecordType};
use hickory_resolver::system_conf::read_system_conf;

use super::answer::{Lookup, LookupError, Records, Services};
use super::dns::{Dns, LookupFuture, NameServers, ServicesFuture, parse_name, records};

/// The system's resolver. It sees a change of the files with the next look-up.
pub(super) struct System {
    sources: Sources,
    timeout: Duration,
    loaded: Mutex<Option<Arc<Loaded>>>,
}

/// Where the configuration comes from.
struct Sources {
    resolv_conf: PathBuf,
    hosts: PathBuf,
    read_conf: ReadConf,
}

type ReadConf = Box<dyn Fn() -> Result<(ResolverConfig, ResolverOpts), NetError> + Send + Sync>;

/// The configuration as it was read.
struct Loaded {
    stamp: Stamp,
    hosts: Hosts,
    conf: Result<Conf, LookupError>,
}

struct Conf {
    servers: NameServers,
    search: Vec<DnsName>,
    ndots: usize,
}

/// Tells whether the files have changed: time and length of each, none if it cannot be read.
type Stamp = [Option<(SystemTime, u64)>; 2];

// === impl System ===

impl System {
    pub(super) fn new(timeout: Duration) -> Self {
        let sources = Sources {
            resolv_conf: "/etc/resolv.conf".into(),
            hosts: "/etc/hosts".into(),
            read_conf: Box::new(read_system_conf),
        };
        Self {
            sources,
            timeout,
            loaded: Mutex::default(),
        }
    }

    /// The configuration, read again if its files have changed. Two small local files: not worth another thread.
    fn load(&self) -> Arc<Loaded> {
        let stamp = [&self.sources.resolv_conf, &self.sources.hosts].map(|path| stamp(path));
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = loaded.as_ref().filter(|loaded| loaded.stamp == stamp) {
            return Arc::clone(same);
        }
        let fresh = Arc::new(Loaded {
            stamp,
            hosts: self.read_hosts(),
            conf: self.read_conf(),
        });
        *loaded = Some(Arc::clone(&fresh));
        fresh
    }

    fn read_hosts(&self) -> Hosts {
        let mut hosts = Hosts::default();
        let read = fs::File::open(&self.sources.hosts).and_then(|file| hosts.read_hosts_conf(file));
        if let Err(error) = read {
            tracing::debug!(%error, "no hosts file");
        }
        hosts
    }

    fn read_conf(&self) -> Result<Conf, LookupError> {
        let unreadable =
            |error| LookupError::Other(format!("the system's name servers are not known: {error}").into());
        let (config, options) = (self.sources.read_conf)().map_err(unreadable)?;
        let (domain, mut search, servers) = config.into_parts();
        if search.is_empty() {
            search.extend(domain);
        }
        let servers = NameServers::from_configs(servers, &options, self.timeout)?;
        Ok(Conf {
            servers,
            search,
            ndots: options.ndots,
        })
    }
}

impl Dns for System {
    fn lookup<'a>(&'a self, host: &'a str) -> LookupFuture<'a> {
        Box::pin(async move {
            let name = match parse_name(host) {
                Ok(name) => name,
                Err(error) => return Lookup::failed(&error),
            };
            let loaded = self.load();
            if let Some(lookup) = in_hosts(&loaded.hosts, &name) {
                return lookup;
            }
            match &loaded.conf {
                Ok(conf) => conf.search(&name).await,
                Err(error) => Lookup::failed(error),
            }
        })
    }

    fn services<'a>(&'a self, name: &'a str) -> ServicesFuture<'a> {
        Box::pin(async move {
            let name = parse_name(name)?;
            match &self.load().conf {
                Ok(conf) => conf.services(&name).await,
                Err(error) => Err(error.clone()),
            }
        })
    }
}

// === impl Conf ===

impl Conf {
    /// Tries the name in each search domain and as it is; the first with addresses counts. If none has any, the
    /// failure counts that leaves the most hope.
    async fn search(&self, name: &DnsName) -> Lookup {
        let mut outcome = Lookup::failed(&LookupError::NoSuchName);
        for candidate in candidates(name, &self.search, self.ndots) {
            let lookup = self.servers.lookup_exact(&candidate).await;
            if lookup.has_addresses() {
                return lookup;
            }
            if outcome.is_absence() {
                outcome = lookup;
            }
        }
        outcome
    }

    /// The same for SRV records.
    async fn services(&self, name: &DnsName) -> Result<Services, LookupError> {
        let mut outcome = LookupError::NoSuchName;
        for candidate in candidates(name, &self.search, self.ndots) {
            match self.servers.services_exact(&candidate).await {
                Ok(found) => return Ok(found),
                Err(error) if outcome.is_absence() => outcome = error,
                Err(_) => {}
            }
        }
        Err(outcome)
    }
}

/// The names to try for `name`, in order: with at least `ndots` dots it comes first itself, else last.
fn candidates(name: &DnsName, search: &[DnsName], ndots: usize) -> Vec<DnsName> {
    if name.is_fqdn() || name.is_localhost() {
        return vec![name.clone()];
    }
    // A combination that is too long to be a name is left out.
    let searched = search
        .iter()
        .filter_map(|domain| name.clone().append_domain(domain).ok());
    let mut candidates: Vec<DnsName> = searched.collect();
    let dots = usize::from(name.num_labels()).saturating_sub(1);
    let position = if dots >= ndots { 0 } else { candidates.len() };
    candidates.insert(position, name.clone());
    candidates
}

/// What the hosts file says of the name, if it knows it; then nobody else is asked, for either family.
fn in_hosts(hosts: &Hosts, name: &DnsName) -> Option<Lookup> {
    let family = |kind| hosts.lookup_static_host(&Query::query(name.clone(), kind));
    let (v4, v6) = (family(RecordType::A), family(RecordType::AAAA));
    if v4.is_none() && v6.is_none() {
        return None;
    }
    let read = |found: Option<_>| -> Result<Records, LookupError> {
        found.map_or(Err(LookupError::NoAddresses), |found| records(&found))
    };
    Some(Lookup {
        v4: read(v4),
        v6: read(v6),
    })
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests;
