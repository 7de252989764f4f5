//! Caddy JSON: what is read, and what every mistake says.

use caddy_config::{Config, DynamicUpstreams, FlushInterval, Handler, Transport, from_json};

const SEED: &str = r#"{
    "apps": {
        "http": {
            "servers": {
                "example": {
                    "routes": [
                        {
                            "handle": [
                                {
                                    "handler": "doors_handler",
                                    "secret": "MDEyMzQ1Njc4OWFiY2RlZg==",
                                    "cookie_name": "upstream",
                                    "upstreams": [
                                        {
                                            "cidr": "10.0.0.0/24",
                                            "host": "svc.namespace.svc.cluster.local",
                                            "port": 8080
                                        }
                                    ]
                                },
                                {
                                    "handler": "reverse_proxy",
                                    "upstreams": {
                                        "source": "doors_upstreams"
                                    }
                                }
                            ]
                        }
                    ]
                }
            }
        }
    }
}"#;

fn read(text: &str) -> Config {
    from_json("t.json", text).unwrap_or_else(|findings| panic!("{findings}"))
}

/// The findings without source lines: one `line:column: [path: ]message` each.
fn findings(text: &str) -> Vec<String> {
    let findings = from_json("t.json", text).expect_err("the document is wrong");
    let lines = findings.iter().map(|finding| {
        let place = finding.place();
        let path = finding
            .path()
            .filter(|path| !path.is_empty())
            .map(|path| format!("{path}: "));
        let path = path.unwrap_or_default();
        format!("{}:{}: {path}{}", place.line(), place.column(), finding.message())
    });
    lines.collect()
}

