//! Which certificate a client is shown.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::hosts::HostKeys;
use super::name::ServedName;

/// A place for a certificate, which may be renewed while it is in use.
pub(super) type Slot = ArcSwap<CertifiedKey>;

/// Chooses by the server name that the client sends.
///
/// An exact name comes before a wildcard for one label. A name that is not known gets the catch-all certificate, or if
/// there is none, no certificate: the handshake fails, which tells a stranger nothing. A client that sends no name
/// (it connected to an address) gets the catch-all certificate, else the first one for an address, else the first one.
///
/// Of two certificates for one name, the first one inserted counts.
#[derive(Debug, Default)]
pub(super) struct SniResolver {
    hosts: HashMap<Box<str>, Arc<Slot>>,
    wildcards: HashMap<Box<str>, Arc<Slot>>,
    catch_all: Option<Arc<Slot>>,
    addresses: HashMap<IpAddr, Arc<Slot>>,
    first_address: Option<Arc<Slot>>,
    first: Option<Arc<Slot>>,
    /// Who knows the certificates of hosts that sources of routes define; those come first.
    of_hosts: Option<Arc<HostKeys>>,
}

/// The same with the names that a policy puts in the place of the client's.
///
/// A client that sends no name gets the certificate of the default one. If there is none for a name, that of the fallback
/// is shown, before the catch-all.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) sites: Arc<SniResolver>,
    pub(super) default_name: Option<ServedName>,
    pub(super) fallback_name: Option<ServedName>,
}

// === impl SniResolver ===

impl SniResolver {
    /// Shows `slot` to clients that ask for `name`.
    pub(super) fn insert(&mut self, name: ServedName, slot: &Arc<Slot>) {
        let slot = || Arc::clone(slot);
        self.first.get_or_insert_with(slot);
        match name {
            ServedName::Host(host) => {
                self.hosts.entry(host).or_insert_with(slot);
            }
            ServedName::Wildcard(domain) => {
                self.wildcards.entry(domain).or_insert_with(slot);
            }
            ServedName::Address(address) => {
                self.first_address.get_or_insert_with(slot);
                self.addresses.entry(address).or_insert_with(slot);
            }
        }
    }

    /// Shows `slot` to clients that nothing else is for.
    pub(super) fn insert_catch_all(&mut self, slot: &Arc<Slot>) {
        self.catch_all.get_or_insert_with(|| Arc::clone(slot));
    }

    /// Shows the certificates of hosts that sources of routes define.
    pub(super) fn ask_hosts(&mut self, hosts: &Arc<HostKeys>) {
        self.of_hosts = Some(Arc::clone(hosts));
    }

    /// The certificate of a host that a source of routes defines.
    fn of_host(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        let hosts = self.of_hosts.as_ref()?;
        hosts.find(&lower_case(name.strip_suffix('.').unwrap_or(name)))
    }

    /// The certificate for this name, which is not the catch-all.
    fn named(&self, name: &str) -> Option<&Arc<Slot>> {
        let name = lower_case(name.strip_suffix('.').unwrap_or(name));
        let wildcard = || self.wildcards.get(name.split_once('.')?.1);
        self.hosts.get(&*name).or_else(wildcard)
    }

    /// The certificate for a client that sends no name.
    fn unnamed(&self) -> Option<&Arc<Slot>> {
        self.catch_all
            .as_ref()
            .or(self.first_address.as_ref())
            .or(self.first.as_ref())
    }

    /// The certificate for a name of the configuration.
    fn configured(&self, name: &ServedName) -> Option<&Arc<Slot>> {
        match name {
            ServedName::Host(host) => self.named(host),
            ServedName::Wildcard(domain) => self.wildcards.get(domain),
            ServedName::Address(address) => self.addresses.get(address),
        }
    }
}

// === impl Shown ===

impl Shown {
    /// The certificate for a client that sent this server name.
    fn find(&self, name: Option<&str>) -> Option<&Arc<Slot>> {
        let configured = |name: &Option<ServedName>| self.sites.configured(name.as_ref()?);
        let found = match name {
            Some(name) => self.sites.named(name),
            None => configured(&self.default_name),
        };
        found
            .or_else(|| configured(&self.fallback_name))
            .or_else(|| match name {
                Some(_) => self.sites.catch_all.as_ref(),
                None => self.sites.unnamed(),
            })
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name();
        name.and_then(|name| self.sites.of_host(name))
            .or_else(|| self.find(name).map(|slot| slot.load_full()))
    }
}

/// `name` in lower case, without a copy if it is so already.
pub(super) fn lower_case(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(name.to_ascii_lowercase());
    }
    Cow::Borrowed(name)
}

#[cfg(test)]
mod tests;
