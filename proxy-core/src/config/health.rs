//! `health_...`, `fail_duration` and the like, `breaker`: when an upstream takes no requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use caddy_config as model;
use http::header::{self, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, Uri};
use model::HostPort;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::compile::Compiler;
use super::transport::Ways;
use crate::request::Context;
use crate::routing::template::{Template, Unknown};
use crate::upstream::breaker::{self, BreakerRule, BreakerSettings};
use crate::upstream::cluster::{self, Upstream};
use crate::upstream::discovery::{Care, WayTo};
use crate::upstream::health::{
    Check, Expected, Health, HttpProbe, Identity, Limits, Passive, Plan, Policy, Probe, ShedSettings,
};
use crate::upstream::transport::Transport;

/// As Caddy.
const INTERVAL: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(5);

/// How much of an answer is looked at unless the configuration says otherwise.
const MAX_SIZE: usize = 1024 * 1024;

/// What one proxy goes by.
pub(super) struct Checking<'m> {
    policy: Policy,
    active: Option<Active<'m>>,
}

/// How its upstreams are checked.
struct Active<'m> {
    model: &'m model::ActiveChecks,
    identity: Identity,
    transport: Arc<Transport>,
    ways: &'m Ways,
    /// Where all checks go to, if that is one place.
    place: Option<HostPort>,
    servers: Vec<SocketAddr>,
}

/// The request of a check, before the time is known.
#[derive(Debug)]
struct Asked {
    method: Method,
    target: PathAndQuery,
    host: Template,
    fields: Vec<(HeaderName, Template)>,
    body: Template,
}

/// What a proxy says of failures.
pub(super) fn passive(proxy: &model::ReverseProxy) -> Option<&model::PassiveChecks> {
    proxy.health_checks.as_ref()?.passive.as_ref()
}

pub(super) fn compile<'m>(
    compiler: &mut Compiler<'_>,
    proxy: &'m model::ReverseProxy,
    transport: &model::HttpTransport,
    (settings, ways): (&Arc<Transport>, &'m Ways),
    servers: &[SocketAddr],
    shed: Option<ShedSettings>,
) -> Checking<'m> {
    let checks = proxy.health_checks.as_ref();
    let active = checks.and_then(|checks| checks.active.as_ref());
    warn_of_useless(compiler, passive(proxy), active);
    Checking {
        policy: Policy {
            passive: passive(proxy).and_then(counted).map(Arc::new),
            breaker: proxy.circuit_breaker.map(|breaker| {
                (
                    breaker_settings(breaker),
                    Arc::clone(&compiler.surroundings.breakers),
                )
            }),
            shed: shed.map(|shed| (shed, Arc::clone(&compiler.surroundings.sheds))),
        },
        active: active.filter(|active| active.is_on()).map(|model| Active {
            model,
            identity: identity(model, transport),
            transport: Arc::clone(settings),
            ways,
            place: model.upstream.as_deref().and_then(|text| place(compiler, text)),
            servers: servers.to_vec(),
        }),
    }
}

/// Warns of what is said and changes nothing.
fn warn_of_useless(
    compiler: &mut Compiler<'_>,
    passive: Option<&model::PassiveChecks>,
    active: Option<&model::ActiveChecks>,
) {
    let counts = passive.is_none_or(|passive| counted(passive).is_some());
    let asks = |passive: &model::PassiveChecks| {
        passive.max_fails.is_some()
            || !passive.unhealthy_status.is_empty()
            || passive.unhealthy_latency.is_some()
    };
    if !counts && passive.is_some_and(asks) {
        compiler.warn("failures are counted only with `fail_duration`");
    }
    let asks = |active: &model::ActiveChecks| {
        let answer = active.expect_status.is_some() || active.expect_body.is_some();
        active.tcp && (answer || active.uri.is_some() || active.path.is_some())
    };
    if active.is_some_and(asks) {
        compiler.warn("with `health_tcp` nothing is asked for, and no answer looked at");
    }
}

