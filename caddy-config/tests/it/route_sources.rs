//! Where routes come from beside the file.

use caddy_config::{Diagnostics, RouteSources, StoreKind, TokenAccess, from_caddyfile, from_json};

use crate::caddyfile::adapted;

/// A Caddyfile with these lines as its route sources.
fn with(lines: &str) -> String {
    format!("{{\n\troute_sources {{\n\t\t{lines}\n\t}}\n}}\n")
}

fn findings(text: &str) -> Diagnostics {
    from_caddyfile("Caddyfile", text, &|_| None).unwrap_err()
}

fn sources(text: &str) -> RouteSources {
    let http = adapted(text).config.apps.http.unwrap();
    http.route_sources.unwrap()
}

/// The servers that serve the hosts of sources, each with its listeners and whether TLS is spoken there.
fn servers(text: &str) -> Vec<(String, Vec<String>, bool)> {
    let http = adapted(text).config.apps.http.unwrap();
    let servers = http
        .servers
        .into_iter()
        .filter(|(_, server)| server.route_sources);
    servers
        .map(|(name, server)| {
            let listen = server.listen.iter().map(ToString::to_string).collect();
            (name, listen, server.tls_connection_policies.is_some())
        })
        .collect()
}

fn owned(name: &str, listen: &[&str], tls: bool) -> (String, Vec<String>, bool) {
    let listen = listen.iter().map(|listen| (*listen).to_owned()).collect();
    (name.to_owned(), listen, tls)
}

#[test]
fn without_sites_there_are_servers_at_the_usual_ports() {
    let text = with("docker");
    assert_eq!(
        servers(&text),
        [owned("srv0", &[":443"], true), owned("srv1", &[":80"], false)]
    );
    assert!(adapted(&text).warnings.is_empty());
}

#[test]
fn servers_are_shared_with_sites_of_the_same_address() {
    let sites = "example.com {\n\trespond a\n}\n:80 {\n\trespond b\n}\n:81 {\n\trespond c\n}\n";
    let text = with("docker") + sites;
    assert_eq!(
        servers(&text),
        [owned("srv0", &[":443"], true), owned("srv1", &[":80"], false)]
    );
    let http = adapted(&text).config.apps.http.unwrap();
    assert_eq!(http.servers.len(), 3);
    let without = adapted(sites).config.apps.http.unwrap();
    for (name, server) in &without.servers {
        assert_eq!(http.servers[name].routes, server.routes, "{name}");
        assert_eq!(http.servers[name].listen, server.listen, "{name}");
    }
}

#[test]
fn a_server_that_is_shared_by_some_listeners_alone_is_split() {
    let text = with("listen http://:81\n\t\tdocker") + "http://:80, http://:81 {\n\trespond a\n}\n";
    assert_eq!(servers(&text), [owned("srv1", &[":81"], false)]);
}

#[test]
fn addresses_are_bound_where_they_say() {
    let text = "{\n\tdefault_bind 127.0.0.1 127.0.0.2\n\troute_sources {\n\
                \t\tlisten http://:8080 https://10.0.0.5:8443 https://[::1]:8443\n\t\tdocker\n\t}\n}\n";
    assert_eq!(
        servers(text),
        [
            owned("srv0", &["10.0.0.5:8443"], true),
            owned("srv1", &["127.0.0.1:8080", "127.0.0.2:8080"], false),
            owned("srv2", &["[::1]:8443"], true),
        ]
    );
}

#[test]
fn secrets_are_kept_and_not_shown() {
    let text = with(
        "store redis redis://:sesame@127.0.0.1/0\n\t\ttoken ci write correct-horse-battery\n\t\ttoken ops read {env.OPS}",
    );
    let read = sources(&text);
    let store = read.store.as_ref().unwrap();
    assert_eq!(store.kind, StoreKind::Redis);
    assert_eq!(
        store.url.as_ref().unwrap().expose(),
        "redis://:sesame@127.0.0.1/0"
    );
    let [ci, ops] = read.tokens.as_slice() else {
        panic!("two tokens")
    };
    assert_eq!((ci.access, ci.variable()), (TokenAccess::Write, None));
    assert_eq!(ci.secret.expose(), "correct-horse-battery");
    assert_eq!((ops.access, ops.variable()), (TokenAccess::Read, Some("OPS")));
    let shown = format!("{:?}", adapted(&text));
    assert!(!shown.contains("sesame") && !shown.contains("horse"), "{shown}");
}

