//! Which upstream takes a request, and where it goes when that one fails.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::origin::{Origin, Recorded, Recorder, Reply, ok};
use crate::support::rig::{HOST, Rig, get, post};
use crate::support::wait::eventually;
use crate::support::wire::Message;

/// Three upstreams that say which they are.
async fn three() -> [Recorder; 3] {
    let say = |name| Recorder::saying(Ipv4Addr::LOCALHOST, name);
    [say("a").await, say("b").await, say("c").await]
}

/// An address where nobody listens.
async fn refused() -> SocketAddr {
    Origin::bind(Ipv4Addr::LOCALHOST).await.addr()
}

/// A site in front of `upstreams` with these options.
fn balanced(upstreams: &[SocketAddr], options: &str) -> Rig {
    let upstreams: Vec<String> = upstreams.iter().map(ToString::to_string).collect();
    let upstreams = upstreams.join(" ");
    Rig::site(&format!("\treverse_proxy {upstreams} {{\n{options}\n\t}}"))
}

fn addresses(of: &[Recorder]) -> Vec<SocketAddr> {
    of.iter().map(Recorder::addr).collect()
}

/// The bodies of the answers to GETs of these targets, each on a connection of its own.
async fn bodies(rig: &Rig, targets: &[&str]) -> Vec<String> {
    let mut bodies = Vec::new();
    for target in targets {
        let answer = rig.get(target).await;
        assert_eq!(answer.head.status(), 200, "{target}");
        bodies.push(String::from_utf8(answer.body).unwrap());
    }
    bodies
}

async fn ask(rig: &Rig, fields: &str) -> Message {
    let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n{fields}\r\n");
    rig.wire().await.ask(request).await
}

fn body(answer: &Message) -> &str {
    std::str::from_utf8(&answer.body).unwrap()
}

#[tokio::test]
async fn upstreams_take_turns_and_weights_are_shares() {
    let all = three().await;
    let rig = balanced(&addresses(&all), "lb_policy round_robin");
    assert_eq!(bodies(&rig, &["/"; 7]).await.concat(), "abcabca");

    let rig = balanced(&addresses(&all), "lb_policy weighted_round_robin 3 1 0");
    assert_eq!(bodies(&rig, &["/"; 8]).await.concat(), "aabaaaba");

    let rig = balanced(&addresses(&all), "lb_policy first");
    assert_eq!(bodies(&rig, &["/"; 3]).await.concat(), "aaa");
}

#[tokio::test]
async fn the_same_key_leads_to_the_same_upstream() {
    let all = three().await;
    for (option, same) in [
        ("lb_policy uri_hash", ["/x?1", "/x?1", "/x?1"]),
        (
            "lb_policy query user",
            ["/?user=ann", "/y?a=1&user=ann", "/?user=%61nn"],
        ),
        ("lb_policy consistent_hash {path}", ["/x?1", "/x?2", "/x?3"]),
        ("lb_policy ip_hash", ["/1", "/2", "/3"]),
        ("lb_policy client_ip_hash", ["/1", "/2", "/3"]),
    ] {
        let rig = balanced(&addresses(&all), option);
        let bodies = bodies(&rig, &same).await;
        assert!(
            bodies.iter().all(|body| *body == bodies[0]),
            "{option}: {bodies:?}"
        );
    }
    let rig = balanced(&addresses(&all), "lb_policy header X-User {\n fallback first\n }");
    let mut seen = Vec::new();
    for user in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        let fields = format!("X-User: {user}\r\n");
        let first = ask(&rig, &fields).await;
        assert_eq!(body(&first), body(&ask(&rig, &fields).await));
        seen.push(body(&first).to_owned());
    }
    assert!(
        seen.iter().any(|body| *body != seen[0]),
        "keys are spread: {seen:?}"
    );
    assert_eq!(
        body(&ask(&rig, "").await),
        "a",
        "without a key it is the fallback's turn"
    );
}

