//! What should be routed where.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::admin_address::AdminAddress;
use crate::domain::Domain;
use crate::path::PathPrefix;
use crate::text::shown;
use crate::upstream::Upstream;

/// All routes of one proxy, as the agent that owns its configuration wants them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired {
    /// Where the proxy's admin API is. It is part of the configuration, so that loading it does not move the endpoint.
    pub admin: AdminAddress,
    /// The applications by their names.
    pub apps: BTreeMap<String, App>,
    /// The agent's own API (`SHIPWICK_AGENT_DOMAIN`).
    pub agent: Option<OwnRoute>,
    /// The dashboard (`SHIPWICK_DASHBOARD_DOMAIN`).
    pub dashboard: Option<OwnRoute>,
}

/// An application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct App {
    /// Where it is served. Without one it has no route.
    pub domain: Option<Domain>,
    /// More hosts of the same route.
    pub aliases: Vec<Domain>,
    /// The part of its hosts that it serves, if not all of it: several applications then share a host.
    pub path: Option<Path>,
    /// Whether it was stopped: its route stays, with no upstreams.
    pub stopped: bool,
    /// The replicas of the deployment that serves; `None` before there is any, when it has no route either.
    pub replicas: Option<Vec<Replica>>,
    /// While a rollout is under way it alone says who serves.
    pub rollout: Option<Rollout>,
}

/// The part of its hosts that an application serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The path, and everything below it.
    pub prefix: PathPrefix,
    /// Whether the application is asked without it.
    pub strip: bool,
}

/// The routing of an application during a rollout: a mix of two deployments, replaced at every swap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollout {
    /// The domain that is served at this moment, if it is not the application's.
    pub domain: Option<Domain>,
    /// Exactly the replicas that serve at this moment, of which those that are not ready are left out.
    pub replicas: Vec<Replica>,
}

/// One container of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Its name, since a container that is started again may get another address, and its port.
    pub upstream: Upstream,
    /// Whether the container runs.
    pub running: bool,
    /// What its health check says.
    pub health: Health,
}

/// What is known of a replica's health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// Nothing: there is no check, or it was not asked yet.
    #[default]
    Unknown,
    /// Started, with a check that has not passed yet.
    Starting,
    /// The check passes.
    Healthy,
    /// The check fails.
    Unhealthy,
}

/// The route of the agent or the dashboard, which is never buffered: logs that are followed arrive line by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnRoute {
    /// Where it is served.
    pub domain: Domain,
    /// Where it listens.
    pub upstream: Upstream,
}

/// A domain that is served already.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("already served by {owner}")]
pub struct Conflict {
    /// The application that has no route for it; empty for the dashboard, whose domain is the agent's.
    pub app: String,
    /// Which of its fields claims it: `domain`, `aliases[0]`, `rollout.domain`.
    pub field: String,
    /// Who serves it.
    pub owner: Owner,
}

/// Who serves a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The agent or the dashboard.
    Shipwick,
    /// An application.
    App(String),
}

/// A route that is rendered.
#[derive(Debug)]
pub(crate) struct Route<'d> {
    /// In their order; never empty.
    pub(crate) hosts: Vec<&'d str>,
    pub(crate) path: Option<&'d Path>,
    /// In their order.
    pub(crate) dials: Vec<String>,
    /// Whether answers are passed on as they come.
    pub(crate) streams: bool,
}

/// What one host with one path is claimed by.
type Claim<'d> = (&'d str, Option<&'d str>);

// === impl Desired ===

impl Desired {
    /// No routes, for the proxy whose admin API is at `admin`.
    pub fn new(admin: AdminAddress) -> Self {
        Self {
            admin,
            apps: BTreeMap::new(),
            agent: None,
            dashboard: None,
        }
    }

    /// Every claim to a domain that is served by somebody else, and so has no effect: the agent and the dashboard come
    /// first, then the applications by their names.
    pub fn conflicts(&self) -> Vec<Conflict> {
        let mut owners: BTreeMap<Claim<'_>, Owner> = BTreeMap::new();
        let mut conflicts = Vec::new();
        for own in self.own() {
            if owners
                .insert((own.domain.as_str(), None), Owner::Shipwick)
                .is_some()
            {
                conflicts.push(Conflict {
                    app: String::new(),
                    field: "dashboard.domain".to_owned(),
                    owner: Owner::Shipwick,
                });
            }
        }
        for (name, app) in &self.apps {
            let path = app.path_prefix();
            for (field, domain) in app.claimed_fields() {
                let domain = domain.as_str();
                let owner = self
                    .owned(domain)
                    .or_else(|| owners.get(&(domain, path)).cloned());
                match owner {
                    Some(Owner::App(owner)) if owner == *name => {}
                    Some(owner) => conflicts.push(Conflict {
                        app: name.clone(),
                        field,
                        owner,
                    }),
                    None => {
                        owners.insert((domain, path), Owner::App(name.clone()));
                    }
                }
            }
        }
        conflicts
    }

