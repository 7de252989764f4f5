//! Which servers speak TLS, with which certificates, and the redirects from HTTP to them.
//!
//! The rules are those of Caddy's automatic HTTPS, without certificates from public authorities, which
//! come in a later version: until then a public name without `tls` gets an internal certificate and a
//! warning.

use std::collections::{BTreeMap, BTreeSet};

use caddy_config as model;
use http::StatusCode;
use http::header::{self, HeaderName};

use super::compile::{Compiler, Planned, Ports};
use super::connection_policies;
use crate::failure_log::FailureGates;
use crate::forward::view::{Rules, ServerView};
use crate::http::forwarded::Trusted;
use crate::http::server::HttpSettings;
use crate::http::sweep::ConnLimits;
use crate::ip_set::IpSet;
use crate::routing::glob::PathPattern;
use crate::routing::matcher::{HostMatcher, MatcherSet};
use crate::routing::respond::{StaticResponse, Status, Text};
use crate::routing::routes::{Handler, Route, Routes};
use crate::tls::{CertSource, TlsPolicy, TlsSite};

/// What TLS means for one server.
#[derive(Debug, Default)]
pub(super) struct Https {
    /// The certificates of the server; `None`: it speaks plain HTTP.
    pub(super) sites: Option<Vec<TlsSite>>,
    /// How its connections are made.
    pub(super) policies: Vec<TlsPolicy>,
    /// Plain HTTP is redirected to it.
    redirects: bool,
    hosts: Vec<String>,
}

/// The redirects that all servers want.
#[derive(Debug, Default)]
pub(super) struct Redirects {
    /// By the address that HTTP is listened on.
    by_address: BTreeMap<String, Vec<Redirected>>,
}

/// A host whose pages are redirected.
#[derive(Debug)]
struct Redirected {
    host: String,
    /// The port that HTTPS is on.
    port: u16,
    /// A Doors app is behind it.
    doors: bool,
}

// === impl Https ===

impl Https {
    pub(super) fn of(
        server: &model::Server,
        app: Option<&model::TlsApp>,
        ports: Ports,
        compiler: &mut Compiler<'_>,
    ) -> Self {
        let automatic = server.automatic_https.clone().unwrap_or_default();
        let only = |port: u16| server.listen.iter().all(|address| address.port() == Some(port));
        let hosts: Vec<String> = if automatic.disable || only(ports.http) {
            Vec::new()
        } else {
            hosts(&server.routes)
                .into_iter()
                .filter(|host| !automatic.skip.contains(host))
                .collect()
        };
        let policies = server.tls_connection_policies.as_deref().unwrap_or_default();
        let automatic_tls =
            !automatic.disable && !only(ports.http) && (!hosts.is_empty() || only(ports.https));
        if policies.is_empty() && !automatic_tls {
            return Self::default();
        }
        let folders = app
            .and_then(|app| app.certificates.as_ref())
            .is_some_and(|certificates| !certificates.load_folders.is_empty());
        let on_demand = app
            .and_then(|app| app.automation.as_ref())
            .is_some_and(|automation| automation.policies.iter().any(|policy| policy.on_demand));
        if folders {
            compiler.note(model::Area::Tls, "load");
        }
        if on_demand {
            compiler.note(model::Area::Tls, "on_demand");
        }
        let mut sites = from_files(app, policies);
        let covered: BTreeSet<String> = sites.iter().flat_map(|site| site.names.clone()).collect();
        let mut names: BTreeSet<String> = hosts
            .iter()
            .filter(|host| !covered.contains(*host))
            .cloned()
            .collect();
        names.extend(internal_subjects(app, policies).filter(|name| !covered.contains(name)));
        if automatic.disable_certificates {
            names.clear();
        }
        warn_of_public_names(&names, app, compiler);
        sites.extend(names.into_iter().map(|name| TlsSite {
            names: vec![name],
            source: CertSource::Internal,
        }));
        if server.route_sources {
            sites.push(TlsSite {
                names: Vec::new(),
                source: CertSource::Hosts,
            });
        }
        if sites.is_empty() {
            compiler.unsupported::<()>(
                "TLS without a name or a certificate",
                "give the site a host name, or `tls cert.pem key.pem`",
            );
        }
        Self {
            sites: Some(sites),
            policies: connection_policies::compile(compiler, policies),
            redirects: automatic_tls && !automatic.disable_redirects,
            hosts,
        }
    }
}

