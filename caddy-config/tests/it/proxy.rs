//! Mistakes in a reverse proxy, from both texts.

use caddy_config::from_json;

use crate::caddyfile::{adapted, in_a_site};

/// Each of the lines, alone in a `reverse_proxy`, has the one finding beside it.
pub(crate) fn in_a_proxy(cases: &[(&str, &str)]) {
    for (lines, expected) in cases {
        in_a_site(&[(&format!("reverse_proxy a {{\n\t\t{lines}\n\t}}"), expected)]);
    }
}

/// The same in its `transport http`.
fn in_a_transport(cases: &[(&str, &str)]) {
    for (lines, expected) in cases {
        let lines = format!("transport http {{\n\t\t\t{lines}\n\t\t}}");
        in_a_proxy(&[(&lines, expected)]);
    }
}

#[test]
fn several_sources_of_upstreams_are_joined() {
    let proxy = |lines: &str| {
        let text = format!(":80 {{\n\treverse_proxy {{\n{lines}\n\t}}\n}}\n");
        adapted(&text).config.to_json_pretty()
    };
    let joined = proxy("dynamic multi {\na x\nsrv y\na z 90\n}");
    assert_eq!(proxy("dynamic a x\ndynamic srv y\ndynamic a z 90"), joined);
    assert_eq!(proxy("dynamic a x\ndynamic multi {\nsrv y\na z 90\n}"), joined);
}

#[test]
fn an_upstream_says_what_is_wrong() {
    let port = "2:16: the port is not a number from 1 to 65535, nor a range such as 8080-8083";
    in_a_site(&[
        ("reverse_proxy a:0", port),
        ("reverse_proxy a:9-8", port),
        ("reverse_proxy a/b", "2:16: this is not an upstream"),
        ("reverse_proxy http://u@a", "2:16: this is not an upstream"),
        ("reverse_proxy http://a/b", "2:16: this is not an upstream"),
        ("reverse_proxy \"\"", "2:16: this is not an upstream"),
        ("reverse_proxy unix/", "2:16: the path of the socket is missing"),
        (
            "reverse_proxy fd/3",
            "2:16: this is not a network that upstreams are reached by",
        ),
        (
            "reverse_proxy https://{env.APP}",
            "2:16: a scheme before an upstream with placeholders",
        ),
        (
            "reverse_proxy ftp://a",
            "2:16: upstreams by ftp:// are not supported",
        ),
        (
            "reverse_proxy ws://a",
            "2:16: upstreams by ws:// are not supported",
        ),
        (
            "reverse_proxy http://a:443",
            "2:16: the scheme does not go with port 443, which is for HTTPS",
        ),
        (
            "reverse_proxy https://a:80",
            "2:16: the scheme does not go with port 80, which is for HTTP",
        ),
        (
            "reverse_proxy http://a h2c://b",
            "2:25: the upstreams of one proxy have different schemes",
        ),
        (
            "reverse_proxy https://a b",
            "2:26: the upstreams of one proxy have different schemes",
        ),
        (
            "reverse_proxy http://a {\n\t\ttransport http {\n\t\t\ttls\n\t\t}\n\t}",
            "2:2: the transport speaks TLS, and the upstreams are http://",
        ),
    ]);
    in_a_proxy(&[
        ("to", "3:3: `to` needs an upstream"),
        (
            "dynamic",
            "3:3: `dynamic` needs a source of upstreams, such as doors_upstreams",
        ),
        (
            "dynamic b x",
            "3:11: unknown or unsupported source of upstreams `b`",
        ),
        ("dynamic srv x y", "3:17: unexpected argument `y`"),
        (
            "dynamic a x {\n\t\t\tname y\n\t\t}",
            "4:4: `name` is given already",
        ),
        (
            "dynamic a {\n\t\t\tversions 4\n\t\t}",
            "4:13: unknown or unsupported version `4`",
        ),
        (
            "dynamic multi {\n\t\t\tb\n\t\t}",
            "4:4: unknown or unsupported source of upstreams `b`",
        ),
    ]);
}

#[test]
fn options_of_a_proxy_say_what_is_wrong() {
    in_a_proxy(&[
        (
            "transprt http",
            "3:3: unknown option `transprt` of `reverse_proxy`",
        ),
        (
            "buffer_requests",
            "3:3: the option `buffer_requests` of `reverse_proxy` is not supported",
        ),
        (
            "flush_interval x",
            "3:18: expected a duration, such as 100ms, or -1",
        ),
        (
            "request_buffers -1",
            "3:19: expected a size, such as 4KiB, or `unlimited`",
        ),
        ("stream_timeout 1", "3:18: expected a duration, such as 10s"),
        (
            "trusted_proxies a",
            "3:19: expected an IP address, a network such as 10.0.0.0/8, or private_ranges",
        ),
        ("header_up", "3:3: `header_up` needs a field"),
        ("header_up ?A b", "3:13: `?` is not possible in `header_up`"),
        ("header_down ?A b", "3:15: `?` is not possible in `header_down`"),
        ("header_up A b c d", "3:19: unexpected argument `d`"),
        ("method \"G T\"", "3:10: this is not a method of HTTP"),
        (
            "rewrite {http.x}",
            "3:11: the placeholder `{http.x}` is not supported",
        ),
    ]);
}

