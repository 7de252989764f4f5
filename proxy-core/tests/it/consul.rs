//! Upstreams that Consul knows.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use proxy_core::{Environment, Options};

use crate::support::origin::{Origin, Recorded, Recorder, Reply};
use crate::support::rig::{self, HOST, Rig};
use crate::support::wait::eventually;
use crate::support::wire::Message;

/// A Consul that answers at once.
struct Consul {
    recorder: Recorder,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    services: HashMap<String, String>,
    /// What is answered in place of a service.
    failure: Option<u16>,
    /// It is answered from the next request on.
    fails_next: Option<u16>,
}

// === impl Consul ===

impl Consul {
    async fn start() -> Self {
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        let answer = move |request: &Recorded| shared.lock().unwrap().answer(request.head.target());
        Self {
            recorder: Recorder::start(Ipv4Addr::LOCALHOST, answer).await,
            state,
        }
    }

    /// From now on these are the instances of `service`, each with its zone and its weight.
    fn set(&self, service: &str, instances: &[(SocketAddr, &str, u16)]) {
        let entry = |(address, zone, weight): &(SocketAddr, &str, u16)| {
            format!(
                r#"{{"Node": {{"Address": "{}", "Meta": {{"zone": "{zone}"}}}}, "Service": {{"Address": "", "Port": {},
                    "Weights": {{"Passing": {weight}}}}}}}"#,
                address.ip(),
                address.port()
            )
        };
        let all: Vec<_> = instances.iter().map(entry).collect();
        let body = format!("[{}]", all.join(","));
        self.state
            .lock()
            .unwrap()
            .services
            .insert(service.to_owned(), body);
    }

    fn fail(&self, status: Option<u16>) {
        self.state.lock().unwrap().failure = status;
    }

    fn asked(&self) -> Vec<String> {
        let requests = self.recorder.requests();
        requests
            .iter()
            .map(|request| request.head.target().to_owned())
            .collect()
    }

    /// A site whose proxy has such a source and these lines.
    fn site(&self, options: &str, lines: &str) -> String {
        let address = self.recorder.addr();
        format!("reverse_proxy {{\ndynamic consul {{\naddress http://{address}\n{options}\n}}\n{lines}\n}}")
    }

    fn rig(&self, options: &str, lines: &str) -> Rig {
        Rig::site(&self.site(options, lines))
    }
}

impl State {
    fn answer(&mut self, target: &str) -> Reply {
        let next = self.fails_next.or(self.failure);
        if let Some(status) = std::mem::replace(&mut self.failure, next) {
            return Reply::keep(format!("HTTP/1.1 {status} X\r\nContent-Length: 2\r\n\r\nno"));
        }
        let name = target.strip_prefix("/v1/health/service/").unwrap();
        let name = name.strip_suffix("?passing=1").unwrap();
        Reply::ok(self.services.get(name).map_or("[]", String::as_str))
    }
}

/// So many instances that say which they are.
async fn instances(names: &[&'static str]) -> Vec<Recorder> {
    let mut all = Vec::new();
    for name in names {
        all.push(Recorder::saying(Ipv4Addr::LOCALHOST, name).await);
    }
    // Their ports order them.
    all.sort_by_key(Recorder::addr);
    all
}

fn places<'z>(all: &[Recorder], zones: &'z str) -> Vec<(SocketAddr, &'z str, u16)> {
    let zones = zones.split(' ');
    all.iter()
        .zip(zones)
        .map(|(one, zone)| (one.addr(), zone, 1))
        .collect()
}

async fn with(rig: &Rig, fields: &str) -> Message {
    let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n{fields}\r\n\r\n");
    rig.wire().await.ask(request).await
}

/// What clients are told who have no upstream.
const NOBODY: &str = "no upstream is available\n";

const NEARBY: &str = "service api\nrefresh 1ns\nlocality {\nnode_meta zone\nlocal_value a\n}";
const TIER: &str = "header_up X-Tier {http.reverse_proxy.upstreams.consul.tier}\n\
                    header_down X-Tier {http.reverse_proxy.upstreams.consul.tier}\nlb_policy round_robin";

