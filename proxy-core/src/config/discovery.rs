//! `dynamic`, and upstreams with placeholders: sources whose upstreams are found out at run time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use caddy_config as model;
use model::{DynamicUpstreams, UpstreamAddress};
use tokio::time::Instant;

use super::compile::Compiler;
use super::health::Checking;
use super::support;
use super::transport::Ways;
use crate::forward::query::Query;
use crate::routing::template::Template;
use crate::upstream::cluster::Upstream;
use crate::upstream::discovery::{Dynamic, Families, Finder, Spec, Unusable, Wanted};
use crate::upstream::resolve::Terms;

/// As Caddy: HTTP.
const PORT: &str = "80";

/// How the upstreams of one proxy are reached.
#[derive(Clone, Copy)]
pub(super) struct Reach<'b> {
    pub(super) ways: &'b Arc<Ways>,
    /// Who is asked for names.
    pub(super) servers: &'b [SocketAddr],
    pub(super) checking: &'b Checking<'b>,
    /// Requests in flight of each upstream that says nothing of its own.
    pub(super) most: Option<u32>,
}

/// Compiles the sources of one proxy.
pub(super) struct Sources<'b, 'c> {
    pub(super) compiler: &'b mut Compiler<'c>,
    pub(super) reach: Reach<'b>,
    queries: Vec<Query>,
}

// === impl Sources ===

impl<'b, 'c> Sources<'b, 'c> {
    pub(super) fn new(compiler: &'b mut Compiler<'c>, reach: Reach<'b>) -> Self {
        Self {
            compiler,
            reach,
            queries: Vec::new(),
        }
    }

    /// All sources of `proxy`, and what requests ask them for.
    pub(super) fn compile(mut self, proxy: &model::ReverseProxy) -> Option<(Dynamic, Vec<Query>)> {
        let named = self.named(&proxy.upstreams)?;
        let dynamic = match &proxy.dynamic_upstreams {
            None => Dynamic::new(named, Vec::new()),
            Some(source) => {
                let mut found = Vec::new();
                self.source(source, &mut found)?;
                if found.is_empty() {
                    return self.compiler.unsupported(
                        "a `dynamic multi` without sources",
                        "name at least one, such as `a app.internal 8080`",
                    );
                }
                Dynamic::new(found, named)
            }
        };
        Some((dynamic, self.queries))
    }

    /// What filters name for each request.
    pub(super) fn of_filters(mut self) -> Option<(Dynamic, Vec<Query>)> {
        let terms = self.terms(self.reach.servers, None, None);
        let spec = Spec {
            text: "filters".to_owned(),
            targets: terms.clone(),
            terms,
            families: Families::Both,
            max_requests: self.reach.most,
        };
        let finder = self.finder(spec, None, || Query::Filters)?;
        Some((Dynamic::new(vec![finder], Vec::new()), self.queries))
    }

    /// The upstream at an address without placeholders; `None` if it has some.
    pub(super) fn fixed(&mut self, upstream: &model::Upstream) -> Option<Upstream> {
        let Reach { ways, servers, .. } = self.reach;
        let slots = &self.compiler.surroundings.slots;
        let named = match &upstream.dial {
            UpstreamAddress::Tcp(address) => {
                let way = ways.to(self.compiler, address.host(), address.port());
                let name = self.compiler.resolvers.watch(address.host(), servers);
                Upstream::new(name, address.port(), way, slots)
            }
            UpstreamAddress::Unix(path) => {
                let way = ways.to_socket(self.compiler, path);
                // Nothing has to be looked up: what stands for its address.
                let name = self.compiler.resolvers.watch("0.0.0.0", servers);
                Upstream::new(name, 0, way, slots)
            }
            UpstreamAddress::Template(_) => return None,
        };
        let limited = named.with_max_requests(self.most_of(upstream));
        Some(self.reach.checking.of(self.compiler, limited))
    }

    fn most_of(&self, upstream: &model::Upstream) -> Option<u32> {
        upstream.max_requests.filter(|most| *most > 0).or(self.reach.most)
    }

    /// The upstreams that the configuration lists, those with placeholders among them.
    fn named(&mut self, upstreams: &[model::Upstream]) -> Option<Vec<Finder>> {
        let (mut finders, mut fixed) = (Vec::new(), Vec::new());
        for upstream in upstreams {
            let UpstreamAddress::Template(text) = &upstream.dial else {
                fixed.push(self.fixed(upstream)?);
                continue;
            };
            if !fixed.is_empty() {
                finders.push(Finder::Fixed(std::mem::take(&mut fixed).into()));
            }
            finders.push(self.template(text, self.most_of(upstream))?);
        }
        if !fixed.is_empty() {
            finders.push(Finder::Fixed(fixed.into()));
        }
        Some(finders)
    }

    fn template(&mut self, text: &str, most: Option<u32>) -> Option<Finder> {
        if text.starts_with("unix/") {
            return self.compiler.unsupported(
                "a unix socket with placeholders",
                "name each socket, and choose with matchers",
            );
        }
        let terms = self.terms(self.reach.servers, None, None);
        let spec = Spec {
            text: text.to_owned(),
            targets: terms.clone(),
            terms,
            families: Families::Both,
            max_requests: most,
        };
        let template = self.compiler.value(text);
        let constant = template.as_static().map(Wanted::address);
        self.finder(spec, constant, || Query::Address(template.clone()))
    }

