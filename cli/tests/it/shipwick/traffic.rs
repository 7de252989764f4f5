//! The same routes give the same answers in each proxy.

use std::collections::BTreeMap;
use std::sync::mpsc;

use serde_json::Value;
use shipwick_routes::{App, OwnRoute, Path, RenderOptions, Upstream};

use super::pod::{Manner, Pod, line_by_line};
use super::proxies::{Kind, Proxy, each, each_with, newest_caddy};
use super::{app, replica};
use crate::support::Answer;

fn field<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let lines = answer.head.lines().filter_map(|line| line.split_once(": "));
    let mut values = lines.filter(|(field, _)| field.eq_ignore_ascii_case(name));
    values.next().map(|(_, value)| value)
}

fn assert_unavailable(answer: &Answer) {
    assert_eq!(answer.status, 503, "{}", answer.head);
    assert_eq!(field(answer, "retry-after"), Some("5"));
    assert_eq!(field(answer, "content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(answer.body, "503 Service Unavailable: no healthy replica.\n");
}

#[test]
fn requests_go_round_the_ready_replicas() {
    each(|proxy| {
        let pods = [(); 3].map(|()| Pod::start(Manner::Answers));
        let ports = pods.each_ref().map(Pod::port);
        proxy.route_app("web", app("web.example.com", &ports));
        let mut counts = BTreeMap::new();
        for _ in 0..12 {
            let answer = proxy.get("web.example.com");
            assert_eq!(answer.status, 200, "{}", answer.head);
            *counts.entry(answer.body).or_insert(0) += 1;
        }
        let each = ports.map(|port| (port.to_string(), 4));
        assert_eq!(counts, BTreeMap::from(each), "{:?}", proxy.kind);
        let unready = |app: &mut App| app.replicas.as_mut().unwrap()[0].running = false;
        proxy.route(|desired| unready(desired.apps.get_mut("web").unwrap()));
        assert!((0..6).all(|_| proxy.get("web.example.com").body != ports[0].to_string()));
    });
}

#[test]
fn the_proxy_holds_what_was_rendered() {
    each(|proxy| {
        proxy.route_app("web", app("web.example.com", &[1]));
        let admin = proxy.directory.path().join("admin.sock");
        let shown = crate::support::finish(&mut crate::support::doorway(
            proxy.directory.path(),
            &["config", "--address", &format!("unix/{}", admin.display())],
        ));
        let running: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(
            running,
            serde_json::from_str::<Value>(&proxy.rendered()).unwrap(),
            "{:?}",
            proxy.kind
        );
    });
}

#[test]
fn without_a_ready_replica_and_for_strangers_there_are_texts() {
    each(|proxy| {
        let pod = Pod::start(Manner::Answers);
        proxy.route_app("web", app("web.example.com", &[]));
        let stopped = App {
            stopped: true,
            ..app("off.example.com", &[pod.port()])
        };
        proxy.route_app("off", stopped.clone());
        assert_unavailable(&proxy.get("web.example.com"));
        assert_unavailable(&proxy.get("off.example.com"));
        assert_eq!(pod.asked(), 0);
        let unknown = proxy.get("other.example.com");
        assert_eq!(unknown.status, 404, "{}", unknown.head);
        assert_eq!(field(&unknown, "content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(
            unknown.body,
            "404 Not Found: no application is served at this address.\n"
        );
        // Started again, it serves again.
        proxy.route_app(
            "off",
            App {
                stopped: false,
                ..stopped
            },
        );
        assert_eq!(proxy.get("off.example.com").body, pod.port().to_string());
    });
}

#[test]
fn a_domain_moves_to_another_application() {
    each(|proxy| {
        let (old, new) = (Pod::start(Manner::Answers), Pod::start(Manner::Answers));
        proxy.route_app("web", app("web.example.com", &[old.port()]));
        assert_eq!(proxy.get("web.example.com").body, old.port().to_string());
        proxy.route(|desired| {
            desired
                .apps
                .insert("web".to_owned(), app("www.example.com", &[old.port()]));
            desired
                .apps
                .insert("blog".to_owned(), app("web.example.com", &[new.port()]));
        });
        for (host, pod) in [("web.example.com", &new), ("www.example.com", &old)] {
            let answer = proxy.get(host);
            assert_eq!(
                answer.body,
                pod.port().to_string(),
                "{:?} {}",
                proxy.kind,
                answer.head
            );
        }
    });
}

#[test]
fn applications_share_a_host_by_their_paths() {
    each(|proxy| {
        let (root, api) = (Pod::start(Manner::Answers), Pod::start(Manner::Answers));
        let below = App {
            path: Some(Path {
                prefix: "/api".parse().unwrap(),
                strip: true,
            }),
            ..app("web.example.com", &[api.port()])
        };
        let aliased = App {
            aliases: vec!["www.example.com".parse().unwrap()],
            ..app("web.example.com", &[root.port()])
        };
        proxy.route_app("api", below);
        proxy.route_app("root", aliased);
        let (root, api) = (root.port().to_string(), api.port().to_string());
        for (host, path, port) in [
            ("web.example.com", "/", &root),
            ("web.example.com", "/apix", &root),
            ("web.example.com", "/api", &api),
            ("web.example.com", "/api/x", &api),
            ("www.example.com", "/api", &root),
        ] {
            assert_eq!(
                &proxy.ask("GET", host, path).body,
                port,
                "{host}{path} {:?}",
                proxy.kind
            );
        }
    });
}

/// Logs that are followed arrive line by line.
#[test]
fn the_agent_and_the_dashboard_are_not_buffered() {
    each(|proxy| {
        for name in ["agent", "dashboard"] {
            let (sender, receiver) = mpsc::channel();
            let own = Some(OwnRoute {
                domain: format!("{name}.example.com").parse().unwrap(),
                upstream: Upstream::new("127.0.0.1", line_by_line(receiver)).unwrap(),
            });
            proxy.route(|desired| match name {
                "agent" => desired.agent = own,
                _ => desired.dashboard = own,
            });
            let mut lines = proxy.lines(&format!("{name}.example.com"));
            assert_eq!(lines.next(), Some(1.into()));
            sender.send(()).unwrap();
            assert_eq!(lines.next(), Some(2.into()));
            assert_eq!(lines.next(), None);
        }
    });
}

#[test]
fn a_replica_that_died_costs_no_request() {
    each(|proxy| {
        let (mut dead, alive) = (Pod::start(Manner::Answers), Pod::start(Manner::Answers));
        proxy.route_app("web", app("web.example.com", &[dead.port(), alive.port()]));
        dead.stop();
        for number in 0..10 {
            let method = if number % 2 == 0 { "GET" } else { "POST" };
            let answer = proxy.ask(method, "web.example.com", "/");
            assert_eq!(
                (answer.status, answer.body),
                (200, alive.port().to_string()),
                "{:?}",
                proxy.kind
            );
        }
    });
}

/// Both replicas break the connection of whatever reaches them.
fn asked_of_breaking_replicas(proxy: &Proxy) -> (u16, usize) {
    let pods = [(); 2].map(|()| Pod::start(Manner::Resets));
    proxy.route_app("web", app("web.example.com", &pods.each_ref().map(Pod::port)));
    let status = proxy.get("web.example.com").status;
    (status, pods.iter().map(Pod::asked).sum())
}

#[test]
fn a_request_that_reached_an_application_is_never_sent_twice() {
    each(|proxy| {
        assert_eq!(asked_of_breaking_replicas(proxy), (502, 1), "{:?}", proxy.kind);
    });
}

/// Why `never_twice` is on.
#[test]
fn with_the_bytes_of_0_1_0_caddy_sends_it_to_each_replica() {
    let Some(caddy) = newest_caddy() else {
        println!("skipped: there is no `caddy` that could send a request twice");
        return;
    };
    let proxy = Proxy::start(Kind::Caddy(caddy), RenderOptions::shipwick_0_1_0());
    assert!(asked_of_breaking_replicas(&proxy).1 > 1);
}

#[test]
fn with_an_error_route_all_replicas_down_are_no_healthy_replica() {
    let options = RenderOptions {
        error_route: true,
        ..RenderOptions::default()
    };
    each_with(&options, |proxy| {
        let mut dead = Pod::start(Manner::Answers);
        dead.stop();
        let gone = App {
            replicas: Some(vec![replica(dead.port())]),
            ..app("web.example.com", &[])
        };
        proxy.route_app("web", gone);
        assert_unavailable(&proxy.get("web.example.com"));
        // Answers of the application itself are its own.
        assert_eq!(proxy.get("other.example.com").status, 404);
    });
}
