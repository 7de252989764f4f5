//! Labels one by one.

use super::*;

const HASH: &str = "$2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG";

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn read(pairs: &[(&str, &str)]) -> Result<Vec<Definition>, Refusal> {
    definitions(&labels(pairs), LabelForms::Both)
}

fn one(pairs: &[(&str, &str)]) -> Definition {
    let mut found = read(pairs).unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn refused(pairs: &[(&str, &str)]) -> Refusal {
    read(pairs).unwrap_err()
}

#[test]
fn labels_of_others_define_nothing() {
    assert_eq!(
        read(&[("com.docker.compose.project", "shop"), ("doorwayhost", "a")]),
        Ok(Vec::new())
    );
}

#[test]
fn plain_labels_define_a_route() {
    let found = one(&[
        ("doorway.host", "shop.test, www.shop.test"),
        ("doorway.port", "8080"),
        ("doorway.paths", "/b/*,/a"),
        ("doorway.weight", "3"),
        ("doorway.network", "web"),
        ("doorway.scheme", "https"),
        ("doorway.sni", "app.internal"),
        ("doorway.load_balancing", "least_conn"),
        ("doorway.tls.certificate", "/c.pem"),
        ("doorway.tls.key", "/k.pem"),
        ("doorway.headers.request.set.X-From", "doorway"),
        ("doorway.headers.response.set.X-A", "1"),
        ("doorway.headers.response.remove", "Server, X-Powered-By"),
        ("doorway.reach", "vip"),
    ]);
    assert_eq!(found.hosts, ["shop.test", "www.shop.test"]);
    assert_eq!(found.paths, ["/a", "/b/*"]);
    assert_eq!(
        (found.port, found.weight, found.reach),
        (Some(8080), Some(3), Some(Reach::Vip))
    );
    assert_eq!(
        (found.network.as_deref(), found.sni.as_deref()),
        (Some("web"), Some("app.internal"))
    );
    assert_eq!(found.tls.unwrap().key, "/k.pem");
    let headers = found.headers.unwrap();
    assert_eq!(headers.request.unwrap().set[0].name, "X-From");
    assert_eq!(headers.response.unwrap().remove, ["Server", "X-Powered-By"]);
    assert!(!found.asks_for_login);
}

#[test]
fn a_container_defines_several_routes_by_name() {
    let found = read(&[
        ("doorway.network", "web"),
        ("doorway.routes.api.host", "api.test"),
        ("doorway.routes.api.port", "81"),
        ("doorway.routes.site.host", "site.test"),
        ("doorway.routes.site.network", "other"),
    ])
    .unwrap();
    let seen: Vec<_> = found
        .iter()
        .map(|one| (one.hosts[0].as_str(), one.network.as_deref()))
        .collect();
    assert_eq!(seen, [("api.test", Some("web")), ("site.test", Some("other"))]);
}

#[test]
fn enable_false_switches_all_plain_labels_off() {
    assert_eq!(
        read(&[("doorway.enable", "false"), ("doorway.hst", "a")]),
        Ok(Vec::new())
    );
    assert!(
        refused(&[("doorway.enable", "no"), ("doorway.host", "a.test")]).reasons[0]
            .contains("doorway.enable")
    );
}

#[test]
fn labels_of_proksi_define_a_route() {
    let found = one(&[
        ("proksi.enabled", "true"),
        ("proksi.host", "shop.test"),
        ("proksi.port", "3000"),
        ("proksi.match_with.path.pattern.api", "/api/*"),
        ("proksi.match_with.path.pattern.0", "/:id"),
        ("proksi.headers.add", r#"[{"name":"X-A","value":"1"}]"#),
        ("proksi.headers.remove", r#"[{"name":"Server"}]"#),
        ("proksi.ssl_certificate.self_signed_on_failure", "true"),
        ("proksi.plugins.request_id.enabled", "true"),
    ]);
    assert_eq!(
        (found.hosts, found.port),
        (vec!["shop.test".to_owned()], Some(3000))
    );
    assert_eq!(found.paths, ["/?*", "/api/*"]);
    let headers = found.headers.unwrap();
    assert_eq!(headers.request.unwrap().set[0].name, "X-Request-Id");
    let response = headers.response.unwrap();
    assert_eq!(
        (response.set[0].value.as_str(), response.remove),
        ("1", vec!["Server".to_owned()])
    );
}

#[test]
fn proksi_labels_without_patterns_are_for_all_paths_and_false_switches_them_off() {
    assert!(
        one(&[("proksi.enabled", "true"), ("proksi.host", "a.test")])
            .paths
            .is_empty()
    );
    assert_eq!(
        read(&[("proksi.enabled", "false"), ("proksi.host", "a.test")]),
        Ok(Vec::new())
    );
    assert!(refused(&[("proksi.host", "a.test")]).reasons[0].contains("proksi.enabled"));
}

#[test]
fn malformed_headers_are_refused_and_not_dropped() {
    for json in [
        "",
        "{",
        "{}",
        r#"[{"name":"X-A"}]"#,
        r#"[{"name":1,"value":"a"}]"#,
        "[1]",
    ] {
        let refusal = refused(&[
            ("proksi.enabled", "true"),
            ("proksi.host", "a.test"),
            ("proksi.headers.add", json),
        ]);
        assert!(
            refusal.reasons[0].starts_with("proksi.headers.add"),
            "{refusal:?}"
        );
        assert!(!refusal.is_guarded);
    }
}

#[test]
fn an_unknown_label_is_refused_with_what_was_meant() {
    let refusal = refused(&[("doorway.host", "a.test"), ("doorway.prot", "80")]);
    assert_eq!(
        refusal.reasons,
        ["doorway.prot: there is no such label; is `doorway.port` meant?"]
    );
    assert_eq!(
        (refusal.hosts, refusal.is_guard_refused),
        (vec!["a.test".to_owned()], false)
    );
    let refusal = refused(&[("proksi.enable", "true"), ("proksi.host", "a.test")]);
    assert!(
        refusal
            .reasons
            .iter()
            .any(|reason| reason.contains("is `proksi.enabled` meant?"))
    );
}

#[test]
fn what_may_be_a_login_refuses_as_one() {
    for name in [
        "doorway.basic_auht",
        "doorway.basicauth",
        "doorway.jwt.secret",
        "doorway.forward_auth",
        "doorway.routes.a.auth",
    ] {
        assert!(
            refused(&[("doorway.host", "a.test"), (name, "x")]).is_guard_refused,
            "{name}"
        );
    }
    for name in [
        "basic_auth.user",
        "basic_auth.pass",
        "oauth2.provider",
        "oauth2",
        "ip_filter.allow",
        "request_id.enabld",
    ] {
        let name = format!("proksi.plugins.{name}");
        let refusal = refused(&[
            ("proksi.enabled", "true"),
            ("proksi.host", "a.test"),
            (&name, "x"),
        ]);
        assert!(
            refusal.is_guard_refused && refusal.hosts == ["a.test"],
            "{name}: {refusal:?}"
        );
    }
}

#[test]
fn hashes_of_passwords_become_the_handler_that_asks_for_them() {
    let found = one(&[
        ("doorway.host", "a.test"),
        ("doorway.basic_auth", &format!("bob:{HASH},eve:{HASH}")),
    ]);
    assert!(found.asks_for_login);
    assert_eq!(
        found.handlers[0]["providers"]["http_basic"]["accounts"][1]["username"],
        "eve"
    );
    assert_eq!(
        found.handlers[0]["providers"]["http_basic"]["accounts"][0]["password"],
        HASH
    );
}

#[test]
fn a_login_that_cannot_be_read_is_refused_and_not_repeated() {
    for value in [
        "",
        "bob",
        "bob:secret",
        ":x",
        &format!("bob:{HASH},"),
        &HASH.replace('$', ""),
        &format!("a:{HASH},a:{HASH}"),
    ] {
        let refusal = refused(&[("doorway.host", "a.test"), ("doorway.basic_auth", value)]);
        assert!(refusal.is_guard_refused, "{value}");
        assert!(!refusal.reasons.concat().contains("secret"));
    }
}

#[test]
fn handlers_come_before_upstreams_in_their_order() {
    let handlers = r#"[{"handler":"headers"},{"handler":"encode"}]"#;
    let found = one(&[("doorway.host", "a.test"), ("doorway.handlers", handlers)]);
    assert_eq!(found.handlers[1]["handler"], "encode");
    for wrong in ["[", "1", "[1]", "null"] {
        assert!(refused(&[("doorway.host", "a.test"), ("doorway.handlers", wrong)]).is_guard_refused);
    }
}

#[test]
fn values_that_are_none_are_refused_each_by_its_name() {
    for (name, value) in [
        ("port", "0"),
        ("port", "70000"),
        ("port", "http"),
        ("weight", "-1"),
        ("scheme", "ftp"),
        ("scheme", "https"),
        ("host", ""),
        ("host", "a.test,,b.test"),
        ("paths", ","),
        ("tls.certificate", "/c"),
        ("tls.key", "/k"),
        ("tls.redirect", "true"),
        ("reach", "dnsrr"),
    ] {
        let mut pairs = vec![("doorway.host", "a.test")];
        let name = format!("doorway.{name}");
        pairs.push((&name, value));
        let refusal = refused(&pairs);
        assert!(
            refusal
                .reasons
                .iter()
                .all(|reason| reason.starts_with("doorway.")),
            "{name}: {refusal:?}"
        );
    }
    assert!(refused(&[("doorway.port", "80")]).reasons[0].contains("doorway.host"));
    assert!(refused(&[("doorway.enable", "true")]).reasons[0].contains("doorway.host"));
}

#[test]
fn two_forms_for_one_route_are_refused() {
    let pairs = [
        ("doorway.host", "a.test"),
        ("proksi.enabled", "true"),
        ("proksi.host", "a.test"),
    ];
    assert!(refused(&pairs).reasons[0].contains("two routes"));
    let paths = [&pairs[..], &[("proksi.match_with.path.pattern.0", "/a")]].concat();
    assert!(refused(&paths).reasons[0].contains("two forms"));
    assert_eq!(definitions(&labels(&pairs), LabelForms::Plain).unwrap().len(), 1);
}
