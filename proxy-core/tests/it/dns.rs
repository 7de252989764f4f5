//! Upstreams by name: they move when the name moves, survive a resolver that fails, and never wait for it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;

use crate::support::dns::{DnsServer, Reply as Dns};
use crate::support::net::Net;
use crate::support::origin::{Deaf, Origin, Recorder, Reply};
use crate::support::rig::{HOST, Rig, get};
use crate::support::wait::eventually;

const NAME: &str = "svc.test";

/// The directive that forwards to `name` at `port`, resolved by `dns`.
fn forward_to(name: &str, port: u16, dns: SocketAddr) -> String {
    format!("\treverse_proxy {name}:{port} {{\n\t\ttransport http {{\n\t\t\tresolvers {dns}\n\t\t}}\n\t}}")
}

/// Two upstreams on one port, a name that leads to the first, and a proxy.
struct Moving {
    dns: DnsServer,
    old: Recorder,
    new: Recorder,
    rig: Rig,
}

// === impl Moving ===

impl Moving {
    async fn start() -> Self {
        let server = Net::fresh().server(1);
        let old = Recorder::saying(server.pod(2), "old").await;
        let port = old.addr().port();
        let new = Recorder::start_at((server.pod(3), port).into(), |_| Reply::ok("new")).await;
        let dns = DnsServer::start().await;
        dns.set(NAME, &[old.addr().ip()], 0);
        let rig = Rig::site(&forward_to(NAME, port, dns.address()));
        assert_eq!(rig.get("/").await.body, b"old");
        Self { dns, old, new, rig }
    }

    async fn until_new(&self) {
        eventually("an answer from the new address", async || {
            (self.rig.get("/probe").await.body == b"new").then_some(())
        })
        .await;
    }

    /// Waits until the proxy has asked this often again, whatever it was told.
    async fn until_asked_again(&self, times: usize) {
        let asked = self.dns.asked(NAME, RecordType::A);
        self.dns.wait_asked(NAME, RecordType::A, asked + times).await;
    }
}

#[tokio::test]
async fn new_requests_follow_the_name_and_old_connections_are_not_used_for_them() {
    let moving = Moving::start().await;
    let mut wire = moving.rig.wire().await;
    assert_eq!(wire.ask(get("/")).await.body, b"old");
    moving.dns.set(NAME, &[moving.new.addr().ip()], 0);
    moving.until_new().await;
    let served = moving.old.requests().len();
    for _ in 0..20 {
        assert_eq!(wire.ask(get("/")).await.body, b"new");
        assert_eq!(moving.rig.get("/").await.body, b"new");
    }
    assert_eq!(moving.old.requests().len(), served);
    moving.old.until_ended(moving.old.accepted()).await;
}

#[tokio::test]
async fn a_request_in_flight_is_finished_at_the_old_address() {
    let server = Net::fresh().server(1);
    let old = Origin::bind(server.pod(2)).await;
    let port = old.addr().port();
    let _new = Recorder::start_at((server.pod(3), port).into(), |_| Reply::ok("new")).await;
    let dns = DnsServer::start().await;
    dns.set(NAME, &[old.addr().ip()], 0);
    let rig = Rig::site(&forward_to(NAME, port, dns.address()));
    let mut wire = rig.wire().await;
    wire.send(get("/slow")).await;
    let mut upstream = old.accept().await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
        .await;
    wire.head().await;
    dns.set(NAME, &[server.pod(3).into()], 0);
    // Once it asks again, it has taken the answer before.
    let asked = dns.asked(NAME, RecordType::A);
    dns.wait_asked(NAME, RecordType::A, asked + 2).await;
    assert_eq!(rig.get("/").await.body, b"new");
    upstream.send("done").await;
    assert_eq!(wire.exactly(8).await, b"halfdone");
    assert_eq!(wire.ask(get("/")).await.body, b"new");
}

#[tokio::test]
async fn a_failing_resolver_leaves_the_last_good_answer_in_use() {
    let failures = [
        Dns::Code(ResponseCode::ServFail),
        Dns::Code(ResponseCode::NXDomain),
        Dns::Code(ResponseCode::Refused),
        Dns::Code(ResponseCode::NoError),
        Dns::Garbage,
    ];
    let moving = Moving::start().await;
    for failure in failures {
        moving.dns.set_reply(NAME, &failure);
        moving.until_asked_again(1).await;
        for _ in 0..3 {
            assert_eq!(moving.rig.get("/").await.body, b"old", "{failure:?}");
        }
        moving.dns.set(NAME, &[moving.old.addr().ip()], 0);
        moving.until_asked_again(1).await;
    }
    moving.dns.set(NAME, &[moving.new.addr().ip()], 0);
    moving.until_new().await;
}