/// Certificates from files, each for the names that a policy selects it for.
fn from_files(app: Option<&model::TlsApp>, policies: &[model::TlsConnectionPolicy]) -> Vec<TlsSite> {
    let files = app
        .and_then(|app| app.certificates.as_ref())
        .map_or(&[][..], |all| &all.load_files);
    let mut sites = Vec::new();
    for file in files {
        let source = CertSource::Files {
            certificate: file.certificate.clone(),
            key: file.key.clone(),
        };
        let selecting = policies.iter().filter(|policy| {
            let tags = policy
                .certificate_selection
                .as_ref()
                .map_or(&[][..], |selection| &selection.any_tag);
            tags.iter().any(|tag| file.tags.contains(tag))
        });
        for policy in selecting {
            let names = names(policy).cloned().collect();
            sites.push(TlsSite {
                names,
                source: source.clone(),
            });
        }
        if file.tags.is_empty() {
            sites.push(TlsSite {
                names: Vec::new(),
                source,
            });
        }
    }
    sites
}

/// The names that a connection policy is for. An empty one stands for clients that send none.
fn names(policy: &model::TlsConnectionPolicy) -> impl Iterator<Item = &String> {
    let names = policy.matcher.iter().flat_map(|matcher| &matcher.sni);
    names.filter(|name| !name.is_empty())
}

/// Names that a policy of the internal issuer and a connection policy of this server both have.
fn internal_subjects<'a>(
    app: Option<&'a model::TlsApp>,
    policies: &'a [model::TlsConnectionPolicy],
) -> impl Iterator<Item = String> + 'a {
    let wanted = policies
        .iter()
        .filter(|policy| policy.certificate_selection.is_none());
    let names = wanted.flat_map(names);
    names.filter(move |name| is_internal(name, app)).cloned()
}

fn is_internal(name: &str, app: Option<&model::TlsApp>) -> bool {
    let policies = app
        .and_then(|app| app.automation.as_ref())
        .map_or(&[][..], |all| &all.policies);
    policies.iter().any(|policy| {
        let covers = policy.subjects.is_empty() || policy.subjects.iter().any(|subject| subject == name);
        covers
            && policy
                .issuers
                .iter()
                .any(|issuer| matches!(issuer, model::Issuer::Internal(_)))
    })
}

fn warn_of_public_names(names: &BTreeSet<String>, app: Option<&model::TlsApp>, compiler: &mut Compiler<'_>) {
    for name in names
        .iter()
        .filter(|name| !is_internal(name, app) && is_public(name))
    {
        compiler.warnings.push(format!(
            "{name}: certificates from public authorities are not there yet, so browsers will not trust its \
             internal one; write `tls cert.pem key.pem`, `tls internal` to accept it, or `http://{name}` \
             behind a load balancer that has the certificate"
        ));
    }
}

/// Whether a public authority could give a certificate for `name`.
fn is_public(name: &str) -> bool {
    const PRIVATE: [&str; 4] = [".localhost", ".local", ".internal", ".home.arpa"];
    let is_address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok();
    name != "localhost" && !is_address && !PRIVATE.iter().any(|suffix| name.ends_with(suffix))
}