#[test]
fn balancing_says_what_is_wrong() {
    in_a_proxy(&[
        ("lb_policy", "3:3: `lb_policy` needs a policy"),
        ("lb_policy best", "3:13: unknown or unsupported policy `best`"),
        ("lb_policy first x", "3:19: unexpected argument `x`"),
        (
            "lb_policy first {\n\t\t\tfallback random\n\t\t}",
            "3:3: `lb_policy` takes no block here",
        ),
        ("lb_policy random_choose", "3:13: `random_choose` needs a number"),
        (
            "lb_policy random_choose 1",
            "3:27: fewer than two leave no choice",
        ),
        (
            "lb_policy weighted_round_robin 0 0",
            "3:13: no weight is above zero, so no upstream could be chosen",
        ),
        (
            "lb_policy weighted_round_robin -1",
            "3:34: expected a weight from 0 to 65535",
        ),
        ("lb_policy header", "3:13: `header` needs a field"),
        ("lb_policy query", "3:13: `query` needs the name of a parameter"),
        (
            "lb_policy cookie \"a b\"",
            "3:20: this is not the name of a cookie",
        ),
        (
            "lb_policy cookie {\n\t\t\tmax_age 0\n\t\t}",
            "4:12: expected more than zero",
        ),
        (
            "lb_policy header X {\n\t\t\tfallback best\n\t\t}",
            "4:13: unknown or unsupported policy `best`",
        ),
        (
            "lb_policy consistent_hash",
            "3:13: `consistent_hash` needs a key, such as {client_ip}",
        ),
        (
            "lb_policy consistent_hash {client_ip} {\n\t\t\tbound 99\n\t\t}",
            "4:10: expected a percentage of at least 100",
        ),
        (
            "lb_panic_threshold 101",
            "3:22: expected a percentage from 0 to 100",
        ),
        ("lb_retry_budget many", "3:19: expected a whole number"),
        ("lb_slow_start 10", "3:17: expected a duration, such as 10s"),
        ("lb_retries -1", "3:14: expected a whole number"),
        ("lb_try_duration 10", "3:19: expected a duration, such as 10s"),
        ("lb_retry_match {\n\t\t}", "3:3: a matcher without a condition"),
    ]);
}

#[test]
fn checks_say_what_is_wrong() {
    let status = "3:17: expected a status, such as 200, or a class, such as 2xx";
    in_a_proxy(&[
        ("health_uri x", "3:14: a path begins with `/`"),
        ("health_port 0", "3:15: expected a port from 1 to 65535"),
        ("health_upstream a", "3:19: expected host:port"),
        ("health_status 2yy", status),
        ("health_status 1000", status),
        (
            "health_body (",
            "3:15: this regular expression is wrong: unclosed group",
        ),
        ("health_headers A", "3:18: unexpected argument `A`"),
        ("health_passes x", "3:17: expected a whole number"),
        (
            "unhealthy_status x",
            "3:20: expected a status, such as 200, or a class, such as 2xx",
        ),
        ("health_tcp yes", "3:14: unexpected argument `yes`"),
        ("unhealthy_latency 1", "3:21: expected a duration, such as 10s"),
    ]);
}

#[test]
fn checks_that_nothing_turns_on_are_pointed_out() {
    let warnings = adapted("a.com {\n\treverse_proxy b {\n\t\thealth_interval 5s\n\t}\n}\n").warnings;
    let messages: Vec<&str> = warnings.iter().map(|warning| warning.message()).collect();
    assert_eq!(messages, ["its upstreams are not checked without `health_uri`"]);
}

#[test]
fn responses_say_what_is_wrong() {
    in_a_proxy(&[
        (
            "handle_response @x {\n\t\t}",
            "3:19: the response matcher `@x` is not defined",
        ),
        (
            "handle_response 404 {\n\t\t}",
            "3:19: expected the name of a response matcher",
        ),
        ("replace_status", "3:3: `replace_status` needs a status"),
        (
            "@x status 404\n\t\treplace_status @x",
            "4:18: `replace_status` needs a status",
        ),
        ("replace_status 99", "3:18: `99` is not a final status"),
        (
            "@x status abc",
            "3:13: `abc` is neither a status nor a class such as 4xx",
        ),
        (
            "@x path /a",
            "3:6: unknown or unsupported response matcher `path`",
        ),
        ("@x status 404\n\t\t@x status 405", "4:3: `@x` is defined twice"),
        (
            "handle_response {\n\t\t\ttls internal\n\t\t}",
            "4:4: `tls` stands only directly in a site",
        ),
    ]);
}

