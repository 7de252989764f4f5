//! `reverse_proxy`: upstreams and how they are reached.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use caddy_config as model;

use super::balancing;
use super::compile::Compiler;
use super::error::BuildError;
use super::health::{self, Checking};
use super::routes::{self, DoorsInScope};
use super::support;
use crate::failure_log::FailureGates;
use crate::upstream::channel::Protocol;
use crate::upstream::cluster::{Cluster, Source, Upstream};
use crate::upstream::health::Way;
use crate::upstream::pool::PoolLimits;

/// As Caddy: a connection may take 3 seconds.
const DIAL_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) fn cluster(
    compiler: &mut Compiler<'_>,
    proxy: &model::ReverseProxy,
    scope: &DoorsInScope,
) -> Option<Cluster> {
    let transport = match &proxy.transport {
        None => model::HttpTransport::default(),
        Some(model::Transport::Http(http)) => (**http).clone(),
        Some(_) => compiler.unsupported("this transport", "use `transport http`"),
    };
    support::proxy(compiler, proxy);
    support::transport(compiler, &transport);
    let balancing = proxy.load_balancing.clone().unwrap_or_default();
    let servers: Vec<SocketAddr> = transport
        .resolver
        .iter()
        .flat_map(|resolver| &resolver.addresses)
        .map(model::ResolverAddress::socket_addr)
        .collect();
    let protocol = protocol(compiler, &transport.versions);
    let dial_timeout = transport
        .dial_timeout
        .filter(|limit| !limit.is_zero())
        .unwrap_or(DIAL_TIMEOUT);
    let way = Way {
        protocol,
        dial_timeout,
    };
    let checking = health::compile(compiler, proxy, &transport, way, &servers);
    Some(Cluster {
        source: source(compiler, proxy, scope, &servers, &checking)?,
        protocol,
        dial_timeout,
        head_timeout: transport.response_header_timeout.filter(|limit| !limit.is_zero()),
        keep: keep(&transport),
        retry: balancing::retry(&balancing),
        budget: balancing::budget(&balancing),
        slow_start: balancing.slow_start.filter(|time| !time.is_zero()),
        panic_threshold: balancing.panic_threshold.filter(|percent| *percent > 0),
        panics: AtomicBool::new(false),
        measures: balancing::measures(balancing.selection_policy.as_ref()),
        verbose: proxy.verbose_logs,
        gates: FailureGates::default(),
    })
}

fn source(
    compiler: &mut Compiler<'_>,
    proxy: &model::ReverseProxy,
    scope: &DoorsInScope,
    servers: &[SocketAddr],
    checking: &Checking<'_>,
) -> Option<Source> {
    match &proxy.dynamic_upstreams {
        Some(model::DynamicUpstreams::Doors {}) if scope.is_empty() => {
            let server = compiler.server.clone();
            compiler.errors.push(BuildError::NoDoorsHandler { server });
            None
        }
        Some(model::DynamicUpstreams::Doors {}) => {
            let mut all = routes::watch(compiler, scope, servers);
            for (_, list) in &mut all {
                for upstream in list {
                    *upstream = checking.of(compiler, upstream.clone());
                }
            }
            Some(Source::Doors(all))
        }
        // Noted as pending.
        Some(_) => None,
        None if proxy.upstreams.is_empty() => compiler.unsupported(
            "a reverse_proxy without upstreams",
            "name at least one, such as 127.0.0.1:8080",
        ),
        None => {
            let upstream = |upstream: &model::Upstream| match &upstream.dial {
                model::UpstreamAddress::Tcp(address) => Some(Upstream::new(
                    compiler.resolvers.watch(address.host(), servers),
                    address.port(),
                    &compiler.surroundings.slots,
                )),
                // Noted as pending.
                model::UpstreamAddress::Unix(_) | model::UpstreamAddress::Template(_) => None,
            };
            let most = |limit: Option<u32>| limit.filter(|most| *most > 0);
            let all = health::passive(proxy).and_then(|passive| most(passive.unhealthy_request_count));
            let mut limited = |one: &model::Upstream| {
                let limited = upstream(one)?.with_max_requests(most(one.max_requests).or(all));
                Some(checking.of(compiler, limited))
            };
            let upstreams = proxy.upstreams.iter().map(&mut limited).collect::<Option<_>>();
            upstreams.map(Source::Fixed)
        }
    }
}

/// Without TLS to the upstream there is no negotiation: HTTP/2 must be asked for.
fn protocol(compiler: &mut Compiler<'_>, versions: &[model::HttpVersion]) -> Protocol {
    let h2c = versions.contains(&model::HttpVersion::H2c);
    if h2c && versions.contains(&model::HttpVersion::Http11) {
        compiler.unsupported::<()>(
            "both 1.1 and h2c in versions",
            "name the one that the upstream speaks",
        );
    }
    if h2c { Protocol::H2c } else { Protocol::Http1 }
}

/// How connections are kept: `None`, each for one request only.
fn keep(transport: &model::HttpTransport) -> Option<PoolLimits> {
    let mut limits = PoolLimits::default();
    let Some(keep_alive) = &transport.keep_alive else {
        return Some(limits);
    };
    if let Some(most) = keep_alive.max_idle_conns_per_host.filter(|most| *most > 0) {
        limits.per_address = most as usize;
    }
    if let Some(idle) = keep_alive.idle_timeout.filter(|idle| !idle.is_zero()) {
        limits.idle = idle;
    }
    (keep_alive.enabled != Some(false)).then_some(limits)
}