#[test]
fn a_variable_stands_for_what_it_has() {
    let text = with("store sqlite {$STORE}");
    let read = from_caddyfile("Caddyfile", &text, &|name| {
        (name == "STORE").then(|| "sqlite:/var/lib/routes.db".to_owned())
    });
    let store = read
        .unwrap()
        .config
        .apps
        .http
        .unwrap()
        .route_sources
        .unwrap()
        .store;
    assert_eq!(store.unwrap().url.unwrap().kind(), StoreKind::Sqlite);
}

/// Each text with the beginning of what is said about it.
fn say(cases: &[(&str, &str)]) {
    for (lines, expected) in cases {
        let findings = findings(&with(lines)).to_string();
        let expected = format!("Caddyfile:{expected}");
        assert!(findings.contains(&expected), "{lines}:\n{findings}");
        assert!(!findings.contains("sesame"), "{findings}");
    }
}

#[test]
fn sources_say_what_is_wrong() {
    say(&[
        (
            "listen http://:80",
            "2:2: `route_sources` names no source of routes",
        ),
        ("fiel a.yaml", "3:3: unknown or unsupported option `fiel`"),
        (
            "docker\n\t\tdocker",
            "4:3: `docker` is given twice, first on line 3",
        ),
        ("file", "3:3: `file` needs a file"),
        ("file {env.A}", "3:8: placeholders are not supported here"),
        ("file a {\n\t\t\tpoll 1ms\n\t\t}", "4:9: expected at least 10ms"),
        (
            "file a {\n\t\t\tpoll soon\n\t\t}",
            "4:9: expected a duration, such as 10s",
        ),
        (
            "file a {\n\t\t\twhen_missing drop\n\t\t}",
            "4:17: unknown or unsupported value `drop`",
        ),
        (
            "docker /var/run/docker.sock",
            "3:10: expected an address such as unix:///var/run/docker.sock",
        ),
        ("docker unix:///a b", "3:20: unexpected argument `b`"),
        (
            "docker {\n\t\t\tmode pod\n\t\t}",
            "4:9: unknown or unsupported value `pod`",
        ),
        (
            "docker {\n\t\t\tnetworks\n\t\t}",
            "4:4: `networks` needs a network",
        ),
        (
            "docker {\n\t\t\tnetworks a/b\n\t\t}",
            "4:13: the name of a network has",
        ),
        (
            "docker {\n\t\t\ttls a b c\n\t\t}",
            "4:4: `tls` goes with an endpoint of tcp:// or https://",
        ),
        (
            "docker tcp://a:1 {\n\t\t\ttls a b\n\t\t}",
            "4:4: `tls` needs three files",
        ),
        ("kubernetes here", "3:14: unexpected argument `here`"),
        (
            "kubernetes {\n\t\t\tclass A\n\t\t}",
            "4:10: a name in Kubernetes has",
        ),
        (
            "kubernetes {\n\t\t\tpublish_service doorway\n\t\t}",
            "4:20: expected a namespace and a name",
        ),
        (
            "kubernetes {\n\t\t\tnamespace a\n\t\t}",
            "4:4: unknown or unsupported option `namespace`",
        ),
    ]);
}