#[test]
fn a_transport_says_what_is_wrong() {
    in_a_proxy(&[
        ("transport", "3:3: `transport` needs a kind: `transport http`"),
        (
            "transport fastcgi",
            "3:13: the transport `fastcgi` is not supported",
        ),
        ("transport ftp", "3:13: unknown or unsupported transport `ftp`"),
    ]);
    in_a_transport(&[
        (
            "dial_timout 3s",
            "4:4: unknown option `dial_timout` of `transport http`",
        ),
        ("dial_timeout 3", "4:17: expected a duration, such as 10s"),
        (
            "dial_fallback_delay x",
            "4:24: expected a duration, such as 300ms, or -1s",
        ),
        (
            "resolvers dns.example",
            "4:14: expected the IP address of a DNS server, such as 10.0.0.53 or 10.0.0.53:5353",
        ),
        ("versions 1.0", "4:13: expected 1.1, 2, 3 or h2c"),
        (
            "keepalive 1s\n\t\t\tkeepalive off",
            "5:4: `keepalive` is given twice, first on line 4",
        ),
        ("compression on", "4:16: expected `off`"),
        ("proxy_protocol v3", "4:19: expected v1 or v2"),
        (
            "network_proxy ftp",
            "4:18: unknown or unsupported network proxy `ftp`",
        ),
        (
            "network_proxy url ftp://a",
            "4:22: expected a URL such as http://proxy:3128",
        ),
        (
            "tls_curves p256",
            "4:15: expected one of secp256r1, secp384r1, secp521r1, x25519, x25519mlkem768",
        ),
        ("tls_except_ports https", "4:21: expected a port from 1 to 65535"),
        ("tls_renegotiation always", "4:22: expected never, once or freely"),
        (
            "tls_trust_pool pki_root local",
            "4:19: the pool `pki_root` is not supported",
        ),
        ("tls_trust_pool file", "4:19: `file` needs a path"),
        (
            "tls_trust_pool inline {\n\t\t\t\ttrust_der x\n\t\t\t}",
            "5:15: expected a certificate in DER form, in standard base64",
        ),
        ("tls_client_auth a b c", "4:24: unexpected argument `c`"),
    ]);
}

#[test]
fn a_proxy_in_json_says_what_is_wrong() {
    let cases = [
        (
            r#""upstreams":[{"dial":"udp/a:1"}]"#,
            "upstreams[0].dial: this is not a network that upstreams are reached by",
        ),
        (
            r#""load_balancing":{"selection_policy":{"policy":"best"}}"#,
            "load_balancing.selection_policy.policy: unknown or unsupported policy",
        ),
        (
            r#""load_balancing":{"selection_policy":{"policy":"weighted_round_robin","weights":[0]}}"#,
            "load_balancing.selection_policy.weights: no weight is above zero, so no upstream could be chosen",
        ),
        (
            r#""load_balancing":{"selection_policy":{"policy":"header"}}"#,
            "load_balancing.selection_policy: the field `field` is missing",
        ),
        (
            r#""health_checks":{"active":{"expect_status":42}}"#,
            "health_checks.active.expect_status: expected a status, or the digit of a class, such as 2",
        ),
        (
            r#""health_checks":{"passive":{"unhealthy_status":[1000]}}"#,
            "health_checks.passive.unhealthy_status[0]: expected a whole number from 0 to 999",
        ),
        (
            r#""dynamic_upstreams":{"source":"multi","sources":[{"source":"b"}]}"#,
            "dynamic_upstreams.sources[0].source: unknown or unsupported source",
        ),
        (
            r#""request_buffers":-2"#,
            "request_buffers: expected a whole number from 0 to 4294967295",
        ),
        (
            r#""transport":{"protocol":"http","tls":{"ca":{"provider":"http"}}}"#,
            "transport.tls.ca.provider: unknown or unsupported provider",
        ),
        (
            r#""transport":{"protocol":"http","network_proxy":{"from":"url"}}"#,
            "transport.network_proxy: the field `url` is missing",
        ),
        (
            r#""handle_response":[{"routes":[{"handle":[{"handler":"nope"}]}]}]"#,
            "handle_response[0].routes[0].handle[0]: unknown or unsupported handler",
        ),
    ];
    fields_say(&cases);
}

/// A proxy with these fields in JSON has this fault alone.
pub(crate) fn fields_say(cases: &[(&str, &str)]) {
    for (fields, expected) in cases {
        let text = format!(
            r#"{{"apps":{{"http":{{"servers":{{"s":{{"routes":[{{"handle":[{{"handler":"reverse_proxy",{fields}}}]}}]}}}}}}}}}}"#
        );
        let findings = from_json("conf.json", &text).unwrap_err();
        let found: Vec<String> = findings
            .iter()
            .map(|finding| format!("{}: {}", finding.path().unwrap(), finding.message()))
            .collect();
        let path = "apps.http.servers.s.routes[0].handle[0].";
        assert_eq!(found, [format!("{path}{expected}")], "{text}");
    }
}
