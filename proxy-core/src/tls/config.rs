//! From sites to the TLS configuration of a listener, and the renewal of what was made here.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::{NoServerSessionStorage, ProducesTickets};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ServerConfig};
use rustls_pki_types::{CertificateDer, UnixTime};
use tokio::time;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::client::{ClientSettings, ClientTls};
use super::files;
use super::hosts::HostKeys;
use super::internal_ca::{self, CaError, InternalCa};
use super::name::ServedName;
use super::resolver::{Shown, Slot, SniResolver};
use super::{CertSource, ClientAuth, Terms, TlsError, TlsPlan, TlsPolicy, TlsSite};

/// How often to see whether a certificate is due. Short, because a machine that slept does not count the time.
const RENEWAL_CHECK: Duration = Duration::from_secs(60);

/// All certificates of the process. Share it behind an [`Arc`]; [`run`](Self::run) must run to renew internal ones.
pub(crate) struct Certificates {
    provider: Arc<CryptoProvider>,
    clock: Arc<dyn TimeProvider>,
    tickets: Arc<dyn ProducesTickets>,
    data: Option<PathBuf>,
    internal: Mutex<Internal>,
    hosts: Arc<HostKeys>,
    /// What is in use towards upstreams, by what it is made of: a session may be resumed in the next configuration.
    clients: Mutex<HashMap<[u8; 32], [Weak<ClientConfig>; 2]>>,
}

/// The authority, once a site needs it, and the certificates that it made and that are in use.
#[derive(Default)]
struct Internal {
    ca: Option<InternalCa>,
    leaves: HashMap<ServedName, Renewable>,
}

struct Renewable {
    slot: Weak<Slot>,
    /// Seconds since 1970.
    renew_at: u64,
}

// === impl Certificates ===

impl Certificates {
    /// No certificates yet. The internal authority is kept in `data`, the data directory; without one it is made anew
    /// for each process. `clock` is asked for the wall time.
    ///
    /// # Errors
    /// If the system has no randomness for the keys of session tickets.
    pub(crate) fn new(data: Option<PathBuf>, clock: Arc<dyn TimeProvider>) -> Result<Self, TlsError> {
        Ok(Self {
            provider: Arc::new(aws_lc_rs::default_provider()),
            clock,
            tickets: aws_lc_rs::Ticketer::new()?,
            data,
            internal: Mutex::default(),
            hosts: Arc::default(),
            clients: Mutex::default(),
        })
    }

    pub(super) fn provider(&self) -> &CryptoProvider {
        &self.provider
    }

    /// Who knows the certificates of hosts.
    pub(crate) fn host_keys(&self) -> &Arc<HostKeys> {
        &self.hosts
    }

    /// How a listener with these sites makes connections. The first of `policies` that is for a connection counts, and
    /// one that none is for is refused; without any policy, all are made on the same terms. Which site's certificate a
    /// client gets is said at [`SniResolver`] and [`Shown`].
    ///
    /// It reads the sites' files and makes internal certificates, those in use excepted. What can be used but should be
    /// looked at, such as an expired certificate, is logged. Reads the disk; call it when configuration is loaded.
    ///
    /// # Errors
    /// All that is wrong with any of the sites and policies.
    pub(crate) fn plan(&self, sites: &[TlsSite], policies: &[TlsPolicy]) -> Result<TlsPlan, Vec<TlsError>> {
        let mut resolver = SniResolver::default();
        let mut errors = Vec::new();
        for site in sites {
            if let Err(mut found) = self.add_site(site, &mut resolver) {
                errors.append(&mut found);
            }
        }
        let resolver = Arc::new(resolver);
        let mut configs: HashMap<&Terms, Arc<ServerConfig>> = HashMap::new();
        let mut planned = Vec::with_capacity(policies.len());
        for policy in policies {
            if let Some(config) = configs.get(&policy.terms) {
                planned.push((policy.clone(), Arc::clone(config)));
                continue;
            }
            match self.configure(&resolver, &policy.terms) {
                Ok(config) => {
                    configs.insert(&policy.terms, Arc::clone(&config));
                    planned.push((policy.clone(), config));
                }
                Err(error) => errors.push(error),
            }
        }
        let refusal = match self.configure(&Arc::default(), &Terms::default()) {
            Ok(refusal) if errors.is_empty() => refusal,
            Ok(_) => return Err(errors),
            Err(error) => {
                errors.push(error);
                return Err(errors);
            }
        };
        Ok(TlsPlan::new(planned, refusal))
    }