#[test]
fn a_store_says_what_is_wrong_without_its_url() {
    say(&[
        ("store", "3:3: `store` needs a kind"),
        (
            "store mysql mysql://:sesame@a",
            "3:9: unknown or unsupported value `mysql`",
        ),
        ("store redis", "3:9: `redis` needs a URL"),
        (
            "store redis postgres://:sesame@a",
            "3:15: this is not where a store is",
        ),
        (
            "store redis \"redis://:sesame@a b\"",
            "3:15: this has characters that stand in no URL",
        ),
        (
            "store redis redis://:sesame@a sesame",
            "3:33: unexpected argument",
        ),
        (
            "store memory redis://:sesame@a",
            "3:16: the memory of the process has no URL",
        ),
        (
            "store memory {\n\t\t\thistory -1\n\t\t}",
            "4:12: expected a whole number",
        ),
        (
            "store memory {\n\t\t\tprefix a{b}\n\t\t}",
            "4:11: a prefix has 1 to 40 lower case letters",
        ),
        (
            "store memory {\n\t\t\tdata_loss ignore\n\t\t}",
            "4:14: unknown or unsupported value `ignore`",
        ),
        (
            "store memory {\n\t\t\tnewer skip\n\t\t}",
            "4:10: unknown or unsupported value `skip`",
        ),
        (
            "store memory {\n\t\t\tsnapshot\n\t\t}",
            "4:4: `snapshot` needs a file, or `off`",
        ),
        (
            "store memory {\n\t\t\treplica_id \"a b\"\n\t\t}",
            "4:15: the id of a replica has",
        ),
        (
            "store memory {\n\t\t\tsync_intervall 1s\n\t\t}",
            "4:4: unknown or unsupported option `sync_intervall`",
        ),
    ]);
}

#[test]
fn a_token_says_what_is_wrong_without_its_secret() {
    say(&[
        (
            "token ci write\n\t\tdocker",
            "3:3: `token` needs a name, what it is for, and a secret",
        ),
        (
            "token ci write sesame-sesame-sesame sesame\n\t\tdocker",
            "3:3: `token` needs a name, what it is for, and a secret",
        ),
        (
            "token a/b write sesame-sesame-sesame",
            "3:9: the name of a token has",
        ),
        (
            "token ci admin sesame-sesame-sesame",
            "3:12: unknown or unsupported value `admin`",
        ),
        (
            "token ci write sesame",
            "3:18: a secret has at least 16 characters",
        ),
        (
            "token ci write \"sesame sesame sesame\"",
            "3:18: a secret has letters, digits and signs",
        ),
        (
            "token ci write sesame{env.A}sesame",
            "3:18: a secret is written as it is, or is one variable",
        ),
        (
            "token ci read sesame-sesame-sesame\n\t\ttoken ci write sesame-sesame-sesame",
            "4:9: another token has this name",
        ),
    ]);
}

#[test]
fn addresses_to_listen_on_say_what_is_wrong() {
    say(&[
        (
            "listen :8080\n\t\tdocker",
            "3:10: this address does not say what is spoken there",
        ),
        (
            "listen http://example.com\n\t\tdocker",
            "3:10: this is not an interface",
        ),
        (
            "listen http://:80/a\n\t\tdocker",
            "3:10: an address to listen on has no path",
        ),
        (
            "listen ftp://:21\n\t\tdocker",
            "3:10: the scheme ftp:// is not one of a site",
        ),
        (
            "listen http://:443\n\t\tdocker",
            "3:10: the scheme does not go with port 443",
        ),
        ("listen\n\t\tdocker", "3:3: `listen` needs an address"),
    ]);
    let mixed = with("listen https://:8080\n\t\tdocker") + "http://:8080 {\n\trespond a\n}\n";
    let findings = findings(&mixed).to_string();
    assert!(
        findings.contains("this listener would speak HTTP and HTTPS"),
        "{findings}"
    );
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let lines = "file {env.A}\n\t\tdocker x\n\t\tstore redis nowhere\n\t\ttoken a b c";
    assert_eq!(findings(&with(lines)).iter().count(), 5);
}

