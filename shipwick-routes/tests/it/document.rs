//! Documents: what they may say, and what is said about those that are wrong.

use shipwick_routes::{Desired, Document, Problems, RenderOptions, render};

use crate::desired::routes;

fn check(text: &str) -> Result<Desired, Problems> {
    let mut document = Document::parse(text).unwrap();
    if !document.has_admin() {
        document.set_admin("unix//run/caddy/admin.sock");
    }
    document.check()
}

fn problems(text: &str) -> Vec<String> {
    let problems = check(text).unwrap_err();
    problems
        .iter()
        .map(|problem| format!("{}: {}", problem.field, problem.message))
        .collect()
}

#[test]
fn a_document_says_all_that_the_types_can() {
    let desired = check(
        r#"{
            "$schema": "desired.schema.json",
            "admin": "http://localhost:2019",
            "apps": [
                {"name": "web", "domain": "WEB.example.com ", "aliases": ["www.example.com"], "port": 8080,
                 "replicas": [{"name": "web_1"}, {"name": "web_2", "port": 9090, "health": "healthy"},
                              {"name": "web_3", "running": false}]},
                {"name": "api", "domain": "web.example.com", "path": "/api", "strip_prefix": true, "port": 80,
                 "replicas": [{"name": "api_1"}],
                 "rollout": {"replicas": [{"name": "api_2"}, {"name": "api_3", "health": "starting"}]}},
                {"name": "off", "domain": "off.example.com", "port": 80, "stopped": true, "replicas": [{"name": "off_1"}]},
                {"name": "new", "domain": "new.example.com", "port": 80},
                {"name": "worker", "replicas": [{"name": "worker_1", "port": 1}]}
            ],
            "agent": {"domain": "agent.example.com", "upstream": "3f2b9c1d7a64:9000"},
            "dashboard": {"domain": "dashboard.example.com", "upstream": "dashboard:3000"}
        }"#,
    )
    .unwrap();
    assert_eq!(desired.admin.listen(), "localhost:2019");
    assert_eq!(
        routes(&desired),
        [
            "web.example.com/api -> api_2:80",
            "agent.example.com -> 3f2b9c1d7a64:9000",
            "dashboard.example.com -> dashboard:3000",
            "off.example.com -> 503",
            "web.example.com,www.example.com -> web_1:8080,web_2:9090",
        ]
    );
}

#[test]
fn the_order_of_a_document_does_not_matter() {
    let app =
        |name: &str| format!(r#"{{"name": "{name}", "domain": "{name}.test", "port": 80, "replicas": []}}"#);
    let both = |one: &str, two: &str| format!(r#"{{"apps": [{}, {}]}}"#, app(one), app(two));
    let render = |text: &str| render(&check(text).unwrap(), &RenderOptions::default());
    assert_eq!(render(&both("a", "b")), render(&both("b", "a")));
}

#[test]
fn everything_that_is_wrong_is_said_at_once_with_its_place() {
    let said = problems(
        r#"{
            "admin": "caddy:2019",
            "apps": [
                {"name": "", "domain": "https://a.com", "port": 0, "replicas": [{"name": "a b"}]},
                {"name": "b", "domain": "a.com { respond 200 }", "aliases": ["*.a.com"], "path": "api",
                 "replicas": [{"name": "b_1", "port": 70000}]},
                {"name": "c", "domain": "c.com", "replicas": [{"name": "c_1"}]},
                {"name": "c", "aliases": ["c.com"], "strip_prefix": true, "rollout": {"domain": "", "replicas": []}}
            ],
            "agent": {"domain": "agent", "upstream": "agent"},
            "dashboard": {"domain": "agent.", "upstream": "http://dashboard:3000"}
        }"#,
    );
    let expected = [
        r#"admin: invalid value "caddy:2019": expected unix//absolute/path.sock or http://host:port"#,
        r#"apps[0].name: invalid value """#,
        "apps[0].port: the port must be between 1 and 65535",
        r#"apps[0].replicas[0].name: invalid value "a b": not a container name, hostname or IP address"#,
        r#"apps[0].domain: invalid value "https://a.com": not a valid hostname; expected one such as api.example.com"#,
        "apps[1].replicas[0].port: the port must be between 1 and 65535",
        r#"apps[1].domain: invalid value "a.com { respond 200 }": not a valid hostname; expected one such as api.example.com"#,
        r#"apps[1].aliases[0]: invalid value "*.a.com": not a valid hostname; expected one such as api.example.com"#,
        r#"apps[1].path: invalid value "api": not a path such as /api, without a slash at its end"#,
        "apps[2].port: is required when domain is set",
        "apps[3].domain: is required when aliases is set",
        "apps[3].path: is required when strip_prefix is set",
        r#"apps[3].rollout.domain: invalid value "": not a valid hostname; expected one such as api.example.com"#,
        r#"apps[3].aliases[0]: already served by application "c""#,
        "apps[3].name: is the name of another application",
        r#"agent.upstream: invalid value "agent": expected host:port"#,
        r#"dashboard.domain: invalid value "agent.": not a valid hostname; expected one such as api.example.com"#,
        r#"dashboard.upstream: invalid value "http://dashboard:3000": expected host:port"#,
    ];
    let missing: Vec<_> = expected
        .iter()
        .filter(|line| !said.contains(&(**line).to_owned()))
        .collect();
    let more: Vec<_> = said
        .iter()
        .filter(|line| !expected.contains(&line.as_str()))
        .collect();
    // Nothing is said of conflicts while there is no table.
    assert_eq!(missing, [&expected[13]]);
    assert_eq!(more, [""; 0]);
}

#[test]
fn conflicts_are_worded_as_the_api_does() {
    let app = |name: &str, domain: &str| {
        format!(r#"{{"name": "{name}", "domain": "{domain}", "port": 80, "replicas": []}}"#)
    };
    let text = format!(
        r#"{{"apps": [{}, {}, {}], "agent": {{"domain": "b.com", "upstream": "agent:1"}},
            "dashboard": {{"domain": "b.com", "upstream": "dashboard:1"}}}}"#,
        app("web", "a.com"),
        app("api", "A.com"),
        app("own", "b.com")
    );
    assert_eq!(
        problems(&text),
        [
            "dashboard.domain: must be another one than the agent's",
            "apps[2].domain: already served by Shipwick itself (the agent or the dashboard)",
            r#"apps[0].domain: already served by application "api""#,
        ]
    );
    let shown = check(&text).unwrap_err().to_string();
    assert!(
        shown.starts_with("dashboard.domain:\n  must be another one than the agent's\napps[2].domain:\n"),
        "{shown}"
    );
}

