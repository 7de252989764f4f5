//! Certificates of hosts.

use super::*;

fn with_tls(secret: Value) -> World {
    let mut spec = one_rule("a.test", "web");
    spec["tls"] = json!([secret]);
    world()
        .service("web", &["10.0.0.1"])
        .ingress("a", 30, json!({}), spec)
}

#[test]
fn a_certificate_is_named_in_the_document() {
    for entry in [
        json!({ "secretName": "cert" }),
        json!({ "secretName": "cert", "hosts": ["A.test"] }),
        json!({ "secretName": "cert", "hosts": ["*.test"] }),
    ] {
        let world = with_tls(entry).certificate("cert", true, None);
        let tls = document(&world.translate(), "a.test").tls.unwrap();
        assert_eq!(tls.certificate, "/certs/cert.crt");
        assert_eq!(tls.key, "/certs/cert.key");
        assert_eq!(tls.redirect, None);
    }
}

#[test]
fn a_certificate_of_other_hosts_is_not_that_of_this_one() {
    let world =
        with_tls(json!({ "secretName": "cert", "hosts": ["b.test"] })).certificate("cert", true, None);
    assert_eq!(document(&world.translate(), "a.test").tls, None);
}

#[test]
fn without_a_secret_the_proxy_has_the_say() {
    let translation = with_tls(json!({ "hosts": ["a.test"] })).translate();
    let document = document(&translation, "a.test");
    assert!(document.tls.is_none() && !is_closed(&document.target));
    assert!(translation.invalid.is_empty());
}

#[test]
fn a_broken_secret_is_reported_and_its_last_good_files_serve_on() {
    let world = with_tls(json!({ "secretName": "cert" })).certificate("cert", true, Some("it is broken"));
    let translation = world.translate();
    let document = document(&translation, "a.test");
    assert!(document.tls.is_some() && !is_closed(&document.target));
    assert_eq!(
        reasons(&translation),
        ["a.test secret shop/cert it is broken; the last good certificate is used on"]
    );
    assert!(translation.invalid[0].kept);
}

#[test]
fn what_wants_a_certificate_is_not_served_without_one_and_all_else_is() {
    let challenge =
        json!({ "rules": [rule("a.test", &[("Exact", "/.well-known/acme-challenge/x", "web")])] });
    let world = with_tls(json!({ "secretName": "cert" })).ingress("solver", 1, json!({}), challenge);
    let translation = world.translate();
    let document = document(&translation, "a.test");
    assert!(document.tls.is_none());
    assert!(is_closed(&document.target));
    assert_eq!(addresses(&document.paths[0].target), ["10.0.0.1:8080"]);
    assert_eq!(
        reasons(&translation),
        ["a.test secret shop/cert there is no such Secret; paths that need it are answered with 503"]
    );
}

#[test]
fn of_two_certificates_for_a_host_that_of_the_older_ingress_counts() {
    let mut spec = json!({ "rules": [rule("a.test", &[("Prefix", "/x", "web")])] });
    spec["tls"] = json!([{ "secretName": "other" }]);
    let world = with_tls(json!({ "secretName": "cert" }))
        .ingress("b", 1, json!({}), spec)
        .certificate("cert", true, None)
        .certificate("other", true, None);
    let translation = world.translate();
    let document = document(&translation, "a.test");
    assert_eq!(document.tls.unwrap().certificate, "/certs/cert.crt");
    assert!(!is_closed(&document.paths[0].target));
    assert!(reasons(&translation)[0].contains("an older Ingress has the certificate"));
}