/// Each document of `apps.http` with the beginning of what is said about it.
fn json_says(cases: &[(&str, &str)]) {
    for (http, expected) in cases {
        let findings = from_json("a.json", &format!(r#"{{"apps":{{"http":{http}}}}}"#))
            .unwrap_err()
            .to_string();
        assert!(findings.contains(expected), "{http}:\n{findings}");
        assert!(!findings.contains("sesame"), "{findings}");
    }
}

fn in_json(fields: &str) -> String {
    format!(r#"{{"servers":{{"a":{{"route_sources":true}}}},"route_sources":{{{fields}}}}}"#)
}

#[test]
fn sources_and_the_servers_of_their_hosts_need_each_other() {
    json_says(&[
        (
            r#"{"servers":{"a":{"route_sources":true}}}"#,
            "apps.http.servers.a.route_sources: this server serves the hosts of route sources, but there are none",
        ),
        (
            r#"{"servers":{"a":{"route_sources":false}},"route_sources":{"docker":{}}}"#,
            "apps.http.route_sources: no server serves the hosts of these sources",
        ),
        (
            r#"{"route_sources":{"docker":{}}}"#,
            "apps.http.route_sources: no server serves the hosts of these sources",
        ),
        (
            &in_json(r#""listen":["http://:80"]"#),
            "apps.http.route_sources.listen: this field is not supported",
        ),
        (
            &in_json(""),
            "apps.http.route_sources: `route_sources` names no source of routes",
        ),
    ]);
}

#[test]
fn sources_in_json_say_what_is_wrong() {
    for (fields, expected) in [
        (r#""docker":{},"dockr":{}"#, "dockr: unknown or unsupported field"),
        (r#""file":{}"#, "file: the field `paths` is missing"),
        (
            r#""file":{"paths":[]}"#,
            "file.paths: at least one file is needed",
        ),
        (
            r#""file":{"paths":["a"],"poll":1}"#,
            "file.poll: expected at least 10ms",
        ),
        (
            r#""file":{"paths":["a"],"when_missing":"x"}"#,
            "file.when_missing: unknown or unsupported value",
        ),
        (
            r#""docker":{"endpoint":"x"}"#,
            "docker.endpoint: expected an address such as",
        ),
        (
            r#""docker":{"tls":{"ca":"a","certificate":"b","key":"c"}}"#,
            "docker.tls: `tls` goes with an endpoint",
        ),
        (
            r#""docker":{"endpoint":"tcp://a","tls":{"ca":"a","key":"c"}}"#,
            "docker.tls: the field `certificate` is missing",
        ),
        (
            r#""kubernetes":{"namespaces":["A"]}"#,
            "kubernetes.namespaces[0]: a name in Kubernetes has",
        ),
        (r#""store":{}"#, "store: the field `type` is missing"),
        (r#""store":{"type":"redis"}"#, "store: the field `url` is missing"),
        (
            r#""store":{"type":"mysql","url":"mysql://:sesame@a"}"#,
            "store.type: unknown or unsupported value",
        ),
        (
            r#""store":{"type":"redis","url":"postgres://:sesame@a"}"#,
            "store.url: this is not where a store is",
        ),
        (
            r#""store":{"type":"memory","url":"redis://:sesame@a"}"#,
            "store.url: this field is not supported",
        ),
        (
            r#""store":{"type":"memory","replicas":3}"#,
            "store.replicas: unknown or unsupported field",
        ),
        (
            r#""docker":{},"tokens":[{"name":"a","access":"write"}]"#,
            "tokens[0]: the field `secret` is missing",
        ),
        (
            r#""docker":{},"tokens":[{"name":"a","access":"write","secret":"sesame"}]"#,
            "tokens[0].secret: a secret has at least 16 characters",
        ),
        (
            r#""docker":{},"tokens":[{"name":"a","access":"read","secret":"{env.A}"},{"name":"a","access":"read","secret":"{env.B}"}]"#,
            "two tokens have the name `a`",
        ),
    ] {
        json_says(&[(&in_json(fields), expected)]);
    }
}
