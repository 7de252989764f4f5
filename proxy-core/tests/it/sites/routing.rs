//! Which site a request belongs to.

use crate::support::net::Net;
use crate::support::rig::{Rig, build, options};
use crate::support::wire::Wire;

/// A request to `host` for `/` on the first listener, and the body of its answer.
async fn body_for(rig: &Rig, host: &str) -> String {
    let answer = rig
        .wire()
        .await
        .ask(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"))
        .await;
    String::from_utf8_lossy(&answer.body).into_owned()
}

fn sites(sites: &[(&str, &str)]) -> Rig {
    let mut text = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n".to_owned();
    for (address, answer) in sites {
        text.push_str(&format!(
            "{address} {{\n\tbind 127.0.0.1\n\trespond {answer}\n}}\n"
        ));
    }
    Rig::caddyfile(&text)
}

#[tokio::test]
async fn every_spelling_of_a_host_leads_to_its_site() {
    let rig = sites(&[
        ("http://a.test:0", "a"),
        ("http://b.test:0", "b"),
        ("http://:0", "other"),
    ]);
    assert_eq!(rig.addresses().len(), 1, "one listener for all of them");
    for host in [
        "a.test",
        "A.Test",
        "a.test:80",
        "a.test.",
        "a.test.:80",
        "a.test:",
        "A.TEST.:8080",
    ] {
        assert_eq!(body_for(&rig, host).await, "a", "{host}");
    }
    assert_eq!(body_for(&rig, "b.test").await, "b");
    for host in [
        "c.test",
        "x.a.test",
        "aa.test",
        "a.test.b.test",
        "127.0.0.1",
        "[::1]:80",
    ] {
        assert_eq!(body_for(&rig, host).await, "other", "{host}");
    }
}

#[tokio::test]
async fn a_host_that_no_site_has_gets_an_empty_answer() {
    let rig = sites(&[("http://a.test:0", "a")]);
    let answer = rig
        .wire()
        .await
        .ask("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n")
        .await;
    assert_eq!(answer.body, b"", "nothing of another site");
}

#[tokio::test]
async fn an_absolute_target_is_routed_by_its_own_host() {
    let rig = sites(&[("http://a.test:0", "a"), ("http://b.test:0", "b")]);
    let answer = rig
        .wire()
        .await
        .ask("GET http://b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n")
        .await;
    assert_eq!(answer.body, b"b");
    let answer = rig
        .wire()
        .await
        .ask("GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n")
        .await;
    assert!(
        answer.head.status() == 400 || answer.body == b"b",
        "never routed by one and served as the other"
    );
}

#[tokio::test]
async fn http2_requests_are_routed_by_their_authority() {
    let rig = sites(&[("http://a.test:0", "a"), ("http://b.test:0", "b")]);
    for (host, body) in [("a.test", b"a"), ("b.test", b"b")] {
        let mut h2 = crate::support::h2_client::H2::clear(rig.addr(), host).await;
        assert_eq!(h2.get("/").await.body, body);
    }
}

#[tokio::test]
async fn a_wildcard_stands_for_one_label_and_the_exact_name_goes_before_it() {
    let rig = sites(&[
        ("http://*.test:0", "wild"),
        ("http://a.test:0", "exact"),
        ("http://:0", "other"),
    ]);
    assert_eq!(body_for(&rig, "a.test").await, "exact");
    assert_eq!(body_for(&rig, "b.test").await, "wild");
    assert_eq!(body_for(&rig, "x.y.test").await, "other");
    assert_eq!(body_for(&rig, "test").await, "other");
}

#[tokio::test]
async fn several_names_share_a_site() {
    let rig = sites(&[("http://a.test:0, http://b.test:0", "both")]);
    for host in ["a.test", "b.test"] {
        assert_eq!(body_for(&rig, host).await, "both");
    }
}

#[tokio::test]
async fn a_hundred_hosts_are_told_apart_whatever_their_case() {
    let names: Vec<_> = (0..150)
        .map(|number| (format!("http://host{number}.test:0"), format!("n{number}")))
        .collect();
    let pairs: Vec<_> = names
        .iter()
        .map(|(address, answer)| (address.as_str(), answer.as_str()))
        .collect();
    let rig = sites(&pairs);
    for number in [0, 7, 99, 149] {
        assert_eq!(
            body_for(&rig, &format!("HOST{number}.Test")).await,
            format!("n{number}")
        );
    }
}

#[tokio::test]
async fn sites_on_several_addresses_each_have_their_own_listener() {
    let net = Net::fresh();
    let (one, two) = (net.pod(1), net.pod(2));
    let text = format!(
        "{{\n\tadmin off\n}}\nhttp://:0 {{\n\tbind {one}\n\trespond one\n}}\n\
         http://a.test:0 {{\n\tbind {two}\n\trespond two\n}}\n"
    );
    let rig = Rig::caddyfile(&text);
    assert_eq!(rig.addresses().len(), 2);
    for addr in rig.addresses() {
        let answer = Wire::connect(*addr)
            .await
            .ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            .await;
        let expected = if addr.ip() == one { b"one" } else { b"two" };
        assert_eq!(answer.body, expected, "{addr}");
    }
}

#[tokio::test]
async fn one_site_may_listen_on_several_addresses() {
    let net = Net::fresh();
    let text = format!(
        "{{\n\tadmin off\n}}\nhttp://:0 {{\n\tbind {} {}\n\trespond hi\n}}\n",
        net.pod(1),
        net.pod(2)
    );
    let rig = Rig::caddyfile(&text);
    assert_eq!(rig.addresses().len(), 2);
    for addr in rig.addresses() {
        let answer = Wire::connect(*addr)
            .await
            .ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .await;
        assert_eq!(answer.body, b"hi");
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_an_error_at_the_start_that_names_it() {
    let taken = std::net::TcpListener::bind((Net::fresh().pod(1), 0)).unwrap();
    let addr = taken.local_addr().unwrap();
    let text = format!(
        "{{\n\tadmin off\n}}\nhttp://:{} {{\n\tbind {}\n\trespond hi\n}}\n",
        addr.port(),
        addr.ip()
    );
    let error = build(&options(), &text).expect_err("the address is taken");
    assert!(error.contains(&addr.to_string()), "{error}");
}

#[tokio::test]
async fn several_workers_serve_one_listener() {
    let rig = Rig::with_workers(
        2,
        "{\n\tadmin off\n}\nhttp://:0 {\n\tbind 127.0.0.1\n\trespond hi\n}\n",
    );
    assert_eq!(rig.addresses().len(), 1);
    for _ in 0..50 {
        assert_eq!(rig.get("/").await.body, b"hi");
    }
    assert!(rig.stop().await.drained);
}
