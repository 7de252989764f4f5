//! Upstreams are asked how they are.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::{again, metric, site, state, until_healthy};
use crate::support::logs;
use crate::support::net::Net;
use crate::support::origin::{Deaf, Origin, Recorded, Recorder, Reply, ok};
use crate::support::rig::{self, Doors, Rig};
use crate::support::secure::{Authority, Secure};
use crate::support::wait::{eventually, within};
use crate::support::wire::Wire;

/// A proxy whose upstream is checked every few milliseconds.
fn checked(upstream: SocketAddr, options: &str) -> String {
    format!("\treverse_proxy {upstream} {{\n\t\thealth_interval 20ms\n{options}\n\t}}\n")
}

/// Waits until `recorder` was asked `count` times.
async fn until_asked(recorder: &Recorder, count: usize) -> Vec<Recorded> {
    let what = format!("{count} checks");
    eventually(&what, async || {
        let requests = recorder.requests();
        (requests.len() >= count).then_some(requests)
    })
    .await
}

#[tokio::test]
async fn an_upstream_that_dies_is_found_out_without_requests_and_so_is_its_return() {
    logs::capture();
    let origin = Recorder::start_at((Net::fresh().pod(1), 0).into(), |_| Reply::ok("first")).await;
    let address = origin.addr();
    let rig = site(&checked(address, "\t\thealth_uri /up"));
    until_asked(&origin, 2).await;
    assert_eq!(state(&rig, address).active, Some(true));
    origin.vanish().await;
    until_healthy(&rig, address, false).await;
    let answer = rig.get("/").await;
    assert_eq!(
        (answer.head.status(), &*answer.body),
        (503, &b"no upstream is available\n"[..])
    );
    assert_eq!(answer.head.field("retry-after").as_deref(), Some("1"));
    let told = state(&rig, address);
    assert_eq!((told.active, told.fails), (Some(false), 0));
    let series = format!("caddy_reverse_proxy_upstreams_healthy{{upstream=\"{address}\"}}");
    assert_eq!(metric(&rig, &series).as_deref(), Some("0"));

    let back = Recorder::start_at(address, |_| Reply::ok("back")).await;
    until_healthy(&rig, address, true).await;
    assert_eq!(rig.get("/").await.body, b"back");
    until_asked(&back, 3).await;
    let address = address.to_string();
    assert_eq!(
        logs::lines_with(&["the upstream is unhealthy", &address]).len(),
        1
    );
    assert_eq!(
        logs::lines_with(&["the upstream is healthy again", &address]).len(),
        1
    );
}

#[tokio::test]
async fn a_check_asks_for_what_is_configured() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let address = origin.addr();
    let _rig = site(&checked(
        address,
        "\t\thealth_uri /health?deep=1\n\t\thealth_method post\n\t\thealth_request_body `{\"at\": \"{http.reverse_proxy.active.target_upstream}\"}`\n\t\t\
         health_headers {\n\t\t\tHost app.internal\n\t\t\tX-Target {http.reverse_proxy.active.target_upstream}\n\t\t\t\
         X-Many a b\n\t\t\tX-Slash {system.slash}\n\t\t}",
    ));
    let asked = until_asked(&origin, 1).await.remove(0);
    assert_eq!(asked.head.start(), "POST /health?deep=1 HTTP/1.1");
    let body = format!("{{\"at\": \"{address}\"}}");
    assert_eq!(asked.body, body.as_bytes());
    assert_eq!(asked.head.all("host"), ["app.internal"]);
    assert_eq!(asked.head.all("x-target"), [address.to_string()]);
    assert_eq!(asked.head.all("x-many"), ["a", "b"]);
    assert_eq!(asked.head.all("x-slash"), ["/"]);
    assert!(!asked.head.has("x-forwarded-for") && !asked.head.has("via"));

    let plain = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let _rig = site(&checked(plain.addr(), "\t\thealth_uri /"));
    let asked = until_asked(&plain, 1).await.remove(0);
    assert_eq!(asked.head.start(), "GET / HTTP/1.1");
    assert_eq!(asked.head.all("host"), [plain.addr().to_string()]);
}

/// An upstream whose answers to checks change with a number.
async fn changing(answers: &'static [&'static str]) -> (Recorder, Arc<AtomicU8>) {
    let which = Arc::new(AtomicU8::new(0));
    let number = Arc::clone(&which);
    let recorder = Recorder::start(Ipv4Addr::LOCALHOST, move |_| {
        Reply::keep(answers[usize::from(number.load(Ordering::Relaxed))])
    });
    (recorder.await, which)
}

