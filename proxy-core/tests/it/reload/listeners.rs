//! Listeners come and go one by one.

use std::net::Ipv4Addr;

use tokio::net::TcpStream;

use super::{free, site, sites};
use crate::support::net::Net;
use crate::support::origin::Origin;
use crate::support::rig::{HOST, Rig, get};
use crate::support::wait::eventually;
use crate::support::wire::{End, Wire};

#[tokio::test]
async fn new_addresses_are_open_and_removed_ones_closed_when_a_load_returns() {
    let ip = Net::fresh().pod(1);
    let (stays, goes, comes) = (free(ip), free(ip), free(ip));
    let rig = Rig::with_workers(
        2,
        &sites(&[site(stays, "\trespond stays"), site(goes, "\trespond goes")]),
    );
    let mut wire = Wire::connect(stays).await;
    assert_eq!(wire.ask(get("/")).await.body, b"stays");

    let applied = rig
        .reload(&sites(&[
            site(stays, "\trespond stays"),
            site(comes, "\trespond comes"),
        ]))
        .await;

    assert_eq!(applied.added, [comes.to_string()]);
    assert_eq!(applied.removed, [goes.to_string()]);
    assert!(TcpStream::connect(goes).await.is_err());
    assert_eq!(Wire::connect(comes).await.ask(get("/")).await.body, b"comes");
    assert_eq!(wire.ask(get("/")).await.body, b"stays");
    // It can come back at once, though its connections may still be ending.
    let applied = rig.reload(&sites(&[site(goes, "\trespond back")])).await;
    assert_eq!((applied.added.len(), applied.removed.len()), (1, 2));
    assert_eq!(Wire::connect(goes).await.ask(get("/")).await.body, b"back");
}

