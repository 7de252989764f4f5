//! The upstreams that one name stands for, as they are known now.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use super::super::cluster::{self, Upstream};
use super::super::health::Policy;
use super::super::load::Slots;
use super::super::resolve::{Name, ResolverSet, Service, Terms, When};
use super::super::transport::Way;
use super::wanted::{self, Wanted};

/// The most upstreams that one name stands for. More would be somebody's mistake, or worse.
const MOST: usize = 512;

/// What upstreams are made with.
#[derive(Debug)]
pub(crate) struct Making {
    pub(crate) terms: Terms,
    pub(crate) targets: Terms,
    pub(crate) families: Families,
    pub(crate) max_requests: Option<u32>,
    pub(crate) care: Care,
    pub(crate) resolvers: Arc<ResolverSet>,
    pub(crate) slots: Slots,
}

/// What leads to a host at a port, beside its addresses.
#[derive(Clone)]
pub(crate) struct WayTo {
    text: String,
    lead: Arc<Lead>,
}

type Lead = dyn Fn(&str, u16) -> Option<Arc<Way>> + Send + Sync;

/// How upstreams are reached, and how it is noticed that one had better take no requests.
#[derive(Clone, Debug)]
pub(crate) struct Care {
    pub(crate) way: WayTo,
    pub(crate) policy: Policy,
}

/// Which addresses count.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Families {
    Both,
    Ipv4,
    Ipv6,
}

/// A name, and its upstreams. Requests only read the list; it is made anew by the first who sees that the name leads
/// elsewhere.
#[derive(Debug)]
pub(crate) struct Listing {
    making: Arc<Making>,
    watched: Watched,
    list: ArcSwap<List>,
    /// A list whose names are not looked up yet: until they are, the one before is good enough.
    next: Mutex<Option<List>>,
}

#[derive(Debug)]
enum Watched {
    /// It is an upstream.
    Name(Arc<Name>),
    /// Its addresses are, at this port.
    Addresses(Arc<Name>, u16),
    Services(Arc<Name<Service>>),
}

#[derive(Debug)]
struct List {
    generation: u64,
    upstreams: Arc<[Upstream]>,
}

// === impl WayTo ===

impl WayTo {
    /// `text` tells it from others; `lead` gives none where no certificate can be for the host.
    pub(crate) fn new(
        text: String,
        lead: impl Fn(&str, u16) -> Option<Arc<Way>> + Send + Sync + 'static,
    ) -> Self {
        let lead = Arc::new(lead);
        Self { text, lead }
    }
}

impl fmt::Debug for WayTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WayTo").field(&self.text).finish()
    }
}

// === impl Care ===

impl Care {
    /// What tells one from another.
    pub(crate) fn text(&self) -> String {
        let breaker = self.policy.breaker.as_ref().map(|(settings, _)| settings);
        format!("{:?} {:?} {breaker:?}", self.way, self.policy.passive)
    }
}

// === impl Families ===

impl Families {
    fn has(self, ip: IpAddr) -> bool {
        match self {
            Self::Both => true,
            Self::Ipv4 => ip.is_ipv4(),
            Self::Ipv6 => ip.is_ipv6(),
        }
    }
}

// === impl Listing ===

impl Listing {
    pub(super) fn new(making: &Arc<Making>, wanted: &Wanted, when: When) -> Self {
        let Making { terms, resolvers, .. } = &**making;
        let watched = match wanted {
            Wanted::Address { host, .. } => Watched::Name(resolvers.watch_as(host, terms, when)),
            Wanted::Addresses { host, port } => {
                Watched::Addresses(resolvers.watch_as(host, terms, when), *port)
            }
            Wanted::Services(name) => Watched::Services(resolvers.watch_services(name, terms, when)),
        };
        let upstreams = match (&watched, wanted) {
            (Watched::Name(name), Wanted::Address { port, .. }) => {
                making.upstream(Arc::clone(name), *port).into_iter().collect()
            }
            _ => Arc::default(),
        };
        let listing = Self {
            making: Arc::clone(making),
            watched,
            list: ArcSwap::from_pointee(List {
                generation: 0,
                upstreams,
            }),
            next: Mutex::default(),
        };
        // What somebody else has looked up already is known at once, so that its upstreams keep what is remembered of them.
        listing.current();
        listing
    }

