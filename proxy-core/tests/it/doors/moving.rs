//! Rollouts seen one step at a time: pages follow the name, sessions stay with their pod until it lets them go.

use std::net::{IpAddr, Ipv4Addr};

use http::StatusCode;

use super::PROTOCOLS;
use crate::support::browser::{Browser, Tab};
use crate::support::dns::DnsServer;
use crate::support::h2_client;
use crate::support::net::Net;
use crate::support::pod::{Pod, Protocol, token_for};
use crate::support::rig::{Doors, HOST, Rig, get};
use crate::support::wait::eventually;

/// The name of the service.
const SERVICE: &str = "svc.test";

/// A service whose name leads to one of its pods, and a proxy that resolves it.
struct Service {
    dns: DnsServer,
    old: Pod,
    new: Pod,
    rig: Rig,
}

// === impl Service ===

impl Service {
    /// Starts with the name at the old pod.
    async fn start() -> Self {
        Self::speaking(Protocol::Http1).await
    }

    async fn speaking(protocol: Protocol) -> Self {
        let server = Net::fresh().server(1);
        let old = Pod::speaking(protocol, server.pod(1), 0).await;
        let port = old.addr().port();
        let new = Pod::speaking(protocol, server.pod(2), port).await;
        let dns = DnsServer::start().await;
        dns.set(SERVICE, &[old.addr().ip()], 0);
        let rig = Doors::server(server, SERVICE, port)
            .speaking(protocol)
            .resolver(dns.address())
            .start();
        Self { dns, old, new, rig }
    }