#[tokio::test]
async fn a_removed_listener_finishes_what_it_began() {
    let ip = Net::fresh().pod(1);
    let (stays, goes) = (free(ip), free(ip));
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let proxied = format!("\treverse_proxy {}", origin.addr());
    let rig = Rig::caddyfile(&sites(&[site(stays, "\trespond stays"), site(goes, &proxied)]));
    let mut idle = Wire::connect(goes).await;
    idle.send(get("/")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        .await;
    assert_eq!(idle.answer().await.body, b"ok");
    let mut busy = Wire::connect(goes).await;
    busy.send(get("/slow")).await;
    upstream.head().await;

    rig.reload(&sites(&[site(stays, "\trespond stays")])).await;

    assert_eq!(
        idle.rest().await,
        (Vec::new(), End::Fin),
        "an idle connection goes at once"
    );
    upstream
        .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")
        .await;
    let answer = busy.answer().await;
    assert_eq!(
        answer.body, b"slow",
        "the removed route still answers what it was asked"
    );
    assert_eq!(answer.head.members("connection"), ["close"]);
    assert_eq!(busy.rest().await, (Vec::new(), End::Fin));
}

#[tokio::test]
async fn what_a_removed_listener_cannot_finish_within_the_grace_period_is_cut() {
    let ip = Net::fresh().pod(1);
    let (stays, goes) = (free(ip), free(ip));
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let short = |list: &[String]| sites(list).replace("grace_period 5s", "grace_period 1s");
    let proxied = format!("\treverse_proxy {}", origin.addr());
    let rig = Rig::caddyfile(&short(&[site(stays, &proxied), site(goes, &proxied)]));
    let mut wires = Vec::new();
    for address in [stays, goes] {
        for (ask, answer) in [
            (get("/"), "HTTP/1.1 200 OK\r\n\r\npart"),
            (
                get("/").replace("\r\n\r\n", "\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n"),
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\npart",
            ),
        ] {
            let mut wire = Wire::connect(address).await;
            wire.send(ask).await;
            let mut upstream = origin.accept().await;
            upstream.head().await;
            upstream.send(answer).await;
            wire.head().await;
            wires.push((wire, upstream));
        }
    }
    let mut gone = wires.split_off(2);

    rig.reload(&short(&[site(stays, &proxied)])).await;

    for (wire, upstream) in &mut gone {
        wire.rest().await;
        upstream.rest().await;
    }
    for (wire, upstream) in &mut wires {
        upstream.send("on").await;
        eventually("more of a stream that goes on", async || {
            let (bytes, end) = wire.more().await;
            assert_eq!(end, None);
            bytes.windows(2).any(|pair| pair == b"on").then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn connections_that_wait_to_be_accepted_are_served_before_their_socket_closes() {
    let ip = Net::fresh().pod(1);
    let (stays, goes) = (free(ip), free(ip));
    let rig = Rig::with_workers(
        2,
        &sites(&[site(stays, "\trespond a"), site(goes, "\trespond b")]),
    );
    for _ in 0..10 {
        let mut clients = Vec::new();
        for _ in 0..20 {
            // Nothing is sent yet: the proxy may or may not have accepted it when it is told to close.
            clients.push(Wire::connect(goes).await);
        }
        rig.reload(&sites(&[site(stays, "\trespond a")])).await;
        for client in &mut clients {
            assert_eq!(client.ask(get("/")).await.body, b"b");
        }
        rig.reload(&sites(&[site(stays, "\trespond a"), site(goes, "\trespond b")]))
            .await;
    }
}

#[tokio::test]
async fn what_was_opened_in_the_clear_ends_when_its_port_goes_over_to_tls() {
    let address = free(Net::fresh().pod(1));
    let plain = site(address, "\trespond plain");
    let secured = format!(
        "https://{HOST}:{} {{\n\tbind {}\n\ttls internal\n\trespond secured\n}}\n",
        address.port(),
        address.ip()
    );
    let rig = Rig::caddyfile(&sites(&[plain]));
    let mut wire = rig.wire().await;
    assert_eq!(wire.ask(get("/")).await.body, b"plain");
    let applied = rig.reload(&sites(&[secured])).await;
    assert_eq!(applied.kept, 1);
    assert_eq!(wire.rest().await, (Vec::new(), End::Fin));
    assert_eq!(rig.tls_wire().await.ask(get("/")).await.body, b"secured");
}

#[tokio::test]
async fn a_listener_that_is_to_close_says_so_for_the_shutdown_delay() {
    const SAYS: &str = "\trespond {http.shutting_down}";
    let ip = Net::fresh().pod(1);
    let (stays, goes) = (free(ip), free(ip));
    let delayed = |list: &[String]| sites(list).replace("admin off\n", "admin off\n\tshutdown_delay 1s\n");
    let rig = Rig::caddyfile(&delayed(&[site(stays, SAYS), site(goes, SAYS)]));
    assert_eq!(Wire::connect(goes).await.ask(get("/")).await.body, b"false");

    let during = async {
        eventually("a listener that is about to close", async || {
            let answer = Wire::connect(goes).await.ask(get("/")).await;
            (answer.body == b"true").then_some(())
        })
        .await;
        assert_eq!(Wire::connect(stays).await.ask(get("/")).await.body, b"false");
    };
    let only = delayed(&[site(stays, SAYS)]);
    tokio::join!(rig.reload(&only), during);
    assert!(TcpStream::connect(goes).await.is_err());

    rig.begin_stop();
    eventually("a proxy that is about to stop", async || {
        let answer = Wire::connect(stays).await.ask(get("/")).await;
        (answer.body == b"true").then_some(())
    })
    .await;
    assert!(rig.until_stopped().await.drained);
}

#[tokio::test]
async fn one_address_can_become_all_and_all_one() {
    let port = free(Ipv4Addr::LOCALHOST).port();
    let one = format!("http://:{port} {{\n\tbind 127.0.0.1\n\trespond one\n}}\n");
    let all = format!("http://:{port} {{\n\trespond all\n}}\n");
    let rig = Rig::with_workers(2, &sites(std::slice::from_ref(&one)));
    let address = rig.addr();
    for (text, body) in [(&all, b"all"), (&one, b"one"), (&all, b"all")] {
        rig.reload(&sites(std::slice::from_ref(text))).await;
        assert_eq!(Wire::connect(address).await.ask(get("/")).await.body, body);
    }
}
