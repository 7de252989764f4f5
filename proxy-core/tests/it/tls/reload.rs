//! A reload that changes how connections are made keeps the listener, and ends those that were made otherwise.

use super::{LOCALHOST, client_auth, site, sites};
use crate::support::identity::{Authority, Identity};
use crate::support::origin::Origin;
use crate::support::rig::{HOST, Rig};
use crate::support::tls::Client;
use crate::support::wire::{End, Wire};

fn asking(mode: &str, directives: &str) -> String {
    let tls = if mode.is_empty() {
        String::new()
    } else {
        client_auth(mode)
    };
    sites("", &[site(HOST, &tls, directives)])
}

fn request() -> String {
    format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n")
}

#[tokio::test]
async fn a_new_mode_keeps_the_socket_and_ends_connections_after_their_request() {
    let origin = Origin::bind(LOCALHOST).await;
    let proxied = format!("\treverse_proxy {}", origin.addr());
    let rig = Rig::caddyfile(&asking("", &proxied));
    let anybody = Client::new();
    let mut busy = Wire::over(anybody.connect(rig.addr(), HOST).await.unwrap());
    busy.send(request()).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;

    let applied = rig.reload(&asking("\t\t\tmode require", &proxied)).await;
    assert_eq!(
        (applied.added.len(), applied.removed.len(), applied.kept),
        (0, 0, 1)
    );

    upstream
        .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")
        .await;
    let answer = busy.answer().await;
    assert_eq!((answer.head.status(), &*answer.body), (200, &b"slow"[..]));
    assert_eq!(busy.rest().await, (Vec::new(), End::Fin));
    // The session that it had is no way in either.
    assert!(anybody.ask(rig.addr(), HOST, HOST).await.is_err());
    let known = anybody.clone().showing(&Identity::of_its_own("me"));
    let asking = known.ask(rig.addr(), HOST, HOST);
    let answering = async {
        upstream.head().await;
        upstream
            .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nin")
            .await;
    };
    let (asked, ()) = tokio::join!(asking, answering);
    assert_eq!(asked.unwrap().0.body, b"in");
}

#[tokio::test]
async fn connections_on_unchanged_terms_notice_nothing() {
    let authority = Authority::new();
    let pool = format!("\t\t\ttrust_pool file {}", authority.file().display());
    let rig = Rig::caddyfile(&asking(&pool, "\trespond before"));
    let client = Client::new().showing(&authority.sign("ann"));
    let mut wire = Wire::over(client.connect(rig.addr(), HOST).await.unwrap());
    assert_eq!(wire.ask(request()).await.body, b"before");

    rig.reload(&asking(&pool, "\trespond after")).await;
    assert_eq!(wire.ask(request()).await.body, b"after");
    assert!(wire.pending().await.is_empty());

    // Another authority at the same path is another condition.
    let other = Authority::new();
    std::fs::copy(other.file(), authority.file()).unwrap();
    rig.reload(&asking(&pool, "\trespond after")).await;
    assert_eq!(wire.rest().await.0, Vec::<u8>::new());
    assert!(client.ask(rig.addr(), HOST, HOST).await.is_err());
    let new = Client::new().showing(&other.sign("bob"));
    assert!(new.ask(rig.addr(), HOST, HOST).await.is_ok());
}

#[tokio::test]
async fn a_broken_authority_changes_nothing() {
    let authority = Authority::new();
    let pool = format!("\t\t\ttrust_pool file {}", authority.file().display());
    let rig = Rig::caddyfile(&asking(&pool, "\trespond hi"));
    let client = Client::new().showing(&authority.sign("ann"));
    let mut wire = Wire::over(client.connect(rig.addr(), HOST).await.unwrap());
    wire.ask(request()).await;

    std::fs::write(authority.file(), "-----BEGIN CERTIFICATE-----\nhalf").unwrap();
    let error = rig.load(&asking(&pool, "\trespond new")).await.unwrap_err();
    let place = format!("{}: is not valid PEM", authority.file().display());
    assert!(error.contains(&place), "{error}");
    assert_eq!(wire.ask(request()).await.body, b"hi");
    assert!(client.ask(rig.addr(), HOST, HOST).await.is_ok());
    assert!(Client::new().ask(rig.addr(), HOST, HOST).await.is_err());
}
