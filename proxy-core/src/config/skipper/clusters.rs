//! The backends of routes: routes that say the same of the same backend share what leads to it.

use std::collections::HashMap;
use std::time::Duration;

use caddy_config as model;
use eskip::Balanced;
use eskip::filters::{Breaker, BreakerKind, RouteSettings};
use eskip::routing::InvalidReason;
use http::Uri;
use model::HostPort;

use super::super::compile::Compiler;
use super::super::upstreams::{self, RouteTerms};
use crate::clock;
use crate::forward::proxy::Proxy;
use crate::forward::selection::{Key, Selection};
use crate::forward::view::Clusters;
use crate::skipper::settings::Settings;
use crate::skipper::table::Backend;
use crate::upstream::balance::{Bound, Rule, Turn};
use crate::upstream::cluster::{Cluster, SlowStart};

/// As Skipper: how long the head of an answer may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// What the algorithms of balanced backends are called.
const ALGORITHMS: [&str; 6] = [
    "roundRobin",
    "random",
    "consistentHash",
    "powerOfRandomNChoices",
    "weightedRoundRobin",
    "leastRequests",
];

/// Collects the clusters of a table.
pub(super) struct Clustering<'c, 's> {
    compiler: &'c mut Compiler<'s>,
    settings: &'c Settings,
    known: HashMap<String, usize>,
    clusters: Vec<Cluster>,
    proxies: Vec<Option<Box<Proxy>>>,
}

/// One address of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Address {
    scheme: Scheme,
    host: String,
    port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
    H2c,
}

/// What a cluster is made of.
struct Plan<'p> {
    scheme: Scheme,
    upstreams: Vec<model::Upstream>,
    selection: Selection,
    breaker: Option<model::CircuitBreaker>,
    said: &'p RouteSettings,
}

// === impl Clustering ===

impl<'c, 's> Clustering<'c, 's> {
    pub(super) fn new(compiler: &'c mut Compiler<'s>, settings: &'c Settings) -> Self {
        Self {
            compiler,
            settings,
            known: HashMap::new(),
            clusters: Vec::new(),
            proxies: Vec::new(),
        }
    }

    /// `"http://app:8080"`.
    pub(super) fn network(&mut self, address: &str, said: &RouteSettings) -> Result<Backend, InvalidReason> {
        let address = Address::parse(address)?;
        self.cluster(&[address], Selection::RANDOM, "", said)
    }

    /// `<forward>`.
    pub(super) fn forward(&mut self, said: &RouteSettings) -> Result<Backend, InvalidReason> {
        match self.settings.forward.clone() {
            Some(address) => self.network(&address, said),
            None => Err(InvalidReason::Backend(
                "<forward> has no backend here: give one with `forward_backend`".to_owned(),
            )),
        }
    }

    /// `<roundRobin, "http://a", "http://b">`.
    pub(super) fn balanced(
        &mut self,
        balanced: &Balanced,
        said: &RouteSettings,
    ) -> Result<Backend, InvalidReason> {
        let addresses = balanced
            .endpoints
            .iter()
            .map(|endpoint| Address::parse(endpoint.address()));
        let addresses: Vec<Address> = addresses.collect::<Result<_, _>>()?;
        let algorithm = balanced.algorithm.as_deref().unwrap_or("roundRobin");
        let selection = self.selection(algorithm, said)?;
        self.cluster(&addresses, selection, algorithm, said)
    }

    /// `<dynamic>`.
    pub(super) fn dynamic(&mut self, said: &RouteSettings) -> Result<Backend, InvalidReason> {
        let mut cluster = |scheme: Scheme| {
            let key = format!("dynamic {scheme:?} {:?}", key_of(said));
            self.shared(key, |this| {
                let plan = Plan {
                    scheme,
                    upstreams: Vec::new(),
                    selection: Selection::RANDOM,
                    breaker: this.breaker(None, said),
                    said,
                };
                this.make(plan)
            })
        };
        Ok(Backend::Dynamic {
            http: cluster(Scheme::Http)?,
            https: cluster(Scheme::Https)?,
        })
    }