#[tokio::test]
async fn an_answer_is_good_by_its_status_and_its_body() {
    let answers = &[
        "HTTP/1.1 204 No\r\n\r\n",
        "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nall is well",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nall \r\n7\r\nis lost\r\n0\r\n\r\n",
        "nonsense\r\n\r\n",
    ];
    let (origin, which) = changing(answers).await;
    for (options, good) in [
        ("", [true, false, false, true, true, false]),
        ("\t\thealth_status 5xx", [false, true, false, false, false, false]),
        ("\t\thealth_status 302", [false, false, true, false, false, false]),
        (
            "\t\thealth_body \"is (well|fine)$\"",
            [false, false, false, true, false, false],
        ),
        // A redirect without end is a bad answer in the end.
        (
            "\t\thealth_follow_redirects",
            [true, false, false, true, true, false],
        ),
    ] {
        // A redirect that is followed ten times is eleven requests.
        let checks = if options.contains("follow") { 25 } else { 3 };
        which.store(3, Ordering::Relaxed);
        let rig = site(&checked(origin.addr(), &format!("\t\thealth_uri /\n{options}")));
        for (number, good) in (0..).zip(good) {
            which.store(number, Ordering::Relaxed);
            let before = origin.requests().len();
            // Checks that had begun before say nothing; two more do.
            until_asked(&origin, before + checks).await;
            assert_eq!(
                state(&rig, origin.addr()).healthy,
                good,
                "{options}, answer {number}"
            );
        }
        rig.stop().await;
    }
}

#[tokio::test]
async fn redirects_are_followed_on_the_same_host_only() {
    let other = Recorder::saying(Ipv4Addr::LOCALHOST, "secret").await;
    let elsewhere = format!("http://{}/x", other.addr());
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |request| {
        let location = match request.head.target() {
            "/moved" => "/new",
            "/away" => elsewhere.as_str(),
            _ => return Reply::Keep(ok("new")),
        };
        Reply::keep(format!(
            "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
        ))
    })
    .await;
    let options =
        |uri: &str| format!("\t\thealth_uri {uri}\n\t\thealth_follow_redirects\n\t\thealth_body new");
    let rig = site(&checked(origin.addr(), &options("/moved")));
    let targets: Vec<String> = until_asked(&origin, 4)
        .await
        .iter()
        .map(|request| request.head.target().to_owned())
        .collect();
    assert_eq!(targets[..4], ["/moved", "/new", "/moved", "/new"]);
    assert!(state(&rig, origin.addr()).healthy);
    rig.reload(&again(&rig, &checked(origin.addr(), &options("/away"))))
        .await;
    until_healthy(&rig, origin.addr(), false).await;
    assert_eq!(other.accepted(), 0);
}

#[tokio::test]
async fn results_count_in_a_row() {
    // One of three checks fails.
    let count = AtomicU8::new(0);
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| {
        if count.fetch_add(1, Ordering::Relaxed) % 3 == 2 {
            Reply::Close(Vec::new())
        } else {
            Reply::ok("ok")
        }
    })
    .await;
    let rig = site(&checked(origin.addr(), "\t\thealth_uri /\n\t\thealth_fails 2"));
    for checks in 1..12 {
        until_asked(&origin, checks).await;
        assert!(state(&rig, origin.addr()).healthy);
    }
}

#[tokio::test]
async fn another_port_or_place_may_be_asked_and_a_connection_may_be_enough() {
    let ip = Net::fresh().pod(1);
    let place = Recorder::start_at((ip, 0).into(), |_| Reply::Close(Vec::new())).await;
    let gone = free(ip);
    let port = place.addr().port();
    for (options, healthy) in [
        (format!("\t\thealth_port {port}"), false),
        (format!("\t\thealth_upstream {}", place.addr()), false),
        (format!("\t\thealth_port {port}\n\t\thealth_tcp"), true),
    ] {
        let rig = site(&checked(gone, &options));
        let before = place.accepted();
        eventually("a few checks", async || {
            (place.accepted() > before + 2).then_some(())
        })
        .await;
        assert_eq!(state(&rig, gone).healthy, healthy, "{options}");
    }
    assert!(
        place
            .requests()
            .iter()
            .all(|request| request.head.target() == "/")
    );
    let rig = site(&checked(gone, "\t\thealth_tcp"));
    until_healthy(&rig, gone, false).await;
}

/// An address that nobody listens on.
fn free(ip: Ipv4Addr) -> SocketAddr {
    let probe = std::net::TcpListener::bind((ip, 0)).expect("a port is free");
    probe.local_addr().expect("it is bound")
}

#[tokio::test]
async fn an_upstream_that_hangs_is_unhealthy_after_the_timeout() {
    let deaf = Deaf::bind((Net::fresh().pod(1), 0).into());
    let rig = site(&checked(deaf.addr(), "\t\thealth_uri /\n\t\thealth_timeout 50ms"));
    until_healthy(&rig, deaf.addr(), false).await;
    let silent = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = site(&checked(
        silent.addr(),
        "\t\thealth_uri /\n\t\thealth_timeout 50ms",
    ));
    let mut held = silent.accept().await;
    held.try_request().await.unwrap();
    until_healthy(&rig, silent.addr(), false).await;
}