#[tokio::test]
async fn local_instances_are_used_if_there_are_enough_and_the_tier_is_told() {
    let (consul, all) = (Consul::start().await, instances(&["1", "2", "3"]).await);
    let rig = consul.rig(NEARBY, TIER);
    for (zones, tier, used) in [
        ("a a b", "local", [true, true, false]),
        ("a b c", "all", [true; 3]),
    ] {
        consul.set("api", &places(&all, zones));
        // A refresh that takes long leaves the answer before in use for a moment.
        eventually("the tier", async || {
            (rig.get("/").await.head.field("x-tier")? == tier).then_some(())
        })
        .await;
        all.iter().for_each(|one| drop(one.take_requests()));
        for _ in 0..6 {
            let answer = rig.get("/").await;
            assert_eq!(answer.head.status(), 200);
            assert_eq!(answer.head.field("x-tier").as_deref(), Some(tier), "{zones}");
        }
        for (one, used) in all.iter().zip(used) {
            let requests = one.take_requests();
            assert_eq!(!requests.is_empty(), used, "{zones}");
            assert!(
                requests
                    .iter()
                    .all(|request| request.head.field("x-tier").as_deref() == Some(tier))
            );
        }
    }
    assert!(
        consul
            .asked()
            .iter()
            .all(|target| target == "/v1/health/service/api?passing=1")
    );
}

#[tokio::test]
async fn an_answer_is_used_for_a_refresh_by_all_workers_and_outlives_a_reload() {
    let (consul, all) = (Consul::start().await, instances(&["1"]).await);
    consul.set("api", &places(&all, "a"));
    let text = |path: &str| {
        let sites = consul.site("service api", "");
        format!(
            "{{\n\tadmin off\n}}\nhttp://{HOST}:0 {{\n\tbind 127.0.0.1\n\thandle {path} {{\n{sites}\n}}\n}}\n"
        )
    };
    let rig = Rig::with_workers(2, &text("/*"));
    for _ in 0..10 {
        assert_eq!(rig.get("/").await.head.status(), 200);
    }
    rig.reload(&text("/other/*")).await;
    assert_eq!(rig.get("/other/").await.head.status(), 200);
    assert_eq!(consul.asked().len(), 1);
    let known: Vec<_> = rig
        .control()
        .upstreams()
        .into_iter()
        .map(|state| state.address)
        .collect();
    assert_eq!(known, [all[0].addr().to_string()]);
}

#[tokio::test]
async fn a_placeholder_names_the_service_and_leads_nowhere_else() {
    let (consul, all) = (Consul::start().await, instances(&["1"]).await);
    consul.set("api", &places(&all, "a"));
    let rig = consul.rig("service {http.request.header.X-App}", "");
    for name in ["api", "API", " api "] {
        assert_eq!(
            with(&rig, &format!("X-App: {name}")).await.head.status(),
            200,
            "{name}"
        );
    }
    assert_eq!(consul.asked().len(), 1);
    for fields in [
        "X-App: ../../agent/self",
        "X-App: ..",
        "X-App: a/b",
        "X-App: a\\b",
        "X-App: ",
        "X-Other: x",
    ] {
        assert_eq!(with(&rig, fields).await.head.status(), 503, "{fields}");
    }
    assert_eq!(consul.asked().len(), 1);
    assert_eq!(with(&rig, "X-App: %2e%2e%2fagent").await.head.status(), 503);
    assert_eq!(
        consul.asked()[1],
        "/v1/health/service/%252e%252e%252fagent?passing=1"
    );
}

#[tokio::test]
async fn a_flood_of_names_leaves_known_ones_alone() {
    let (consul, all) = (Consul::start().await, instances(&["1"]).await);
    let names = ["one", "two", "three"];
    names.iter().for_each(|name| consul.set(name, &places(&all, "a")));
    let rig = consul.rig("service {http.request.header.X-App}", "");
    let asked_for = |name: &str| {
        let asked = consul.asked();
        let target = format!("/v1/health/service/{name}?passing=1");
        asked.iter().filter(|asked| **asked == target).count()
    };
    for name in names {
        assert_eq!(with(&rig, &format!("X-App: {name}")).await.head.status(), 200);
    }
    for number in 0..500 {
        assert_eq!(
            with(&rig, &format!("X-App: made-up-{number}"))
                .await
                .head
                .status(),
            503
        );
    }
    for name in names {
        assert_eq!(with(&rig, &format!("X-App: {name}")).await.head.status(), 200);
        assert_eq!(asked_for(name), 1, "{name}");
    }
}