#[tokio::test]
async fn a_name_that_does_not_resolve_stops_neither_the_start_nor_another_site() {
    let server = Net::fresh().server(1);
    let origin = Recorder::saying(server.pod(1), "fine").await;
    let port = origin.addr().port();
    let dns = DnsServer::start().await;
    let site =
        |host: &str, directives: String| format!("http://{host}:0 {{\n\tbind 127.0.0.1\n{directives}\n}}\n");
    let text = [
        "{\n\tadmin off\n}\n".to_owned(),
        site("lost.test", forward_to("lost.svc", port, dns.address())),
        site("fine.test", format!("\treverse_proxy {}", origin.addr())),
    ];
    let rig = Rig::caddyfile(&text.concat());
    let ask = async |host: &str| {
        rig.wire()
            .await
            .ask(format!("GET /canary HTTP/1.1\r\nHost: {host}\r\n\r\n"))
            .await
    };
    assert_eq!(ask("fine.test").await.body, b"fine");
    let lost = ask("lost.test").await;
    assert!(matches!(lost.head.status(), 502 | 503), "{}", lost.head.start());
    dns.set("lost.svc", &[server.pod(1).into()], 30);
    eventually("the lost site", async || {
        (ask("lost.test").await.body == b"fine").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_resolver_that_hangs_delays_no_request_to_a_known_name() {
    let moving = Moving::start().await;
    moving.dns.set_reply(NAME, &Dns::Silence);
    moving.until_asked_again(1).await;
    // Each look-up hangs for 5 s now; a hundred requests in far less can have waited for none.
    let hundred = async {
        for _ in 0..100 {
            assert_eq!(moving.rig.get("/").await.body, b"old");
        }
    };
    tokio::time::timeout(Duration::from_secs(4), hundred)
        .await
        .expect("no request waits for the resolver");
}

#[tokio::test]
async fn a_resolver_that_hangs_at_the_start_delays_only_its_own_site() {
    let origin = Recorder::saying(Net::fresh().pod(1), "fine").await;
    let dns = DnsServer::start().await;
    dns.set_reply(NAME, &Dns::Silence);
    let hung = forward_to(NAME, 80, dns.address());
    let text = format!(
        "{{\n\tadmin off\n}}\nhttp://hung.test:0 {{\n\tbind 127.0.0.1\n{hung}\n}}\n\
         http://{HOST}:0 {{\n\tbind 127.0.0.1\n\treverse_proxy {}\n}}\n",
        origin.addr()
    );
    let rig = Rig::caddyfile(&text);
    let mut waiting = rig.wire().await;
    waiting.send("GET / HTTP/1.1\r\nHost: hung.test\r\n\r\n").await;
    let quick = async {
        for _ in 0..20 {
            assert_eq!(rig.get("/").await.body, b"fine");
        }
    };
    tokio::time::timeout(Duration::from_secs(4), quick)
        .await
        .expect("no request waits for another site's name");
    let status = waiting.answer().await.head.status();
    assert!(matches!(status, 502..=504), "{status}");
}

#[tokio::test]
async fn the_first_request_for_a_name_waits_for_its_first_answer() {
    let origin = Recorder::saying(Net::fresh().pod(1), "fine").await;
    let dns = DnsServer::start().await;
    let answer = Dns::Addresses(vec![origin.addr().ip()], 30);
    dns.set_reply(NAME, &Dns::Late(Duration::from_millis(300), Box::new(answer)));
    let rig = Rig::site(&forward_to(NAME, origin.addr().port(), dns.address()));
    assert_eq!(rig.get("/").await.body, b"fine");
}

#[tokio::test]
async fn an_address_that_does_not_answer_is_passed_over_for_the_next_one() {
    let server = Net::fresh().server(1);
    let deaf = Deaf::bind((server.pod(1), 0).into());
    let port = deaf.addr().port();
    let _alive = Recorder::start_at((server.pod(2), port).into(), |_| Reply::ok("alive")).await;
    let dns = DnsServer::start().await;
    dns.set(NAME, &[server.pod(1).into(), server.pod(2).into()], 30);
    let rig = Rig::site(&forward_to(NAME, port, dns.address()));
    for _ in 0..4 {
        assert_eq!(rig.get("/").await.body, b"alive");
    }
}

#[tokio::test]
async fn upstreams_on_ipv6_work_by_literal_and_by_name_and_fall_back_to_ipv4() {
    let six = Recorder::saying(Ipv6Addr::LOCALHOST, "six").await;
    let port = six.addr().port();
    assert_eq!(Rig::to(six.addr()).get("/").await.body, b"six");

    let dns = DnsServer::start().await;
    dns.set(NAME, &[Ipv6Addr::LOCALHOST.into()], 30);
    assert_eq!(
        Rig::site(&forward_to(NAME, port, dns.address()))
            .get("/")
            .await
            .body,
        b"six"
    );

    let server = Net::fresh().server(1);
    let four = Recorder::saying(server.pod(1), "four").await;
    dns.set(
        "both.test",
        &[Ipv6Addr::LOCALHOST.into(), server.pod(1).into()],
        30,
    );
    let rig = Rig::site(&forward_to("both.test", four.addr().port(), dns.address()));
    assert_eq!(
        rig.get("/").await.body,
        b"four",
        "nothing listens on the IPv6 address"
    );
}

#[tokio::test]
async fn an_ipv4_mapped_literal_is_the_ipv4_address() {
    let origin = Recorder::saying(Net::fresh().pod(1), "four").await;
    let IpAddr::V4(four) = origin.addr().ip() else {
        panic!("bound to IPv4")
    };
    let mapped = SocketAddr::new(four.to_ipv6_mapped().into(), origin.addr().port());
    assert_eq!(Rig::to(mapped).get("/").await.body, b"four");
}

#[tokio::test]
async fn a_name_that_is_used_twice_is_looked_up_once() {
    let origin = Recorder::saying(Net::fresh().pod(1), "ok").await;
    let port = origin.addr().port();
    let dns = DnsServer::start().await;
    dns.set(NAME, &[origin.addr().ip()], 3600);
    let route = |path: &str| {
        format!(
            "\thandle {path} {{\n{}\n\t}}\n",
            forward_to(NAME, port, dns.address())
        )
    };
    let rig = Rig::site(&(route("/a*") + &route("/b*")));
    for path in ["/a", "/b", "/a", "/b"] {
        assert_eq!(rig.get(path).await.body, b"ok");
    }
    assert_eq!(dns.asked(NAME, RecordType::A), 1);
}
