//! What the model prints, it reads again as the same.

mod eskip;
mod handlers;
mod logging;
mod matcher;
mod proxy;
mod route_sources;
mod server;
mod tls;

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use caddy_config::{
    Apps, Config, DoorsHandler, DoorsUpstream, DynamicUpstreams, ErrorRoutes, Handler, HeaderOps, Headers,
    HostPort, Invoke, IpRange, Replacement, ResponseMatcher, ResponseOps, Route, StaticResponse, Subroute,
    from_json,
};
use proptest::{collection::vec, option, prelude::*};

use self::{
    handlers::{handler, status},
    logging::logging,
    matcher::{matcher_set, template},
    proxy::proxy,
    server::{admin, http, pki, storage},
    tls::tls,
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_printed_model_is_read_as_itself(config in config()) {
        for json in [config.to_json(), config.to_json_pretty()] {
            match from_json("printed.json", &json) {
                Ok(read) => prop_assert_eq!(&read, &config, "{}", json),
                Err(findings) => prop_assert!(false, "{findings}\n{json}"),
            }
        }
    }
}

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z][a-zA-Z0-9-]{0,8}"
}

/// Anything that may stand in a body; no braces, which could be placeholders that are not supported.
fn text() -> impl Strategy<Value = String> {
    "[ -z|~\\t\\n\u{e9}\u{1f600}\u{2028}]{0,12}"
}

fn value() -> impl Strategy<Value = String> {
    "[ -z|~\u{e9}]{0,12}"
}

fn duration() -> impl Strategy<Value = Option<Duration>> {
    option::of((1..=i64::MAX.unsigned_abs()).prop_map(Duration::from_nanos))
}

fn host() -> impl Strategy<Value = String> {
    prop_oneof![name(), any::<IpAddr>().prop_map(|ip| ip.to_string())]
}

fn dial() -> impl Strategy<Value = HostPort> {
    (host(), 1_u16..).prop_map(|(host, port)| HostPort::new(host, port))
}