    /// The upstreams now. Never waits.
    pub(crate) fn current(&self) -> Arc<[Upstream]> {
        let list = self.list.load();
        if list.generation >= self.generation() {
            return Arc::clone(&list.upstreams);
        }
        drop(list);
        self.renew()
    }

    /// Whether the first look-up has ended, well or not.
    pub(crate) fn is_ready(&self) -> bool {
        match &self.watched {
            Watched::Name(name) | Watched::Addresses(name, _) => name.is_ready(),
            Watched::Services(name) => name.is_ready(),
        }
    }

    /// Waits for it. The caller bounds the time.
    pub(crate) async fn ready(&self) {
        match &self.watched {
            Watched::Name(name) | Watched::Addresses(name, _) => {
                name.ready().await;
            }
            Watched::Services(name) => {
                name.ready().await;
            }
        }
    }

    /// Whether a look-up has ever worked.
    pub(super) fn is_known(&self) -> bool {
        match &self.watched {
            Watched::Name(name) | Watched::Addresses(name, _) => name.generation() > 0,
            Watched::Services(name) => name.generation() > 0,
        }
    }

    /// Of what is known of the name. A name that is an upstream itself always stands for that one.
    fn generation(&self) -> u64 {
        match &self.watched {
            Watched::Name(_) => 0,
            Watched::Addresses(name, _) => name.generation(),
            Watched::Services(name) => name.generation(),
        }
    }

    fn renew(&self) -> Arc<[Upstream]> {
        // Nothing is left half done by a panic elsewhere.
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.list.load_full();
        let generation = self.generation();
        if known.generation >= generation {
            return Arc::clone(&known.upstreams);
        }
        let list = match next.take().filter(|next| next.generation >= generation) {
            Some(list) => list,
            None => self.list(),
        };
        let is_ready = list.upstreams.iter().all(|upstream| upstream.name().is_ready());
        if !is_ready && !known.upstreams.is_empty() {
            *next = Some(list);
            return Arc::clone(&known.upstreams);
        }
        let upstreams = Arc::clone(&list.upstreams);
        self.list.store(Arc::new(list));
        upstreams
    }

    fn list(&self) -> List {
        let making = &self.making;
        match &self.watched {
            // It never changes.
            Watched::Name(_) => List {
                generation: u64::MAX,
                upstreams: Arc::clone(&self.list.load().upstreams),
            },
            Watched::Addresses(name, port) => {
                let answer = name.current();
                let addresses = answer.addresses().iter().copied();
                let upstream = |ip: IpAddr| {
                    let literal = making
                        .resolvers
                        .watch_as(&ip.to_string(), &making.terms, When::Now);
                    let upstream = making.upstream(literal, *port)?;
                    Some(upstream.found_by(Arc::clone(name.wishes())))
                };
                let of_family = addresses.filter(|ip| making.families.has(*ip));
                List {
                    generation: answer.generation(),
                    upstreams: of_family.take(MOST).filter_map(upstream).collect(),
                }
            }
            Watched::Services(name) => {
                let answer = name.current();
                let services = answer.records().iter();
                let upstream = |service: &Service| {
                    let target = making
                        .resolvers
                        .watch_as(&service.target, &making.targets, When::Now);
                    let upstream = making.upstream(target, service.port)?;
                    Some(upstream.found_by(Arc::clone(name.wishes())))
                };
                let of_use = services.filter(|service| wanted::is_name(&service.target));
                List {
                    generation: answer.generation(),
                    upstreams: of_use.take(MOST).filter_map(upstream).collect(),
                }
            }
        }
    }
}

// === impl Making ===

impl Making {
    /// `None` if TLS cannot lead there.
    pub(super) fn upstream(&self, name: Arc<Name>, port: u16) -> Option<Upstream> {
        let host = name.host().trim_end_matches('.');
        let way = (self.care.way.lead)(host, port)?;
        let label = cluster::label(host, port);
        let upstream = Upstream::labelled(&label, name, port, way, &self.slots);
        let health = self.care.policy.health(upstream.slot().label());
        let limited = upstream.with_max_requests(self.max_requests);
        Some(limited.with_health(health))
    }
}
