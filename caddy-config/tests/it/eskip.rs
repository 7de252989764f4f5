//! Routes in Skipper's language: what stands beside them, in both forms.

use std::time::Duration;

use caddy_config::{
    Eskip, EskipBreaker, EskipBreakerKind, EskipPassiveHealth, Handler, MatcherSet, Route, from_caddyfile,
    from_json,
};

use crate::{
    caddyfile::{adapted, in_a_site},
    json::{each_is_one_finding, handler},
};

/// The handlers of the first site's routes, in their order.
fn handlers(text: &str) -> Vec<(Vec<MatcherSet>, Handler)> {
    let config = adapted(text).config;
    let servers = config.apps.http.unwrap().servers;
    let routes: Vec<Route> = servers.into_values().next().unwrap().routes;
    let pair = |route: Route| (route.matchers, route.handlers.into_iter().next().unwrap());
    routes.into_iter().map(pair).collect()
}

fn eskip(lines: &str) -> Eskip {
    match handlers(&format!(":80 {{\n\teskip {{\n{lines}\n\t}}\n}}\n")).remove(0) {
        (_, Handler::Eskip(eskip)) => *eskip,
        (_, other) => panic!("{other:?}"),
    }
}

#[test]
fn eskip_says_what_is_wrong() {
    let routes = "file routes.eskip\n\t\t";
    let whole = "expected a whole number from 1 to 4294967295";
    for (lines, finding) in [
        ("file", "3:3: `file` needs a file"),
        ("file \"\"", "3:8: the path is empty"),
        ("file {env.ROUTES}", "3:8: placeholders are not supported here"),
        ("inline", "3:3: `inline` needs routes, in backquotes"),
        ("inline `a` `b`", "3:14: unexpected argument ``b``"),
        (
            "url a.test/routes",
            "3:7: this is not a URL that begins with https:// or http://",
        ),
        (
            "url https://a.test ftp://a.test",
            "3:22: this is not a URL that begins with https:// or http://",
        ),
        ("source", "3:3: `source` needs the name of a source"),
        (
            "source routes {env.ROUTES}",
            "3:17: this is not the name of a source: letters, digits, and `_`, `-`, `.`",
        ),
        (
            "filter compress()",
            "3:3: unknown or unsupported subdirective `filter`",
        ),
    ] {
        let text = format!("eskip {{\n\t\t{lines}\n\t\tinline `* -> <shunt>`\n\t}}");
        in_a_site(&[(&text, finding)]);
    }
    for (lines, finding) in [
        ("poll often", "4:8: expected a duration, such as 10s"),
        ("poll 0", "4:8: expected more than zero"),
        (
            "poll 1s\n\t\tpoll 2s",
            "5:3: `poll` is given twice, first on line 4",
        ),
        (
            "edit_route /a/b",
            "4:14: expected `/regular expression/replacement/`, with any character in place of the slash",
        ),
        (
            "clone_route /[/b/",
            "4:15: this regular expression is wrong: unclosed character class",
        ),
        (
            "tokeninfo_url ftp://a.test",
            "4:17: this is not a URL that begins with https:// or http://",
        ),
        ("disabled_filters a-b", "4:20: this is not the name of a filter"),
        ("insecure perhaps", "4:12: unknown or unsupported value `perhaps`"),
        ("preserve_host on off", "4:20: unexpected argument `off`"),
        (
            "max_loopbacks -2",
            "4:17: expected a whole number, or -1 for none",
        ),
        ("default_status 99", "4:18: expected a status from 100 to 511"),
        (
            "forward_backend a.test",
            "4:19: expected an address such as http://10.0.0.1:9090",
        ),
        ("breaker type=rate,failures=2", "4:11: `window` is missing"),
        ("breaker failures=0", &format!("4:11: `failures`: {whole}")),
        (
            "passive_health_check period=1s",
            "4:24: `min-requests` is missing",
        ),
    ] {
        in_a_site(&[(&format!("eskip {{\n\t\t{routes}{lines}\n\t}}"), finding)]);
    }
    in_a_site(&[
        ("eskip", "2:2: `eskip` needs routes"),
        ("eskip {\n\t\tpreserve_host\n\t}", "2:2: `eskip` needs routes"),
        (
            "eskip routes.eskip {\n\t\tfile a\n\t}",
            "2:8: unexpected argument `routes.eskip`",
        ),
    ]);
}

#[test]
fn a_mistake_in_settings_leads_out() {
    let text = ":80 {\n\teskip {\n\t\tfile a\n\t\tbreaker failure=3\n\t}\n\teskip /a\n}\n";
    let found = from_caddyfile("Caddyfile", text, &|_| None)
        .unwrap_err()
        .to_string();
    assert!(found.contains("help: did you mean `failures`?"), "{found}");
    assert!(
        found.contains("help: add a line such as `file routes.eskip`"),
        "{found}"
    );
}

