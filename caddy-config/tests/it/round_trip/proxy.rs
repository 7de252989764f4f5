//! Reverse proxies with everything that they can have.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use caddy_config::{
    AUpstreams, ActiveChecks, BreakerRule, BufferSize, CaPool, CircuitBreaker, ConsulLocality, ConsulTls,
    ConsulUpstreams, CookiePolicy, DynamicUpstreams, FallbackDelay, FieldPolicy, FlushInterval, Handler,
    HealthChecks, HttpTransport, HttpVersion, IpVersions, KeepAlive, KeyPolicy, LoadBalancing, NetworkProxy,
    PassiveChecks, ProxyProtocolVersion, QueryPolicy, Renegotiation, Resolver, ResponseHandler, RetryBudget,
    ReverseProxy, SelectionPolicy, SrvUpstreams, Transport, Upstream, UpstreamAddress, UpstreamTls,
};
use proptest::{collection::vec, option, prelude::*};

use super::{
    dial, duration, fields, handlers::rewrite, handlers::status, headers, matcher::matcher_set, name, range,
    response_matcher,
};

pub(super) fn proxy() -> impl Strategy<Value = Handler> {
    let size = || {
        option::of(prop_oneof![
            Just(BufferSize::Unlimited),
            (1_u32..).prop_map(BufferSize::Bytes),
        ])
    };
    let flush = prop_oneof![
        Just(Some(FlushInterval::Immediate)),
        duration().prop_map(|duration| duration.map(FlushInterval::Every)),
    ];
    let choice = (
        option::of(transport()).boxed(),
        option::of(balancing()).boxed(),
        (option::of(checks()), option::of(breaker())).boxed(),
        vec(upstream(), 0..3).boxed(),
        option::of(dynamic()).boxed(),
    );
    let bodies = (flush, size(), size());
    let streams = (duration(), duration(), option::of(1_u32..), any::<bool>());
    let response_handler =
        (option::of(response_matcher()), option::of(status())).prop_map(|(matcher, status_code)| {
            ResponseHandler {
                matcher,
                status_code,
                routes: Vec::new(),
            }
        });
    let changes = (
        vec(range(), 0..2),
        option::of(headers()).boxed(),
        option::of(rewrite()).boxed(),
        vec(response_handler, 0..2),
    );
    (choice, bodies, streams, changes).prop_map(|(choice, bodies, streams, changes)| {
        Handler::ReverseProxy(Box::new(ReverseProxy {
            transport: choice.0,
            load_balancing: choice.1,
            health_checks: choice.2.0,
            circuit_breaker: choice.2.1,
            upstreams: choice.3,
            dynamic_upstreams: choice.4,
            flush_interval: bodies.0,
            trusted_proxies: changes.0,
            headers: changes.1,
            request_buffers: bodies.1,
            response_buffers: bodies.2,
            stream_timeout: streams.0,
            stream_close_delay: streams.1,
            stream_buffer_size: streams.2,
            rewrite: changes.2,
            handle_response: changes.3,
            verbose_logs: streams.3,
        }))
    })
}

fn upstream() -> impl Strategy<Value = Upstream> {
    let address = prop_oneof![
        dial().prop_map(UpstreamAddress::from),
        "/[a-z/]{1,6}".prop_map(UpstreamAddress::Unix),
        Just(UpstreamAddress::Template("{http.request.host}:80".to_owned())),
    ];
    (address, option::of(1_u32..)).prop_map(|(dial, max_requests)| Upstream { dial, max_requests })
}

fn balancing() -> impl Strategy<Value = LoadBalancing> {
    (
        option::of(policy()),
        option::of(1_u32..),
        duration(),
        duration(),
        vec(matcher_set(), 0..2),
        option::of((option::of(0_u32..), option::of(0_u32..))),
        duration(),
        option::of(0_u32..=100),
    )
        .prop_map(
            |(
                selection_policy,
                retries,
                try_duration,
                try_interval,
                retry_match,
                budget,
                slow_start,
                panic,
            )| {
                LoadBalancing {
                    selection_policy,
                    retries,
                    try_duration,
                    try_interval,
                    retry_match,
                    retry_budget: budget.map(|(percent, min_per_second)| RetryBudget {
                        percent,
                        min_per_second,
                    }),
                    slow_start,
                    panic_threshold: panic,
                }
            },
        )
}

