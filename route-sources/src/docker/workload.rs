//! What a daemon runs, as far as routes need it.

use std::collections::{BTreeMap, BTreeSet};

/// A container, or a service of a swarm.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Workload {
    /// `container` or `service`.
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) id: String,
    pub(super) labels: BTreeMap<String, String>,
    /// The TCP ports that it says it listens on.
    pub(super) ports: BTreeSet<u16>,
    /// Where it runs; empty if it does not.
    pub(super) instances: Vec<Instance>,
    /// How a service is reached as a whole, where its labels ask for that.
    pub(super) service: Option<Service>,
}

/// One place where it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Instance {
    /// Its address in each network by name: IPv4 where there is one, else IPv6.
    pub(super) networks: BTreeMap<String, String>,
    /// Whether it is in the network of the host.
    pub(super) host_network: bool,
    /// Where its ports are published: an address if it is not every one, and a port.
    pub(super) published: BTreeMap<u16, (Option<String>, u16)>,
}

/// What is only there for services.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Service {
    /// Its virtual address in each network by name.
    pub(super) vips: BTreeMap<String, String>,
}

// === impl Workload ===

impl Workload {
    /// How it is named in messages.
    pub(super) fn place(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    pub(super) fn is_running(&self) -> bool {
        !self.instances.is_empty()
    }
}
