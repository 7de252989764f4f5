//! Hosts with certificates.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use rcgen::generate_simple_self_signed;
use route_sources::{Kind, Route};
use rustls::pki_types::CertificateDer;
use serde_json::json;

use super::{Stage, route};
use crate::support::tls::Client;

const LISTEN: &str = "http://127.0.0.1:0 https://127.0.0.2:0";

/// Files with a certificate of its own for `host`.
fn files(directory: &Path, host: &str) -> (PathBuf, PathBuf) {
    let made = generate_simple_self_signed(vec![host.to_owned()]).unwrap();
    let (certificate, key) = (directory.join("host.crt"), directory.join("host.key"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (certificate, key)
}

fn secured(host: &str, (certificate, key): &(PathBuf, PathBuf), redirect: bool) -> Route {
    route(json!({
        "host": host,
        "tls": {"certificate": certificate, "key": key, "redirect": redirect},
        "handlers": [{"handler": "static_response", "body": host}]
    }))
}

fn https(stage: &Stage) -> SocketAddr {
    let mut all = stage.rig.addresses().iter();
    *all.find(|address| address.ip() == Ipv4Addr::new(127, 0, 0, 2))
        .expect("it is listened on")
}

/// What a client that asks for `name` is shown.
async fn shown(stage: &Stage, name: &str) -> Option<CertificateDer<'static>> {
    let stream = Client::new().connect(https(stage), name).await.ok()?;
    Some(stream.get_ref().1.peer_certificates()?[0].clone())
}

#[tokio::test]
async fn a_host_is_shown_its_certificate_and_others_none() {
    let stage = Stage::listening(LISTEN).await;
    let directory = tempfile::tempdir().unwrap();
    assert!(
        shown(&stage, "a.test").await.is_none(),
        "nothing is known of it yet"
    );
    let files = files(directory.path(), "a.test");
    stage
        .say(Kind::Docker, vec![secured("a.test", &files, true)])
        .await;
    let certificate = shown(&stage, "A.test").await.expect("there is a certificate");
    assert!(String::from_utf8_lossy(&certificate).contains("a.test"));
    assert!(shown(&stage, "b.test").await.is_none());
    let (answer, _) = Client::new()
        .ask(https(&stage), "a.test", "a.test")
        .await
        .unwrap();
    assert_eq!((answer.head.status(), &*answer.body), (200, &b"a.test"[..]));
}

#[tokio::test]
async fn plain_http_of_a_host_with_a_certificate_is_redirected_unless_it_says_otherwise() {
    let stage = Stage::listening(LISTEN).await;
    let directory = tempfile::tempdir().unwrap();
    let files = files(directory.path(), "a.test");
    stage
        .say(Kind::Docker, vec![secured("a.test", &files, true)])
        .await;
    let answer = stage.get("a.test", "/x?y=1").await;
    assert_eq!(answer.head.status(), 308);
    let location = answer.head.field("location").unwrap();
    // Port 0 says nothing, so the usual one is told.
    assert_eq!(location, "https://a.test/x?y=1");
    stage
        .say(Kind::Docker, vec![secured("a.test", &files, false)])
        .await;
    assert_eq!(stage.get("a.test", "/x").await.text(), "a.test");
}

#[tokio::test]
async fn a_certificate_that_cannot_be_read_costs_only_its_host_and_says_why() {
    let stage = Stage::listening(LISTEN).await;
    let directory = tempfile::tempdir().unwrap();
    let (certificate, _) = files(directory.path(), "a.test");
    let missing = (certificate, directory.path().join("missing.key"));
    let good = route(json!({"host": "b.test", "handlers": [{"handler": "static_response", "body": "b"}]}));
    stage
        .say(Kind::Docker, vec![secured("a.test", &missing, false), good])
        .await;
    assert_eq!(stage.get("a.test", "/").await.head.status(), 503);
    assert_eq!(stage.get("b.test", "/").await.text(), "b");
    let unbuilt = stage.rig.control().hosts().unbuilt;
    assert!(unbuilt[0].reason.contains("missing.key"), "{}", unbuilt[0].reason);
}

#[tokio::test]
async fn what_sources_say_is_counted() {
    let stage = Stage::with("http://m.test:0 {\n\tbind 127.0.0.1\n\tmetrics\n}\n").await;
    let broken = json!({"host": "b.test", "handlers": [{"handler": "none"}]});
    let fine = json!({"host": "a.test", "aliases": ["c.test"], "upstreams": []});
    stage
        .say(Kind::Docker, vec![route(fine.clone()), route(broken)])
        .await;
    stage.say(Kind::Kubernetes, vec![route(fine)]).await;
    let page = stage.get("m.test", "/").await;
    for line in [
        "doorway_routes{source=\"docker\"} 2",
        "doorway_routes{source=\"kubernetes\"} 1",
        "doorway_routes_invalid{source=\"docker\"} 1",
        "doorway_routes_stale{source=\"docker\"} 0",
        "doorway_route_conflicts 1",
        "doorway_routes_unbuilt 1",
        "doorway_route_names 4",
    ] {
        assert!(
            page.text().lines().any(|found| found == line),
            "{line} in\n{}",
            page.text()
        );
    }
}