/// `None`: failures are not counted.
fn counted(passive: &model::PassiveChecks) -> Option<Passive> {
    Some(Passive {
        duration: passive.fail_duration.filter(|duration| !duration.is_zero())?,
        most: passive.max_fails.unwrap_or(1).max(1),
        statuses: passive.unhealthy_status.clone().into(),
        latency: passive.unhealthy_latency.filter(|latency| !latency.is_zero()),
    })
}

fn breaker_settings(breaker: model::CircuitBreaker) -> BreakerSettings {
    BreakerSettings {
        rule: match breaker.rule {
            model::BreakerRule::Consecutive { failures } => BreakerRule::Consecutive { failures },
            model::BreakerRule::Rate { failures, window } => BreakerRule::Rate { failures, window },
        },
        timeout: breaker.timeout.unwrap_or(breaker::TIMEOUT),
        half_open: breaker.half_open_requests.unwrap_or(1).max(1),
    }
}

/// Checks that ask for the same in the same way are the same. A digest, so that no credentials are kept for it.
fn identity(active: &model::ActiveChecks, transport: &model::HttpTransport) -> Identity {
    let text = serde_json::to_vec(&(active, transport)).unwrap_or_default();
    Sha256::digest(text).into()
}

/// `health_upstream`, whose placeholders are those of the whole process.
fn place(compiler: &mut Compiler<'_>, text: &str) -> Option<HostPort> {
    let filled_in = compiler.parse(text, Unknown::Empty).render(&nobody());
    let place = filled_in
        .parse::<HostPort>()
        .ok()
        .filter(|place| place.port() != 0 && !place.host().is_empty());
    if place.is_none() {
        compiler.wrong("health_upstream is not host:port", text);
    }
    place
}

fn path(text: &str) -> Option<PathAndQuery> {
    text.parse().ok().filter(|_| text.starts_with('/'))
}

/// A request of nobody, for placeholders that are not about requests.
fn nobody() -> Context {
    Context::new(Request::new(()).into_parts().0, None, None, None, false)
}

// === impl Checking ===

impl Checking<'_> {
    /// What is looked at of upstreams that are found out at run time. They are not asked how they are.
    pub(super) fn of_found(&self, compiler: &mut Compiler<'_>, way: WayTo) -> Care {
        if self.active.is_some() {
            compiler.warn("upstreams that are found out at run time are not checked; `fail_duration` counts their failures");
        }
        Care {
            way,
            policy: self.policy.clone(),
        }
    }

    /// `upstream` with all of it.
    pub(super) fn of(&self, compiler: &mut Compiler<'_>, upstream: Upstream) -> Upstream {
        let active = self.active.as_ref();
        let health = Health {
            check: active.map(|active| active.check(compiler, &upstream)),
            ..self.policy.health(upstream.slot().label())
        };
        upstream.with_health(health)
    }
}

// === impl Active ===

