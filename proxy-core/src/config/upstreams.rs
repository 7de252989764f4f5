//! `reverse_proxy`: upstreams and how they are reached.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use caddy_config as model;

use super::balancing;
use super::compile::Compiler;
use super::error::BuildError;
use super::health::{self, Checking};
use super::routes::{self, DoorsInScope};
use super::support;
use super::transport::{self, Ways};
use crate::failure_log::FailureGates;
use crate::upstream::cluster::{Cluster, Source, Upstream};

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
    let (settings, ways) = transport::transport(compiler, &transport);
    let settings = Arc::new(settings);
    let checking = health::compile(compiler, proxy, &transport, (&settings, &ways), &servers);
    Some(Cluster {
        source: source(compiler, proxy, scope, &ways, &servers, &checking)?,
        transport: Arc::clone(&settings),
        multiplexes: ways.multiplex(),
        sets_host: ways.set_host(),
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
    ways: &Ways,
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
            let mut all = routes::watch(compiler, scope, ways, servers);
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
            let most = |limit: Option<u32>| limit.filter(|most| *most > 0);
            let all = health::passive(proxy).and_then(|passive| most(passive.unhealthy_request_count));
            let mut limited = |one: &model::Upstream| {
                let upstream = upstream(compiler, &one.dial, ways, servers)?;
                let limited = upstream.with_max_requests(most(one.max_requests).or(all));
                Some(checking.of(compiler, limited))
            };
            let upstreams = proxy.upstreams.iter().map(&mut limited).collect::<Option<_>>();
            upstreams.map(Source::Fixed)
        }
    }
}

fn upstream(
    compiler: &mut Compiler<'_>,
    dial: &model::UpstreamAddress,
    ways: &Ways,
    servers: &[SocketAddr],
) -> Option<Upstream> {
    let slots = &compiler.surroundings.slots;
    match dial {
        model::UpstreamAddress::Tcp(address) => {
            let way = ways.to(compiler, address.host(), address.port());
            let name = compiler.resolvers.watch(address.host(), servers);
            Some(Upstream::new(name, address.port(), way, slots))
        }
        model::UpstreamAddress::Unix(path) => {
            let way = ways.to_socket(compiler, path);
            // Nothing has to be looked up: what stands for its address.
            let name = compiler.resolvers.watch("0.0.0.0", servers);
            Some(Upstream::new(name, 0, way, slots))
        }
        // Noted as pending.
        model::UpstreamAddress::Template(_) => None,
    }
}
