//! `transport http`: how connections to the upstreams of a proxy are made.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use caddy_config as model;
use http::HeaderValue;
use http1_codec::HeadLimits;
use rustls_pki_types::ServerName;

use super::compile::Compiler;
use super::error::BuildError;
use crate::tls::client::{self, ClientSettings, ClientTls, Roots, SystemRoots};
use crate::tls::{TlsError, authorities, decode};
use crate::upstream::cluster;
use crate::upstream::connect::Dial;
use crate::upstream::discovery::WayTo;
use crate::upstream::gate::{Gate, Gates};
use crate::upstream::idle::IdleTotal;
use crate::upstream::pool::PoolLimits;
use crate::upstream::proxy_header::HeaderVersion;
use crate::upstream::timed::Patience;
use crate::upstream::transport::{HEAD_LIMITS, Lane, Protocol, TlsWay, Transport, Way};

/// What leads to the upstreams of one proxy.
#[derive(Debug)]
pub(super) struct Ways {
    lane: Lane,
    /// The most connections to each.
    most: Option<usize>,
    gates: Arc<Gates>,
    /// How many proxies whose connections are made in the same way there are before this one.
    number: usize,
    /// What is spoken without TLS.
    clear: Protocol,
    tls: Option<Tls>,
    /// Whether upstreams are told their own host although no TLS is spoken.
    tells_host: bool,
    /// Shared by those that have nothing of their own.
    plain: Arc<Way>,
}

#[derive(Debug)]
struct Tls {
    client: ClientTls,
    protocol: Protocol,
    name: Option<ServerName<'static>>,
    except_ports: Vec<u16>,
}

/// The settings of `http`, and what leads to upstreams by them.
pub(super) fn transport(
    compiler: &mut Compiler<'_>,
    http: &model::HttpTransport,
    tells_host: bool,
) -> (Transport, Ways) {
    let defaults = Transport::default();
    let nonzero = |limit: Option<Duration>| limit.filter(|limit| !limit.is_zero());
    let dial = Dial {
        timeout: nonzero(http.dial_timeout).unwrap_or(defaults.dial.timeout),
        stagger: match http.dial_fallback_delay {
            None => defaults.dial.stagger,
            Some(delay) => delay.head_start(),
        },
        local: http
            .local_address
            .as_deref()
            .and_then(|text| local_address(compiler, text)),
        probes: http
            .keep_alive
            .and_then(|keep| keep.probe_interval)
            .filter(|time| *time >= Duration::from_secs(1)),
    };
    let tls_options = http.tls.as_ref();
    let transport = Transport {
        dial,
        tls_timeout: nonzero(tls_options.and_then(|tls| tls.handshake_timeout))
            .unwrap_or(defaults.tls_timeout),
        proxy_header: http.proxy_protocol.map(|version| match version {
            model::ProxyProtocolVersion::V1 => HeaderVersion::V1,
            _ => HeaderVersion::V2,
        }),
        patience: Patience {
            read: nonzero(http.read_timeout),
            write: nonzero(http.write_timeout),
        },
        head_timeout: nonzero(http.response_header_timeout),
        head_limits: http
            .max_response_header_size
            .map_or(HEAD_LIMITS, |size| HeadLimits {
                size: size as usize,
                ..HEAD_LIMITS
            }),
        keep: keep(http),
        idle_total: http
            .keep_alive
            .as_ref()
            .and_then(|keep| keep.max_idle_conns)
            .filter(|most| *most > 0)
            .map(|most| Arc::new(IdleTotal::new(most as usize))),
        most: http
            .max_conns_per_host
            .filter(|most| *most > 0)
            .map(|most| most as usize),
        continue_timeout: nonzero(http.expect_continue_timeout).unwrap_or(defaults.continue_timeout),
    };
    let lane = lane(&transport);
    let clear = clear_protocol(compiler, http);
    let tls = tls_options.and_then(|options| tls(compiler, options, &http.versions));
    let plain = Arc::new(Way {
        lane,
        ..Way::plain(clear)
    });
    // Each proxy has its own limit, and finds it again after a reload.
    let count = compiler.lanes.entry(lane);
    let number = *count.and_modify(|number| *number += 1).or_default();
    let ways = Ways {
        lane,
        most: transport.most,
        gates: Arc::clone(&compiler.surroundings.gates),
        number,
        clear,
        tls,
        tells_host,
        plain,
    };
    (transport, ways)
}