pub(crate) fn server(fields: &str) -> String {
    format!(r#"{{"apps":{{"http":{{"servers":{{"s":{{{fields}}}}}}}}}}}"#)
}

pub(crate) fn handler(fields: &str) -> String {
    server(&format!(r#""routes":[{{"handle":[{{{fields}}}]}}]"#))
}

fn handlers(config: &Config) -> &[Handler] {
    let server = config
        .apps
        .http
        .as_ref()
        .unwrap()
        .servers
        .values()
        .next()
        .unwrap();
    &server.routes[0].handlers
}

#[test]
fn the_document_of_the_doors_readme_is_read() {
    let config = read(SEED);
    let [Handler::DoorsHandler(doors), Handler::ReverseProxy(proxy)] = handlers(&config) else {
        panic!("{config:?}")
    };
    assert_eq!(doors.secrets[0].expose(), "MDEyMzQ1Njc4OWFiY2RlZg==");
    assert_eq!(doors.cookie_name.as_deref(), Some("upstream"));
    let upstream = &doors.upstreams[0];
    assert_eq!(upstream.cidr.to_string(), "10.0.0.0/24");
    assert_eq!(
        (upstream.host.as_str(), upstream.port),
        ("svc.namespace.svc.cluster.local", 8080)
    );
    assert_eq!(proxy.dynamic_upstreams, Some(DynamicUpstreams::Doors {}));
    assert!(proxy.upstreams.is_empty());
}

#[test]
fn both_places_of_the_upstream_source_mean_the_same() {
    let caddys = SEED.replace(r#""upstreams": {"#, r#""dynamic_upstreams": {"#);
    assert_ne!(caddys, SEED);
    assert_eq!(read(&caddys), read(SEED));
}

#[test]
fn secrets_may_be_a_list() {
    let text = SEED.replace(
        r#""secret": "MDEyMzQ1Njc4OWFiY2RlZg==""#,
        r#""secret": ["MDEyMzQ1Njc4OWFiY2RlZg==", "ZmVkY2JhOTg3NjU0MzIxMA=="]"#,
    );
    let config = read(&text);
    let Handler::DoorsHandler(doors) = &handlers(&config)[0] else {
        panic!("{config:?}")
    };
    let secrets: Vec<&str> = doors.secrets.iter().map(|secret| secret.expose()).collect();
    assert_eq!(secrets, ["MDEyMzQ1Njc4OWFiY2RlZg==", "ZmVkY2JhOTg3NjU0MzIxMA=="]);
}

#[test]
fn null_and_the_zero_of_a_type_are_as_good_as_absent() {
    let text = server(
        r#""listen":null,"read_timeout":0,"max_header_bytes":0,"trusted_proxies_strict":0,"logs":null,"routes":[]"#,
    );
    assert_eq!(read(&text), read(&server("")));
}

#[test]
fn ids_for_the_admin_api_are_accepted_everywhere() {
    let text = r#"{"@id": "a", "apps": {"@id": 1, "http": {"servers": {"@id": "x", "s": {"@id": "b"}}}}}"#;
    assert_eq!(read(text), read(&server("")));
}

#[test]
fn durations_are_nanoseconds_or_words() {
    let text = server(r#""read_timeout":1500000000,"idle_timeout":"1.5s""#);
    let config = read(&text);
    let server = &config.apps.http.unwrap().servers["s"];
    assert_eq!(server.read_timeout, server.idle_timeout);
    assert_eq!(server.read_timeout.unwrap().as_millis(), 1500);
}

#[test]
fn a_transport_is_read_field_by_field() {
    let text = handler(
        r#""handler":"reverse_proxy","upstreams":[{"dial":"a:80"},{"dial":"[::1]:81"},{"dial":":82"}],
        "flush_interval":-1,"load_balancing":{"selection_policy":{"policy":"random"}},
        "transport":{"protocol":"http","versions":["h2c"],"dial_timeout":"2s","response_header_timeout":"1m",
        "resolver":{"addresses":["10.0.0.53","udp/[::1]:5353"]},
        "keep_alive":{"enabled":false,"idle_timeout":"30s","max_idle_conns":5,"max_idle_conns_per_host":6}}"#,
    );
    let config = read(&text);
    let Handler::ReverseProxy(proxy) = &handlers(&config)[0] else {
        panic!("{config:?}")
    };
    assert_eq!(proxy.flush_interval, Some(FlushInterval::Immediate));
    let dials: Vec<String> = proxy
        .upstreams
        .iter()
        .map(|upstream| upstream.dial.to_string())
        .collect();
    assert_eq!(dials, ["a:80", "[::1]:81", ":82"]);
    let Some(Transport::Http(http)) = &proxy.transport else {
        panic!("{proxy:?}")
    };
    let servers: Vec<String> = http
        .resolver
        .iter()
        .flat_map(|r| &r.addresses)
        .map(|a| a.socket_addr().to_string())
        .collect();
    assert_eq!(servers, ["10.0.0.53:53", "[::1]:5353"]);
    assert_eq!(http.keep_alive.unwrap().enabled, Some(false));
}

#[test]
fn every_mistake_is_found_at_once_in_the_order_of_the_text() {
    let text = r#"{
  "admin": {"listen": 2019},
  "storage": {},
  "apps": {
    "http": {
      "http_port": 70000,
      "servers": {
        "s": {
          "listen": [":80", "nope", "fd/3", ":8000-8005"],
          "read_timeout": "10",
          "route": [],
          "protocols": ["h1", "h4"],
          "client_ip_headers": ["X Y"],
          "trusted_proxies_strict": 2
        }
      }
    },
    "events": {}
  }
}"#;
    assert_eq!(
        findings(text),
        [
            "2:23: admin.listen: expected a string, found a number",
            "3:14: storage: the field `module` is missing",
            "6:20: apps.http.http_port: expected a whole number from 0 to 65535",
            "9:29: apps.http.servers.s.listen[1]: the port is missing",
            "9:37: apps.http.servers.s.listen[2]: inherited descriptors are not supported",
            "9:45: apps.http.servers.s.listen[3]: a range of ports to listen on",
            "10:27: apps.http.servers.s.read_timeout: this is not a duration",
            "11:11: apps.http.servers.s.route: unknown or unsupported field",
            r#"12:31: apps.http.servers.s.protocols[1]: expected "h1", "h2", "h2c" or "h3""#,
            "13:33: apps.http.servers.s.client_ip_headers[0]: this is not the name of a header field",
            "14:37: apps.http.servers.s.trusted_proxies_strict: expected a whole number from 0 to 1",
            "18:5: apps.events: unknown or unsupported field",
        ]
    );
}

#[test]
fn a_finding_shows_its_line_and_a_way_out() {
    let text = "{\"apps\": {\n\t\"htp\": {}\n}}";
    let findings = from_json("conf.json", text).unwrap_err().to_string();
    let expected = "conf.json:2:2: apps.htp: unknown or unsupported field\n  \
                    2 | \t\"htp\": {}\n    | \t^^^^^\n  help: did you mean `http`?";
    assert_eq!(findings, expected);
}

#[test]
fn handlers_that_are_not_supported_are_errors() {
    let cases = [
        (handler(""), "the field `handler` is missing"),
        (
            handler(r#""handler":"file_server""#),
            "this handler is not supported",
        ),
        (
            handler(r#""handler":"intercept""#),
            "this handler is not supported yet",
        ),
        (
            handler(r#""handler":"static_respond""#),
            "unknown or unsupported handler",
        ),
        (
            handler(r#""handler":"subroute","error":{}"#),
            "unknown or unsupported field",
        ),
        (
            handler(r#""handler":"static_response","status_code":"{http.x}""#),
            "the placeholder `{http.x}` is not supported",
        ),
        (
            handler(r#""handler":"static_response","status_code":102"#),
            "this is not a final status",
        ),
        (
            handler(r#""handler":"static_response","body":"{http.request.body}""#),
            "the placeholder `{http.request.body}` is not supported",
        ),
        (
            handler(r#""handler":"static_response","headers":{"A B":["x"]}"#),
            "this is not the name of a header field",
        ),
        (
            handler(r#""handler":"headers","response":{"set":{"A":["x\r\ny"]}}"#),
            "a line break or control character in a header field",
        ),
        (
            handler(
                r#""handler":"headers","response":{"replace":{"A":[{"search_regexp":"(","replace":"b"}]}}"#,
            ),
            "this regular expression is wrong: unclosed group",
        ),
    ];
    each_is_one_finding(&cases);
}

#[test]
fn settings_of_the_proxy_that_are_not_supported_are_errors() {
    let cases = [
        (
            handler(r#""handler":"headers","request":{"replace":{"A":[{"replace":"b"}]}}"#),
            "give either `search` or `search_regexp`",
        ),
        (
            handler(r#""handler":"headers","request":{"deferred":true}"#),
            "unknown or unsupported field",
        ),
        (
            handler(r#""handler":"reverse_proxy","circuit_breakers":{}"#),
            "unknown or unsupported field",
        ),
        (
            handler(r#""handler":"reverse_proxy","upstreams":[{"dial":"a"}]"#),
            "the port is missing",
        ),
        (
            handler(r#""handler":"reverse_proxy","upstreams":[{"dial":"a:0"}]"#),
            "the port is not a number from 0 to 65535",
        ),
        (
            handler(r#""handler":"reverse_proxy","dynamic_upstreams":{"source":"b"}"#),
            "unknown or unsupported source",
        ),
        (
            handler(r#""handler":"reverse_proxy","dynamic_upstreams":{"source":"doors_upstreams"}"#),
            "no `doors_handler` in this server chooses upstreams for `doors_upstreams`",
        ),
        (
            handler(r#""handler":"reverse_proxy","transport":{"protocol":"fastcgi"}"#),
            "unknown or unsupported protocol",
        ),
        (
            handler(r#""handler":"reverse_proxy","load_balancing":{"retries":-3}"#),
            "expected a whole number from 0 to 4294967295",
        ),
        (
            server(r#""trusted_proxies":{"source":"dynamic"}"#),
            "unknown or unsupported source of addresses",
        ),
        (
            server(r#""trusted_proxies":{"source":"static","ranges":["10.0.0.0/33"]}"#),
            "neither an IP address nor a network such as 10.0.0.0/8",
        ),
        (
            server(r#""routes":[{"match":[{"file":{}}]}]"#),
            "this field is not supported",
        ),
        (
            r#"{"apps":{"tls":{"automation":{"policies":[{"issuers":[{"module":"zerossl"}]}]}}}}"#.to_owned(),
            "unknown or unsupported module",
        ),
        (
            r#"{"logging":{"logs":{"a":{"level":"LOUD"}}}}"#.to_owned(),
            r#"expected "DEBUG", "INFO", "WARN", "ERROR", "PANIC" or "FATAL""#,
        ),
        (
            r#"{"logging":{"logs":{"a":{"writer":{"output":"file"}}}}}"#.to_owned(),
            "the field `filename` is missing",
        ),
        ("[]".to_owned(), "expected an object, found a list"),
    ];
    each_is_one_finding(&cases);
}

pub(crate) fn each_is_one_finding(cases: &[(String, &str)]) {
    for (text, expected) in cases {
        let found = findings(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].ends_with(expected), "{text}: {found:?}");
    }
}

#[test]
fn a_doors_handler_needs_what_its_module_needed() {
    let doors = |fields: &str| findings(&handler(&format!(r#""handler":"doors_handler",{fields}"#)));
    let path = "apps.http.servers.s.routes[0].handle[0]";
    let upstream = r#"{"cidr":"10.0.0.0/24","host":"a","port":80}"#;
    let cases = [
        (
            format!(r#""upstreams":[{upstream}]"#),
            ": the field `secret` is missing",
        ),
        (
            format!(r#""secret":" ","upstreams":[{upstream}]"#),
            ".secret: the secret is empty",
        ),
        (
            format!(r#""secret":[],"upstreams":[{upstream}]"#),
            ".secret: the list of secrets is empty",
        ),
        (
            format!(r#""secret":"hunter2","upstreams":[{upstream}]"#),
            ".secret: the secret is not standard base64 with padding",
        ),
        (
            format!(r#""secret":["MDEyMzQ1Njc4OWFiY2RlZg==","aHVudGVy"],"upstreams":[{upstream}]"#),
            ".secret[1]: the secret decodes to 6 bytes, an AES key has 16, 24 or 32",
        ),
        (r#""secret":"MDEyMzQ1Njc4OWFiY2RlZg==""#.to_owned(), ": the field `upstreams` is missing"),
        (
            r#""secret":"MDEyMzQ1Njc4OWFiY2RlZg==","upstreams":[]"#.to_owned(),
            ".upstreams: at least one upstream is needed",
        ),
        (
            format!(r#""secret":"MDEyMzQ1Njc4OWFiY2RlZg==","upstreams":[{upstream},{upstream}]"#),
            ": several upstreams need `cookie_name` to keep a session on its server",
        ),
        (
            r#""secret":"MDEyMzQ1Njc4OWFiY2RlZg==","upstreams":[{"host":"a","port":80}]"#.to_owned(),
            ".upstreams[0]: the field `cidr` is missing",
        ),
        (
            r#""secret":"MDEyMzQ1Njc4OWFiY2RlZg==","upstreams":[{"cidr":"10.0.0.0","host":"a","port":80}]"#.to_owned(),
            ".upstreams[0].cidr: this is not a network such as 10.0.0.0/24",
        ),
        (
            r#""secret":"MDEyMzQ1Njc4OWFiY2RlZg==","upstreams":[{"cidr":"10.0.0.0/24","host":"a:80","port":80}]"#.to_owned(),
            ".upstreams[0].host: this is not a host name or an IP address",
        ),
        (
            r#""secret":"MDEyMzQ1Njc4OWFiY2RlZg==","upstreams":[{"cidr":"10.0.0.0/24","host":"a","port":0}]"#.to_owned(),
            ".upstreams[0].port: expected a port from 1 to 65535",
        ),
        (
            r#""secret":"MDEyMzQ1Njc4OWFiY2RlZg==","upstreams":[{"cidr":"10.0.0.0/24","host":"a","port":65536}]"#.to_owned(),
            ".upstreams[0].port: expected a whole number from 0 to 65535",
        ),
    ];
    for (fields, expected) in cases {
        let found = doors(&fields);
        assert_eq!(found.len(), 1, "{fields}: {found:?}");
        assert!(
            found[0].ends_with(&format!("{path}{expected}")),
            "{fields}: {found:?}"
        );
    }
}

#[test]
fn no_finding_shows_a_secret() {
    let key = "c2VjcmV0LXNlY3JldC1zZWNyZXQ=";
    let texts = [
        handler(&format!(r#""handler":"doors_handler","secret":"{key}","oops":1"#)),
        handler(&format!(r#""handler":"doors_handler","secret":["{key}",5]"#)),
        handler(&format!(r#""handler":"doors_handler","secret":"{key}""#)),
        format!("{{\"apps\":{{}},\"secret\":\n\"{key}\", nope}}"),
        format!("{{\"secret\": \"{key}"),
    ];
    for text in texts {
        let findings = from_json("t.json", &text).unwrap_err();
        assert!(!findings.to_string().contains("c2Vj"), "{findings}");
    }
}

#[test]
fn a_placeholder_that_is_not_supported_comes_with_those_that_are() {
    let text = handler(r#""handler":"static_response","body":"{http.request.body}""#);
    let findings = from_json("t.json", &text).unwrap_err().to_string();
    assert!(
        findings.contains("help: supported: {http.request.NAME}"),
        "{findings}"
    );
}

#[test]
fn named_routes_and_error_routes_are_read() {
    let config = read(&server(
        r#""named_routes":{"a":{"handle":[{"handler":"invoke","name":"b"}]},"b":{}},
           "errors":{"routes":[{"handle":[{"handler":"subroute","errors":{"routes":[{}]}}]}]},
           "routes":[{"handle":[{"handler":"invoke","name":"a"}]}]"#,
    ));
    let server = &config.apps.http.unwrap().servers["s"];
    assert_eq!(server.named_routes.len(), 2);
    assert_eq!(server.errors.as_ref().unwrap().routes.len(), 1);
}

#[test]
fn what_is_invoked_must_be_there_and_lead_somewhere() {
    let text = server(
        r#""routes":[{"handle":[{"handler":"invoke","name":"a"},{"handler":"invoke","name":"x"},{"handler":"invoke"}]}],
           "named_routes":{"a":{"handle":[{"handler":"invoke","name":"b"}]},"b":{"handle":[{"handler":"invoke","name":"a"}]}}"#,
    );
    let path = "apps.http.servers.s";
    let expected = [
        (
            format!("{path}.routes[0].handle[1].name"),
            "there is no named route of this name",
        ),
        (
            format!("{path}.routes[0].handle[2]"),
            "the field `name` is missing",
        ),
        (
            format!("{path}.named_routes.b.handle[0].name"),
            "this named route leads back to itself",
        ),
    ];
    let found = from_json("t.json", &text).unwrap_err();
    let found: Vec<_> = found
        .iter()
        .map(|finding| (finding.path().unwrap().to_owned(), finding.message()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn what_caddy_has_and_doorway_has_not_says_what_to_do_and_the_list_is_said_once() {
    let routes = r#""routes":[{"match":[{"file":{}}],"handle":[{"handler":"file_server"},{"handler":"qqqqqqqqqq"},{"handler":"zzzzzzzzzz"}]}]"#;
    let shown = from_json("c.json", &server(routes)).unwrap_err().to_string();
    for sentence in [
        "Doorway serves no files and looks for none; choose by path or header",
        "Doorway serves no files; run a file server and `reverse_proxy` to it",
        "supported here: authentication, ",
    ] {
        assert_eq!(shown.matches(sentence).count(), 1, "{sentence}: {shown}");
    }
    assert_eq!(
        shown.matches("unknown or unsupported handler").count(),
        2,
        "{shown}"
    );
}