    pub(super) fn finish(self) -> Clusters {
        Clusters::new(self.clusters, self.proxies)
    }

    fn cluster(
        &mut self,
        addresses: &[Address],
        selection: Selection,
        algorithm: &str,
        said: &RouteSettings,
    ) -> Result<Backend, InvalidReason> {
        let Some(first) = addresses.first() else {
            return Err(InvalidReason::Backend("no address".to_owned()));
        };
        let key = format!("{algorithm} {addresses:?} {:?}", key_of(said));
        let number = self.shared(key, |this| {
            let plan = Plan {
                scheme: first.scheme,
                upstreams: addresses.iter().map(Address::upstream).collect(),
                selection,
                breaker: this.breaker(Some(first), said),
                said,
            };
            this.make(plan)
        })?;
        Ok(Backend::Cluster(number))
    }

    /// The number of the cluster that is known by `key`, or of the one that `make` makes.
    fn shared(
        &mut self,
        key: String,
        make: impl FnOnce(&mut Self) -> Result<(Cluster, Proxy), InvalidReason>,
    ) -> Result<usize, InvalidReason> {
        if let Some(number) = self.known.get(&key) {
            return Ok(*number);
        }
        let (cluster, proxy) = make(self)?;
        let number = self.clusters.len();
        self.clusters.push(cluster);
        self.proxies.push(Some(Box::new(proxy)));
        self.known.insert(key, number);
        Ok(number)
    }

    fn make(&mut self, plan: Plan<'_>) -> Result<(Cluster, Proxy), InvalidReason> {
        let said = plan.said;
        let model = model::ReverseProxy {
            transport: Some(model::Transport::Http(Box::new(self.transport(plan.scheme)))),
            upstreams: plan.upstreams,
            circuit_breaker: plan.breaker,
            ..model::ReverseProxy::default()
        };
        let before = self.compiler.errors.len();
        let made = upstreams::of_route(
            self.compiler,
            &model,
            RouteTerms {
                shed: self.settings.shed,
                limit: said.backend_limit.clone().filter(|_| !said.is_unlimited),
            },
        );
        let mut errors = self.compiler.errors.split_off(before).into_iter();
        if let Some(error) = errors.next() {
            return Err(InvalidReason::Backend(error.to_string()));
        }
        let Some((mut cluster, queries)) = made else {
            return Err(InvalidReason::Backend("no address".to_owned()));
        };
        if let Some(fade) = &said.fade_in {
            cluster.rare.get_or_insert_default().slow_start = Some(SlowStart {
                time: fade.duration,
                exponent: fade.exponent,
            });
        }
        for (address, created) in &said.created {
            note_created(&cluster, address, *created);
        }
        let proxy = Proxy {
            selection: plan.selection,
            deadline: said.backend_timeout.filter(|limit| !limit.is_zero()),
            is_silent: true,
            absolute: said.backend_is_proxy,
            queries,
            ..Proxy::plain()
        };
        Ok((cluster, proxy))
    }

    fn transport(&self, scheme: Scheme) -> model::HttpTransport {
        model::HttpTransport {
            tls: (scheme == Scheme::Https).then(|| model::UpstreamTls {
                insecure_skip_verify: self.settings.insecure,
                ..model::UpstreamTls::default()
            }),
            versions: match scheme {
                Scheme::H2c => vec![model::HttpVersion::H2c],
                Scheme::Http | Scheme::Https => Vec::new(),
            },
            response_header_timeout: Some(HEAD_TIMEOUT),
            ..model::HttpTransport::default()
        }
    }

    fn selection(&self, algorithm: &str, said: &RouteSettings) -> Result<Selection, InvalidReason> {
        Ok(match algorithm {
            "roundRobin" | "weightedRoundRobin" => Selection::Rule(Rule::RoundRobin(anywhere())),
            "random" => Selection::RANDOM,
            "powerOfRandomNChoices" => Selection::Rule(Rule::RandomChoose(2)),
            "leastRequests" => Selection::Rule(Rule::LeastConn),
            "consistentHash" => Selection::Keyed {
                key: Key::Filters,
                rule: Rule::Hash(said.balance_factor.and_then(Bound::new)),
                fallback: Box::new(Selection::RANDOM),
            },
            unknown => {
                let known = ALGORITHMS.join(", ");
                return Err(InvalidReason::Backend(format!(
                    "there is no algorithm {unknown:?}; there are {known}"
                )));
            }
        })
    }