#[tokio::test]
async fn a_cookie_leads_back_to_the_upstream_that_set_it() {
    let all = three().await;
    let rig = balanced(
        &addresses(&all),
        "lb_policy cookie stick hush {\n fallback round_robin\n max_age 1h\n }",
    );
    let first = ask(&rig, "").await;
    assert_eq!(body(&first), "a");
    let set = first.head.field("set-cookie").unwrap();
    let (cookie, attributes) = set.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; Max-Age=3600; HttpOnly; SameSite=Lax");
    for _ in 0..3 {
        let again = ask(&rig, &format!("Cookie: x=1; {cookie}\r\n")).await;
        assert_eq!((body(&again), again.head.field("set-cookie")), ("a", None));
    }
    // What names no upstream is no cookie: the next one in turn sets its own.
    let other = ask(&rig, "Cookie: stick=1234\r\n").await;
    assert_eq!(body(&other), "b");
    assert!(other.head.field("set-cookie").unwrap().starts_with("stick="));
}

#[tokio::test]
async fn a_cookie_of_an_upstream_that_is_gone_leads_elsewhere_and_is_replaced() {
    let (dead, alive) = (
        refused().await,
        Recorder::saying(Ipv4Addr::LOCALHOST, "alive").await,
    );
    let rig = balanced(&[dead, alive.addr()], "lb_policy cookie {\n fallback first\n }");
    let first = ask(&rig, "").await;
    assert_eq!(body(&first), "alive");
    let cookie = first.head.field("set-cookie").unwrap();
    let (cookie, _) = cookie.split_once(';').unwrap();
    let again = ask(&rig, &format!("Cookie: {cookie}\r\n")).await;
    assert_eq!((body(&again), again.head.field("set-cookie")), ("alive", None));
}

#[tokio::test]
async fn a_cookie_means_the_same_after_a_reload() {
    let all = three().await;
    let upstreams: Vec<String> = addresses(&all).iter().map(ToString::to_string).collect();
    let text = |upstreams: &[String], more: &str| {
        format!(
            "{{\n\tadmin off\n}}\nhttp://{HOST}:0 {{\n\tbind 127.0.0.1\n{more}\n\treverse_proxy {} {{\n\
             \t\tlb_policy cookie stick hush\n\t}}\n}}\n",
            upstreams.join(" ")
        )
    };
    let rig = Rig::caddyfile(&text(&upstreams, ""));
    let first = ask(&rig, "").await;
    let set = first.head.field("set-cookie").unwrap();
    let (cookie, _) = set.split_once(';').unwrap();
    let reversed: Vec<String> = upstreams.iter().rev().cloned().collect();
    for next in [text(&upstreams, "\theader X-New 1"), text(&reversed, "")] {
        rig.reload(&next).await;
        let again = ask(&rig, &format!("Cookie: {cookie}\r\n")).await;
        assert_eq!(
            (body(&again), again.head.field("set-cookie")),
            (body(&first), None)
        );
    }
    let own = ["a", "b", "c"]
        .iter()
        .position(|name| *name == body(&first))
        .unwrap();
    let mut others = upstreams.clone();
    others.remove(own);
    rig.reload(&text(&others, "")).await;
    let elsewhere = ask(&rig, &format!("Cookie: {cookie}\r\n")).await;
    assert_ne!(body(&elsewhere), body(&first));
    assert!(elsewhere.head.field("set-cookie").is_some());
}

#[tokio::test]
async fn over_tls_the_cookie_is_for_tls_alone() {
    let upstream = Recorder::saying(Ipv4Addr::LOCALHOST, "a").await;
    let proxy = format!("\treverse_proxy {} {{\n lb_policy cookie\n }}", upstream.addr());
    let rig = Rig::tls_site(&proxy);
    let answer = rig.tls_wire().await.ask(get("/")).await;
    let cookie = answer.head.field("set-cookie").unwrap();
    assert!(
        cookie.ends_with("; Path=/; HttpOnly; Secure; SameSite=None"),
        "{cookie}"
    );

    let trusted = "trusted_proxies 127.0.0.1/32";
    for (option, said, secure) in [
        (trusted, "https", true),
        (trusted, "http", false),
        ("", "https", false),
    ] {
        let rig = balanced(&[upstream.addr()], &format!("lb_policy cookie\n{option}"));
        let answer = ask(&rig, &format!("X-Forwarded-Proto: {said}\r\n")).await;
        let cookie = answer.head.field("set-cookie").unwrap();
        assert_eq!(cookie.contains("Secure"), secure, "{option} {said}");
    }
}