#[tokio::test]
async fn what_is_configured_serves_when_consul_fails_and_not_when_it_knows_of_none() {
    let (consul, all) = (Consul::start().await, instances(&["1"]).await);
    let fixed = Recorder::saying(Ipv4Addr::LOCALHOST, "fixed").await;
    consul.set("api", &places(&all, "a"));
    let rig = consul.rig("service api\nrefresh 1ns", &format!("to {}", fixed.addr()));
    // A refresh that takes long leaves the answer before in use for a moment.
    let becomes = async |what: &str| {
        let is_so = async || (rig.get("/").await.body == what.as_bytes()).then_some(());
        eventually(what, is_so).await;
    };
    becomes("1").await;
    consul.fail(Some(500));
    becomes("fixed").await;
    consul.fail(None);
    consul.set("api", &[]);
    becomes(NOBODY).await;
    fixed.take_requests();
    for _ in 0..5 {
        assert_eq!(rig.get("/").await.head.status(), 503);
    }
    assert!(fixed.requests().is_empty());
    consul.set("api", &places(&all, "a"));
    becomes("1").await;
}

#[tokio::test]
async fn without_anything_a_failure_is_503_and_consul_s_words_stay_inside() {
    let consul = Consul::start().await;
    consul.fail(Some(403));
    let rig = consul.rig("service api", "");
    let answer = rig.get("/").await;
    assert_eq!(answer.head.status(), 503);
    assert_eq!(answer.body, NOBODY.as_bytes());
    assert!(answer.head.field("retry-after").is_some());
}

#[tokio::test]
async fn with_grace_the_last_instances_serve_while_consul_fails() {
    let (consul, all) = (Consul::start().await, instances(&["1"]).await);
    consul.set("api", &places(&all, "a"));
    let rig = consul.rig("service api\nrefresh 1ns\ngrace_period 1ns", "");
    assert_eq!(rig.get("/").await.body, b"1");
    for status in [500, 403, 429, 301] {
        consul.fail(Some(status));
        assert_eq!(rig.get("/").await.body, b"1", "{status}");
    }
}

#[tokio::test]
async fn a_retry_asks_again() {
    let (consul, all) = (Consul::start().await, instances(&["1"]).await);
    let gone = Origin::bind(Ipv4Addr::LOCALHOST).await;
    consul.set("api", &[(gone.addr(), "a", 1)]);
    let rig = consul.rig("service api", "lb_retries 9\nlb_try_duration 20s");
    // A first request, so that the instance is known before it goes.
    let asked = tokio::spawn({
        let wire = rig.wire().await;
        async move {
            let mut wire = wire;
            wire.ask(rig::get("/")).await
        }
    });
    let mut upstream = gone.accept().await;
    upstream.try_request().await.unwrap();
    upstream
        .send(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        .await;
    drop((upstream, gone));
    assert_eq!(asked.await.unwrap().head.status(), 204);

    consul.set("api", &places(&all, "a"));
    assert_eq!(rig.get("/").await.body, b"1");
    assert!((2..=4).contains(&consul.asked().len()));
}

#[tokio::test]
async fn an_instance_that_refuses_does_not_end_the_others_while_consul_is_away() {
    let (consul, all) = (Consul::start().await, instances(&["good"]).await);
    let nobody = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    consul.set("api", &[(nobody, "a", 1), (all[0].addr(), "a", 1)]);
    consul.state.lock().unwrap().fails_next = Some(500);
    // The one that refuses is the first of them.
    let rig = consul.rig("service api", "lb_policy first");
    for _ in 0..8 {
        assert_eq!(rig.get("/").await.body, b"good");
    }
    assert!(consul.asked().len() > 1, "it is asked again all the same");
}

#[tokio::test]
async fn failures_are_remembered_by_address_whatever_consul_answers_later() {
    let (consul, good) = (Consul::start().await, instances(&["good"]).await);
    let bad = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::keep("HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n")
    })
    .await;
    let mut all = places(&good, "a");
    all.push((bad.addr(), "b", 1));
    consul.set("api", &all);
    let rig = consul.rig(
        "service api\nrefresh 1ns",
        "lb_policy round_robin\nfail_duration 1h\nunhealthy_status 5xx",
    );
    for turn in 0..10 {
        // Another answer each time.
        all[0].2 = turn + 1;
        consul.set("api", &all);
        rig.get("/").await;
    }
    assert_eq!(bad.requests().len(), 1);
}

