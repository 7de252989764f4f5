//! The compiler: reads the model once, collects every error.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use caddy_config as model;
use eskip::filters::{BackendLimits, Filters};
use eskip::routing::Predicates;
use http::header::HeaderName;

use super::connection_policies::{self, Plans};
use super::error::{BuildError, BuildErrors};
use super::https::{self, Https};
use super::routes::{self, DoorsInScope};
use super::upstreams::Reaching;
use super::{handlers, limits, logs, metrics, sockets, support};
use crate::auth::Verifier;
use crate::environment::Environment;
use crate::failure_log::FailureGates;
use crate::forward::proxy::Proxy;
use crate::forward::view::{Base, Clusters, Entry, ServerView};
use crate::geo::{Asking, Source, Sources, Terms};
use crate::http::forwarded::Trusted;
use crate::http::server::HttpSettings;
use crate::http::sweep::ConnLimits;
use crate::ip_set::IpSet;
use crate::log::{FileSettings, LogFiles, LogWriter};
use crate::metrics::Metrics;
use crate::routing::regexp::Groups;
use crate::routing::slots::Slots;
use crate::skipper::{self, table::Table};
use crate::tls::client::SystemRoots;
use crate::tls::{Certificates, TlsPlan};
use crate::upstream::cluster::Cluster;
use crate::upstream::discovery::{Consuls, Directories};
use crate::upstream::gate::Gates;
use crate::upstream::health::{Breakers, Prober, Sheds};
use crate::upstream::load;
use crate::upstream::resolve::ResolverSet;
use crate::upstream::transport::Lane;

/// Caddy's ports for sites that name none.
const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

/// What a configuration becomes.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    pub(crate) view: Base,
    /// What the `eskip` handlers use.
    pub(crate) tables: Vec<Arc<Table>>,
    pub(crate) listeners: Vec<Planned>,
    pub(crate) warnings: Vec<String>,
}

/// Sources of countries, each with how it is to be kept up to date.
pub(crate) type GeoSources = Vec<(Arc<Source>, Terms)>;

/// A listener before its sockets are bound.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) address: model::ListenAddress,
    pub(crate) entry: Entry,
}

/// What lives longer than one configuration, and what is said outside of it.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) resolvers: Arc<ResolverSet>,
    pub(crate) certificates: Arc<Certificates>,
    /// What is counted.
    pub(crate) metrics: Arc<Metrics>,
    /// Log files that are open.
    pub(crate) log_files: LogFiles,
    /// Compares the passwords of `basic_auth`.
    pub(crate) passwords: Arc<Verifier>,
    /// Where the requests of each upstream are counted.
    pub(crate) slots: load::Slots,
    /// What upstreams are checked.
    pub(crate) prober: Arc<Prober>,
    /// Their circuit breakers.
    pub(crate) breakers: Arc<Breakers>,
    /// What takes from their shares.
    pub(crate) sheds: Arc<Sheds>,
    /// How many requests they had lately.
    pub(crate) backend_limits: Arc<BackendLimits>,
    /// What limits their connections.
    pub(crate) gates: Arc<Gates>,
    /// The sources whose upstreams are found out.
    pub(crate) directories: Directories,
    /// Every Consul that is asked for upstreams.
    pub(crate) consuls: Arc<Consuls>,
    /// Who knows the countries of clients.
    pub(crate) geo: Arc<Sources>,
    /// Where the routes of `eskip` handlers come from.
    pub(crate) skipper: Arc<skipper::source::Sources>,
    /// What those routes may name.
    pub(crate) filters: Filters,
    pub(crate) predicates: Predicates,
    /// What `{env.NAME}` stands for.
    pub(crate) environment: Environment,
    /// The data directory, if there is one.
    pub(crate) data: Option<PathBuf>,
    /// How upstreams are reached of which nothing is said.
    pub(crate) plain: Arc<OnceLock<Reaching>>,
    /// Whether a line of a request's head may end with a line feed alone.
    pub(crate) bare_line_feeds: bool,
    /// Whether a request that no route answers is an error.
    pub(crate) strict: bool,
}