    /// The breaker of a backend: what the route says, over what is said of its host, over what is said of all.
    fn breaker(&self, first: Option<&Address>, said: &RouteSettings) -> Option<model::CircuitBreaker> {
        let of = |wanted: Option<&str>| {
            let all = self.settings.breakers.iter();
            let mut all = all.filter(|(host, _)| host.as_deref() == wanted);
            all.next_back().map(|(_, breaker)| *breaker)
        };
        let with_port = first.map(|address| format!("{}:{}", address.host, address.port));
        let by_host = first
            .and_then(|address| of(Some(&address.host)))
            .or_else(|| of(Some(with_port.as_deref()?)));
        let layers = [said.breaker, by_host, of(None)];
        let merged = layers.into_iter().flatten().reduce(Breaker::over)?;
        let rule = match merged.kind? {
            BreakerKind::Consecutive { failures } => model::BreakerRule::Consecutive { failures },
            BreakerKind::Rate { failures, window } => model::BreakerRule::Rate { failures, window },
            BreakerKind::Disabled => return None,
        };
        Some(model::CircuitBreaker {
            rule,
            timeout: merged.timeout.filter(|timeout| !timeout.is_zero()),
            half_open_requests: merged.half_open.filter(|count| *count > 0),
        })
    }
}

/// What of a route's settings its cluster is made of.
fn key_of(said: &RouteSettings) -> impl std::fmt::Debug {
    (
        said.backend_timeout,
        said.breaker,
        said.balance_factor,
        said.fade_in,
        said.created.clone(),
        said.backend_is_proxy,
        said.backend_limit.clone(),
        said.is_unlimited,
    )
}

/// A turn that begins with any endpoint: where tables come and go, the first one would else have more than its share.
fn anywhere() -> Turn {
    Turn::behind(getrandom::u32().map_or(0, |turns| turns as usize))
}

/// The endpoint at `address`, as `host:port`, has been there since `created`, whenever it was first seen.
fn note_created(cluster: &Cluster, address: &str, created: std::time::SystemTime) {
    let age = clock::wall().duration_since(created).unwrap_or_default();
    let now = tokio::time::Instant::now();
    for upstream in cluster.source.upstreams() {
        if **upstream.slot().label() == *address {
            upstream.slot().standing().has_been_there(age, now);
        }
    }
}

// === impl Address ===

impl Address {
    fn parse(text: &str) -> Result<Self, InvalidReason> {
        let wrong =
            |why: &str| InvalidReason::Backend(format!("failed to parse backend address {text:?}: {why}"));
        let uri: Uri = text.parse().map_err(|_| wrong("it is no URL"))?;
        let scheme = match uri.scheme_str() {
            Some("http") => Scheme::Http,
            Some("https") => Scheme::Https,
            Some("h2c") => Scheme::H2c,
            Some("fastcgi") => return Err(wrong("there is no FastCGI")),
            _ => return Err(wrong("it begins with http://, https:// or h2c://")),
        };
        let host = uri
            .host()
            .filter(|host| !host.is_empty())
            .ok_or_else(|| wrong("it has no host"))?;
        if uri
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'))
        {
            return Err(wrong("it must not name a user"));
        }
        Ok(Self {
            scheme,
            host: host.trim_matches(['[', ']']).to_ascii_lowercase(),
            port: uri.port_u16().unwrap_or_else(|| scheme.port()),
        })
    }

    fn upstream(&self) -> model::Upstream {
        model::Upstream {
            dial: HostPort::new(self.host.clone(), self.port).into(),
            max_requests: None,
        }
    }
}

// === impl Scheme ===

impl Scheme {
    fn port(self) -> u16 {
        match self {
            Self::Http | Self::H2c => 80,
            Self::Https => 443,
        }
    }
}
