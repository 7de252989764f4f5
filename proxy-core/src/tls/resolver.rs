//! Which certificate a client is shown.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

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
    first_address: Option<Arc<Slot>>,
    first: Option<Arc<Slot>>,
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
            ServedName::Address(_) => {
                self.first_address.get_or_insert_with(slot);
            }
        }
    }

    /// Shows `slot` to clients that nothing else is for.
    pub(super) fn insert_catch_all(&mut self, slot: &Arc<Slot>) {
        self.catch_all.get_or_insert_with(|| Arc::clone(slot));
    }

    /// The certificate for a client that sent this server name.
    fn find(&self, name: Option<&str>) -> Option<&Arc<Slot>> {
        let Some(name) = name else {
            return self
                .catch_all
                .as_ref()
                .or(self.first_address.as_ref())
                .or(self.first.as_ref());
        };
        let name = lower_case(name.strip_suffix('.').unwrap_or(name));
        let wildcard = || self.wildcards.get(name.split_once('.')?.1);
        self.hosts
            .get(&*name)
            .or_else(wildcard)
            .or(self.catch_all.as_ref())
    }
}

impl ResolvesServerCert for SniResolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.find(hello.server_name()).map(|slot| slot.load_full())
    }
}

/// `name` in lower case, without a copy if it is so already.
fn lower_case(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(name.to_ascii_lowercase());
    }
    Cow::Borrowed(name)
}

#[cfg(test)]
mod tests;