    fn source(&mut self, source: &DynamicUpstreams, into: &mut Vec<Finder>) -> Option<()> {
        match source {
            DynamicUpstreams::A(a) => into.push(self.addresses(a)?),
            DynamicUpstreams::Srv(srv) => into.push(self.services(srv)?),
            DynamicUpstreams::Consul(consul) => into.push(self.consul(consul)?),
            DynamicUpstreams::Multi { sources } => {
                // Each of them is read, so that each of their errors is told.
                let all: Vec<_> = sources.iter().map(|source| self.source(source, into)).collect();
                all.into_iter().collect::<Option<Vec<_>>>()?;
            }
            _ => {
                return self.compiler.unsupported(
                    "doors_upstreams beside other sources",
                    "let it be the only source: what a doors_handler chose is not mixed with others",
                );
            }
        }
        Some(())
    }

    fn addresses(&mut self, a: &model::AUpstreams) -> Option<Finder> {
        let (host, port) = (a.name.as_deref().unwrap_or(""), a.port.as_deref().unwrap_or(PORT));
        support::dynamic(self.compiler, a.dial_fallback_delay.is_some());
        let families = match a.versions {
            Some(model::IpVersions {
                ipv4: true,
                ipv6: false,
            }) => Families::Ipv4,
            Some(model::IpVersions {
                ipv4: false,
                ipv6: true,
            }) => Families::Ipv6,
            _ => Families::Both,
        };
        let terms = self.terms(&servers(a.resolver.as_ref()), a.refresh, a.dial_timeout);
        let spec = Spec {
            text: format!("a {host} {port}"),
            targets: terms.clone(),
            terms,
            families,
            max_requests: self.reach.most,
        };
        let (host, port) = (self.compiler.value(host), self.compiler.value(port));
        let constant = host.as_static().zip(port.as_static());
        let constant = constant.map(|(host, port)| Wanted::addresses(host, port));
        self.finder(spec, constant, || Query::Addresses {
            host: host.clone(),
            port: port.clone(),
        })
    }

    fn services(&mut self, srv: &model::SrvUpstreams) -> Option<Finder> {
        let parts = [&srv.service, &srv.proto, &srv.name].map(|part| part.as_deref().unwrap_or(""));
        support::dynamic(self.compiler, srv.dial_fallback_delay.is_some());
        let own = servers(srv.resolver.as_ref());
        let terms = self.terms(&own, srv.refresh, srv.dial_timeout);
        // As everywhere, the transport says who is asked for addresses. Who knows the service may know them better than
        // the system.
        let others = if self.reach.servers.is_empty() {
            &own
        } else {
            self.reach.servers
        };
        let spec = Spec {
            text: match parts {
                ["", "", name] => format!("srv {name}"),
                [service, proto, name] => format!("srv _{service}._{proto}.{name}"),
            },
            targets: self.terms(others, None, None),
            terms,
            families: Families::Both,
            max_requests: self.reach.most,
        };
        let templates = parts.map(|part| self.compiler.value(part));
        let [service, proto, name] = templates.each_ref().map(Template::as_static);
        let constant = match (service, proto, name) {
            (Some(service), Some(proto), Some(name)) => Some(Wanted::services(service, proto, name)),
            _ => None,
        };
        self.finder(spec, constant, || Query::Services(Box::new(templates.clone())))
    }

    /// A source that is asked for the same by all requests, if there is something `constant`.
    fn finder(
        &mut self,
        spec: Spec,
        constant: Option<Result<Wanted, Unusable>>,
        query: impl FnOnce() -> Query,
    ) -> Option<Finder> {
        let around = self.compiler.surroundings;
        let text = spec.text.clone();
        let care = self
            .reach
            .checking
            .of_found(self.compiler, self.reach.ways.of_found());
        let directory = around
            .directories
            .of(spec, care, &around.resolvers, &around.slots);
        match constant {
            None => {
                let query = self.query(query());
                Some(Finder::Each(query, directory))
            }
            Some(Ok(wanted)) => {
                let listing = directory.pinned(wanted, Instant::now());
                Some(Finder::Always(listing, directory))
            }
            Some(Err(why)) => {
                self.compiler
                    .wrong("no source of upstreams", &format!("{text}: {why}"));
                None
            }
        }
    }

    /// The number of `query`, which each request asks.
    pub(super) fn query(&mut self, query: Query) -> usize {
        self.queries.push(query);
        self.queries.len() - 1
    }

    pub(super) fn terms(
        &self,
        servers: &[SocketAddr],
        refresh: Option<Duration>,
        timeout: Option<Duration>,
    ) -> Terms {
        let given = |duration: Option<Duration>| duration.filter(|duration| !duration.is_zero());
        Terms {
            servers: servers.into(),
            refresh: given(refresh),
            timeout: given(timeout),
        }
    }
}

/// Who is asked.
pub(super) fn servers(resolver: Option<&model::Resolver>) -> Vec<SocketAddr> {
    let addresses = resolver.into_iter().flat_map(|resolver| &resolver.addresses);
    addresses.map(model::ResolverAddress::socket_addr).collect()
}