/// Without it its replicas would have to be left out, and the domain would answer 503.
#[test]
fn a_port_is_required_for_the_domain_of_a_rollout_too() {
    let text = r#"{"apps": [{"name": "a", "rollout": {"domain": "a.com", "replicas": [{"name": "a_1"}]}}]}"#;
    assert_eq!(problems(text), ["apps[0].port: is required when domain is set"]);
    let text = text.replace(r#""a_1""#, r#""a_1", "port": 80"#);
    assert_eq!(routes(&check(&text).unwrap()), ["a.com -> a_1:80"]);
}

#[test]
fn no_admin_address_is_a_problem() {
    let said = Document::parse("{}").unwrap().check().unwrap_err();
    assert_eq!(
        said.to_string(),
        "admin:\n  is required: where the proxy's admin API is"
    );
}

#[test]
fn text_of_another_kind_is_refused_with_its_place() {
    for (text, line, column, message) in [
        ("", 1, 1, "EOF while parsing a value"),
        ("{\n", 2, 1, "EOF while parsing an object"),
        (
            "{\n  \"apps\": 1\n}",
            2,
            11,
            "invalid type: integer `1`, expected a sequence",
        ),
        ("{\n \"aps\": []}", 2, 6, "unknown field `aps`"),
        (r#"{"apps": [{"domain": "a"}]}"#, 1, 25, "missing field `name`"),
        (
            r#"{"apps": [{"name": "a", "replicas": [{"name": "b", "health": "ill"}]}]}"#,
            1,
            66,
            "unknown variant `ill`",
        ),
        (r#"{"apps": [], "apps": []}"#, 1, 19, "duplicate field `apps`"),
    ] {
        let error = Document::parse(text).unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{error}");
        assert!(error.message.starts_with(message), "{error}");
        assert!(!error.message.contains("at line"), "{error}");
    }
    // Whatever is repeated of the text is short, and controls no terminal.
    let strange = Document::parse(&format!(r#"{{"\u001b[2J{}": 1}}"#, "x".repeat(100_000))).unwrap_err();
    assert!(strange.message.starts_with("unknown field ` [2Jxxx"), "{strange}");
    assert!(strange.message.chars().count() <= 301);
    // Nesting has a limit.
    assert!(Document::parse(&"[".repeat(100_000)).is_err());
}

#[test]
fn documents_are_put_together() {
    let parse = |text: &str| Document::parse(text).unwrap();
    let mut whole = parse(r#"{"admin": "unix//x/y"}"#);
    whole
        .add(parse(
            r#"{"apps": [{"name": "a", "domain": "a.com", "port": 1, "replicas": []}]}"#,
        ))
        .unwrap();
    whole
        .add(parse(r#"{"agent": {"domain": "b.com", "upstream": "agent:1"}}"#))
        .unwrap();
    assert_eq!(
        whole.add(parse(r#"{"admin": "unix//x/z", "apps": [{"name": "c"}]}"#)),
        Err("admin")
    );
    let desired = whole.check().unwrap();
    assert_eq!(routes(&desired), ["a.com -> 503", "b.com -> agent:1"]);
    whole.set_admin("http://localhost:2020");
    assert_eq!(whole.check().unwrap().admin.listen(), "localhost:2020");
}

#[test]
fn problems_have_the_names_of_their_files() {
    let named = |name: &str, text: &str| Document::parse(text).unwrap().named(name);
    let mut whole = named(
        "own.json",
        r#"{"admin": "unix//x/y", "agent": {"domain": "a.com", "upstream": "agent"}}"#,
    );
    for name in ["web", "api"] {
        let text =
            format!(r#"{{"apps": [{{"name": "{name}", "domain": "b.com", "port": 1, "replicas": []}}]}}"#);
        whole.add(named(&format!("{name}.json"), &text)).unwrap();
    }
    assert_eq!(
        whole.check().unwrap_err().to_string(),
        "own.json: agent.upstream:\n  invalid value \"agent\": expected host:port\n\
         web.json: apps[0].domain:\n  already served by application \"api\""
    );
}

#[test]
fn the_schema_describes_every_field() {
    let schema = shipwick_routes::schema();
    assert_eq!(schema["additionalProperties"], false);
    let definitions = schema["$defs"].as_object().unwrap();
    let names: Vec<&String> = definitions.keys().collect();
    assert_eq!(names, ["App", "Health", "OwnRoute", "Port", "Replica", "Rollout"]);
    for object in definitions
        .values()
        .chain([&schema])
        .filter(|object| object.get("properties").is_some())
    {
        for (name, field) in object["properties"].as_object().unwrap() {
            assert!(field["description"].is_string(), "{name}: {field}");
        }
    }
    assert_eq!(definitions["App"]["required"], serde_json::json!(["name"]));
    assert_eq!(definitions["Port"]["maximum"], 65535);
}
