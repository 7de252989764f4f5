//! What is running: immutable, loaded once for each request.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{iter, slice};

use http::header::HeaderName;
use socket2::TcpKeepalive;
use tokio::time::Instant;

use super::access_log::AccessLogs;
use super::hosts::Hosts;
use super::proxy::{self, Proxy};
use crate::failure_log::FailureGates;
use crate::geo::{Source, Terms};
use crate::http::clients::Clients;
use crate::http::connection::{Connection, Group};
use crate::http::forwarded::Trusted;
use crate::http::proxy_protocol::ProxyProtocol;
use crate::http::server::HttpSettings;
use crate::http::sweep::ConnLimits;
use crate::log::{FileSettings, LogWriter};
use crate::metrics::RouteMetrics;
use crate::routing::routes::{Route, Routes};
use crate::routing::slots::{Asked, LogSlots};
use crate::skipper::table::Table;
use crate::snapshot::Snapshot;
use crate::tls::TlsPlan;
use crate::upstream::cluster::Cluster;
use crate::upstream::discovery::Dynamic;
use crate::upstream::health::Check;

/// How long requests in flight may take after a stop, unless `grace_period` says otherwise.
const GRACE: Duration = Duration::from_secs(30);

/// The compiled configuration, and the tables of routes that its `eskip` handlers use now.
#[derive(Debug)]
pub(crate) struct View {
    base: Arc<Base>,
    /// By the numbers that the handlers have.
    pub(crate) tables: Box<[Arc<Table>]>,
    /// The hosts of the sources of routes.
    pub(crate) hosts: Hosts,
}

/// What only another configuration changes.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) servers: Vec<ServerView>,
    pub(crate) clusters: Clusters,
    /// What each listener serves, by the index of its [`Place`].
    pub(crate) entries: Vec<Option<Entry>>,
    /// How long what is in flight may take once its listener is gone. Default 30 seconds.
    pub(crate) grace: Duration,
    /// How long a listener that is to close stays open. Default: not at all.
    pub(crate) shutdown_delay: Duration,
    /// Log files, and how they go on once this view is the current one.
    pub(crate) log_files: Vec<(Arc<LogWriter>, FileSettings)>,
    /// Who knows the countries of clients, and how each is kept up to date.
    pub(crate) geo: Vec<(Arc<Source>, Terms)>,
}

/// Clusters, each with its proxy.
#[derive(Debug, Default)]
pub(crate) struct Clusters {
    list: Box<[Cluster]>,
    /// What is done with the heads of requests to the cluster of the same number.
    proxies: Box<[Option<Box<Proxy>>]>,
}

/// Where a cluster and its proxy stand in a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterId {
    /// In the configuration, with this number.
    Config(usize),
    /// In the table of this number, with that number.
    Table(usize, usize),
}

/// What the connections of one listener get. Those that are open keep their TLS, as long as it is on these terms, and their
/// limits, and take the server with each request.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The index of the server that answers.
    pub(crate) server: usize,
    pub(crate) tls: Option<Arc<TlsPlan>>,
    /// How often the terms of that have changed since the listener was opened.
    pub(crate) terms: u64,
    pub(crate) http: HttpSettings,
    pub(crate) limits: ConnLimits,
    /// Whether a balancer may name the client.
    pub(crate) proxied: Option<Arc<Proxied>>,
    /// How silent clients are probed, if not as usual.
    pub(crate) keepalive: Option<TcpKeepalive>,
    /// How many connections one client may have open. Default: any number.
    pub(crate) most_per_client: Option<u32>,
}

/// A PROXY protocol header is looked for.
#[derive(Debug)]
pub(crate) struct Proxied {
    pub(crate) protocol: ProxyProtocol,
    /// In what is encrypted, not before the handshake.
    pub(crate) behind_tls: bool,
}

/// A listener's place in every view. It outlives the configuration that it was made for: what it serves is looked up
/// in the current view with each request.
#[derive(Debug)]
pub(crate) struct Place {
    index: usize,
    group: Group,
    clients: Arc<Clients>,
    /// Set when the listener is removed: its last connections go on with what was served then.
    last: OnceLock<Arc<View>>,
    /// When it will close, once that is known.
    closing: OnceLock<Instant>,
}

/// One server: the sites behind a set of listeners.
#[derive(Debug)]
pub(crate) struct ServerView {
    pub(crate) name: String,
    pub(crate) rules: Rules,
    /// Whether hosts of the sources of routes are served, before the server's own routes are looked at.
    pub(crate) serves_hosts: bool,
    /// Whether it is an error, 404, if no route answers. Default `false`: an empty 200, as in Caddy.
    pub(crate) strict: bool,
    /// Whether a request over TLS is answered with 421 if its host is not the name that its connection asked for.
    pub(crate) strict_sni_host: bool,
    pub(crate) trusted_proxies: Trusted,
    /// The fields that name the client, in order of preference. Default `X-Forwarded-For`.
    pub(crate) client_ip_fields: Vec<HeaderName>,
    /// How long a request body may take in all. Default: no limit.
    pub(crate) body_timeout: Option<Duration>,
    /// How long writing a response may take in all. Default: no limit.
    pub(crate) write_timeout: Option<Duration>,
    pub(crate) logs: Option<AccessLogs>,
    /// Where its routes count their requests, by number.
    pub(crate) metrics: Option<Vec<RouteMetrics>>,
    pub(crate) gates: FailureGates,
}

