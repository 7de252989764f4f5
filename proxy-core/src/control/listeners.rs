//! The set of listeners: which ones a configuration wants, and how the open ones become those.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use caddy_config::ListenAddress;
use tracing::warn;

use super::change::{Changes, changes};
use crate::config::compile::Planned;
use crate::config::{BuildError, BuildErrors};
use crate::forward::view::{Entry, Place, ServerView};
use crate::http::connection::Group;
use crate::listener::bind::{self, Accepting};
use crate::listener::{Address, Listener};
use crate::unix_socket::SocketFile;

/// The listeners that are open.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    open: Vec<Open>,
    /// Groups given to listeners so far.
    groups: u64,
}

/// What a listener is known by, from one configuration to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    At(Address),
    /// Any port: known by its server, and by how many such it has before this one.
    AnyPort(IpAddr, String, usize),
}

#[derive(Clone, Debug)]
struct Open {
    key: Key,
    listener: Arc<Listener>,
    /// Of a unix socket.
    file: Option<Arc<SocketFile>>,
    /// What its connections get.
    entry: Entry,
}

/// A listener that a configuration wants.
#[derive(Debug)]
pub(super) struct Wanted {
    key: Key,
    address: Address,
    plan: Planned,
}

/// The next set of listeners: its sockets are bound, but nothing is accepted on the new ones.
#[derive(Debug)]
pub(super) struct Next {
    open: Vec<Open>,
    groups: u64,
    /// What the files of unix sockets that stay are to let others do.
    modes: Vec<(Arc<SocketFile>, u32)>,
    /// What each place serves.
    pub(super) entries: Vec<Option<Entry>>,
    /// New listeners, each with one socket for each thread.
    pub(super) added: Vec<(Arc<Listener>, Vec<Accepting>)>,
    pub(super) removed: Vec<Arc<Listener>>,
    /// Those that stay and speak TLS from now on, or no more, or on other terms.
    pub(super) renewed: Vec<Arc<Listener>>,
    pub(super) kept: usize,
}

// === impl Listeners ===

impl Listeners {
    /// Those that are open.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Listener>> {
        self.open.iter().map(|open| &open.listener)
    }

    /// Binds what is new in `wanted`, for this many threads. Nothing of this set changes.
    ///
    /// # Errors
    ///
    /// Every address that cannot be bound; then nothing stays bound.
    pub(super) fn next(&self, wanted: Vec<Wanted>, threads: usize) -> Result<Next, BuildErrors> {
        let old: Vec<&Key> = self.open.iter().map(|open| &open.key).collect();
        let new: Vec<&Key> = wanted.iter().map(|wanted| &wanted.key).collect();
        let Changes { kept, added, removed } = changes(&old, &new);
        let mut sockets = self.bind(&wanted, &added, threads)?;
        let kept: HashMap<usize, &Open> = kept
            .into_iter()
            .filter_map(|(before, after)| Some((after, self.open.get(before)?)))
            .collect();
        let mut places = Places::new(kept.values().map(|open| open.listener.place.index()), self.groups);
        let mut next = Next {
            open: Vec::new(),
            groups: 0,
            modes: Vec::new(),
            entries: Vec::new(),
            added: Vec::new(),
            removed: removed
                .into_iter()
                .filter_map(|index| Some(Arc::clone(&self.open.get(index)?.listener)))
                .collect(),
            renewed: Vec::new(),
            kept: kept.len(),
        };
        for (index, Wanted { key, mut plan, .. }) in wanted.into_iter().enumerate() {
            let open = match (kept.get(&index), sockets.remove(&index)) {
                (Some(open), _) => {
                    plan.entry.terms = open.entry.terms;
                    if !open.entry.has_tls_of(&plan.entry) {
                        plan.entry.terms += 1;
                        next.renewed.push(Arc::clone(&open.listener));
                    }
                    next.modes.extend(open.file.clone().zip(plan.mode()));
                    Open {
                        entry: plan.entry.clone(),
                        ..Open::clone(open)
                    }
                }
                (None, Some(bound)) => {
                    let listener = Arc::new(Listener {
                        address: bound.address,
                        place: Arc::new(places.next()),
                    });
                    next.added.push((Arc::clone(&listener), bound.sockets));
                    let file = bound.file.map(Arc::new);
                    Open {
                        key,
                        listener,
                        file,
                        entry: plan.entry.clone(),
                    }
                }
                (None, None) => continue,
            };
            let place = open.listener.place.index();
            if next.entries.len() <= place {
                next.entries.resize(place + 1, None);
            }
            if let Some(entry) = next.entries.get_mut(place) {
                *entry = Some(plan.entry);
            }
            next.open.push(open);
        }
        next.groups = places.groups;
        Ok(next)
    }

    /// Makes `next` the set of open listeners. Files of unix sockets that are no part of it go.
    pub(super) fn become_next(&mut self, next: &mut Next) {
        for (file, mode) in next.modes.drain(..) {
            if let Err(error) = file.set_mode(mode) {
                warn!(%error, "the mode of a unix socket stays as it was");
            }
        }
        self.open = std::mem::take(&mut next.open);
        self.groups = next.groups;
    }

    /// The sockets of those of `wanted` that are new, by their index.
    fn bind(
        &self,
        wanted: &[Wanted],
        added: &[usize],
        threads: usize,
    ) -> Result<HashMap<usize, bind::Bound>, BuildErrors> {
        let added: Vec<(usize, &Wanted)> = added
            .iter()
            .filter_map(|index| Some((*index, wanted.get(*index)?)))
            .collect();
        let taken = added.iter().filter_map(|(_, wanted)| {
            let Address::Tcp(address) = wanted.address else {
                return None;
            };
            if self.share_port(address) {
                return None;
            }
            let source = bind::check_free(address).err()?;
            Some(wanted.plan.cannot_bind(source))
        });
        let mut errors: Vec<BuildError> = taken.collect();
        let mut bound = HashMap::new();
        if errors.is_empty() {
            for (index, wanted) in added {
                let mode = wanted.plan.mode().unwrap_or_default();
                match bind::bind(&wanted.address, mode, threads) {
                    Ok(sockets) => drop(bound.insert(index, sockets)),
                    Err(source) => errors.push(wanted.plan.cannot_bind(source)),
                }
            }
        }
        if errors.is_empty() {
            Ok(bound)
        } else {
            Err(BuildErrors(errors))
        }
    }

    /// Whether an open listener has a part of `address`, or all of it and more: then it is ours, and no other
    /// process can have it that does not share it.
    fn share_port(&self, address: SocketAddr) -> bool {
        self.open.iter().any(|open| {
            let Address::Tcp(other) = open.listener.address else {
                return false;
            };
            let overlap =
                other.ip() == address.ip() || other.ip().is_unspecified() || address.ip().is_unspecified();
            other.port() == address.port() && overlap
        })
    }
}

