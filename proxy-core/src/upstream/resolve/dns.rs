//! Asking name servers for addresses.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts};
use hickory_resolver::lookup::Lookup as Found;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name as DnsName, RData, RecordType};
use tokio::time;

use super::answer::{Lookup, LookupError, Records, Service, Services};

/// Once one family has addresses, the other gets this long. Some name servers never answer for AAAA; a name must not
/// wait for them.
const SECOND_FAMILY_GRACE: Duration = Duration::from_millis(500);

/// Something that turns a host name into addresses, and the name of a service into hosts. Tests script it.
pub(super) trait Dns: Send + Sync {
    /// Looks `host` up in both families. The caller bounds the time.
    fn lookup<'a>(&'a self, host: &'a str) -> LookupFuture<'a>;

    /// Looks the SRV records of `name` up. The caller bounds the time.
    fn services<'a>(&'a self, name: &'a str) -> ServicesFuture<'a>;
}

/// The running look-up of a [`Dns`].
pub(super) type LookupFuture<'a> = Pin<Box<dyn Future<Output = Lookup> + Send + 'a>>;

/// The same for services.
pub(super) type ServicesFuture<'a> = Pin<Box<dyn Future<Output = Result<Services, LookupError>> + Send + 'a>>;

/// Name servers that stand in for each other: one that fails or is silent is passed over for the next.
///
/// Each is a resolver of its own: within one, an error code from a server would end the look-up.
pub(super) struct NameServers {
    servers: Vec<TokioResolver>,
    /// The index of the one that answered last, which is asked first.
    preferred: AtomicUsize,
}

// === impl NameServers ===

impl NameServers {
    /// Name servers at these addresses, over UDP and, for long answers, TCP.
    ///
    /// # Errors
    /// As [`from_configs`](Self::from_configs).
    pub(super) fn new(servers: &[SocketAddr], timeout: Duration) -> Result<Self, LookupError> {
        let configs = servers.iter().map(|server| {
            let mut config = NameServerConfig::udp_and_tcp(server.ip());
            for connection in &mut config.connections {
                connection.port = server.port();
            }
            config
        });
        Self::from_configs(configs.collect(), &ResolverOpts::default(), timeout)
    }

    /// These name servers. All together get `timeout`, but each at least a second.
    ///
    /// # Errors
    /// None is known for the features in use; hickory's signature allows for some.
    pub(super) fn from_configs(
        configs: Vec<NameServerConfig>,
        options: &ResolverOpts,
        timeout: Duration,
    ) -> Result<Self, LookupError> {
        let shares = u32::try_from(configs.len().max(1)).unwrap_or(u32::MAX);
        // A little less than the whole, so that the last server's silence is seen before the look-up is cut off.
        let share = (timeout / shares * 9 / 10).max(Duration::from_secs(1));
        let servers = configs
            .into_iter()
            .map(|config| one_server(config, options, share));
        let servers = servers
            .collect::<Result<_, _>>()
            .map_err(|error| explain(&error))?;
        Ok(Self {
            servers,
            preferred: AtomicUsize::new(0),
        })
    }

    /// Asks for the addresses of exactly this name, both families at once.
    pub(super) async fn lookup_exact(&self, name: &DnsName) -> Lookup {
        let mut name = name.clone();
        name.set_fqdn(true);
        both(
            self.family(&name, RecordType::A),
            self.family(&name, RecordType::AAAA),
        )
        .await
    }

    /// Asks for the SRV records of exactly this name.
    pub(super) async fn services_exact(&self, name: &DnsName) -> Result<Services, LookupError> {
        let mut name = name.clone();
        name.set_fqdn(true);
        let absent = |error| match error {
            LookupError::NoAddresses => LookupError::NoServices,
            other => other,
        };
        self.ask(&name, RecordType::SRV, services).await.map_err(absent)
    }

    async fn family(&self, name: &DnsName, kind: RecordType) -> Result<Records, LookupError> {
        self.ask(name, kind, records).await
    }

    /// Asks one server after the other until one knows an answer, which `read` reads.
    async fn ask<A>(
        &self,
        name: &DnsName,
        kind: RecordType,
        read: fn(&Found) -> Result<A, LookupError>,
    ) -> Result<A, LookupError> {
        let mut outcome = Err(LookupError::Other("no name servers".into()));
        let first = self.preferred.load(Ordering::Relaxed);
        let order = self
            .servers
            .iter()
            .enumerate()
            .cycle()
            .skip(first)
            .take(self.servers.len());
        for (index, server) in order {
            outcome = match server.lookup(name.clone(), kind).await {
                Ok(found) => read(&found),
                Err(error) => Err(explain(&error)),
            };
            if outcome.as_ref().err().is_none_or(LookupError::is_absence) {
                self.preferred.store(index, Ordering::Relaxed);
                break;
            }
        }
        outcome
    }
}

