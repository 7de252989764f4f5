//! Servers and what stands beside them.

use std::path::PathBuf;

use caddy_config::{
    Admin, AdminConfig, AutomaticHttps, CertificateAuthority, HostPort, HttpApp, HttpMetrics, IpSource,
    ListenAddress, ListenerWrapper, PkiApp, Protocol, ProxyProtocol, ProxyProtocolFallback, Server,
    ServerLogs, Storage, UnixSocket,
};
use proptest::{collection::vec, option, prelude::*};

use super::{
    any_doors, dial, doors_route, duration, error_routes, name, named_routes, range, route,
    route_sources::route_sources, value,
};

pub(super) fn admin() -> impl Strategy<Value = Admin> {
    let listen = prop_oneof![
        name(),
        dial().prop_map(|address| address.to_string()),
        Just("unix//run/x|0660".to_owned()),
    ];
    let config = option::of(any::<bool>()).prop_map(|persist| AdminConfig { persist });
    (
        any::<[bool; 2]>(),
        option::of(listen),
        vec(name(), 0..3),
        option::of(config),
    )
        .prop_map(|([disabled, enforce_origin], listen, origins, config)| Admin {
            disabled,
            listen,
            enforce_origin,
            origins,
            config,
        })
}

pub(super) fn storage() -> impl Strategy<Value = Storage> {
    option::of(name().prop_map(PathBuf::from)).prop_map(|root| Storage::FileSystem { root })
}

pub(super) fn pki() -> impl Strategy<Value = PkiApp> {
    let name = || option::of(name());
    let authority = (name(), name(), name(), duration(), option::of(any::<bool>())).prop_map(
        |(name, root, intermediate, intermediate_lifetime, install_trust)| CertificateAuthority {
            name,
            root_common_name: root,
            intermediate_common_name: intermediate,
            intermediate_lifetime,
            install_trust,
        },
    );
    option::of(authority).prop_map(|authority| PkiApp {
        certificate_authorities: authority
            .into_iter()
            .map(|authority| ("local".to_owned(), authority))
            .collect(),
    })
}

pub(super) fn http() -> impl Strategy<Value = HttpApp> {
    let servers = prop::collection::btree_map(name(), server(), 0..3);
    let metrics = any::<[bool; 2]>().prop_map(|[per_host, observe_catchall_hosts]| HttpMetrics {
        per_host,
        observe_catchall_hosts,
    });
    let ports = (option::of(1_u16..), option::of(1_u16..));
    let sources = option::of(route_sources()).boxed();
    (
        ports,
        duration(),
        duration(),
        servers,
        option::of(metrics),
        sources,
    )
        .prop_map(
            |((http_port, https_port), grace_period, shutdown_delay, mut servers, metrics, sources)| {
                let first = servers.values_mut().next();
                // Sources and servers of their hosts need each other.
                let route_sources = sources.zip(first).map(|(sources, first): (_, &mut Server)| {
                    first.route_sources = true;
                    sources
                });
                HttpApp {
                    http_port,
                    https_port,
                    grace_period,
                    shutdown_delay,
                    servers,
                    metrics,
                    route_sources,
                }
            },
        )
}

fn server() -> impl Strategy<Value = Server> {
    let rest = (
        option::of(vec(super::tls::policy(), 0..3)),
        option::of(server_logs()),
        vec(route(), 0..3),
        option::of(error_routes(route())),
        named_routes(),
    );
    // Boxed: so many fields at once would be too much for the stack of a test.
    let parts = (
        listeners().boxed(),
        times().boxed(),
        heads().boxed(),
        rest.boxed(),
    );
    parts.prop_map(|(listeners, times, heads, rest)| {
        let mut routes = rest.2;
        let errors = rest.3.iter().flat_map(|errors| &errors.routes);
        let named = rest.4.values();
        if any_doors(&mut routes.iter().chain(errors).chain(named)) {
            routes.push(doors_route());
        }
        Server {
            listen: listeners.listen,
            listen_protocols: listeners.listen_protocols,
            listener_wrappers: listeners.listener_wrappers,
            protocols: listeners.protocols,
            tls_connection_policies: rest.0,
            logs: rest.1,
            errors: rest.3,
            named_routes: rest.4,
            routes,
            ..joined(&times, heads)
        }
    })
}

/// What two strategies made of one server: neither sets what the other does.
fn joined(times: &Server, heads: Server) -> Server {
    Server {
        read_timeout: times.read_timeout,
        read_header_timeout: times.read_header_timeout,
        read_idle_timeout: times.read_idle_timeout,
        read_min_rate: times.read_min_rate,
        write_timeout: times.write_timeout,
        write_idle_timeout: times.write_idle_timeout,
        write_min_rate: times.write_min_rate,
        max_write_chunk: times.max_write_chunk,
        idle_timeout: times.idle_timeout,
        keepalive_interval: times.keepalive_interval,
        keepalive_idle: times.keepalive_idle,
        keepalive_count: times.keepalive_count,
        max_connections_per_client: times.max_connections_per_client,
        max_streams: times.max_streams,
        max_control_frames: times.max_control_frames,
        max_control_frames_burst: times.max_control_frames_burst,
        max_stream_errors: times.max_stream_errors,
        ..heads
    }
}

