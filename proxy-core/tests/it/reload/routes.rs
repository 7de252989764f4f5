//! A change of routes touches no listener and no connection.

use std::net::Ipv4Addr;

use super::{GLOBAL, free, site, sites};
use crate::support::net::Net;
use crate::support::origin::Recorder;
use crate::support::rig::{HOST, Rig, get};

fn saying(text: &str) -> String {
    format!("{GLOBAL}http://{HOST}:0 {{\n\tbind 127.0.0.1\n\trespond {text}\n}}\n")
}

#[tokio::test]
async fn open_connections_take_the_new_routes_with_their_next_request() {
    let rig = Rig::caddyfile(&saying("one"));
    let (mut wire, mut h2) = (rig.wire().await, rig.h2().await);
    assert_eq!(wire.ask(get("/")).await.body, b"one");
    assert_eq!(h2.get("/").await.body, b"one");

    let applied = rig.reload(&saying("two")).await;

    assert_eq!((applied.revision, applied.kept), (2, 1));
    assert!(applied.added.is_empty() && applied.removed.is_empty());
    assert_eq!(wire.ask(get("/")).await.body, b"two");
    assert_eq!(h2.get("/").await.body, b"two");
    assert_eq!(rig.stats().connections, 2, "no connection was opened anew");
    assert_eq!(rig.control().addresses(), rig.addresses());
}

#[tokio::test]
async fn the_same_configuration_again_changes_nothing() {
    let rig = Rig::caddyfile(&saying("one"));
    let applied = rig.reload(&saying("one")).await;
    assert_eq!((applied.revision, applied.kept), (2, 1));
}

#[tokio::test]
async fn connections_to_unchanged_upstreams_are_used_on() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let text = |extra: &str| {
        format!(
            "{GLOBAL}http://{HOST}:0 {{\n\tbind 127.0.0.1\n{extra}\treverse_proxy {}\n}}\n",
            origin.addr()
        )
    };
    let rig = Rig::caddyfile(&text(""));
    let mut wire = rig.wire().await;
    wire.ask(get("/")).await;
    for number in 0..5 {
        rig.reload(&text(&format!("\theader X-Number {number}\n"))).await;
        let answer = wire.ask(get("/")).await;
        assert_eq!(answer.head.field("x-number"), Some(number.to_string()));
    }
    assert_eq!(origin.accepted(), 1);
}

#[tokio::test]
async fn a_port_that_moves_to_another_server_keeps_its_connections() {
    let ip = Net::fresh().pod(1);
    let (first, second) = (free(ip), free(ip));
    // The sites' order decides which server is srv0.
    let rig = Rig::caddyfile(&sites(&[site(first, "\trespond a"), site(second, "\trespond b")]));
    let mut wires = Vec::new();
    for (address, body) in [(first, b"a"), (second, b"b")] {
        let mut wire = crate::support::wire::Wire::connect(address).await;
        assert_eq!(wire.ask(get("/")).await.body, body);
        wires.push(wire);
    }
    let applied = rig
        .reload(&sites(&[
            site(free(ip), "\trespond c"),
            site(second, "\trespond B"),
            site(first, "\trespond A"),
        ]))
        .await;
    assert_eq!(
        (applied.kept, applied.added.len(), applied.removed.len()),
        (2, 1, 0)
    );
    for (wire, body) in wires.iter_mut().zip([b"A", b"B"]) {
        assert_eq!(wire.ask(get("/")).await.body, body);
    }
    assert_eq!(rig.stats().connections, 2);
}

#[tokio::test]
async fn a_configuration_without_sites_waits_for_one_that_has() {
    let rig = Rig::caddyfile("{\n\tadmin localhost:0\n}\n");
    assert_eq!(rig.addresses(), []);
    let applied = rig.reload(&saying("one")).await;
    assert_eq!(applied.added.len(), 1);
    let mut wire = crate::support::wire::Wire::connect(rig.control().addresses()[0]).await;
    assert_eq!(wire.ask(get("/")).await.body, b"one");
}