impl Dns for NameServers {
    fn lookup<'a>(&'a self, host: &'a str) -> LookupFuture<'a> {
        Box::pin(async move {
            match parse_name(host) {
                Ok(name) => self.lookup_exact(&name).await,
                Err(error) => Lookup::failed(&error),
            }
        })
    }

    fn services<'a>(&'a self, name: &'a str) -> ServicesFuture<'a> {
        Box::pin(async move { self.services_exact(&parse_name(name)?).await })
    }
}

// === helpers ===

/// What stands in for a [`Dns`] that cannot be made: each look-up fails, so that a bad one stops nothing else.
impl Dns for LookupError {
    fn lookup<'a>(&'a self, _host: &'a str) -> LookupFuture<'a> {
        Box::pin(std::future::ready(Lookup::failed(self)))
    }

    fn services<'a>(&'a self, _name: &'a str) -> ServicesFuture<'a> {
        Box::pin(std::future::ready(Err(self.clone())))
    }
}

/// The text as a DNS name; international names in their ASCII form.
pub(super) fn parse_name(host: &str) -> Result<DnsName, LookupError> {
    host.parse().map_err(|_| LookupError::BadName(host.into()))
}

/// The services of an answer, sorted and each once. A target that is the root says that there is none (RFC 2782), and
/// nothing can be reached at port 0. Weights are not looked at.
fn services(found: &Found) -> Result<Services, LookupError> {
    let service = |data: &RData| match data {
        RData::SRV(srv) if !srv.target.is_root() && srv.port != 0 => Some(Service {
            priority: srv.priority,
            target: srv.target.to_lowercase().to_ascii().into(),
            port: srv.port,
        }),
        _ => None,
    };
    let mut services: Vec<Service> = found
        .answers()
        .iter()
        .filter_map(|record| service(&record.data))
        .collect();
    services.sort_unstable();
    services.dedup();
    if services.is_empty() {
        return Err(LookupError::NoServices);
    }
    Ok(Services {
        services,
        ttl: ttl(found),
    })
}

/// The usable addresses of an answer. Nothing can be reached at the unspecified address (a way to block a name) or at a
/// multicast address.
pub(super) fn records(found: &Found) -> Result<Records, LookupError> {
    let addresses = found.answers().iter().filter_map(|record| record.data.ip_addr());
    let usable = |address: &IpAddr| !address.is_unspecified() && !address.is_multicast();
    let addresses: Vec<IpAddr> = addresses.filter(usable).collect();
    if addresses.is_empty() {
        return Err(LookupError::NoAddresses);
    }
    Ok(Records {
        addresses,
        ttl: ttl(found),
    })
}

/// How long an answer may be used. The aliases on the way count: they may change sooner than what they lead to.
fn ttl(found: &Found) -> Duration {
    let ttls = found.answers().iter().map(|record| record.ttl);
    Duration::from_secs(ttls.min().unwrap_or_default().into())
}

/// Runs the look-ups of both families and waits for both, though not long for the second once the first has addresses.
async fn both(
    v4: impl Future<Output = Result<Records, LookupError>>,
    v6: impl Future<Output = Result<Records, LookupError>>,
) -> Lookup {
    tokio::pin!(v4, v6);
    tokio::select! {
        v4 = &mut v4 => {
            let v6 = second(&v4, v6).await;
            Lookup { v4, v6 }
        }
        v6 = &mut v6 => {
            let v4 = second(&v6, v4).await;
            Lookup { v4, v6 }
        }
    }
}

async fn second(
    first: &Result<Records, LookupError>,
    other: impl Future<Output = Result<Records, LookupError>>,
) -> Result<Records, LookupError> {
    if first.is_err() {
        return other.await;
    }
    time::timeout(SECOND_FAMILY_GRACE, other)
        .await
        .unwrap_or(Err(LookupError::Timeout))
}

fn one_server(
    config: NameServerConfig,
    options: &ResolverOpts,
    timeout: Duration,
) -> Result<TokioResolver, NetError> {
    let mut options = options.clone();
    // UDP questions are repeated within this time.
    options.timeout = timeout;
    options.attempts = 0;
    // The names' own refresh decides when to ask again, and the hosts file is read elsewhere.
    options.cache_size = 0;
    options.use_hosts_file = ResolveHosts::Never;
    let config = ResolverConfig::from_name_servers(vec![config]);
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        .with_options(options)
        .build()
}

fn explain(error: &NetError) -> LookupError {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain => LookupError::NoSuchName,
            ResponseCode::NoError => LookupError::NoAddresses,
            code => LookupError::Code(code.to_str().into()),
        },
        NetError::Dns(DnsError::ResponseCode(code)) => LookupError::Code(code.to_str().into()),
        NetError::Timeout => LookupError::Timeout,
        other => LookupError::Other(other.to_string().into()),
    }
}

#[cfg(test)]
mod tests;