// === impl Ways ===

impl Ways {
    /// What leads to `host`, beside its addresses.
    pub(super) fn to(&self, compiler: &mut Compiler<'_>, host: &str, port: u16) -> Arc<Way> {
        self.lead_to(host, port).unwrap_or_else(|| {
            compiler.wrong("not a name that a certificate can be for", host);
            Arc::clone(&self.plain)
        })
    }

    /// The same; `None` if no certificate can be for `host`.
    fn lead_to(&self, host: &str, port: u16) -> Option<Arc<Way>> {
        let Some(tls) = &self.tls else {
            if self.most.is_none() && !self.tells_host {
                return Some(Arc::clone(&self.plain));
            }
            let way = Way {
                lane: self.lane,
                host: self
                    .tells_host
                    .then(|| cluster::own_host(host, port, 80))
                    .flatten(),
                ..Way::plain(self.clear)
            };
            return Some(self.limited(&cluster::label(host, port), way));
        };
        let label = cluster::label(host, port);
        let mut way = Way {
            lane: self.lane,
            host: if self.tells_host {
                cluster::own_host(host, port, 443)
            } else {
                // As Caddy: with the port, and of ports without TLS, too.
                HeaderValue::try_from(&*label).ok()
            },
            ..Way::plain(self.clear)
        };
        if !tls.except_ports.contains(&port) {
            let name = tls.name.clone().or_else(|| {
                // The local machine is where no host is named.
                let host = if host.is_empty() { "localhost" } else { host };
                ServerName::try_from(host.to_owned()).ok()
            });
            tls.lead(&mut way, name?);
        }
        Some(self.limited(&label, way))
    }

    /// What leads to upstreams that are found out at run time.
    pub(super) fn of_found(self: &Arc<Self>) -> WayTo {
        let tls = self.tls.as_ref();
        let tls = tls.map(|tls| (tls.client.identity, &tls.name, tls.protocol, &tls.except_ports));
        let is_limited = self.most.is_some().then_some(self.number);
        let text = format!("{:?} {:?} {is_limited:?} {tls:?}", self.lane, self.clear);
        let ways = Arc::clone(self);
        WayTo::new(text, move |host, port| ways.lead_to(host, port))
    }

    /// What leads to the unix socket at `path`.
    pub(super) fn to_socket(&self, compiler: &mut Compiler<'_>, path: &str) -> Arc<Way> {
        let mut way = Way {
            lane: self.lane.with("unix").with(path),
            unix: Some(path.into()),
            ..Way::plain(self.clear)
        };
        if let Some(tls) = &self.tls {
            match tls.name.clone() {
                Some(name) => tls.lead(&mut way, name),
                None => compiler.unsupported::<()>(
                    "TLS over a unix socket, which has no name,",
                    "say with tls_server_name whom its certificate must be for",
                ),
            }
        }
        self.limited(&format!("unix/{path}"), way)
    }

    /// `way` to the upstream `label`, with what limits its connections. That is the one which the configuration before has,
    /// so that connections which are open count.
    fn limited(&self, label: &str, mut way: Way) -> Arc<Way> {
        let terms = (way.lane, self.number);
        let gate = |most| self.gates.of(&label.into(), terms, |_| Gate::new(most));
        way.gate = self.most.map(gate);
        Arc::new(way)
    }