    /// Points the name at the new pod and waits until the proxy has noticed.
    async fn flip(&self) {
        self.dns.set(SERVICE, &[self.new.addr().ip()], 0);
        eventually("a page from the new pod", async || {
            let page = self.rig.get("/probe").await;
            (Tab::read(&page.body)?.token == self.new.token()).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn pages_on_kept_connections_go_to_the_new_pod_once_the_name_has_moved() {
    for protocol in PROTOCOLS {
        let service = Service::speaking(protocol).await;
        let mut wire = service.rig.wire().await;
        let mut browser = Browser::clear(service.rig.addr(), HOST).await;
        for _ in 0..3 {
            assert_eq!(
                Tab::read(&wire.ask(get("/")).await.body).unwrap().token,
                service.old.token()
            );
            assert_eq!(browser.load("/").await.token, service.old.token());
        }
        service.flip().await;
        for _ in 0..10 {
            assert_eq!(
                Tab::read(&wire.ask(get("/")).await.body).unwrap().token,
                service.new.token()
            );
            assert_eq!(browser.load("/").await.token, service.new.token());
        }
    }
}

#[tokio::test]
async fn idle_connections_to_an_address_that_left_the_answer_are_closed() {
    let service = Service::start().await;
    let mut wires = [service.rig.wire().await, service.rig.wire().await];
    for wire in &mut wires {
        wire.ask(get("/")).await;
    }
    assert!(
        service.old.look(|state| state.open_connections) > 0,
        "kept for the next page"
    );
    service.flip().await;
    service
        .old
        .until("no connection left", |state| {
            (state.open_connections == 0).then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_live_tab_stays_with_its_pod_through_the_flip_and_the_drain() {
    for protocol in PROTOCOLS {
        let service = Service::speaking(protocol).await;
        let mut browser = Browser::clear(service.rig.addr(), HOST).await;
        let tab = browser.load("/").await;
        let mut sync = browser.sync().await;
        service.old.until_synced(&tab.instance).await;
        service.flip().await;
        service.old.drain();

        service.old.push(&tab.instance, "still here");
        let mut body = sync.response().await.into_body();
        assert!(
            h2_client::piece(&mut body)
                .await
                .unwrap()
                .ends_with(b"still here")
        );
        assert_eq!(browser.click().await.body, br#"{"clicks":1,"received":2}"#);
        let mut next = browser.sync().await;
        service.old.until_syncs(&tab.instance, 2).await;
        service.old.push(&tab.instance, "and here");
        assert_eq!(next.response().await.status(), StatusCode::OK);
        assert_eq!(
            browser.id_cookie(),
            Some(service.old.token()),
            "no longer renewed, not deleted"
        );
        assert_eq!(service.new.look(|state| state.gone), 0);
    }
}

#[tokio::test]
async fn a_link_on_a_draining_pod_ends_the_tab_and_its_reload_lands_on_the_new_pod() {
    for protocol in PROTOCOLS {
        let service = Service::speaking(protocol).await;
        let mut browser = Browser::clear(service.rig.addr(), HOST).await;
        let old = browser.load("/").await;
        service.flip().await;
        assert_eq!(browser.click().await.status, StatusCode::OK);
        service.old.drain();
        assert_eq!(browser.follow_link().await.status, StatusCode::GONE);
        assert_eq!(browser.load("/target").await.token, service.new.token());
        assert_eq!(browser.id_cookie(), Some(service.new.token()));
        assert_eq!(browser.click().await.status, StatusCode::OK);

        let addr = service.old.addr();
        service.old.exit().await;
        let path = format!("/~/{}/h/{}/1", old.token, old.instance);
        assert_eq!(
            browser.exchange(http::Method::POST, &path, b"{}").await.status,
            StatusCode::GONE
        );
        assert_eq!(
            browser.load("/again").await.token,
            service.new.token(),
            "{addr} is gone, the page does not care"
        );
    }
}

#[tokio::test]
async fn a_token_reaches_its_pod_although_no_name_leads_there() {
    let service = Service::start().await;
    let mut browser = Browser::clear(service.rig.addr(), HOST).await;
    browser.load("/").await;
    let path = format!("/~/{}/r/7Yx2.doors.js", service.new.token());
    assert_eq!(
        browser.exchange(http::Method::GET, &path, &[]).await.status,
        StatusCode::OK
    );
    assert_eq!(service.new.look(|state| state.seen.clone()), [path]);
}

#[tokio::test]
async fn a_page_goes_to_the_next_address_of_a_name_when_the_first_one_refuses() {
    let server = Net::fresh().server(1);
    let pod = Pod::start(server.pod(5), 0).await;
    let dns = DnsServer::start().await;
    let addresses: Vec<IpAddr> = (1..=5).map(|number| server.pod(number).into()).collect();
    dns.set(SERVICE, &addresses, 30);
    let rig = Doors::server(server, SERVICE, pod.addr().port())
        .resolver(dns.address())
        .start();
    for _ in 0..10 {
        assert_eq!(rig.get("/").await.head.status(), 200);
    }
    assert_eq!(pod.look(|state| state.seen.len()), 10);
}

#[tokio::test]
async fn a_session_on_either_server_stays_there_while_both_are_up() {
    let net = Net::fresh();
    let servers = [net.server(1), net.server(2)];
    let first = Pod::start(servers[0].pod(1), 0).await;
    let port = first.addr().port();
    let second = Pod::start(servers[1].pod(1), port).await;
    let hosts: [Ipv4Addr; 2] = [servers[0].pod(1), servers[1].pod(1)];
    let rig = Doors::server(servers[0], hosts[0], port)
        .and(servers[1], hosts[1], port)
        .start();
    let mut counts = [0, 0];
    for _ in 0..40 {
        let mut browser = Browser::clear(rig.addr(), HOST).await;
        let token = browser.load("/").await.token;
        counts[usize::from(token == second.token())] += 1;
        for path in ["/a", "/b"] {
            assert_eq!(
                browser.load(path).await.token,
                token,
                "the id cookie pins the session"
            );
        }
        assert_eq!(browser.click().await.status, StatusCode::OK);
    }
    assert!(
        counts.iter().all(|&count| count > 0),
        "new sessions go to both servers: {counts:?}"
    );
}

#[tokio::test]
async fn a_stale_id_cookie_of_an_old_pod_still_pins_its_server() {
    let net = Net::fresh();
    let servers = [net.server(1), net.server(2)];
    let first = Pod::start(servers[0].pod(1), 0).await;
    let port = first.addr().port();
    let second = Pod::start(servers[1].pod(1), port).await;
    let rig = Doors::server(servers[0], servers[0].pod(1), port)
        .and(servers[1], servers[1].pod(1), port)
        .start();
    for (server, fresh) in [(servers[0], &first), (servers[1], &second)] {
        for _ in 0..5 {
            let mut browser = Browser::clear(rig.addr(), HOST).await;
            browser.set_cookie("upstream", &token_for(server.pod(200)));
            assert_eq!(browser.load("/").await.token, fresh.token());
            assert_eq!(browser.id_cookie(), Some(fresh.token()));
        }
    }
}