/// What is done with the requests of a server, or of a host of its own.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) routes: Routes,
    /// For requests that ended with an error. `None`: an empty answer with its status.
    pub(crate) errors: Option<Box<Routes>>,
    /// What `invoke` runs, by number.
    pub(crate) named_routes: Box<[Route]>,
    /// What any of the routes asks for.
    pub(crate) asked: Asked,
    /// The variables that the access log looks at.
    pub(crate) log_slots: LogSlots,
}

/// Which server's requests are answered. It is looked up with each request, as a reload may have moved it.
#[derive(Clone, Debug)]
pub(crate) enum Serves {
    /// What a listener is for.
    Listener(Arc<Place>),
    /// The server of this name, for a proxy in another server.
    Named(Arc<str>),
}

// === impl Base ===

impl Base {
    /// One that no listener has a place in yet.
    pub(crate) fn new(servers: Vec<ServerView>, clusters: Clusters, grace: Option<Duration>) -> Self {
        Self {
            servers,
            clusters,
            entries: Vec::new(),
            log_files: Vec::new(),
            geo: Vec::new(),
            grace: grace.filter(|grace| !grace.is_zero()).unwrap_or(GRACE),
            shutdown_delay: Duration::ZERO,
        }
    }

    /// What the listener at `place` serves.
    pub(crate) fn entry(&self, place: &Place) -> Option<&Entry> {
        self.entries.get(place.index)?.as_ref()
    }
}

impl Default for Base {
    fn default() -> Self {
        Self::new(Vec::new(), Clusters::default(), None)
    }
}

// === impl Clusters ===

impl Clusters {
    pub(crate) fn new(list: Vec<Cluster>, proxies: Vec<Option<Box<Proxy>>>) -> Self {
        Self {
            // They live long, and there may be many: no room to spare.
            list: list.into(),
            proxies: proxies.into(),
        }
    }

    pub(crate) fn iter(&self) -> slice::Iter<'_, Cluster> {
        self.list.iter()
    }

    pub(super) fn get(&self, number: usize) -> Option<&Cluster> {
        self.list.get(number)
    }

    pub(super) fn proxy(&self, number: usize) -> Option<&Proxy> {
        self.proxies.get(number)?.as_deref()
    }
}

// === impl View ===

impl View {
    pub(crate) fn new(base: Base, tables: Vec<Arc<Table>>) -> Self {
        Self {
            base: Arc::new(base),
            tables: tables.into(),
            hosts: Hosts::default(),
        }
    }

    /// The same with these hosts.
    pub(crate) fn with_hosts(&self, hosts: Hosts) -> Self {
        Self {
            base: Arc::clone(&self.base),
            tables: self.tables.clone(),
            hosts,
        }
    }

    /// The same with `table` wherever one of its source is; `None` if there is none.
    pub(crate) fn with_table(&self, table: &Arc<Table>) -> Option<Self> {
        let replaces = |old: &Arc<Table>| Arc::ptr_eq(&old.source, &table.source);
        self.tables.iter().any(replaces).then(|| Self {
            base: Arc::clone(&self.base),
            tables: self
                .tables
                .iter()
                .map(|old| Arc::clone(if replaces(old) { table } else { old }))
                .collect(),
            hosts: self.hosts.clone(),
        })
    }

    /// Lets log files go on as this configuration wants them.
    pub(crate) fn settle_logs(&self) {
        for (writer, settings) in &self.log_files {
            writer.settle(settings);
        }
    }

    /// Lets each upstream have as many connections as this configuration says. Those that are open count.
    pub(crate) fn settle_gates(&self) {
        for cluster in self.clusters() {
            let Some(most) = cluster.transport.most else {
                continue;
            };
            for upstream in &cluster.source.known() {
                if let Some(gate) = &upstream.way().gate {
                    gate.allow(most);
                }
            }
        }
    }

    /// What is to be checked, each once.
    pub(crate) fn checks(&self) -> Vec<Arc<Check>> {
        let mut seen = HashSet::new();
        let all = self.clusters().flat_map(|cluster| cluster.source.upstreams());
        all.filter_map(|upstream| upstream.health().check.as_ref())
            .filter(|check| seen.insert(Arc::as_ptr(check)))
            .cloned()
            .collect()
    }