/// The hosts of the top-level routes.
pub(crate) fn hosts(routes: &[model::Route]) -> Vec<String> {
    let hosts = routes
        .iter()
        .flat_map(|route| &route.matchers)
        .filter_map(|set| set.host.as_ref())
        .flatten();
    hosts
        .map(|host| host.to_ascii_lowercase())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

// === impl Redirects ===

impl Redirects {
    pub(super) fn collect(&mut self, server: &model::Server, https: &Https) {
        if !https.redirects {
            return;
        }
        for address in server.listen.iter().filter_map(model::ListenAddress::tcp) {
            let hosts = self.by_address.entry(address.host().to_owned()).or_default();
            let doors = has_doors(&server.routes);
            let redirected = |host: &String| Redirected {
                host: host.clone(),
                port: address.port(),
                doors,
            };
            hosts.extend(https.hosts.iter().map(redirected));
        }
    }

    /// Adds the redirects to the servers on the HTTP port, or makes one for them.
    pub(super) fn add_to(
        self,
        compiler: &mut Compiler<'_>,
        ports: Ports,
        views: &mut Vec<ServerView>,
        plans: &mut Vec<Planned>,
    ) {
        let mut extra = Vec::new();
        for (address, hosts) in self.by_address {
            let mut routes = Vec::new();
            for Redirected { host, port, doors } in &hosts {
                if *doors {
                    routes.push(gone(compiler, host));
                }
                routes.push(redirect(compiler, Some(host), *port, ports));
            }
            let existing = plans.iter().find(|plan| {
                let tcp = plan.address.tcp();
                tcp.is_some_and(|tcp| tcp.port() == ports.http && tcp.host() == address)
            });
            match existing.and_then(|plan| views.get_mut(plan.entry.server)) {
                Some(view) => {
                    let mut list = std::mem::take(&mut view.rules.routes).list;
                    list.extend(routes);
                    view.rules.routes = Routes::new(list);
                }
                None => extra.push((address, routes)),
            }
        }
        for (address, mut list) in extra {
            list.push(redirect(compiler, None, ports.https, ports));
            plans.push(Planned {
                address: model::HostPort::new(address, ports.http).into(),
                entry: compiler.entry(views.len(), None, HttpSettings::default(), ConnLimits::default()),
            });
            views.push(redirecting(list));
        }
    }
}

fn redirecting(list: Vec<Route>) -> ServerView {
    ServerView {
        name: "https_redirects".to_owned(),
        rules: Rules {
            routes: Routes::new(list),
            ..Rules::default()
        },
        serves_hosts: false,
        strict: false,
        strict_sni_host: false,
        trusted_proxies: Trusted {
            networks: IpSet::new(&[]),
            unix: false,
        },
        client_ip_fields: vec![HeaderName::from_static("x-forwarded-for")],
        body_timeout: None,
        write_timeout: None,
        logs: None,
        metrics: None,
        gates: FailureGates::default(),
    }
}

/// A system request over plain HTTP belongs to no session, as their cookies are `Secure`; and it must not be
/// redirected, as what it uploads cannot be sent again. A 410 makes its page reload, which is redirected.
fn gone(compiler: &mut Compiler<'_>, host: &str) -> Route {
    let set = MatcherSet {
        host: Some(HostMatcher::new([host])),
        path: Some(vec![PathPattern::new("/~/*")]),
        ..MatcherSet::default()
    };
    Route {
        matchers: vec![set],
        handlers: vec![Handler::Static(Box::new(StaticResponse {
            status: Some(Status::Fixed(StatusCode::GONE)),
            headers: vec![(header::CACHE_CONTROL, compiler.template("no-store"))],
            body: Text::new(compiler.template("Gone\n")),
            close: true,
            ..StaticResponse::default()
        }))],
        ..Route::default()
    }
}

/// Whether a `doors_handler` is among `routes`, at any depth.
fn has_doors(routes: &[model::Route]) -> bool {
    routes
        .iter()
        .flat_map(|route| &route.handlers)
        .any(|handler| match handler {
            model::Handler::DoorsHandler(_) => true,
            model::Handler::Subroute(subroute) => has_doors(&subroute.routes),
            _ => false,
        })
}

fn redirect(compiler: &mut Compiler<'_>, host: Option<&String>, port: u16, ports: Ports) -> Route {
    let port = if port == ports.https || port == 443 {
        String::new()
    } else {
        format!(":{port}")
    };
    let location = format!("https://{{http.request.host}}{port}{{http.request.uri}}");
    let matchers = host.map(|host| MatcherSet {
        host: Some(HostMatcher::new([host.as_str()])),
        ..MatcherSet::default()
    });
    Route {
        group: None,
        matchers: matchers.into_iter().collect(),
        handlers: vec![Handler::Static(Box::new(StaticResponse {
            status: Some(Status::Fixed(StatusCode::PERMANENT_REDIRECT)),
            headers: vec![(header::LOCATION, compiler.template(&location))],
            close: true,
            ..StaticResponse::default()
        }))],
        terminal: true,
        counted: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_names_are_told_from_private_ones() {
        for (name, public) in [
            ("example.com", true),
            ("*.example.com", true),
            ("localhost", false),
            ("a.localhost", false),
            ("127.0.0.1", false),
            ("[::1]", false),
            ("db.internal", false),
        ] {
            assert_eq!(is_public(name), public, "{name}");
        }
    }
}