    /// Whether HTTP/2 may be spoken to any of them.
    pub(super) fn multiplex(&self) -> bool {
        let by_tls = self.tls.as_ref().map(|tls| tls.protocol);
        self.clear != Protocol::Http1 || by_tls.is_some_and(|protocol| protocol != Protocol::Http1)
    }

    /// Whether upstreams are told their own host.
    pub(super) fn set_host(&self) -> bool {
        self.tls.is_some() || self.tells_host
    }
}

// === impl Tls ===

impl Tls {
    fn lead(&self, way: &mut Way, name: ServerName<'static>) {
        let lane = way.lane.with(self.client.identity);
        way.lane = lane.with(name.to_str().as_bytes());
        way.protocol = self.protocol;
        way.tls = Some(TlsWay {
            name,
            config: Arc::clone(&self.client.config),
            http1: Arc::clone(&self.client.http1),
        });
    }
}

// === helpers ===

/// Of all settings that a connection keeps for as long as it is open.
fn lane(transport: &Transport) -> Lane {
    let of = |transport: &Transport| {
        format!(
            "{:?} {:?} {:?} {:?} {:?}",
            transport.dial.local,
            transport.dial.probes,
            transport.proxy_header,
            transport.patience,
            transport.head_limits
        )
    };
    let own = of(transport);
    if own == of(&Transport::default()) {
        Lane::PLAIN
    } else {
        Lane::PLAIN.with(own)
    }
}

/// Without TLS to the upstream there is no negotiation: HTTP/2 must be asked for.
fn clear_protocol(compiler: &mut Compiler<'_>, http: &model::HttpTransport) -> Protocol {
    let h2c = http.versions.contains(&model::HttpVersion::H2c);
    if h2c && http.tls.is_some() {
        compiler.unsupported::<()>(
            "h2c in versions, which is HTTP/2 without TLS, and TLS",
            "leave versions out, HTTP/2 is spoken where the upstream offers it",
        );
    }
    if h2c && http.versions.contains(&model::HttpVersion::Http11) {
        compiler.unsupported::<()>(
            "both 1.1 and h2c in versions",
            "name the one that the upstream speaks",
        );
    }
    if h2c { Protocol::Http2 } else { Protocol::Http1 }
}

/// How connections are kept: `None`, each for one request only.
fn keep(http: &model::HttpTransport) -> Option<PoolLimits> {
    let mut limits = PoolLimits::default();
    let Some(keep_alive) = &http.keep_alive else {
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

/// An address of this machine, with a port or without one.
fn local_address(compiler: &mut Compiler<'_>, text: &str) -> Option<SocketAddr> {
    let text = text.strip_prefix("tcp/").unwrap_or(text);
    let bare = text
        .strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
        .unwrap_or(text);
    let ip = bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 0));
    let parsed = ip.or_else(|_| text.parse::<SocketAddr>()).ok();
    if parsed.is_none() {
        compiler.wrong("local_address is not an IP address of this machine", text);
    }
    parsed
}

fn tls(
    compiler: &mut Compiler<'_>,
    options: &model::UpstreamTls,
    versions: &[model::HttpVersion],
) -> Option<Tls> {
    refuse(compiler, options);
    let has = |version| versions.is_empty() || versions.contains(&version);
    let offers = (has(model::HttpVersion::Http2), has(model::HttpVersion::Http11));
    let protocol = match offers {
        (true, true) => Protocol::Either,
        (true, false) => Protocol::Http2,
        (false, _) => Protocol::Http1,
    };
    let name = options.server_name.as_deref();
    let name = name.and_then(|name| server_name(compiler, name));
    let settings = ClientSettings {
        roots: roots(compiler, options)?,
        certificate: options
            .client_certificate_file
            .clone()
            .zip(options.client_certificate_key_file.clone()),
        groups: options.curves.clone(),
        offers,
    };
    match compiler.surroundings.certificates.client(&settings) {
        Ok(client) => Some(Tls {
            client,
            protocol,
            name,
            except_ports: options
                .except_ports
                .iter()
                .filter_map(|port| port.parse().ok())
                .collect(),
        }),
        Err(error) => {
            compiler.errors.push(BuildError::tls(&compiler.server, error));
            None
        }
    }
}