    /// Every cluster that somebody must look after: those of hosts whose upstreams are fixed and need nothing are not
    /// among them.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        let hosts = self.hosts.demanding().flat_map(|site| site.clusters());
        self.parts().flat_map(Clusters::iter).chain(hosts)
    }

    /// Every cluster.
    pub(crate) fn all_clusters(&self) -> impl Iterator<Item = &Cluster> {
        let hosts = self.hosts.sites().flat_map(|site| site.clusters());
        self.parts().flat_map(Clusters::iter).chain(hosts)
    }

    /// The upstreams that are found out at run time.
    pub(crate) fn dynamic(&self) -> impl Iterator<Item = &Dynamic> {
        self.clusters().filter_map(|cluster| cluster.source.dynamic())
    }

    /// Forgets the names that requests did not ask for lately.
    pub(crate) fn forget_idle(&self, now: Instant) {
        self.dynamic().for_each(|dynamic| dynamic.forget_idle(now));
    }

    pub(crate) fn cluster(&self, id: ClusterId) -> Option<&Cluster> {
        let (part, number) = self.part(id)?;
        part.get(number)
    }

    /// What the proxy does with heads.
    pub(crate) fn proxy(&self, id: ClusterId) -> &Proxy {
        let proxy = self.part(id).and_then(|(part, number)| part.proxy(number));
        proxy.unwrap_or(&proxy::PLAIN)
    }

    fn part(&self, id: ClusterId) -> Option<(&Clusters, usize)> {
        match id {
            ClusterId::Config(number) => Some((&self.base.clusters, number)),
            ClusterId::Table(table, number) => Some((&self.tables.get(table)?.clusters, number)),
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Clusters> {
        iter::once(&self.base.clusters).chain(self.tables.iter().map(|table| &table.clusters))
    }
}

impl Deref for View {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.base
    }
}

impl Default for View {
    fn default() -> Self {
        Self::new(Base::default(), Vec::new())
    }
}

// === impl Entry ===

impl Entry {
    /// Whether connections are secured as by `other`, certificates excepted.
    pub(crate) fn has_tls_of(&self, other: &Self) -> bool {
        match (&self.tls, &other.tls) {
            (Some(own), Some(other)) => own.has_terms_of(other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// Whether requests over this connection may be answered: one that was let in before clients had to show what they
    /// must show now may still be open.
    pub(crate) fn admits(&self, connection: &Connection) -> bool {
        let Some(admission) = connection.admission() else {
            return true;
        };
        if admission.terms == self.terms {
            return true;
        }
        let Some(plan) = &self.tls else {
            return true;
        };
        let Some(tls) = connection.secured() else {
            return !plan.asks_clients();
        };
        let asked = plan.clients(Some(&tls.server_name));
        asked == admission.clients.as_ref() || asked.is_none_or(|asked| asked.admits(tls.client.is_some()))
    }
}

// === impl Serves ===

impl Serves {
    /// The view for one request.
    pub(crate) fn view(&self, views: &Snapshot<View>) -> Arc<View> {
        match self {
            Self::Listener(place) => place.view(views),
            Self::Named(_) => views.current(),
        }
    }

    /// When the requests' listener will close, once that is known.
    pub(crate) fn closing(&self) -> Option<Instant> {
        match self {
            Self::Listener(place) => place.closing(),
            Self::Named(_) => None,
        }
    }

    /// Whether requests over this connection may be answered as in `view`.
    pub(crate) fn admits(&self, view: &View, connection: &Connection) -> bool {
        match self {
            Self::Listener(place) => view.entry(place).is_none_or(|entry| entry.admits(connection)),
            Self::Named(_) => true,
        }
    }

    /// The server in it.
    pub(crate) fn server<'v>(&self, view: &'v View) -> Option<&'v ServerView> {
        match self {
            Self::Listener(place) => view.servers.get(view.entry(place)?.server),
            Self::Named(name) => view.servers.iter().find(|server| *server.name == **name),
        }
    }
}

// === impl Place ===

impl Place {
    /// The place at `index` of [`View::entries`], for a listener whose connections are in `group`.
    pub(crate) fn new(index: usize, group: Group) -> Self {
        Self {
            index,
            group,
            clients: Arc::default(),
            last: OnceLock::new(),
            closing: OnceLock::new(),
        }
    }

    /// The listener's connections by client.
    pub(crate) fn clients(&self) -> &Arc<Clients> {
        &self.clients
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Tells the listener's connections from those of all others, earlier ones too.
    pub(crate) fn group(&self) -> Group {
        self.group
    }

    /// The view for one unit of work of this listener's connections.
    pub(crate) fn view(&self, views: &Snapshot<View>) -> Arc<View> {
        match self.last.get() {
            Some(last) => Arc::clone(last),
            None => views.current(),
        }
    }

    /// When the listener will close, once that is known.
    pub(crate) fn closing(&self) -> Option<Instant> {
        self.closing.get().copied()
    }

    /// The listener will close.
    pub(crate) fn announce(&self, at: Instant) {
        // What was said first holds.
        let _already = self.closing.set(at);
    }

    /// Whether the listener was removed, and its socket does not stay open for a while.
    pub(crate) fn is_closed(&self) -> bool {
        self.last.get().is_some() && self.closing().is_none_or(|at| at <= Instant::now())
    }

    /// The listener is removed; `last` is the last view that has it.
    pub(crate) fn retire(&self, last: Arc<View>) {
        // A listener is removed once; a second time would say the same.
        let _already = self.last.set(last);
    }
}