// === wanted ===

/// What `planned` comes to once host names are resolved. An address that a server has twice counts once.
///
/// # Errors
///
/// Hosts that are no addresses of this machine, and addresses that two of `servers` want.
pub(super) fn wanted(planned: Vec<Planned>, servers: &[ServerView]) -> Result<Vec<Wanted>, BuildErrors> {
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut seen: HashMap<Key, usize> = HashMap::new();
    let mut errors = Vec::new();
    let name = |server: usize| servers.get(server).map_or("", |server| server.name.as_str());
    for plan in planned {
        let addresses = match addresses(&plan.address) {
            Ok(addresses) => addresses,
            Err(source) => {
                errors.push(plan.cannot_bind(source));
                continue;
            }
        };
        let server = plan.entry.server;
        for address in addresses {
            let key = key(&address, name(server), &wanted);
            match seen.insert(key.clone(), server) {
                None => wanted.push(Wanted {
                    key,
                    address,
                    plan: plan.clone(),
                }),
                Some(first) if first == server => {}
                Some(first) => errors.push(BuildError::SharedAddress {
                    address: address.to_string(),
                    first: name(first).to_owned(),
                    second: name(server).to_owned(),
                }),
            }
        }
    }
    if errors.is_empty() {
        Ok(wanted)
    } else {
        Err(BuildErrors(errors))
    }
}

fn addresses(address: &ListenAddress) -> io::Result<Vec<Address>> {
    match address {
        ListenAddress::Tcp(tcp) => {
            let found = bind::addresses(tcp.host(), tcp.port())?;
            Ok(found.into_iter().map(Address::Tcp).collect())
        }
        ListenAddress::Unix(socket) => Ok(vec![Address::Unix(socket.path().to_owned())]),
    }
}

fn key(address: &Address, server: &str, before: &[Wanted]) -> Key {
    let address = match address {
        Address::Tcp(tcp) if tcp.port() == 0 => *tcp,
        known => return Key::At(known.clone()),
    };
    let same = |wanted: &&Wanted| matches!(&wanted.key, Key::AnyPort(ip, name, _) if *ip == address.ip() && name == server);
    Key::AnyPort(
        address.ip(),
        server.to_owned(),
        before.iter().filter(same).count(),
    )
}

// === places ===

/// Gives places to new listeners: free indices, so that views stay short, and groups that nobody had before.
struct Places {
    used: BTreeSet<usize>,
    groups: u64,
}

impl Places {
    fn new(used: impl Iterator<Item = usize>, groups: u64) -> Self {
        Self {
            used: used.collect(),
            groups,
        }
    }

    fn next(&mut self) -> Place {
        let free = (0..).find(|index| !self.used.contains(index)).unwrap_or_default();
        self.used.insert(free);
        self.groups += 1;
        Place::new(free, Group(self.groups))
    }
}