#[tokio::test]
async fn a_request_that_could_not_be_sent_goes_to_another_with_its_body() {
    let alive = Recorder::saying(Ipv4Addr::LOCALHOST, "alive").await;
    let (one, two) = (refused().await, refused().await);
    let rig = balanced(&[one, two, alive.addr()], "lb_policy first");
    let answer = rig.wire().await.ask(post("/order", "one")).await;
    assert_eq!(
        (answer.head.status(), answer.body.as_slice()),
        (200, &b"alive"[..])
    );
    assert_eq!(alive.only_request().body, b"one");
    assert_eq!(rig.stats().retries, 2);
}

#[tokio::test]
async fn one_that_refused_is_asked_last_for_a_while() {
    let alive = Recorder::saying(Ipv4Addr::LOCALHOST, "alive").await;
    let rig = balanced(&[refused().await, alive.addr()], "lb_policy first");
    // Within a second no other request begins there, so that most of these are no retries however slow the machine is.
    assert_eq!(bodies(&rig, &["/"; 20]).await, ["alive"; 20]);
    assert!(rig.stats().retries < 10, "{:?}", rig.stats());
}

#[tokio::test]
async fn a_request_waits_for_an_upstream_that_comes_back() {
    let addr = refused().await;
    let rig = balanced(&[addr], "lb_try_duration 20s\n lb_try_interval 10ms");
    let mut wire = rig.wire().await;
    wire.send(get("/")).await;
    eventually("a few attempts", async || {
        (rig.stats().upstream_connects >= 3).then_some(())
    })
    .await;
    let back = Recorder::start_at(addr, |_| Reply::ok("back")).await;
    assert_eq!(wire.answer().await.body, b"back");
    assert_eq!(back.requests().len(), 1);
}

#[tokio::test]
async fn attempts_end_with_their_number_or_their_time() {
    let rig = balanced(&[refused().await], "lb_retries 3");
    assert_eq!(rig.get("/").await.head.status(), 502);
    assert_eq!(rig.stats().upstream_connects, 4);

    let rig = balanced(&[refused().await], "lb_try_duration 100ms\n lb_try_interval 20ms");
    assert_eq!(rig.get("/").await.head.status(), 502);
    assert!(
        (2..=6).contains(&rig.stats().upstream_connects),
        "{:?}",
        rig.stats()
    );
}

/// Upstreams that reset the first `count` requests of all and answer the others.
async fn failing_first(count: usize) -> (Recorder, Recorder) {
    let left = Arc::new(AtomicUsize::new(count));
    let script = |name: &'static str| {
        let left = Arc::clone(&left);
        move |_: &Recorded| {
            let fails = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            if fails.is_ok() {
                Reply::Reset(Vec::new())
            } else {
                Reply::ok(name)
            }
        }
    };
    let one = Recorder::start(Ipv4Addr::LOCALHOST, script("one")).await;
    let two = Recorder::start(Ipv4Addr::LOCALHOST, script("two")).await;
    (one, two)
}

#[tokio::test]
async fn what_may_have_reached_an_application_is_sent_again_only_where_that_is_said() {
    let again = "lb_retry_match {\n method GET PUT\n }";
    for (options, method, sent) in [
        ("lb_retries 5", "GET", 1),
        ("lb_try_duration 5s", "GET", 1),
        (again, "GET", 2),
        (again, "PUT", 2),
        (again, "POST", 1),
        ("lb_retries 5\n lb_retry_match {\n not path /*\n }", "GET", 1),
        (
            "lb_retries 5\n lb_retry_match {\n expression `{rp.is_transport_error} && {method} == \"GET\"`\n }",
            "GET",
            2,
        ),
        (
            "lb_retries 5\n lb_retry_match {\n expression `{rp.status_code} == 503`\n }",
            "GET",
            1,
        ),
    ] {
        let (one, two) = failing_first(1).await;
        let rig = balanced(
            &[one.addr(), two.addr()],
            &format!("lb_policy round_robin\n{options}"),
        );
        let request = format!("{method} /x HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 0\r\n\r\n");
        let answer = rig.wire().await.ask(request).await;
        let requests = one.requests().len() + two.requests().len();
        let expected = if sent == 1 { 502 } else { 200 };
        assert_eq!(
            (answer.head.status(), requests),
            (expected, sent),
            "{options} {method}"
        );
        if sent == 2 {
            assert_eq!(
                answer.body, b"two",
                "never to the one that just failed while another is free"
            );
        }
        rig.canary().await;
    }
}