fn policy() -> impl Strategy<Value = SelectionPolicy> {
    let leaf = prop_oneof![
        Just(SelectionPolicy::ClientIpHash {}),
        Just(SelectionPolicy::First {}),
        Just(SelectionPolicy::IpHash {}),
        Just(SelectionPolicy::LeastConn {}),
        Just(SelectionPolicy::PeakEwma {}),
        Just(SelectionPolicy::Random {}),
        Just(SelectionPolicy::RoundRobin {}),
        Just(SelectionPolicy::UriHash {}),
        option::of(2_u32..).prop_map(|choose| SelectionPolicy::RandomChoose { choose }),
        vec(1_u32..=65_535, 1..3).prop_map(|weights| SelectionPolicy::WeightedRoundRobin { weights }),
    ];
    leaf.prop_recursive(2, 4, 1, |inner| {
        let fallback = || option::of(inner.clone().prop_map(Box::new));
        prop_oneof![
            (option::of(name()), option::of(name()), duration(), fallback()).prop_map(
                |(name, secret, max_age, fallback)| SelectionPolicy::Cookie(CookiePolicy {
                    name,
                    secret: secret.map(Into::into),
                    max_age,
                    fallback,
                })
            ),
            (name(), option::of(100_u32..), fallback()).prop_map(|(key, bound, fallback)| {
                SelectionPolicy::ConsistentHash(KeyPolicy { key, bound, fallback })
            }),
            (name(), fallback())
                .prop_map(|(field, fallback)| SelectionPolicy::Header(FieldPolicy { field, fallback })),
            (name(), fallback())
                .prop_map(|(key, fallback)| SelectionPolicy::Query(QueryPolicy { key, fallback })),
        ]
    })
}

fn checks() -> impl Strategy<Value = HealthChecks> {
    let count = || option::of(1_u32..);
    let statuses = || prop_oneof![1_u16..=5, 100_u16..=999];
    let asked = (
        option::of(name()),
        option::of(name()),
        option::of(dial().prop_map(|address| address.to_string())),
        option::of(1_u16..),
        fields(),
        option::of(name()),
        option::of(name()),
    );
    let judged = (
        (duration(), duration()),
        (count(), count(), count()),
        option::of(statuses()),
        option::of("[a-z]{1,4}"),
        any::<bool>(),
        any::<bool>(),
    );
    let active = (asked, judged).prop_map(|(asked, judged)| ActiveChecks {
        path: asked.0,
        uri: asked.1,
        tcp: judged.5,
        upstream: asked.2,
        port: asked.3,
        headers: asked.4,
        method: asked.5,
        body: asked.6,
        follow_redirects: judged.4,
        interval: judged.0.0,
        timeout: judged.0.1,
        passes: judged.1.0,
        fails: judged.1.1,
        max_size: judged.1.2.map(u64::from),
        expect_status: judged.2,
        expect_body: judged.3,
    });
    let passive = (duration(), count(), count(), vec(statuses(), 0..3), duration()).prop_map(
        |(fail_duration, max_fails, unhealthy_request_count, unhealthy_status, unhealthy_latency)| {
            PassiveChecks {
                fail_duration,
                max_fails,
                unhealthy_request_count,
                unhealthy_status,
                unhealthy_latency,
            }
        },
    );
    (option::of(active).boxed(), option::of(passive).boxed())
        .prop_map(|(active, passive)| HealthChecks { active, passive })
}

fn breaker() -> impl Strategy<Value = CircuitBreaker> {
    let consecutive = (1_u32..).prop_map(|failures| BreakerRule::Consecutive { failures });
    let rate = (1_u32..=1_000, 1_000_u32..=65_536)
        .prop_map(|(failures, window)| BreakerRule::Rate { failures, window });
    (prop_oneof![consecutive, rate], duration(), option::of(1_u32..)).prop_map(
        |(rule, timeout, half_open_requests)| CircuitBreaker {
            rule,
            timeout,
            half_open_requests,
        },
    )
}