/// Notes what cannot be done.
fn refuse(compiler: &mut Compiler<'_>, options: &model::UpstreamTls) {
    if options.client_certificate_automate.is_some() {
        compiler.unsupported::<()>(
            "tls_client_auth with a certificate that the proxy has made itself",
            "name the files of a certificate and its key",
        );
    }
    if options.client_certificate_file.is_some() != options.client_certificate_key_file.is_some() {
        compiler.unsupported::<()>(
            "tls_client_auth with one file alone",
            "name those of a certificate and of its key, which may be the same",
        );
    }
    if options
        .renegotiation
        .is_some_and(|renegotiation| renegotiation != model::Renegotiation::Never)
    {
        compiler.unsupported::<()>(
            "tls_renegotiation, by which an upstream changes a connection in use,",
            "leave it out: TLS 1.3 has none, and upstreams that ask for certificates get them at once",
        );
    }
    for curve in &options.curves {
        if client::group(curve).is_none() {
            compiler.unsupported::<()>(
                &format!("the group {curve} in tls_curves"),
                "use x25519mlkem768, x25519, secp256r1 or secp384r1",
            );
        }
    }
}

/// The name that certificates must be for. Placeholders have the values that they have when it is loaded.
fn server_name(compiler: &mut Compiler<'_>, text: &str) -> Option<ServerName<'static>> {
    let template = compiler.parse(text, crate::routing::template::Unknown::Empty);
    let Some(fixed) = template.as_static() else {
        return compiler.unsupported(
            "tls_server_name with placeholders that each request fills in",
            "write the name, and a reverse_proxy for each name",
        );
    };
    let name = ServerName::try_from(fixed.to_owned()).ok();
    if name.is_none() {
        compiler.wrong("not a name that a certificate can be for", fixed);
    }
    name
}

/// Whom to believe.
fn roots(compiler: &mut Compiler<'_>, options: &model::UpstreamTls) -> Option<Roots> {
    if options.insecure_skip_verify {
        compiler.warn(
            "tls_insecure_skip_verify believes any certificate: whoever stands between the proxy and the upstream \
             can read and change everything; name the upstream's authority with tls_trust_pool instead",
        );
        return Some(Roots::Anybody);
    }
    let (files, inline): (&[_], &[String]) = match &options.ca {
        Some(model::CaPool::File { pem_files }) => (pem_files, &[]),
        Some(model::CaPool::Inline { trusted_ca_certs }) => (&[], trusted_ca_certs),
        Some(model::CaPool::System {}) => (&[], &[]),
        None => (&options.root_ca_pem_files, &options.root_ca_pool),
        Some(_) => {
            return compiler.unsupported("this tls_trust_pool", "use `tls_trust_pool file PATH`");
        }
    };
    if files.is_empty() && inline.is_empty() {
        let roots = compiler
            .system_roots
            .get_or_insert_with(SystemRoots::load)
            .clone();
        if roots.is_empty() {
            compiler.warn(
                "no certificate authority of the system was found, so no upstream with TLS will be believed; \
                 install them (ca-certificates), or name the upstream's with tls_trust_pool",
            );
        }
        return Some(Roots::System(roots));
    }
    let mut own = Vec::new();
    for file in files {
        match authorities(file) {
            Ok(mut found) => own.append(&mut found),
            Err(error) => {
                let error = TlsError::from(error);
                compiler.errors.push(BuildError::tls(&compiler.server, error));
            }
        }
    }
    for text in inline {
        match decode(text) {
            Ok(certificate) => own.push(certificate),
            Err(error) => compiler.errors.push(BuildError::tls(&compiler.server, error)),
        }
    }
    Some(Roots::Own(own))
}