#[tokio::test]
async fn a_body_that_has_gone_is_not_sent_twice_whatever_the_method() {
    let (one, two) = failing_first(1).await;
    let rig = balanced(
        &[one.addr(), two.addr()],
        "lb_policy round_robin\n lb_retries 5\n lb_retry_match {\n method POST\n }",
    );
    let mut wire = rig.wire().await;
    let head = format!("POST /x HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n");
    wire.send(head).await;
    wire.send_chunk("piece").await;
    wire.send("0\r\n\r\n").await;
    assert_eq!(wire.answer_to("POST").await.head.status(), 502);
    assert_eq!(one.requests().len() + two.requests().len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_not_good_enough_is_replaced_or_passed_on_whole_when_there_is_no_better_one() {
    let busy = |body: &str| {
        let head = "HTTP/1.1 503 Service Unavailable\r\nX-From: busy\r\n";
        format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    };
    let (first, last) = (busy("first"), busy("last"));
    let one = Recorder::start(Ipv4Addr::LOCALHOST, move |_| Reply::Keep(first.clone())).await;
    let two = Recorder::start(Ipv4Addr::LOCALHOST, move |request| {
        if request.head.target() == "/good" {
            Reply::Keep(ok("good"))
        } else {
            Reply::Keep(last.clone())
        }
    })
    .await;
    let options =
        "lb_policy round_robin\n lb_retries 1\n lb_retry_match {\n expression `{rp.status_code} == 503`\n }";
    let rig = balanced(&[one.addr(), two.addr()], options);
    let good = rig.get("/good").await;
    assert_eq!((good.head.status(), good.body.as_slice()), (200, &b"good"[..]));

    let bad = rig.get("/bad").await;
    assert_eq!((bad.head.status(), bad.body.as_slice()), (503, &b"last"[..]));
    assert_eq!(bad.head.field("x-from").as_deref(), Some("busy"));
    assert_eq!((one.requests().len(), two.requests().len()), (2, 2));
}

#[tokio::test]
async fn an_upstream_takes_no_more_requests_at_once_than_it_may() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let other = Recorder::saying(Ipv4Addr::LOCALHOST, "other").await;
    let rig = balanced(
        &[origin.addr(), other.addr()],
        "lb_policy first\n unhealthy_request_count 1",
    );
    let mut first = rig.wire().await;
    first.send(get("/slow")).await;
    let mut upstream = origin.accept().await;
    upstream.try_request().await.unwrap();
    assert_eq!(rig.get("/").await.body, b"other");

    let full = balanced(&[origin.addr()], "unhealthy_request_count 1");
    let mut waiting = full.wire().await;
    waiting.send(get("/slow")).await;
    let mut held = origin.accept().await;
    held.try_request().await.unwrap();
    assert_eq!(full.get("/").await.head.status(), 503);

    upstream.send(ok("done")).await;
    assert_eq!(first.answer().await.body, b"done");
    held.send(ok("done")).await;
    assert_eq!(waiting.answer().await.body, b"done");
}

#[tokio::test]
async fn retries_of_a_dead_upstream_are_within_the_budget_and_still_wait() {
    let addr = refused().await;
    let rig = balanced(
        &[addr],
        "lb_try_duration 20s\n lb_try_interval 1ms\n lb_retry_budget 0 20",
    );
    let mut wires = Vec::new();
    for _ in 0..30 {
        let mut wire = rig.wire().await;
        wire.send(get("/")).await;
        wires.push(wire);
    }
    eventually("all begin", async || {
        (rig.stats().upstream_connects >= 30).then_some(())
    })
    .await;
    let before = rig.stats().upstream_connects;
    assert!(
        before < 30 + 200 + 20,
        "{before}: without a budget each would try a thousand times a second"
    );
    let _back = Recorder::start_at(addr, |_| Reply::ok("back")).await;
    for mut wire in wires {
        assert_eq!(wire.answer().await.body, b"back");
    }
}
