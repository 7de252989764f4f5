//! Sources of upstreams in Consul.

use crate::caddyfile::adapted;
use crate::proxy::{fields_say, in_a_proxy};

/// The Caddyfile of the module's own documents.
const DOCUMENTED: &str = "example.com {\n\treverse_proxy {\n\t\tdynamic consul {\n\t\t\taddress http://127.0.0.1:8500\n\
    \t\t\tservice {service_name}\n\t\t\trefresh 10s\n\t\t\tgrace_period 30s\n\t\t\tlocality {\n\
    \t\t\t\tnode_meta availability-zone-id\n\t\t\t\tlocal_value a\n\t\t\t\tminimum 2\n\t\t\t}\n\t\t}\n\t}\n}\n";

#[test]
fn what_the_module_documents_is_read() {
    let adapted = adapted(DOCUMENTED);
    let json = adapted.config.to_json();
    let expected = r#""dynamic_upstreams":{"address":"http://127.0.0.1:8500","grace_period":30000000000,"locality":{"local_value":"a","minimum":2,"node_meta":"availability-zone-id"},"refresh":10000000000,"service":"{service_name}","source":"consul"}"#;
    assert!(json.contains(expected), "{json}");
    assert!(adapted.warnings.is_empty());
}

#[test]
fn what_is_our_own_is_read_too() {
    let text = "a.com {\n\treverse_proxy {\n\t\tdynamic consul {\n\t\t\tservice api\n\t\t\ttoken my-secret\n\t\t\ttls {\n\
                \t\t\t\tca ca.pem\n\t\t\t\tclient_cert c.pem\n\t\t\t\tclient_key k.pem\n\t\t\t\tserver_name s\n\
                \t\t\t\tinsecure_skip_verify off\n\t\t\t}\n\t\t\tdatacenter dc2\n\t\t\tnamespace n\n\t\t\tpartition p\n\
                \t\t\ttag v1\n\t\t\tstale on\n\t\t\ttimeout 7s\n\t\t\twatch on\n\t\t\tweights on\n\t\t}\n\t}\n}\n";
    let adapted = adapted(text);
    let json = adapted.config.to_json();
    let expected = r#""dynamic_upstreams":{"datacenter":"dc2","namespace":"n","partition":"p","service":"api","source":"consul","stale":true,"tag":"v1","timeout":7000000000,"tls":{"ca":"ca.pem","client_cert":"c.pem","client_key":"k.pem","server_name":"s"},"token":"my-secret","watch":true,"weights":true}"#;
    assert!(json.contains(expected), "{json}");
    assert!(!format!("{:?}", adapted.config).contains("my-secret"));
}

fn in_consul(cases: &[(&str, &str)]) {
    for (lines, expected) in cases {
        let lines = format!("dynamic consul {{\n\t\t\tservice api\n\t\t\t{lines}\n\t\t}}");
        in_a_proxy(&[(&lines, expected)]);
    }
}

#[test]
fn a_source_says_what_is_wrong() {
    in_a_proxy(&[
        ("dynamic consul", "3:11: the service is required"),
        (
            "dynamic consul {\n\t\t\trefresh 1s\n\t\t}",
            "3:11: the service is required",
        ),
        (
            "dynamic consul {\n\t\t\tservice \"  \"\n\t\t}",
            "4:12: the service is required",
        ),
        (
            "dynamic consul {\n\t\t\tservice\n\t\t}",
            "4:4: `service` needs a name",
        ),
        (
            "dynamic consul {\n\t\t\tservice a b\n\t\t}",
            "4:14: unexpected argument `b`",
        ),
        (
            "dynamic consul api {\n\t\t\tservice a\n\t\t}",
            "3:18: unexpected argument `api`",
        ),
    ]);
    in_consul(&[
        ("service other", "5:4: `service` is given twice, first on line 4"),
        ("adress http://a", "5:4: unknown or unsupported option `adress`"),
        (
            "address ftp://a",
            "5:12: expected an address such as http://127.0.0.1:8500, https://… or unix:///path",
        ),
        ("refresh -1s", "5:12: expected a duration, such as 10s"),
        ("refresh 1s 2s", "5:15: unexpected argument `2s`"),
        ("grace_period x", "5:17: expected a duration, such as 10s"),
        ("watch", "5:4: `watch` needs `on` or `off`"),
        ("watch yes", "5:10: unknown or unsupported value `yes`"),
        ("token \"\" x", "5:13: unexpected argument `x`"),
        (
            "token a\n\t\t\ttoken_file b",
            "6:4: there is a token already: give one of `token` and `token_file`",
        ),
        (
            "tls {\n\t\t\t\tclient_key k\n\t\t\t}",
            "5:4: a client certificate needs its key: give both of `client_cert` and `client_key`",
        ),
        (
            "tls {\n\t\t\t\tcert k\n\t\t\t}",
            "6:5: unknown or unsupported option `cert`",
        ),
    ]);
}

#[test]
fn a_locality_says_what_is_wrong() {
    let locality = |lines: &str| format!("locality {{\n\t\t\t\t{lines}\n\t\t\t}}");
    in_consul(&[
        (&locality("local_value a"), "5:4: `locality` needs `node_meta`"),
        (&locality("node_meta z"), "5:4: `locality` needs `local_value`"),
        (
            &locality("node_meta z\n\t\t\t\tlocal_value \"\""),
            "7:17: this must not be empty",
        ),
        (
            &locality("node_meta z\n\t\t\t\tlocal_value a\n\t\t\t\tminimum -1"),
            "8:13: expected a whole number",
        ),
        (
            &locality("node_meta z\n\t\t\t\tlocal_value a\n\t\t\t\tpreferred 1"),
            "8:5: unknown or unsupported option `preferred`",
        ),
    ]);
    let whole = locality("node_meta z\n\t\t\t\tlocal_value a");
    in_consul(&[(
        &format!("{whole}\n\t\t\t{whole}"),
        "9:4: `locality` is given twice, first on line 5",
    )]);
}

#[test]
fn a_source_in_json_says_what_is_wrong() {
    let source = |fields: &str| format!(r#""dynamic_upstreams":{{"source":"consul",{fields}}}"#);
    for (fields, expected) in [
        (
            r#""refresh":1"#,
            "dynamic_upstreams: the field `service` is missing",
        ),
        (
            r#""service":" ""#,
            "dynamic_upstreams.service: the service is required",
        ),
        (
            r#""service":"a","refresh":-1"#,
            "dynamic_upstreams.refresh: this is not a duration",
        ),
        (
            r#""service":"a","address":"x://y""#,
            "dynamic_upstreams.address: expected an address such as http://127.0.0.1:8500, https://… or unix:///path",
        ),
        (
            r#""service":"a","locality":{"node_meta":"z"}"#,
            "dynamic_upstreams.locality: the field `local_value` is missing",
        ),
        (
            r#""service":"a","locality":{"node_meta":"z","local_value":"a","minimum":-1}"#,
            "dynamic_upstreams.locality.minimum: expected a whole number from 0 to 4294967295",
        ),
        (
            r#""service":"a","token":"t","token_file":"f""#,
            "dynamic_upstreams.token_file: there is a token already: give one of `token` and `token_file`",
        ),
        (
            r#""service":"a","node_meta_key":"z""#,
            "dynamic_upstreams.node_meta_key: unknown or unsupported field",
        ),
    ] {
        fields_say(&[(&source(fields), expected)]);
    }
}