/// Where a server listens; the other fields are empty.
fn listeners() -> impl Strategy<Value = Server> {
    let listen = prop_oneof![
        dial().prop_map(ListenAddress::from),
        any::<u16>().prop_map(|port| HostPort::new(String::new(), port).into()),
        "@?[a-z/]{1,6}(\\|0?[2367][0-7]{2})?".prop_map(|text| UnixSocket::parse(&text).unwrap().into()),
    ];
    let protocols = option::of(vec(protocol(), 1..3));
    (vec((listen, protocols), 0..3), vec(protocol(), 0..4), wrappers()).prop_map(
        |(places, protocols, listener_wrappers)| Server {
            listen_protocols: places.iter().map(|(_, protocols)| protocols.clone()).collect(),
            listen: places.into_iter().map(|(listen, _)| listen).collect(),
            listener_wrappers,
            protocols,
            ..Server::default()
        },
    )
}

fn wrappers() -> impl Strategy<Value = Vec<ListenerWrapper>> {
    let fallback = prop_oneof![
        Just(ProxyProtocolFallback::Use),
        Just(ProxyProtocolFallback::Reject),
        Just(ProxyProtocolFallback::Require),
        Just(ProxyProtocolFallback::Skip),
    ];
    let proxy_protocol = (
        duration(),
        vec(range(), 0..2),
        vec(range(), 0..2),
        option::of(fallback),
    )
        .prop_map(|(timeout, allow, deny, fallback_policy)| ProxyProtocol {
            timeout,
            allow,
            deny,
            fallback_policy,
        });
    (option::of(proxy_protocol), any::<bool>()).prop_map(|(proxy_protocol, tls)| {
        let first = proxy_protocol.map(ListenerWrapper::ProxyProtocol);
        let second = first.as_ref().filter(|_| tls).map(|_| ListenerWrapper::Tls {});
        first.into_iter().chain(second).collect()
    })
}

/// How long things may take; the other fields are empty.
fn times() -> impl Strategy<Value = Server> {
    let count = || option::of(1_u32..);
    let limits = (duration(), duration(), duration(), duration());
    let idle = (duration(), count(), duration(), count());
    let keepalive = (duration(), duration(), count());
    let http2 = (count(), count(), count(), count());
    (limits, idle, keepalive, count(), http2).prop_map(|(limits, idle, keepalive, chunk, http2)| Server {
        read_timeout: limits.0,
        read_header_timeout: limits.1,
        write_timeout: limits.2,
        idle_timeout: limits.3,
        read_idle_timeout: idle.0,
        read_min_rate: idle.1,
        write_idle_timeout: idle.2,
        write_min_rate: idle.3,
        keepalive_interval: keepalive.0,
        keepalive_idle: keepalive.1,
        keepalive_count: keepalive.2,
        max_connections_per_client: keepalive.2.map(|count| count.saturating_add(1)),
        max_streams: http2.0,
        max_control_frames: http2.1,
        max_control_frames_burst: http2.2,
        max_stream_errors: http2.3,
        max_write_chunk: chunk.map(u64::from),
        ..Server::default()
    })
}

/// What is asked of heads, and who is believed; the other fields are empty.
fn heads() -> impl Strategy<Value = Server> {
    let names = || vec(name(), 0..2);
    (
        option::of(vec(range(), 0..3)),
        (names(), names(), names()),
        any::<[bool; 3]>(),
        option::of(any::<bool>()),
        option::of(1..=u64::from(u32::MAX)),
        (option::of(automatic_https()), option::of(Just(false))),
    )
        .prop_map(
            |(trusted, names, switches, strict_sni_host, max_header_bytes, tls)| Server {
                trusted_proxies: trusted.map(|ranges| IpSource::Static { ranges }),
                client_ip_headers: names.0,
                expected_underscore_headers: names.1,
                expected_dot_headers: names.2,
                trusted_proxies_strict: switches[0],
                trusted_proxies_unix: switches[1],
                enable_full_duplex: switches[2],
                strict_sni_host,
                max_header_bytes,
                automatic_https: tls.0,
                allow_0rtt: tls.1,
                ..Server::default()
            },
        )
}

fn automatic_https() -> impl Strategy<Value = AutomaticHttps> {
    let names = || vec(name(), 0..2);
    (any::<[bool; 4]>(), names(), names()).prop_map(|(switches, skip, skip_certificates)| AutomaticHttps {
        disable: switches[0],
        disable_redirects: switches[1],
        disable_certificates: switches[2],
        ignore_loaded_certificates: switches[3],
        skip,
        skip_certificates,
    })
}

fn protocol() -> impl Strategy<Value = Protocol> {
    prop_oneof![
        Just(Protocol::H1),
        Just(Protocol::H2),
        Just(Protocol::H2c),
        Just(Protocol::H3)
    ]
}

fn server_logs() -> impl Strategy<Value = ServerLogs> {
    let names = prop::collection::btree_map(name(), vec(value(), 0..3), 0..3);
    (option::of(name()), names, vec(name(), 0..2), any::<[bool; 3]>()).prop_map(
        |(default_logger_name, logger_names, skip_hosts, switches)| ServerLogs {
            default_logger_name,
            logger_names,
            skip_hosts,
            skip_unmapped_hosts: switches[0],
            should_log_credentials: switches[1],
            trace: switches[2],
        },
    )
}
