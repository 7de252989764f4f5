//! Sessions are resumed, but never past a policy that asks for certificates.

use std::net::SocketAddr;

use rustls::HandshakeKind;
use rustls::version::{TLS12, TLS13};

use super::{client_auth, rig, site, sites};
use crate::support::identity::Identity;
use crate::support::net::Net;
use crate::support::rig::{HOST, Rig};
use crate::support::tls::Client;

/// How hands are shaken, the first time and again.
async fn twice(client: &Client, first: SocketAddr, again: SocketAddr) -> [Option<HandshakeKind>; 2] {
    let mut kinds = [None; 2];
    for (kind, addr) in kinds.iter_mut().zip([first, again]) {
        let asked = client.ask(addr, HOST, HOST).await;
        *kind = asked.ok().map(|(_, kind)| kind);
    }
    kinds
}

#[tokio::test]
async fn a_session_is_resumed_where_nobody_is_asked_for_a_certificate() {
    let protocols = "\t\tprotocols tls1.2 tls1.3";
    let rig = rig(&[
        site(HOST, protocols, "\trespond hi"),
        site("b.test", "\t\talpn http/1.1", ""),
    ]);
    for version in [&TLS12, &TLS13] {
        let client = Client::new().version(version);
        let kinds = twice(&client, rig.addr(), rig.addr()).await;
        assert_eq!(
            kinds,
            [Some(HandshakeKind::Full), Some(HandshakeKind::Resumed)],
            "{version:?}"
        );
    }
}

#[tokio::test]
async fn whoever_shows_a_certificate_shows_it_each_time() {
    let rig = rig(&[site(HOST, &client_auth("\t\t\tmode require"), "\trespond hi")]);
    for version in [&TLS12, &TLS13] {
        let client = Client::new()
            .version(version)
            .showing(&Identity::of_its_own("me"));
        let kinds = twice(&client, rig.addr(), rig.addr()).await;
        assert_eq!(kinds, [Some(HandshakeKind::Full); 2], "{version:?}");
    }
}

#[tokio::test]
async fn a_session_of_an_open_listener_is_worth_nothing_at_a_guarded_one() {
    let ip = Net::fresh().pod(1);
    let at = |port: u16, tls: &str| {
        format!("{HOST}:{port} {{\n\tbind {ip}\n\ttls internal {{\n{tls}\n\t}}\n\trespond hi\n}}\n")
    };
    let guard = client_auth("\t\t\tmode require");
    let _rig = Rig::caddyfile(&sites("", &[at(9441, "\t\talpn http/1.1"), at(9442, &guard)]));
    let (open, guarded) = (SocketAddr::from((ip, 9441)), SocketAddr::from((ip, 9442)));
    for version in [&TLS12, &TLS13] {
        let client = Client::new().version(version);
        assert_eq!(
            twice(&client, open, guarded).await,
            [Some(HandshakeKind::Full), None]
        );
        let resumed = twice(&client, open, open).await;
        assert!(
            resumed.contains(&Some(HandshakeKind::Resumed)),
            "the client has one to offer"
        );
    }
}