fn dynamic() -> impl Strategy<Value = DynamicUpstreams> {
    let text = || option::of(name());
    let dns = || {
        (
            duration(),
            option::of(resolver()),
            duration(),
            option::of(fallback_delay()),
        )
    };
    let versions = any::<[bool; 2]>().prop_map(|[ipv4, ipv6]| IpVersions { ipv4, ipv6 });
    let a = (text(), text(), dns(), option::of(versions)).prop_map(|(name, port, dns, versions)| {
        DynamicUpstreams::A(AUpstreams {
            name,
            port,
            refresh: dns.0,
            resolver: dns.1,
            dial_timeout: dns.2,
            dial_fallback_delay: dns.3,
            versions,
        })
    });
    let srv =
        (text(), text(), text(), dns(), duration()).prop_map(|(service, proto, name, dns, grace_period)| {
            DynamicUpstreams::Srv(SrvUpstreams {
                service,
                proto,
                name,
                refresh: dns.0,
                grace_period,
                resolver: dns.1,
                dial_timeout: dns.2,
                dial_fallback_delay: dns.3,
            })
        });
    let consul = consul().prop_map(|consul| DynamicUpstreams::Consul(Box::new(consul)));
    let leaf = prop_oneof![Just(DynamicUpstreams::Doors {}), a, srv, consul];
    leaf.prop_recursive(2, 4, 2, |inner| {
        vec(inner, 0..3).prop_map(|sources| DynamicUpstreams::Multi { sources })
    })
}

fn consul() -> impl Strategy<Value = ConsulUpstreams> {
    let text = || option::of(name());
    let path = || text().prop_map(|text| text.map(Into::into));
    let locality =
        (name(), name(), option::of(1_u32..)).prop_map(|(node_meta, local_value, minimum)| ConsulLocality {
            node_meta,
            local_value,
            minimum,
        });
    let client = option::of((name(), name())).prop_map(Option::unzip);
    let tls = (path(), client, text(), any::<bool>()).prop_map(|(ca, (cert, key), server_name, insecure)| {
        ConsulTls {
            ca,
            client_cert: cert.map(Into::into),
            client_key: key.map(Into::into),
            server_name,
            insecure_skip_verify: insecure,
        }
    });
    let times = (duration(), duration(), duration());
    let names = (text(), text(), text(), text());
    let token = prop_oneof![
        text().prop_map(|token| (token, None)),
        path().prop_map(|file| (None, file)),
    ];
    (
        (name(), times, option::of(locality), token),
        (option::of(tls), names, any::<[bool; 3]>()),
    )
        .prop_map(
            |((service, times, locality, (token, token_file)), (tls, names, flags))| ConsulUpstreams {
                address: None,
                service,
                refresh: times.0,
                grace_period: times.1,
                locality,
                token: token.map(Into::into),
                token_file,
                tls,
                datacenter: names.0,
                namespace: names.1,
                partition: names.2,
                tag: names.3,
                stale: flags[0],
                timeout: times.2,
                watch: flags[1],
                weights: flags[2],
            },
        )
}

fn resolver() -> impl Strategy<Value = Resolver> {
    let address = any::<IpAddr>().prop_map(Into::into);
    vec(address, 0..3).prop_map(|addresses| Resolver { addresses })
}

fn fallback_delay() -> impl Strategy<Value = FallbackDelay> {
    any::<i64>().prop_filter_map("zero", FallbackDelay::new)
}

fn transport() -> impl Strategy<Value = Transport> {
    (connections().boxed(), times().boxed(), sizes().boxed()).prop_map(|(connections, times, sizes)| {
        Transport::Http(Box::new(HttpTransport {
            dial_timeout: times.0,
            response_header_timeout: times.1,
            expect_continue_timeout: times.2,
            read_timeout: times.3,
            write_timeout: times.4,
            max_response_header_size: sizes.0,
            write_buffer_size: sizes.1,
            read_buffer_size: sizes.2,
            max_conns_per_host: sizes.3,
            ..connections
        }))
    })
}

type Limit = Option<Duration>;