/// What compiling needs besides the model, and what it collects.
pub(crate) struct Compiler<'a> {
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) resolvers: &'a ResolverSet,
    pub(crate) errors: Vec<BuildError>,
    pub(crate) warnings: Vec<String>,
    /// What requests are counted by, if they are.
    pub(crate) metrics: Option<model::HttpMetrics>,
    /// Log files, and how they are to go on.
    pub(crate) log_files: Vec<(Arc<LogWriter>, FileSettings)>,
    pub(crate) clusters: Vec<Cluster>,
    /// What each of them has beside.
    pub(crate) proxies: Vec<Option<Box<Proxy>>>,
    /// The routes of each `eskip` so far.
    pub(crate) tables: Vec<Arc<Table>>,
    /// The number of `doors_handler`s so far.
    pub(crate) doors: usize,
    /// The server that is being compiled.
    pub(crate) server: String,
    /// What was noted of each server.
    pub(super) noted: BTreeSet<(String, model::Area, &'static str)>,
    /// What its routes say of values.
    pub(crate) slots: Slots,
    /// The same once all of them are compiled, for names that are put together with each request.
    pub(crate) names: Arc<OnceLock<Slots>>,
    /// The regular expressions of its matchers.
    pub(crate) groups: Vec<Arc<Groups>>,
    /// All of its `doors_handler`s.
    pub(crate) doors_of_server: DoorsInScope,
    /// The numbers of its named routes.
    pub(crate) named: BTreeMap<String, usize>,
    /// How many proxies there are so far whose connections are made in the same way.
    pub(super) lanes: HashMap<Lane, usize>,
    /// Who is asked for countries where no `doors_geo` says so.
    pub(super) countries: Asking,
    /// The sources of its `doors_geo`s, and how each is kept up to date.
    pub(super) geo: GeoSources,
    /// The authorities that the system trusts, once a proxy asks for them.
    pub(super) system_roots: Option<SystemRoots>,
}

/// Compiles `config`. Logs are opened and certificates loaded; no socket is bound.
pub(crate) fn compile(config: &model::Config, surroundings: &Surroundings) -> Result<Compiled, BuildErrors> {
    let mut compiler = Compiler {
        metrics: config.apps.http.as_ref().and_then(|app| app.metrics),
        countries: handlers::countries(config, surroundings),
        ..Compiler::new(surroundings)
    };
    let compiled = compiler.compile(config);
    let Compiler {
        errors,
        warnings,
        clusters,
        log_files,
        proxies,
        tables,
        countries,
        mut geo,
        ..
    } = compiler;
    if !errors.is_empty() {
        return Err(BuildErrors(errors));
    }
    let (servers, listeners) = compiled;
    let grace = config.apps.http.as_ref().and_then(|app| app.grace_period);
    let mut view = Base::new(servers, Clusters::new(clusters, proxies), grace);
    geo.extend(countries.asked());
    view.geo = geo;
    view.log_files = log_files;
    view.shutdown_delay = config
        .apps
        .http
        .as_ref()
        .and_then(|app| app.shutdown_delay)
        .unwrap_or_default();
    Ok(Compiled {
        view,
        tables,
        listeners,
        warnings,
    })
}

// === impl Planned ===

impl Planned {
    pub(crate) fn cannot_bind(&self, source: std::io::Error) -> BuildError {
        let address = self.address.to_string();
        BuildError::Bind { address, source }
    }

    /// The permissions of a unix socket, as Caddy's: only the owner may connect unless the address says more.
    pub(crate) fn mode(&self) -> Option<u32> {
        match &self.address {
            model::ListenAddress::Tcp(_) => None,
            model::ListenAddress::Unix(socket) => Some(socket.mode().unwrap_or(0o200)),
        }
    }
}

// === impl Compiler ===

