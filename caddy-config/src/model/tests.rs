//! How the model prints.

use std::{collections::BTreeMap, time::Duration};

use super::{
    Apps, Config, CopyResponseHeaders, DoorsGeo, DoorsHandler, DoorsUpstream, DynamicUpstreams, Encode,
    Handler, HostPort, HostPortError, HttpApp, IpRange, ResolverAddress, ReverseProxy, Route, Secret, Server,
    StaticResponse, Status, Subroute,
};

fn config(handlers: Vec<Handler>) -> Config {
    let server = Server {
        listen: vec![HostPort::new(String::new(), 80).into()],
        routes: vec![Route {
            handlers,
            terminal: true,
            ..Route::default()
        }],
        ..Server::default()
    };
    let http = HttpApp {
        grace_period: Some(Duration::from_secs(10)),
        servers: BTreeMap::from([("srv0".to_owned(), server)]),
        ..HttpApp::default()
    };
    Config {
        apps: Apps {
            http: Some(http),
            ..Apps::default()
        },
        ..Config::default()
    }
}

#[test]
fn handlers_print_their_fields_by_name_and_routes_in_caddys_order() {
    let inner = Route {
        handlers: vec![Handler::StaticResponse(StaticResponse {
            status_code: Some(Status::Code(200)),
            body: "<&>".to_owned(),
            ..StaticResponse::default()
        })],
        terminal: true,
        ..Route::default()
    };
    let json = config(vec![Handler::Subroute(Subroute {
        routes: vec![inner],
        errors: None,
    })])
    .to_json();
    assert_eq!(
        json,
        concat!(
            r#"{"apps":{"http":{"grace_period":10000000000,"servers":{"srv0":{"listen":[":80"],"routes":["#,
            r#"{"handle":[{"handler":"subroute","routes":[{"handle":["#,
            r#"{"body":"\u003c\u0026\u003e","handler":"static_response","status_code":200}],"terminal":true}]}],"#,
            r#""terminal":true}]}}}}}"#
        )
    );
}

#[test]
fn one_secret_is_a_string_and_several_are_a_list() {
    let handler = |secrets: &[&str]| {
        Handler::DoorsHandler(DoorsHandler {
            secrets: secrets
                .iter()
                .map(|text| Secret::from((*text).to_owned()))
                .collect(),
            upstreams: vec![DoorsUpstream {
                cidr: "10.0.0.0/24".parse().unwrap(),
                host: "svc".to_owned(),
                port: 8080,
            }],
            ..DoorsHandler::default()
        })
    };
    let one = serde_json::to_string(&handler(&["a"])).unwrap();
    assert_eq!(
        one,
        r#"{"handler":"doors_handler","secret":"a","upstreams":[{"cidr":"10.0.0.0/24","host":"svc","port":8080}]}"#
    );
    let two = serde_json::to_string(&handler(&["a", "b"])).unwrap();
    assert!(two.contains(r#""secret":["a","b"]"#), "{two}");
}

#[test]
fn debug_of_a_whole_configuration_shows_no_secret() {
    let doors = DoorsHandler {
        secrets: vec![Secret::from("hunter2".to_owned())],
        ..DoorsHandler::default()
    };
    let text = format!("{:?}", config(vec![Handler::DoorsHandler(doors)]));
    assert!(text.contains("Secret(..)") && !text.contains("hunter2"), "{text}");
}

#[test]
fn the_doors_source_prints_as_caddys_module() {
    let proxy = ReverseProxy {
        dynamic_upstreams: Some(DynamicUpstreams::Doors {}),
        ..ReverseProxy::default()
    };
    let json = serde_json::to_string(&Handler::ReverseProxy(Box::new(proxy))).unwrap();
    assert_eq!(
        json,
        r#"{"handler":"reverse_proxy","dynamic_upstreams":{"source":"doors_upstreams"}}"#
    );
}

#[test]
fn addresses_print_as_they_were_read() {
    for text in [":80", "a.example:443", "[::1]:8080", "127.0.0.1:0"] {
        assert_eq!(text.parse::<HostPort>().unwrap().to_string(), text);
    }
    for text in ["10.0.0.0/8", "10.1.2.3/8", "1.2.3.4", "::1", "fd00::/8"] {
        assert_eq!(text.parse::<IpRange>().unwrap().to_string(), text);
    }
    for text in ["127.0.0.1", "127.0.0.1:53", "::1", "[::1]:5353"] {
        assert_eq!(text.parse::<ResolverAddress>().unwrap().to_string(), text);
    }
    assert_eq!(
        "9.9.9.9".parse::<ResolverAddress>().unwrap().socket_addr(),
        "9.9.9.9:53".parse().unwrap()
    );
}

#[test]
fn what_is_no_address_says_why() {
    use HostPortError::{Host, NoPort, Port};
    let cases = [
        ("", NoPort),
        ("example", NoPort),
        ("[::1]", NoPort),
        ("a:", Port),
        ("a:+1", Port),
        ("a:65536", Port),
        ("::1:80", Host),
        ("[::1:80", Host),
        ("[a]:80", Host),
        ("a b:80", Host),
        ("http://a:80", Host),
    ];
    for (text, error) in cases {
        assert_eq!(text.parse::<HostPort>(), Err(error), "{text}");
    }
    assert!("10.0.0.0/33".parse::<IpRange>().is_err() && "010.0.0.1".parse::<IpRange>().is_err());
}

#[test]
fn a_handler_is_named_as_in_json() {
    for handler in [
        Handler::CopyResponseHeaders(CopyResponseHeaders::default()),
        Handler::DoorsGeo(DoorsGeo::default()),
        Handler::Encode(Encode::default()),
        Handler::Eskip(Box::default()),
        Handler::ReverseProxy(Box::default()),
        Handler::StaticResponse(StaticResponse::default()),
        Handler::Subroute(Subroute::default()),
    ] {
        let json = serde_json::to_value(&handler).unwrap();
        assert_eq!(json["handler"], handler.name());
    }
}