#[tokio::test]
async fn what_was_found_out_outlives_a_reload_and_nobody_asks_for_more() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| Reply::Close(Vec::new())).await;
    let proxy = format!(
        "\treverse_proxy {} {{\n\t\thealth_uri /\n\t\thealth_interval 1h\n\t}}\n",
        origin.addr()
    );
    let rig = site(&proxy);
    until_healthy(&rig, origin.addr(), false).await;
    for round in 0..5 {
        rig.reload(&again(&rig, &format!("{proxy}\trespond /new {round}\n")))
            .await;
        assert_eq!(rig.get("/").await.head.status(), 503);
        assert!(!state(&rig, origin.addr()).healthy);
    }
    // Another question is another matter, and is asked at once.
    rig.reload(&again(&rig, &proxy.replace("health_uri /", "health_uri /other")))
        .await;
    let asked = until_asked(&origin, 2).await;
    let targets: Vec<&str> = asked.iter().map(|request| request.head.target()).collect();
    assert_eq!(targets, ["/", "/other"]);
}

#[tokio::test]
async fn a_refused_configuration_sends_no_check_and_an_upstream_that_left_gets_none() {
    let kept = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let left = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let never = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let with = |upstream: &Recorder| checked(upstream.addr(), "\t\thealth_uri /");
    let rig = site(&with(&left));
    until_asked(&left, 2).await;
    let refused = again(&rig, &with(&never))
        + "https://b.test:0 {\n\tbind 127.0.0.1\n\ttls /no/such.pem /no/such.pem\n}\n";
    assert!(rig.load(&refused).await.is_err());
    assert!(rig::build(&rig::options(), &refused).is_err());
    let before = left.requests().len();
    until_asked(&left, before + 2).await;

    rig.reload(&again(&rig, &with(&kept))).await;
    until_asked(&kept, 2).await;
    let before = left.accepted();
    until_asked(&kept, 12).await;
    assert_eq!((left.accepted(), never.accepted()), (before, 0));
}

#[tokio::test]
async fn servers_of_a_doors_app_are_checked_too() {
    let server = Net::fresh().server(1);
    let app = Recorder::start(server.pod(1), |request| match request.head.target() {
        "/up" => Reply::Close(Vec::new()),
        _ => Reply::ok("page"),
    })
    .await;
    let directives = Doors::server(server, server.pod(1), app.addr().port()).directives();
    let checked = directives.replace(
        "dynamic doors_upstreams\n",
        "dynamic doors_upstreams\n\t\thealth_uri /up\n\t\thealth_interval 20ms\n",
    );
    let rig = site(&checked);
    until_healthy(&rig, app.addr(), false).await;
    assert_eq!(rig.get("/").await.head.status(), 503);
}

#[tokio::test]
async fn a_check_speaks_the_protocol_of_the_transport() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let address = origin.addr();
    let rig = Rig::site(&format!(
        "\treverse_proxy h2c://{address} {{\n\t\thealth_uri /h2\n\t\thealth_interval 1h\n\t}}"
    ));
    let mut server = h2::server::handshake(origin.accept_stream().await).await.unwrap();
    let accepted = within("the check", server.accept()).await;
    let (request, mut answer) = accepted.unwrap().unwrap();
    assert_eq!(request.uri().to_string(), format!("http://{address}/h2"));
    let response = http::Response::builder().status(503).body(()).unwrap();
    answer.send_response(response, true).unwrap();
    tokio::select! {
        _ = server.accept() => {}
        () = until_healthy(&rig, address, false) => {}
    }
    until_healthy(&rig, address, false).await;
}

#[tokio::test]
async fn a_check_believes_the_certificates_that_requests_believe() {
    let authority = Authority::new();
    let upstream = Secure::start(authority.sign(&["127.0.0.1"])).await;
    let address = upstream.addr();
    let checked = |trust: &str| {
        format!(
            "\treverse_proxy https://{address} {{\n\t\thealth_uri /tls\n\t\thealth_interval 20ms\n\t\t\
             transport http {{\n{trust}\t\t}}\n\t}}\n"
        )
    };
    let trust = format!("\t\t\ttls_trust_pool file {}\n", authority.file());
    let rig = site(&checked(&trust));
    eventually("checks", async || (upstream.requests().len() > 2).then_some(())).await;
    assert_eq!(upstream.last().scheme.as_deref(), Some("https"));
    assert!(state(&rig, address).healthy);
    rig.reload(&again(&rig, &checked("\t\t\ttls_server_name other.test\n")))
        .await;
    until_healthy(&rig, address, false).await;
    assert_eq!(rig.get("/").await.head.status(), 503);
}

#[tokio::test]
async fn a_unix_socket_is_checked_by_the_name_localhost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let rig = site(&format!(
        "\treverse_proxy unix/{} {{\n\t\thealth_uri /up\n\t\thealth_interval 20ms\n\t}}",
        path.display()
    ));
    let is_healthy = || rig.control().upstreams()[0].healthy;
    for (answer, healthy) in [("500 Oh", false), ("200 OK", true)] {
        let (stream, _) = within("a check", listener.accept()).await.unwrap();
        let mut wire = Wire::over(stream);
        let head = wire.head().await;
        assert_eq!(head.start(), "GET /up HTTP/1.1");
        assert_eq!(head.all("host"), ["localhost"]);
        wire.send(format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n"))
            .await;
        eventually("the check counts", async || {
            (is_healthy() == healthy).then_some(())
        })
        .await;
    }
}