impl<'a> Compiler<'a> {
    /// One that has compiled nothing yet.
    pub(super) fn new(surroundings: &'a Surroundings) -> Self {
        Self {
            surroundings,
            resolvers: &surroundings.resolvers,
            errors: Vec::new(),
            warnings: Vec::new(),
            clusters: Vec::new(),
            metrics: None,
            log_files: Vec::new(),
            proxies: Vec::new(),
            tables: Vec::new(),
            doors: 0,
            server: String::new(),
            noted: BTreeSet::new(),
            slots: Slots::default(),
            names: Arc::default(),
            groups: Vec::new(),
            doors_of_server: Vec::new(),
            named: BTreeMap::new(),
            lanes: HashMap::new(),
            countries: Asking::default(),
            geo: Vec::new(),
            system_roots: None,
        }
    }
}

impl Compiler<'_> {
    fn compile(&mut self, config: &model::Config) -> (Vec<ServerView>, Vec<Planned>) {
        let Some(app) = config.apps.http.as_ref().filter(|app| !app.servers.is_empty()) else {
            self.nothing_to_serve(config);
            return (Vec::new(), Vec::new());
        };
        let ports = Ports {
            http: app.http_port.unwrap_or(HTTP_PORT),
            https: app.https_port.unwrap_or(HTTPS_PORT),
        };
        let opened = logs::Opened::new(self, config.logging.as_ref());
        self.log_files.clone_from(&opened.files);
        let (mut views, mut plans) = (Vec::new(), Vec::new());
        let mut redirects = https::Redirects::default();
        for (name, server) in &app.servers {
            self.server = label(name, server);
            if server.listen.is_empty() {
                self.warnings.push(format!("server {name} listens on no address"));
            }
            let https = Https::of(server, config.apps.tls.as_ref(), ports, self);
            redirects.collect(server, &https);
            let mut plans_of_tls = Plans::default();
            let view = self.server(name, server, &opened);
            for (index, address) in server.listen.iter().enumerate() {
                let http = limits::http(server, limits::protocols_at(server, index));
                let sites = https.sites.as_deref();
                let tls = sites.and_then(|sites| plans_of_tls.of(self, http, sites, &https.policies));
                let proxied = sockets::proxied(self, server, tls.is_some());
                let entry = Entry {
                    proxied,
                    keepalive: sockets::keepalive(server),
                    most_per_client: server.max_connections_per_client.filter(|most| *most > 0),
                    ..self.entry(views.len(), tls, http, limits::connections(server))
                };
                plans.push(Planned {
                    address: address.clone(),
                    entry,
                });
            }
            views.push(view);
        }
        redirects.add_to(self, ports, &mut views, &mut plans);
        self.check_addresses(&views, &plans);
        (views, plans)
    }

    fn server(&mut self, name: &str, server: &model::Server, opened: &logs::Opened) -> ServerView {
        let trusted: Vec<_> = match &server.trusted_proxies {
            Some(model::IpSource::Static { ranges }) => ranges.iter().map(model::IpRange::net).collect(),
            Some(_) => self.unsupported("this source of trusted_proxies", "use `static`"),
            None => Vec::new(),
        };
        let mut fields: Vec<HeaderName> = server
            .client_ip_headers
            .iter()
            .filter_map(|field| self.field_name(field))
            .collect();
        if fields.is_empty() {
            fields.push(HeaderName::from_static("x-forwarded-for"));
        }
        if server
            .max_header_bytes
            .is_some_and(|bytes| bytes < u64::from(limits::MIN_HEAD))
        {
            self.warnings.push(format!(
                "server {name}: a max_header_size below 8 KiB counts as 8 KiB"
            ));
        }
        let asked = server
            .listen_protocols
            .iter()
            .flatten()
            .chain([&server.protocols]);
        if asked.flatten().any(|protocol| *protocol == model::Protocol::H3) {
            self.warnings
                .push(format!("server {name}: HTTP/3 is not served by this version"));
        }
        support::server(self, server);
        let counted = metrics::routes(self, self.metrics.as_ref(), name, server);
        let compiled = routes::compile(self, server, counted.is_some());
        ServerView {
            name: name.to_owned(),
            rules: compiled,
            serves_hosts: server.route_sources,
            strict: self.surroundings.strict,
            strict_sni_host: server
                .strict_sni_host
                .unwrap_or_else(|| connection_policies::ask_clients(server)),
            trusted_proxies: Trusted {
                networks: IpSet::new(&trusted),
                unix: server.trusted_proxies_unix,
            },
            client_ip_fields: fields,
            body_timeout: server.read_timeout,
            write_timeout: server.write_timeout,
            logs: server.logs.as_ref().map(|logs| opened.for_server(logs)),
            metrics: counted,
            gates: FailureGates::default(),
        }
    }

    /// As Caddy, a proxy may wait for its first configuration; but somebody must be able to give it one.
    fn nothing_to_serve(&mut self, config: &model::Config) {
        if config.admin.as_ref().is_some_and(|admin| admin.disabled) {
            self.errors.push(BuildError::NoServer);
        } else {
            self.warnings
                .push("the configuration has no site: nothing is served".into());
        }
    }

    /// What the connections to the server with this index get.
    pub(super) fn entry(
        &self,
        server: usize,
        tls: Option<Arc<TlsPlan>>,
        http: HttpSettings,
        limits: ConnLimits,
    ) -> Entry {
        let http = HttpSettings {
            bare_line_feeds: self.surroundings.bare_line_feeds,
            ..http
        };
        Entry {
            server,
            tls,
            terms: 0,
            http,
            limits,
            proxied: None,
            keepalive: None,
            most_per_client: None,
        }
    }

    fn check_addresses(&mut self, views: &[ServerView], plans: &[Planned]) {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let name = |server: usize| {
            views
                .get(server)
                .map_or_else(String::new, |view| view.name.clone())
        };
        for plan in plans.iter().filter(|plan| plan.address.port() != Some(0)) {
            let address = match &plan.address {
                model::ListenAddress::Tcp(address) => address.to_string(),
                // One path, whatever its mode.
                model::ListenAddress::Unix(socket) => format!("unix/{}", socket.path()),
            };
            if let Some(first) = seen.insert(address.clone(), plan.entry.server) {
                self.errors.push(BuildError::SharedAddress {
                    address,
                    first: name(first),
                    second: name(plan.entry.server),
                });
            }
        }
    }

    /// Notes something that is not supported, and goes on with a default.
    pub(crate) fn unsupported<T: Default>(&mut self, what: &str, way_out: &'static str) -> T {
        let server = self.server.clone();
        self.errors.push(BuildError::Unsupported {
            server,
            what: what.to_owned(),
            way_out,
        });
        T::default()
    }

    /// Notes a value that is not valid.
    pub(crate) fn wrong(&mut self, what: &'static str, value: &str) {
        let server = self.server.clone();
        self.errors.push(BuildError::Value {
            server,
            what,
            value: value.to_owned(),
        });
    }

    /// Notes something that works otherwise than it seems.
    pub(crate) fn warn(&mut self, what: &str) {
        self.warn_once(&format!("server {}: {what}", self.server));
    }

    /// Notes it unless that was done already.
    pub(crate) fn warn_once(&mut self, warning: &str) {
        if !self.warnings.iter().any(|known| known == warning) {
            self.warnings.push(warning.to_owned());
        }
    }

    pub(crate) fn field_name(&mut self, name: &str) -> Option<HeaderName> {
        let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
        if parsed.is_none() {
            self.wrong("not a header field name", name);
        }
        parsed
    }
}

/// A server as errors name it: with its addresses, which a Caddyfile has where its name is not written.
fn label(name: &str, server: &model::Server) -> String {
    let addresses: Vec<String> = server.listen.iter().map(ToString::to_string).collect();
    if addresses.is_empty() {
        return name.to_owned();
    }
    format!("{name} ({})", addresses.join(", "))
}

/// The ports that stand for HTTP and HTTPS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) http: u16,
    pub(crate) https: u16,
}

/// What the data directory is for: the internal authority.
pub(crate) fn certificates(data: Option<PathBuf>) -> Result<Certificates, BuildErrors> {
    Certificates::new(data, Arc::new(rustls::time_provider::DefaultTimeProvider))
        .map_err(|error| BuildErrors(vec![BuildError::Provider(Box::new(error))]))
}