#[tokio::test]
async fn weights_count_where_they_are_asked_for() {
    let (consul, all) = (Consul::start().await, instances(&["1", "2"]).await);
    let mut weighted = places(&all, "a a");
    weighted[0].2 = 7;
    consul.set("api", &weighted);
    for (option, expected) in [("weights on", [70, 10]), ("weights off", [40, 40])] {
        let rig = consul.rig(&format!("service api\n{option}"), "lb_policy round_robin");
        for _ in 0..80 {
            rig.get("/").await;
        }
        for (one, expected) in all.iter().zip(expected) {
            let served = one.take_requests().len();
            assert!(
                served.abs_diff(expected) <= 2,
                "{option}: {served}, expected about {expected}"
            );
        }
    }
}

#[tokio::test]
async fn sources_are_joined_as_all_are() {
    let (consul, all) = (Consul::start().await, instances(&["1", "2"]).await);
    consul.set("one", &places(&all[..1], "a"));
    consul.set("two", &places(&all[1..], "a"));
    let address = consul.recorder.addr();
    let source = |service: &str| format!("consul {{\naddress http://{address}\nservice {service}\n}}\n");
    let lines = format!(
        "reverse_proxy {{\ndynamic multi {{\n{}{}{}}}\nlb_policy round_robin\n}}",
        source("one"),
        source("two"),
        source("none")
    );
    let rig = Rig::site(&lines);
    for _ in 0..4 {
        rig.get("/").await;
    }
    assert_eq!(
        all.iter().map(|one| one.requests().len()).collect::<Vec<_>>(),
        [2, 2]
    );
}

#[tokio::test]
async fn the_environment_of_consul_s_clients_is_used() {
    let (consul, all) = (Consul::start().await, instances(&["1"]).await);
    consul.set("api", &places(&all, "a"));
    let address = consul.recorder.addr().to_string();
    let environment = Environment::new(move |name| match name {
        "CONSUL_HTTP_ADDR" => Some(address.clone()),
        "CONSUL_HTTP_TOKEN" => Some("from-the-environment".to_owned()),
        _ => None,
    });
    let options = Options {
        environment,
        ..rig::options()
    };
    let text = format!(
        "{{\n\tadmin off\n}}\nhttp://{HOST}:0 {{\n\tbind 127.0.0.1\n\treverse_proxy {{\n\t\tdynamic consul {{\n\t\t\tservice api\n\
         \t\t}}\n\t}}\n}}\n"
    );
    let rig = Rig::with_options(&options, &text);
    assert_eq!(rig.get("/").await.body, b"1");
    let request = consul.recorder.only_request();
    assert_eq!(
        request.head.field("x-consul-token").as_deref(),
        Some("from-the-environment")
    );
}

#[tokio::test]
async fn settings_that_are_of_no_use_stop_a_start_and_name_themselves() {
    let build = |options: &str| {
        let text = format!(
            "http://{HOST}:0 {{\n\treverse_proxy {{\n\t\tdynamic consul {{\n{options}\n\t\t}}\n\t}}\n}}\n"
        );
        rig::build(&rig::options(), &text).map(drop)
    };
    // Nobody is there, and nobody is asked.
    build("address http://127.0.0.1:1\nservice api").unwrap();
    for (options, expected) in [
        (
            "service ../x",
            "consul ../x: the name of the Consul service could lead out of its path",
        ),
        (
            "service api\naddress http://a:99999",
            "consul api: address: it is no URL",
        ),
        (
            "service api\naddress https://a\ntls {\nca /nowhere.pem\n}",
            "consul api: tls.ca: /nowhere.pem",
        ),
        (
            "service api\naddress http://user:secret@a",
            "consul api: address: it must not hold a user or password",
        ),
        (
            "service api\ntoken \"two secrets\"",
            "consul api: token: it holds characters that no token has",
        ),
        (
            "service api\nrefresh 10000h",
            "consul api: refresh: it must be at most a year",
        ),
    ] {
        let error = build(options).unwrap_err();
        assert!(
            error.contains(expected) && !error.contains("secret"),
            "{options}: {error}"
        );
    }
}