fn range() -> impl Strategy<Value = IpRange> {
    let net = (any::<IpAddr>(), 0_u8..=32).prop_map(|(ip, length)| ipnet::IpNet::new(ip, length).unwrap());
    prop_oneof![
        net.prop_map(IpRange::from),
        any::<IpAddr>().prop_map(IpRange::from)
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let apps = (
        option::of(http()).boxed(),
        option::of(pki()).boxed(),
        option::of(tls()).boxed(),
    )
        .prop_map(|(http, pki, tls)| Apps { http, pki, tls });
    let parts = (
        option::of(admin()).boxed(),
        option::of(logging()).boxed(),
        option::of(storage()).boxed(),
        apps.boxed(),
    );
    parts.prop_map(|(admin, logging, storage, apps)| Config {
        admin,
        logging,
        storage,
        apps,
    })
}

/// Whether some reverse proxy, at any depth, takes what a `doors_handler` chooses.
fn any_doors(routes: &mut dyn Iterator<Item = &Route>) -> bool {
    routes
        .flat_map(|route| &route.handlers)
        .any(|handler| match handler {
            Handler::ReverseProxy(proxy) => proxy
                .dynamic_upstreams
                .as_ref()
                .is_some_and(DynamicUpstreams::has_doors),
            Handler::Subroute(subroute) => {
                let errors = subroute.errors.iter().flat_map(|errors| &errors.routes);
                any_doors(&mut subroute.routes.iter().chain(errors))
            }
            _ => false,
        })
}

fn doors_route() -> Route {
    let upstream = DoorsUpstream {
        cidr: "10.0.0.0/8".parse().unwrap(),
        host: "a".to_owned(),
        port: 1,
    };
    let doors = DoorsHandler {
        secrets: vec!["MDEyMzQ1Njc4OWFiY2RlZg==".to_owned().into()],
        upstreams: vec![upstream],
        ..DoorsHandler::default()
    };
    Route {
        handlers: vec![Handler::DoorsHandler(doors)],
        ..Route::default()
    }
}

fn route() -> impl Strategy<Value = Route> {
    let leaf = prop_oneof![
        1 => static_response(),
        1 => headers().prop_map(Handler::Headers),
        1 => proxy(),
        1 => doors_handler(),
        3 => handler(),
    ];
    let handler = leaf.prop_recursive(3, 12, 3, |inner| {
        let errors = option::of(error_routes(route_of(inner.clone())));
        (vec(route_of(inner), 0..3), errors)
            .prop_map(|(routes, errors)| Handler::Subroute(Subroute { routes, errors }))
    });
    route_of(handler)
}

fn error_routes(route: impl Strategy<Value = Route>) -> impl Strategy<Value = ErrorRoutes> {
    vec(route, 0..3).prop_map(|routes| ErrorRoutes { routes })
}

/// Routes that each invoke those named before them.
fn named_routes() -> impl Strategy<Value = BTreeMap<String, Route>> {
    prop::collection::btree_map(name(), route(), 0..3).prop_map(|mut named| {
        let mut before: Vec<Handler> = Vec::new();
        for (name, route) in &mut named {
            route.handlers.extend(before.iter().cloned());
            before.push(Handler::Invoke(Invoke { name: name.clone() }));
        }
        named
    })
}

fn route_of(handler: impl Strategy<Value = Handler>) -> impl Strategy<Value = Route> {
    (
        option::of(name()),
        vec(matcher_set().boxed(), 0..3),
        vec(handler, 0..3),
        any::<bool>(),
    )
        .prop_map(|(group, matchers, handlers, terminal)| Route {
            group,
            matchers,
            handlers,
            terminal,
        })
}

fn static_response() -> impl Strategy<Value = Handler> {
    (
        option::of(status()),
        fields(),
        prop_oneof![text(), template()],
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(status_code, headers, body, close, abort)| {
            Handler::StaticResponse(StaticResponse {
                status_code,
                headers,
                body,
                close,
                abort,
            })
        })
}

fn fields() -> impl Strategy<Value = BTreeMap<String, Vec<String>>> {
    prop::collection::btree_map(name(), vec(value(), 0..3), 0..3)
}

fn header_ops() -> impl Strategy<Value = HeaderOps> {
    let replacement = (value(), any::<bool>(), "[a-z]{1,5}").prop_map(|(replace, regexp, pattern)| {
        let (search, search_regexp) = if regexp {
            (String::new(), pattern)
        } else {
            (pattern, String::new())
        };
        Replacement {
            search,
            search_regexp,
            replace,
        }
    });
    let replace = prop::collection::btree_map(name(), vec(replacement, 0..2), 0..2);
    (fields(), fields(), vec(name(), 0..3), replace).prop_map(|(add, set, delete, replace)| HeaderOps {
        add,
        set,
        delete,
        replace,
    })
}

fn response_matcher() -> impl Strategy<Value = ResponseMatcher> {
    let wanted = prop::collection::btree_map(name(), option::of(vec(value(), 0..2)), 0..2);
    (vec(1_u16..=599, 0..3), wanted)
        .prop_map(|(status_code, headers)| ResponseMatcher { status_code, headers })
}

fn headers() -> impl Strategy<Value = Headers> {
    let response =
        (header_ops(), option::of(response_matcher()), any::<bool>()).prop_map(|(ops, require, deferred)| {
            ResponseOps {
                ops,
                require,
                deferred,
            }
        });
    (option::of(header_ops()), option::of(response))
        .prop_map(|(request, response)| Headers { request, response })
}

fn doors_handler() -> impl Strategy<Value = Handler> {
    let net = (any::<IpAddr>(), 0_u8..=32).prop_map(|(ip, length)| ipnet::IpNet::new(ip, length).unwrap());
    let upstream = (net, host(), 1_u16..).prop_map(|(cidr, host, port)| DoorsUpstream { cidr, host, port });
    let secrets = vec(
        "[a-zA-Z0-9+/]{21}[AQgw]==|[a-zA-Z0-9+/]{32}|[a-zA-Z0-9+/]{42}[AEIMQUYcgkosw048]="
            .prop_map(Into::into),
        1..3,
    );
    (secrets, name(), vec(upstream, 1..3), option::of(200_u16..=999)).prop_map(
        |(secrets, cookie, upstreams, dead_pod_status)| {
            Handler::DoorsHandler(DoorsHandler {
                secrets,
                cookie_name: Some(cookie),
                upstreams,
                dead_pod_status,
            })
        },
    )
}