    /// What speaks TLS to upstreams with these settings: that in use if nothing of it has changed. Reads the disk; call
    /// it when configuration is loaded.
    ///
    /// # Errors
    /// A certificate, key or authority that cannot be used.
    pub(crate) fn client(&self, settings: &ClientSettings) -> Result<ClientTls, TlsError> {
        let mut built = settings.build(&self.provider, Arc::clone(&self.clock))?;
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let known = clients
            .get(&built.identity)
            .map(|known| known.each_ref().map(Weak::upgrade));
        if let Some([Some(config), Some(http1)]) = known {
            (built.config, built.http1) = (config, http1);
        } else {
            clients.retain(|_, [config, _]| config.strong_count() > 0);
            let used = [&built.config, &built.http1].map(Arc::downgrade);
            clients.insert(built.identity, used);
        }
        Ok(built)
    }

    /// Keeps internal certificates fresh until `stop` is cancelled. Run it once, on any tokio runtime with time.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        while stop
            .run_until_cancelled(time::sleep(RENEWAL_CHECK))
            .await
            .is_some()
        {
            self.renew();
        }
    }

    /// The root of the internal authority, if any site has needed it.
    pub(crate) fn internal_root(&self) -> Option<CertificateDer<'static>> {
        self.internal().ca.as_ref().map(|ca| ca.root().clone())
    }

    /// The common name and the certificate of the internal authority's root, in use or kept from an earlier time. No
    /// authority is made for that.
    pub(crate) fn known_root(&self) -> Option<(String, Vec<u8>)> {
        let stored = || internal_ca::stored_root(self.data.as_deref()?);
        let root = self.internal_root().or_else(stored)?;
        Some((internal_ca::common_name(&root), root.to_vec()))
    }

    /// Replaces the internal certificates that are due and forgets those that no listener uses.
    fn renew(&self) {
        let now = self.now();
        let mut internal = self.internal();
        let Internal { ca: Some(ca), leaves } = &mut *internal else {
            return;
        };
        leaves.retain(|name, leaf| {
            let Some(slot) = leaf.slot.upgrade() else {
                return false;
            };
            if leaf.renew_at <= now.as_secs() {
                match ca.mint(name, now, &self.provider) {
                    Ok(fresh) => {
                        debug!(?name, "renewed an internal certificate");
                        slot.store(Arc::new(fresh.key));
                        leaf.renew_at = fresh.renew_at;
                    }
                    Err(error) => warn!(?name, %error, "cannot renew an internal certificate; trying again"),
                }
            }
            true
        });
    }

    fn add_site(&self, site: &TlsSite, resolver: &mut SniResolver) -> Result<(), Vec<TlsError>> {
        let (names, errors) = parse_names(&site.names);
        if !errors.is_empty() {
            return Err(errors);
        }
        let added = match &site.source {
            CertSource::Files { certificate, key } => files::load(certificate, key, &self.provider)
                .map(|loaded| {
                    for warning in loaded.warnings(&names, self.now()) {
                        warn!(certificate = %certificate.display(), "{warning}");
                    }
                    insert_loaded(resolver, names, &Arc::new(Slot::from_pointee(loaded.key)));
                })
                .map_err(TlsError::from),
            CertSource::Hosts => {
                resolver.ask_hosts(&self.hosts);
                Ok(())
            }
            CertSource::Internal => self.add_internal(names, resolver),
        };
        added.map_err(|error| vec![error])
    }

    fn add_internal(&self, names: Vec<ServedName>, resolver: &mut SniResolver) -> Result<(), TlsError> {
        if names.is_empty() {
            return Err(TlsError::NoName);
        }
        for name in names {
            let slot = self.internal_slot(&name)?;
            resolver.insert(name, &slot);
        }
        Ok(())
    }

    /// The certificate for `name`: the one in use, or a new one.
    fn internal_slot(&self, name: &ServedName) -> Result<Arc<Slot>, CaError> {
        let now = self.now();
        let mut internal = self.internal();
        if let Some(slot) = internal.leaves.get(name).and_then(|leaf| leaf.slot.upgrade()) {
            return Ok(slot);
        }
        let ca = match internal.ca.take() {
            Some(ca) => ca,
            None => InternalCa::open(self.data.as_deref(), now, &self.provider)?,
        };
        let minted = internal.ca.insert(ca).mint(name, now, &self.provider)?;
        let slot = Arc::new(Slot::from_pointee(minted.key));
        let leaf = Renewable {
            slot: Arc::downgrade(&slot),
            renew_at: minted.renew_at,
        };
        internal.leaves.insert(name.clone(), leaf);
        Ok(slot)
    }

    /// Session tickets, no 0-RTT; no session either where clients show certificates: it would be as good as a certificate
    /// that has expired since, or that the policy of another name or of another time has let pass.
    fn configure(&self, sites: &Arc<SniResolver>, terms: &Terms) -> Result<Arc<ServerConfig>, TlsError> {
        let name = |name: &Option<String>| name.as_deref().map(ServedName::parse).transpose();
        let shown = Shown {
            sites: Arc::clone(sites),
            default_name: name(&terms.default_name)?,
            fallback_name: name(&terms.fallback_name)?,
        };
        let provider = terms.provider(&self.provider);
        let details = ServerConfig::builder_with_details(Arc::clone(&provider), Arc::clone(&self.clock))
            .with_protocol_versions(&terms.versions.supported())?;
        let clients = match &terms.clients {
            Some(clients) => details.with_client_cert_verifier(ClientAuth::verifier(clients, &provider)?),
            None => details.with_no_client_auth(),
        };
        let mut config = clients.with_cert_resolver(Arc::new(shown));
        config.alpn_protocols.clone_from(&terms.alpn);
        if terms.clients.is_none() {
            config.ticketer = Arc::clone(&self.tickets);
        } else {
            config.send_tls13_tickets = 0;
        }
        // Resumption by tickets alone: nothing to store, and no lock among the threads.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        // The client knows which cipher its machine is good at; all that are offered are safe.
        config.ignore_client_order = false;
        config.max_early_data_size = 0;
        Ok(Arc::new(config))
    }

    /// A clock that cannot be read stands at 1970: certificates then are not valid yet, which is said.
    fn now(&self) -> UnixTime {
        self.clock
            .current_time()
            .unwrap_or(UnixTime::since_unix_epoch(Duration::ZERO))
    }

    fn internal(&self) -> MutexGuard<'_, Internal> {
        // Each change is a single insertion or removal: a panic elsewhere leaves nothing half done.
        self.internal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates")
            .field("data", &self.data)
            .field("internal", &self.internal().leaves.keys())
            .finish_non_exhaustive()
    }
}

// === helpers ===

fn parse_names(names: &[String]) -> (Vec<ServedName>, Vec<TlsError>) {
    let (mut parsed, mut errors) = (Vec::new(), Vec::new());
    for name in names {
        match ServedName::parse(name) {
            Ok(name) => parsed.push(name),
            Err(error) => errors.push(error.into()),
        }
    }
    (parsed, errors)
}

fn insert_loaded(resolver: &mut SniResolver, names: Vec<ServedName>, slot: &Arc<Slot>) {
    if names.is_empty() {
        resolver.insert_catch_all(slot);
    }
    for name in names {
        resolver.insert(name, slot);
    }
}

#[cfg(test)]
mod tests;