#[test]
fn eskip_in_json_says_what_is_wrong() {
    let with = |fields: &str| handler(&format!(r#""handler":"eskip","routes_files":["a"],{fields}"#));
    each_is_one_finding(&[
        (handler(r#""handler":"eskip""#), "`eskip` needs routes"),
        (
            handler(r#""handler":"eskip","inline_routes":[],"routes_urls":null"#),
            "`eskip` needs routes",
        ),
        (
            handler(r#""handler":"eskip","inline_routes":"* -> <shunt>""#),
            "inline_routes: expected a list, found a string",
        ),
        (
            handler(r#""handler":"eskip","routes_files":[""]"#),
            "routes_files[0]: the path is empty",
        ),
        (
            handler(r#""handler":"eskip","routes_urls":["a"]"#),
            "routes_urls[0]: this is not a URL that begins with https:// or http://",
        ),
        (
            handler(r#""handler":"eskip","routes_sources":["a b"]"#),
            "routes_sources[0]: this is not the name of a source: letters, digits, and `_`, `-`, `.`",
        ),
        (with(r#""file":"a""#), "file: unknown or unsupported field"),
        (
            with(r#""source_poll_timeout":0"#),
            "source_poll_timeout: expected more than zero",
        ),
        (
            with(r#""edit_routes":["a"]"#),
            "edit_routes[0]: expected `/regular expression/replacement/`, with any character in place of the slash",
        ),
        (
            with(r#""clone_routes":["/(/a/"]"#),
            "this regular expression is wrong: unclosed group",
        ),
        (
            with(r#""max_loopbacks":-2"#),
            "max_loopbacks: expected a whole number, or -1 for none",
        ),
        (
            with(r#""max_loopbacks":"1""#),
            "max_loopbacks: expected a number, found a string",
        ),
        (
            with(r#""default_status":512"#),
            "default_status: expected a status from 100 to 511",
        ),
        (
            with(r#""forward_backend":"http://a/b""#),
            "forward_backend: expected an address such as http://10.0.0.1:9090",
        ),
        (
            with(r#""oauth_tokeninfo_url":"a""#),
            "oauth_tokeninfo_url: this is not a URL that begins with https:// or http://",
        ),
        (
            with(r#""disabled_filters":["a b"]"#),
            "disabled_filters[0]: this is not the name of a filter",
        ),
    ]);
}

#[test]
fn settings_in_json_say_what_is_wrong() {
    let with = |fields: &str| handler(&format!(r#""handler":"eskip","routes_files":["a"],{fields}"#));
    let breaker = |fields: &str| with(&format!(r#""breakers":[{{{fields}}}]"#));
    let health = |fields: &str| {
        with(&format!(
            r#""passive_health_check":{{"period":"1s","min_requests":1,{fields}}}"#
        ))
    };
    each_is_one_finding(&[
        (breaker(""), "breakers[0]: the field `type` is missing"),
        (
            breaker(r#""type":"often""#),
            "breakers[0].type: unknown or unsupported type",
        ),
        (
            breaker(r#""type":"consecutive""#),
            "breakers[0]: the field `failures` is missing",
        ),
        (
            breaker(r#""type":"rate","failures":3,"window":2"#),
            "breakers[0].window: fewer requests than failures: it would never open",
        ),
        (
            breaker(r#""type":"disabled","failures":3"#),
            "breakers[0].failures: unknown or unsupported field",
        ),
        (
            breaker(r#""type":"disabled","host":"a/b""#),
            "breakers[0].host: this is not a host, or a host and a port",
        ),
        (
            health(r#""min_drop_probability":0"#),
            "passive_health_check: the field `max_drop_probability` is missing",
        ),
        (
            health(r#""max_drop_probability":1.5"#),
            "passive_health_check.max_drop_probability: expected a number from 0 to 1",
        ),
        (
            health(r#""max_drop_probability":0.5,"min_drop_probability":0.6"#),
            "passive_health_check.min_drop_probability: more than the maximum",
        ),
    ]);
}

#[test]
fn settings_in_one_word_and_in_json_say_the_same() {
    let lines = eskip(
        "inline `* -> <shunt>`\nbreaker type=rate,host=a:80,window=300,failures=30,timeout=4m,\
         half-open-requests=45,idle-ttl=5m\npassive_health_check period=1s,min-requests=10,max-drop-probability=0.9\n\
         poll 250ms\n",
    );
    let document = handler(
        r#""handler":"eskip","inline_routes":["* -> <shunt>"],"breakers":[{"type":"rate","host":"a:80","window":300,
        "failures":30,"timeout":"4m","half_open_requests":45,"idle_ttl":"5m"}],"source_poll_timeout":"250ms",
        "passive_health_check":{"period":"1s","min_requests":10,"max_drop_probability":0.9}"#,
    );
    let config = from_json("t.json", &document).unwrap();
    let server = config.apps.http.unwrap().servers.remove("s").unwrap();
    assert_eq!(
        server.routes[0].handlers,
        [Handler::Eskip(Box::new(lines.clone()))]
    );
    let expected = Eskip {
        inline: vec!["* -> <shunt>".to_owned()],
        poll: Some(Duration::from_millis(250)),
        breakers: vec![EskipBreaker {
            kind: EskipBreakerKind::Rate {
                failures: 30,
                window: 300,
            },
            host: Some("a:80".to_owned()),
            timeout: Some(Duration::from_secs(240)),
            half_open_requests: Some(45),
            idle_ttl: Some(Duration::from_secs(300)),
        }],
        passive_health: Some(EskipPassiveHealth {
            period: Duration::from_secs(1),
            min_requests: 10,
            max_drop_probability: serde_json::Number::from_f64(0.9).unwrap(),
            min_drop_probability: None,
            max_unhealthy_endpoints_ratio: None,
        }),
        ..Eskip::default()
    };
    assert_eq!(lines, expected);
}

#[test]
fn placeholders_of_the_language_are_left_to_it() {
    let routes = r#"* -> setPath("/${path}/{host}") -> <loopback>"#;
    assert_eq!(eskip(&format!("inline `{routes}`")).inline, [routes]);
}

#[test]
fn eskip_runs_before_a_proxy_for_the_rest() {
    let text =
        ":80 {\n\treverse_proxy a:1\n\teskip /shop/* {\n\t\tfile routes.eskip\n\t}\n\trespond /up 200\n}\n";
    let names: Vec<&str> = handlers(text).iter().map(|(_, handler)| handler.name()).collect();
    assert_eq!(names, ["static_response", "eskip", "reverse_proxy"]);
}
