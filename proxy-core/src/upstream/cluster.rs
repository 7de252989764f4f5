//! The upstreams of one `reverse_proxy`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time;

use super::channel::Protocol;
use super::load::{Slot, Slots};
use super::pool::PoolLimits;
use super::resolve::{Answer, Name, State};
use crate::error::{Failure, Reason};
use crate::failure_log::FailureGates;

/// A compiled `reverse_proxy`.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) source: Source,
    pub(crate) protocol: Protocol,
    /// How long a connection may take to open. Default 3 seconds.
    pub(crate) dial_timeout: Duration,
    /// How long the head of an answer may take. Default: no limit, as a Doors sync stream is silent for
    /// up to 20 seconds and others may be for longer.
    pub(crate) head_timeout: Option<Duration>,
    /// How connections are kept for more than one request; `None`: not at all.
    pub(crate) keep: Option<PoolLimits>,
    pub(crate) gates: FailureGates,
}

/// Where the upstreams come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// The configuration names them.
    Fixed(Vec<Upstream>),
    /// A `doors_handler` before the proxy decides; here are the servers of each one that can.
    Doors(Vec<(usize, Vec<Upstream>)>),
}

/// One upstream: a name or address, and a port.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    name: Arc<Name>,
    port: u16,
    slot: Arc<Slot>,
}

/// The addresses of an upstream, beginning at one of them.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    answer: Arc<Answer>,
    port: u16,
    first: usize,
}

// === impl Source ===

impl Source {
    /// The servers of the `doors_handler` with `id`.
    pub(crate) fn doors(&self, id: usize) -> Option<&[Upstream]> {
        match self {
            Self::Fixed(_) => None,
            Self::Doors(all) => all
                .iter()
                .find(|(doors, _)| *doors == id)
                .map(|(_, list)| list.as_slice()),
        }
    }

    /// Every name that is looked up for this source.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = &Upstream> {
        let (fixed, doors): (&[Upstream], &[_]) = match self {
            Self::Fixed(list) => (list, &[]),
            Self::Doors(all) => (&[], all),
        };
        fixed.iter().chain(doors.iter().flat_map(|(_, list)| list))
    }
}

// === impl Upstream ===

impl Upstream {
    /// `slots` gives where its requests are counted.
    pub(crate) fn new(name: Arc<Name>, port: u16, slots: &Slots) -> Self {
        let slot = slots.of(&label(name.host(), port));
        Self { name, port, slot }
    }

    /// Where its requests are counted.
    pub(crate) fn slot(&self) -> &Arc<Slot> {
        &self.slot
    }

    pub(crate) fn name(&self) -> &Arc<Name> {
        &self.name
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The addresses now. Only a request that comes before the first look-up ended waits, for at most
    /// `patience`. `turn` chooses the first one.
    pub(crate) async fn addresses(&self, patience: Duration, turn: usize) -> Result<Addresses, Failure> {
        let mut answer = self.name.current();
        if answer.addresses().is_empty() {
            answer = time::timeout(patience, self.name.ready()).await.unwrap_or(answer);
        }
        match answer.addresses().len() {
            0 => Err(unresolved(&answer)),
            count => Ok(Addresses {
                answer,
                port: self.port,
                first: turn % count,
            }),
        }
    }

    /// Whether its name leads to `ip` now.
    pub(crate) fn leads_to(&self, ip: IpAddr) -> bool {
        self.name.current().addresses().contains(&ip)
    }

    /// A connection failed, so the name may have moved: look it up soon.
    pub(crate) fn connect_failed(&self) {
        self.name.hint_failed();
    }
}

impl std::fmt::Display for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.slot.label())
    }
}

fn label(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

fn unresolved(answer: &Answer) -> Failure {
    match answer.state() {
        State::Stale(error) => Failure::from(Reason::Unresolved).with_source(error.clone()),
        State::Fresh | State::Never => Reason::Unresolved.into(),
    }
}

// === impl Addresses ===

impl Addresses {
    /// The address whose turn it is.
    pub(crate) fn first(&self) -> Option<SocketAddr> {
        self.iter().next()
    }

    /// All of them, beginning at the first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = SocketAddr> + Send {
        let all = self.answer.addresses();
        let (before, from) = all.split_at(self.first.min(all.len()));
        from.iter()
            .chain(before)
            .map(|ip| SocketAddr::new(*ip, self.port))
    }
}