fn times() -> impl Strategy<Value = (Limit, Limit, Limit, Limit, Limit)> {
    (duration(), duration(), duration(), duration(), duration())
}

fn sizes() -> impl Strategy<Value = (Option<u32>, Option<u32>, Option<u32>, Option<u32>)> {
    let count = || option::of(1_u32..);
    (count(), count(), count(), count())
}

/// What is no limit of time or number; the other fields are empty.
fn connections() -> impl Strategy<Value = HttpTransport> {
    let version = prop_oneof![
        Just(HttpVersion::Http11),
        Just(HttpVersion::Http2),
        Just(HttpVersion::Http3),
        Just(HttpVersion::H2c)
    ];
    let proxy_protocol = prop_oneof![Just(ProxyProtocolVersion::V1), Just(ProxyProtocolVersion::V2)];
    let network_proxy = prop_oneof![
        Just(NetworkProxy::None {}),
        name().prop_map(|name| NetworkProxy::Url {
            url: format!("http://{name}:3128")
        }),
    ];
    (
        option::of(resolver()),
        option::of(tls()).boxed(),
        option::of(keep_alive()),
        (option::of(any::<bool>()), option::of(fallback_delay())),
        (option::of(proxy_protocol), option::of(network_proxy)),
        (vec(version, 0..3), option::of(name())),
    )
        .prop_map(
            |(resolver, tls, keep_alive, switches, proxies, rest)| HttpTransport {
                resolver,
                tls,
                keep_alive,
                compression: switches.0,
                dial_fallback_delay: switches.1,
                proxy_protocol: proxies.0,
                network_proxy: proxies.1,
                versions: rest.0,
                local_address: rest.1,
                ..HttpTransport::default()
            },
        )
}

fn keep_alive() -> impl Strategy<Value = KeepAlive> {
    let count = || option::of(1_u32..);
    (
        option::of(any::<bool>()),
        duration(),
        count(),
        count(),
        duration(),
    )
        .prop_map(
            |(enabled, probe_interval, max_idle_conns, max_idle_conns_per_host, idle_timeout)| KeepAlive {
                enabled,
                probe_interval,
                max_idle_conns,
                max_idle_conns_per_host,
                idle_timeout,
            },
        )
}

fn tls() -> impl Strategy<Value = UpstreamTls> {
    let path = || name().prop_map(PathBuf::from);
    let authorities = (vec(certificate(), 0..2), vec(path(), 0..2), option::of(ca_pool()));
    let own = (
        option::of(path()),
        option::of(path()),
        option::of(name()),
        any::<bool>(),
    );
    let renegotiation = prop_oneof![
        Just(Renegotiation::Never),
        Just(Renegotiation::Once),
        Just(Renegotiation::Freely)
    ];
    let handshake = (
        duration(),
        option::of(name()),
        option::of(renegotiation),
        vec((1_u16..).prop_map(|port| port.to_string()), 0..2),
        vec("x25519|secp256r1".prop_map(|name| name), 0..2),
    );
    (authorities, own, handshake).prop_map(|(authorities, own, handshake)| UpstreamTls {
        root_ca_pool: authorities.0,
        root_ca_pem_files: authorities.1,
        ca: authorities.2,
        client_certificate_file: own.0,
        client_certificate_key_file: own.1,
        client_certificate_automate: own.2,
        insecure_skip_verify: own.3,
        handshake_timeout: handshake.0,
        server_name: handshake.1,
        renegotiation: handshake.2,
        except_ports: handshake.3,
        curves: handshake.4,
    })
}

pub(super) fn ca_pool() -> impl Strategy<Value = CaPool> {
    prop_oneof![
        Just(CaPool::System {}),
        vec(name().prop_map(PathBuf::from), 0..3).prop_map(|pem_files| CaPool::File { pem_files }),
        vec(certificate(), 0..3).prop_map(|trusted_ca_certs| CaPool::Inline { trusted_ca_certs }),
    ]
}

/// Base64 that need not be a certificate.
pub(super) fn certificate() -> impl Strategy<Value = String> {
    "([A-Za-z0-9+/]{4}){1,2}([A-Za-z0-9+/]{3}=)?"
}