    /// Who serves `domain`, below `path` if there is one, other than the application `app`. Ask it before a deployment of
    /// `app` that claims the domain is recorded; an application that is stopped keeps its domain, one that was never
    /// deployed has none.
    pub fn owner(&self, domain: &Domain, path: Option<&PathPrefix>, app: &str) -> Option<Owner> {
        let (domain, path) = (domain.as_str(), path.map(PathPrefix::as_str));
        self.owned(domain).or_else(|| {
            let others = self.apps.iter().filter(|(name, _)| *name != app);
            let claims = |app: &App| {
                let hosts = app.claimed_fields();
                app.path_prefix() == path && hosts.iter().any(|(_, host)| host.as_str() == domain)
            };
            let (name, _) = others.into_iter().find(|(_, app)| claims(app))?;
            Some(Owner::App(name.clone()))
        })
    }

    /// What is rendered, in the order in which it is: longer paths before shorter ones before whole hosts, since the first
    /// that matches answers, and hosts as strings. A host belongs to the first that claims it.
    pub(crate) fn routes(&self) -> Vec<Route<'_>> {
        let mut taken: BTreeSet<Claim<'_>> = BTreeSet::new();
        let mut routes = Vec::with_capacity(self.apps.len().saturating_add(2));
        for own in self.own() {
            if taken.insert((own.domain.as_str(), None)) {
                routes.push(Route {
                    hosts: vec![own.domain.as_str()],
                    path: None,
                    dials: vec![own.upstream.to_string()],
                    streams: true,
                });
            }
        }
        for app in self.apps.values() {
            let path = app.path_prefix();
            let mut hosts = app.served_hosts();
            hosts.sort_unstable();
            hosts.retain(|host| self.owned(host).is_none() && taken.insert((host, path)));
            if !hosts.is_empty() {
                routes.push(Route {
                    hosts,
                    path: app.path.as_ref(),
                    dials: app.dials(),
                    streams: false,
                });
            }
        }
        routes.sort_by(|a, b| a.rank().cmp(&b.rank()));
        routes
    }

    /// The agent's host and the dashboard's are theirs with all their paths.
    fn owned(&self, domain: &str) -> Option<Owner> {
        let taken = self.own().any(|own| own.domain.as_str() == domain);
        taken.then_some(Owner::Shipwick)
    }

    fn own(&self) -> impl Iterator<Item = &OwnRoute> {
        self.agent.iter().chain(&self.dashboard)
    }
}

// === impl App ===

impl App {
    /// The hosts that it serves at this moment.
    fn served_hosts(&self) -> Vec<&str> {
        let main = match &self.rollout {
            Some(rollout) => rollout.domain.as_ref().or(self.domain.as_ref()),
            None => self.domain.as_ref().filter(|_| self.replicas.is_some()),
        };
        let Some(main) = main else {
            return Vec::new();
        };
        std::iter::once(main)
            .chain(&self.aliases)
            .map(Domain::as_str)
            .collect()
    }

    /// The hosts that are its own: those that it serves, and during a rollout that moves it also the one that it comes
    /// from, to which it may have to go back.
    fn claimed_fields(&self) -> Vec<(String, &Domain)> {
        let deployed = self.replicas.is_some() || self.rollout.is_some();
        let domain = self.domain.as_ref().filter(|_| deployed);
        let moved = self.rollout.as_ref().and_then(|rollout| rollout.domain.as_ref());
        let moved = moved.filter(|moved| Some(*moved) != domain);
        let mut fields = Vec::new();
        fields.extend(domain.map(|domain| ("domain".to_owned(), domain)));
        fields.extend(moved.map(|domain| ("rollout.domain".to_owned(), domain)));
        if !fields.is_empty() {
            let aliases = self.aliases.iter().enumerate();
            fields.extend(aliases.map(|(at, alias)| (format!("aliases[{at}]"), alias)));
        }
        fields
    }

    fn path_prefix(&self) -> Option<&str> {
        self.path.as_ref().map(|path| path.prefix.as_str())
    }

    /// The replicas that requests go to, in their order.
    fn dials(&self) -> Vec<String> {
        let serving = match (&self.rollout, &self.replicas) {
            (Some(rollout), _) => rollout.replicas.as_slice(),
            (None, Some(replicas)) if !self.stopped => replicas.as_slice(),
            _ => &[],
        };
        let ready = serving.iter().filter(|replica| replica.is_ready());
        let mut dials: Vec<String> = ready.map(|replica| replica.upstream.to_string()).collect();
        dials.sort_unstable();
        dials.dedup();
        dials
    }
}

// === impl Replica ===

impl Replica {
    /// One that runs, of whose health nothing is known.
    pub fn running(upstream: Upstream) -> Self {
        Self {
            upstream,
            running: true,
            health: Health::Unknown,
        }
    }

    /// Whether requests go to it: it runs and does not fail its check. One of unknown health counts as ready, one that is
    /// starting does not.
    pub fn is_ready(&self) -> bool {
        self.running && matches!(self.health, Health::Unknown | Health::Healthy)
    }
}

// === impl Route ===

impl<'d> Route<'d> {
    fn rank(&self) -> (std::cmp::Reverse<usize>, &str, &[&'d str]) {
        let path = self.path.map_or("", |path| path.prefix.as_str());
        (std::cmp::Reverse(path.len()), path, &self.hosts)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shipwick => f.write_str("Shipwick itself (the agent or the dashboard)"),
            Self::App(name) => write!(f, "application {}", shown(name)),
        }
    }
}
