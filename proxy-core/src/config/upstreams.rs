//! `reverse_proxy`: upstreams and how they are reached.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use caddy_config as model;
use eskip::filters::BackendLimit;

use super::balancing;
use super::compile::Compiler;
use super::discovery::{self, Reach, Sources};
use super::error::BuildError;
use super::health;
use super::routes::{self, DoorsInScope};
use super::support;
use super::transport::{self, Ways};
use crate::failure_log::FailureGates;
use crate::forward::query::Query;
use crate::upstream::cluster::{Cluster, Rare, SlowStart, Source};
use crate::upstream::health::ShedSettings;
use crate::upstream::transport::Transport;

/// How the upstreams of a proxy are reached.
#[derive(Clone, Debug)]
pub(crate) struct Reaching {
    settings: Arc<Transport>,
    ways: Arc<Ways>,
}

/// What routes of Skipper's say that configurations cannot.
#[derive(Default)]
pub(super) struct RouteTerms {
    pub(super) shed: Option<ShedSettings>,
    pub(super) limit: Option<BackendLimit>,
}

/// The upstreams of `proxy`, and what requests ask the sources of them for.
pub(super) fn cluster(
    compiler: &mut Compiler<'_>,
    proxy: &model::ReverseProxy,
    scope: &DoorsInScope,
) -> Option<(Cluster, Vec<Query>)> {
    cluster_with(compiler, proxy, scope, None)
}

/// The same for a route of Skipper's: upstreams are told their own host, and where none is named, filters name it.
pub(super) fn of_route(
    compiler: &mut Compiler<'_>,
    proxy: &model::ReverseProxy,
    terms: RouteTerms,
) -> Option<(Cluster, Vec<Query>)> {
    cluster_with(compiler, proxy, &DoorsInScope::new(), Some(terms))
}

fn cluster_with(
    compiler: &mut Compiler<'_>,
    proxy: &model::ReverseProxy,
    scope: &DoorsInScope,
    of_route: Option<RouteTerms>,
) -> Option<(Cluster, Vec<Query>)> {
    let transport = match &proxy.transport {
        None => model::HttpTransport::default(),
        Some(model::Transport::Http(http)) => (**http).clone(),
        Some(_) => compiler.unsupported("this transport", "use `transport http`"),
    };
    support::transport(compiler, &transport);
    let balancing = proxy.load_balancing.clone().unwrap_or_default();
    let servers = discovery::servers(transport.resolver.as_ref());
    let shed = of_route.as_ref().and_then(|terms| terms.shed);
    let Reaching { settings, ways } = reaching(compiler, &transport, of_route.is_some());
    let checking = health::compile(compiler, proxy, &transport, (&settings, &*ways), &servers, shed);
    let reach = Reach {
        ways: &ways,
        servers: &servers,
        checking: &checking,
        most: health::passive(proxy)
            .and_then(|passive| passive.unhealthy_request_count)
            .filter(|most| *most > 0),
    };
    let (source, queries) = if of_route.is_some() && proxy.upstreams.is_empty() {
        let (dynamic, queries) = Sources::new(compiler, reach).of_filters()?;
        (Source::Dynamic(dynamic), queries)
    } else {
        source(compiler, proxy, scope, reach)?
    };
    let rare = Rare {
        slow_start: balancing
            .slow_start
            .filter(|time| !time.is_zero())
            .map(SlowStart::even),
        most_shed: shed.map(|shed| shed.most_unhealthy),
        limit: of_route
            .and_then(|terms| terms.limit)
            .map(|limit| (limit, Arc::clone(&compiler.surroundings.backend_limits))),
        panic_threshold: balancing.panic_threshold.filter(|percent| *percent > 0),
    };
    let cluster = Cluster {
        source,
        transport: Arc::clone(&settings),
        multiplexes: ways.multiplex(),
        sets_host: ways.set_host(),
        retry: balancing::retry(&balancing),
        budget: balancing::budget(&balancing),
        rare: rare.boxed(),
        panics: AtomicBool::new(false),
        measures: balancing::measures(balancing.selection_policy.as_ref()),
        verbose: proxy.verbose_logs,
        gates: FailureGates::default(),
    };
    Some((cluster, queries))
}

/// How upstreams are reached. Where nothing is said of it all have one: there may be many.
fn reaching(compiler: &mut Compiler<'_>, transport: &model::HttpTransport, tells_host: bool) -> Reaching {
    let plain = Arc::clone(&compiler.surroundings.plain);
    let mut make = || {
        let (settings, ways) = transport::transport(compiler, transport, tells_host);
        Reaching {
            settings: Arc::new(settings),
            ways: Arc::new(ways),
        }
    };
    if tells_host || *transport != model::HttpTransport::default() {
        return make();
    }
    plain.get_or_init(make).clone()
}

fn source(
    compiler: &mut Compiler<'_>,
    proxy: &model::ReverseProxy,
    scope: &DoorsInScope,
    reach: Reach<'_>,
) -> Option<(Source, Vec<Query>)> {
    let has_placeholders =
        |upstream: &model::Upstream| matches!(upstream.dial, model::UpstreamAddress::Template(_));
    let source = match &proxy.dynamic_upstreams {
        Some(model::DynamicUpstreams::Doors {}) if scope.is_empty() => {
            let server = compiler.server.clone();
            compiler.errors.push(BuildError::NoDoorsHandler { server });
            return None;
        }
        Some(model::DynamicUpstreams::Doors {}) => {
            let mut all = routes::watch(compiler, scope, reach.ways, reach.servers);
            for (_, list) in &mut all {
                for upstream in list {
                    *upstream = reach.checking.of(compiler, upstream.clone());
                }
            }
            Source::Doors(all)
        }
        None if proxy.upstreams.is_empty() => {
            return compiler.unsupported(
                "a reverse_proxy without upstreams",
                "name at least one, such as 127.0.0.1:8080",
            );
        }
        None if !proxy.upstreams.iter().any(has_placeholders) => {
            let mut sources = Sources::new(compiler, reach);
            let upstreams = proxy.upstreams.iter().map(|upstream| sources.fixed(upstream));
            let mut upstreams = upstreams.collect::<Option<Vec<_>>>()?;
            // There may be many sites with few upstreams each.
            upstreams.shrink_to_fit();
            Source::Fixed(upstreams)
        }
        _ => {
            let (dynamic, queries) = Sources::new(compiler, reach).compile(proxy)?;
            return Some((Source::Dynamic(dynamic), queries));
        }
    };
    Some((source, Vec::new()))
}