impl Active<'_> {
    fn check(&self, compiler: &mut Compiler<'_>, upstream: &Upstream) -> Arc<Check> {
        // Made in any case, so that everything that is wrong with it is found.
        let plan = self.plan(compiler, upstream);
        let known = &compiler.surroundings.prober.known;
        let slot = upstream.slot();
        // The files of certificates may have changed, although the text has not.
        let lane = format!("{:?}", plan.probe.way.lane);
        let identity = Sha256::new().chain_update(self.identity).chain_update(lane);
        known.of(slot.label(), identity.finalize().into(), |_| {
            Check::new(Arc::clone(slot), plan, Instant::now())
        })
    }

    fn plan(&self, compiler: &mut Compiler<'_>, upstream: &Upstream) -> Plan {
        let model = self.model;
        let (name, port) = match &self.place {
            Some(place) => (
                compiler.resolvers.watch(place.host(), &self.servers),
                place.port(),
            ),
            None => (
                Arc::clone(upstream.name()),
                model.port.unwrap_or_else(|| upstream.port()),
            ),
        };
        if self.place.is_none() && model.port.is_some() && upstream.way().unix.is_some() {
            compiler.unsupported::<()>(
                "health_port with an upstream on a unix socket, which has no ports,",
                "name where the checks go with health_upstream, or leave it out",
            );
        }
        let way = if self.place.is_none() && port == upstream.port() {
            Arc::clone(upstream.way())
        } else {
            self.ways.to(compiler, name.host(), port)
        };
        // As Caddy: what listens on a unix socket has no other name.
        let authority = match way.unix {
            None => cluster::label(name.host(), port),
            Some(_) => "localhost".to_owned(),
        };
        let http = (!model.tcp).then(|| HttpProbe {
            request: self.request(compiler, &authority, upstream.slot().label()),
            expected: Expected {
                status: model.expect_status.unwrap_or(2),
                body: model
                    .expect_body
                    .as_deref()
                    .and_then(|pattern| compiler.regex(pattern)),
                max_size: model
                    .max_size
                    .map_or(MAX_SIZE, |size| usize::try_from(size).unwrap_or(usize::MAX)),
            },
            follows: model.follow_redirects,
        });
        Plan {
            probe: Probe {
                name,
                port,
                transport: Arc::clone(&self.transport),
                way,
                timeout: model.timeout.unwrap_or(TIMEOUT),
                http,
            },
            interval: model.interval.unwrap_or(INTERVAL),
            limits: Limits {
                passes: model.passes.unwrap_or(1).max(1),
                fails: model.fails.unwrap_or(1).max(1),
            },
        }
    }

    /// What makes the request to `authority`, a check of the upstream `label`.
    fn request(
        &self,
        compiler: &mut Compiler<'_>,
        authority: &str,
        label: &str,
    ) -> Box<dyn Fn() -> Option<Request<Bytes>> + Send + Sync> {
        let model = self.model;
        let mut parse =
            |text: &str, unknown| compiler.parse(&text.replace(model::ActiveChecks::TARGET, label), unknown);
        let mut host = parse(authority, Unknown::Kept);
        let mut fields = Vec::new();
        for (name, values) in &model.headers {
            for value in values {
                let value = parse(value, Unknown::Kept);
                match HeaderName::from_bytes(name.as_bytes()) {
                    Ok(header::HOST) => host = value,
                    Ok(name) => fields.push((name, value)),
                    // The model has none.
                    Err(_) => {}
                }
            }
        }
        let body = parse(model.body.as_deref().unwrap_or_default(), Unknown::Empty);
        let target = model.uri.as_deref().or(model.path.as_deref()).unwrap_or("/");
        let method = model.method.as_deref().unwrap_or("GET").to_uppercase();
        let asked = Asked {
            method: Method::from_bytes(method.as_bytes()).unwrap_or_else(|_| {
                compiler.wrong("health_method is no method", &method);
                Method::GET
            }),
            target: path(target).unwrap_or_else(|| {
                compiler.wrong("health_uri is no path", target);
                PathAndQuery::from_static("/")
            }),
            host,
            fields,
            body,
        };
        Box::new(move || asked.now())
    }
}

// === impl Asked ===

impl Asked {
    fn now(&self) -> Option<Request<Bytes>> {
        let cx = nobody();
        let value = |template: &Template| HeaderValue::try_from(template.render(&cx)).ok();
        let mut request = Request::new(Bytes::from(self.body.render(&cx)));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = Uri::from(self.target.clone());
        let headers = request.headers_mut();
        headers.insert(header::HOST, value(&self.host)?);
        headers.insert(header::USER_AGENT, HeaderValue::from_static("Doorway"));
        let mut fields = self.fields.iter();
        if fields.clone().any(|(name, _)| *name == header::USER_AGENT) {
            headers.remove(header::USER_AGENT);
        }
        fields.try_for_each(|(name, template)| {
            headers.append(name, value(template)?);
            Some(())
        })?;
        Some(request)
    }
}
