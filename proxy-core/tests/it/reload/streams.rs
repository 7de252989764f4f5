//! What is under way goes on through any number of reloads.

use std::net::Ipv4Addr;

use super::GLOBAL;
use crate::support::browser::Browser;
use crate::support::ends::{Back, Front, Pair};
use crate::support::net::Net;
use crate::support::origin::Origin;
use crate::support::pod::Pod;
use crate::support::rig::{Doors, HOST, Rig, get};
use crate::support::wire::Wire;

fn site(directives: &str) -> String {
    format!("{GLOBAL}http://{HOST}:0 {{\n\tbind 127.0.0.1\n{directives}\n}}\n")
}

async fn reload_often(rig: &Rig, directives: &str) {
    for number in 0..60 {
        rig.reload(&site(&format!("{directives}\n\theader X-Number {number}")))
            .await;
    }
}

#[tokio::test]
async fn an_upload_and_a_download_go_on() {
    for front in [Front::Http1, Front::H2c] {
        let mut pair = Pair::start(front, Back::Http1).await;
        let (mut client, mut upstream) = pair.open("POST", "/both", true).await;
        client.send("before").await;
        upstream.expect("before").await;
        upstream.respond(200, &[]).await;
        upstream.send("first").await;
        client.head().await;
        client.expect("first").await;
        reload_often(&pair.rig, "\trespond elsewhere").await;
        client.send("after").await;
        upstream.expect("after").await;
        upstream.send("last").await;
        client.expect("last").await;
    }
}

#[tokio::test]
async fn a_tunnel_goes_on_even_if_its_route_is_gone() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::caddyfile(&site(&format!("\treverse_proxy {}", origin.addr())));
    let mut client = rig.wire().await;
    client
        .send(get("/").replace("\r\n\r\n", "\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n"))
        .await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n")
        .await;
    assert_eq!(client.head().await.status(), 101);
    reload_often(&rig, "\trespond elsewhere").await;
    client.send("ping").await;
    assert_eq!(upstream.exactly(4).await, b"ping");
    upstream.send("pong").await;
    assert_eq!(client.exactly(4).await, b"pong");
}

#[tokio::test]
async fn a_session_of_a_doors_app_goes_on() {
    let server = Net::fresh().server(1);
    let pod = Pod::start(server.pod(1), 0).await;
    let doors = Doors::server(server, server.pod(1), pod.addr().port()).directives();
    let rig = Rig::caddyfile(&site(&doors));
    let mut browser = Browser::clear(rig.addr(), HOST).await;
    let tab = browser.load("/").await;
    let sync = browser.sync().await;
    pod.until_synced(&tab.instance).await;
    reload_often(&rig, &doors).await;
    pod.roll(&tab.instance);
    assert_eq!(sync.answer().await.body, b"\x02\xff");
    assert_eq!(browser.click().await.status, 200);
}

#[tokio::test]
async fn no_request_fails_while_the_configuration_is_replaced_over_and_over() {
    let rig = Rig::with_workers(2, &site("\trespond 0"));
    let address = rig.addr();
    let loading = async {
        for number in 1..60 {
            rig.reload(&site(&format!("\trespond {number}"))).await;
        }
    };
    let kept = async {
        let mut wire = Wire::connect(address).await;
        let mut last = 0;
        while last < 59 {
            let answer = wire.ask(get("/")).await;
            let number: u32 = String::from_utf8(answer.body).unwrap().parse().unwrap();
            assert!(number >= last, "no request sees an older configuration");
            last = number;
        }
    };
    let opened = async {
        let mut last = 0;
        while last < 59 {
            let answer = Wire::connect(address).await.ask(get("/")).await;
            last = String::from_utf8(answer.body).unwrap().parse().unwrap();
        }
    };
    tokio::join!(loading, kept, opened);
}
