//! Circuit breakers of backends.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proxy_core::BreakerState;

use crate::support::origin::{Origin, Recorder, Reply};
use crate::support::rig::{Rig, get, post};
use crate::support::wait::eventually;

use super::{RoutesFile, SHORT, backend, directives, nobody, reload, rig, rig_with, until_told};

/// A backend that answers with an error for as long as the switch is on.
struct Flaky {
    origin: Recorder,
    fails: Arc<AtomicBool>,
}

// === impl Flaky ===

impl Flaky {
    async fn start(error: u16) -> Self {
        let fails = Arc::new(AtomicBool::new(true));
        let failing = Arc::clone(&fails);
        let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| {
            if failing.load(Ordering::Relaxed) {
                Reply::keep(format!("HTTP/1.1 {error} Oh\r\nContent-Length: 0\r\n\r\n"))
            } else {
                Reply::ok("fine")
            }
        })
        .await;
        Self { origin, fails }
    }

    fn set(&self, fails: bool) {
        self.fails.store(fails, Ordering::Relaxed);
    }

    fn backend(&self) -> String {
        backend(self.origin.addr())
    }
}

async fn statuses(rig: &Rig, path: &str, count: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..count {
        statuses.push(rig.get(path).await.head.status());
    }
    statuses
}

fn state(rig: &Rig, address: SocketAddr) -> Option<BreakerState> {
    let address = address.to_string();
    let states = rig.control().upstreams();
    let found = states.iter().find(|upstream| upstream.address == address);
    found.expect("it is known").breaker
}

/// Waits until a request gets through again, and gives its status.
async fn probe(rig: &Rig, path: &str) -> u16 {
    eventually("a request gets through", async || {
        let answer = rig.get(path).await;
        (!answer.head.has("x-circuit-open")).then(|| answer.head.status())
    })
    .await
}

#[tokio::test]
async fn failures_in_a_row_open_it_and_the_client_is_told() {
    let flaky = Flaky::start(500).await;
    let rig = rig(&format!(
        "any: * -> mark(\"a\") -> consecutiveBreaker(5) -> {};",
        flaky.backend()
    ));
    assert_eq!(statuses(&rig, "/", 4).await, [500; 4]);
    flaky.set(false);
    assert_eq!(statuses(&rig, "/", 1).await, [200], "a success begins anew");
    flaky.set(true);
    assert_eq!(statuses(&rig, "/", 5).await, [500; 5]);
    let answer = rig.get("/").await;
    assert_eq!(super::told(&answer), (503, "Service Unavailable\n".to_owned()));
    assert_eq!(answer.head.field("x-circuit-open").as_deref(), Some("true"));
    assert!(!answer.head.has("x-order"), "no filter sees it");
    assert_eq!(flaky.origin.requests().len(), 10);
    assert_eq!(state(&rig, flaky.origin.addr()), Some(BreakerState::Open));
}

#[tokio::test]
async fn a_status_below_500_is_no_failure() {
    let flaky = Flaky::start(499).await;
    let rig = rig(&format!(
        "any: * -> consecutiveBreaker(1) -> {};",
        flaky.backend()
    ));
    assert_eq!(statuses(&rig, "/", 4).await, [499; 4]);
}

#[tokio::test]
async fn a_backend_that_is_away_or_late_or_hangs_up_counts_as_one_that_fails() {
    let gone = nobody().await;
    let silent = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let broken = Recorder::start(Ipv4Addr::LOCALHOST, |_| Reply::Close(Vec::new())).await;
    let rig = rig(&format!(
        "gone: Path(\"/gone\") -> consecutiveBreaker(3) -> {};
         late: Path(\"/late\") -> backendTimeout(\"{SHORT}\") -> consecutiveBreaker(3) -> {};
         broken: Path(\"/broken\") -> consecutiveBreaker(3) -> {};",
        backend(gone),
        backend(silent.addr()),
        backend(broken.addr())
    ));
    for (path, status) in [("/gone", 502), ("/late", 504), ("/broken", 503)] {
        for _ in 0..3 {
            let answer = rig.get(path).await;
            assert_eq!(answer.head.status(), status, "{path}");
            assert!(!answer.head.has("x-circuit-open"), "{path}");
        }
        let answer = rig.get(path).await;
        assert_eq!(answer.head.status(), 503, "{path}");
        assert!(answer.head.has("x-circuit-open"), "{path}");
    }
}

#[tokio::test]
async fn one_that_is_open_lets_a_request_try_after_its_time() {
    let flaky = Flaky::start(500).await;
    let rig = rig(&format!(
        "any: * -> consecutiveBreaker(2, \"{SHORT}\") -> {};",
        flaky.backend()
    ));
    assert_eq!(statuses(&rig, "/", 2).await, [500; 2]);
    for _ in 0..2 {
        assert_eq!(probe(&rig, "/").await, 500, "one failure opens it again");
    }
    flaky.set(false);
    assert_eq!(probe(&rig, "/").await, 200);
    assert_eq!(state(&rig, flaky.origin.addr()), Some(BreakerState::Closed));
    flaky.set(true);
    assert_eq!(statuses(&rig, "/", 2).await, [500; 2]);
}

#[tokio::test]
async fn as_many_requests_try_as_the_route_says_and_the_rest_are_turned_away() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = rig(&format!(
        "any: * -> consecutiveBreaker(1, \"{SHORT}\", 2) -> {};",
        backend(origin.addr())
    ));
    let mut first = rig.wire().await;
    first.send(get("/")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(first.answer().await.head.status(), 500);
    // Two get through once the time is over.
    eventually("it is half open", async || {
        (state(&rig, origin.addr()) == Some(BreakerState::HalfOpen)).then_some(())
    })
    .await;
    let mut probes = Vec::new();
    for _ in 0..2 {
        let mut client = rig.wire().await;
        client.send(get("/")).await;
        let mut upstream = origin.accept().await;
        upstream.head().await;
        probes.push((client, upstream));
    }
    let turned_away = rig.get("/").await;
    assert_eq!(turned_away.head.status(), 503);
    assert!(turned_away.head.has("x-circuit-open"));
    for (client, upstream) in &mut probes {
        upstream.send(crate::support::origin::ok("fine")).await;
        assert_eq!(client.answer().await.body, b"fine");
    }
    assert_eq!(state(&rig, origin.addr()), Some(BreakerState::Closed));
}

#[tokio::test]
async fn failures_among_the_last_requests_open_it_with_successes_between() {
    let flaky = Flaky::start(502).await;
    let rig = rig(&format!("any: * -> rateBreaker(3, 6) -> {};", flaky.backend()));
    for fails in [true, false, true, false] {
        flaky.set(fails);
        statuses(&rig, "/", 1).await;
    }
    assert_eq!(state(&rig, flaky.origin.addr()), Some(BreakerState::Closed));
    flaky.set(true);
    assert_eq!(statuses(&rig, "/", 2).await, [502, 503]);
}

#[tokio::test]
async fn failures_that_are_long_ago_do_not_count_for_a_rate() {
    let flaky = Flaky::start(502).await;
    let rig = rig(&format!("any: * -> rateBreaker(2, 3) -> {};", flaky.backend()));
    for _ in 0..3 {
        flaky.set(true);
        assert_eq!(statuses(&rig, "/", 1).await, [502]);
        flaky.set(false);
        assert_eq!(statuses(&rig, "/", 3).await, [200; 3]);
    }
}

#[tokio::test]
async fn settings_of_the_handler_hold_for_all_backends_those_of_a_host_for_it_and_those_of_a_route_first() {
    let flaky = [Flaky::start(500).await, Flaky::start(500).await];
    let lines = format!(
        "\t\tbreaker type=consecutive,failures=3\n\t\tbreaker type=consecutive,host={},failures=2",
        flaky[1].origin.addr()
    );
    let rig = rig_with(
        &lines,
        &format!(
            "all: Path(\"/all\") -> {a}; host: Path(\"/host\") -> {b};
             route: Path(\"/route\") -> consecutiveBreaker(1) -> {b}; off: Path(\"/off\") -> disableBreaker() -> {b};",
            a = flaky[0].backend(),
            b = flaky[1].backend()
        ),
    );
    for (path, count) in [("/all", 3), ("/host", 2), ("/route", 1)] {
        assert_eq!(statuses(&rig, path, count).await, vec![500; count], "{path}");
        assert_eq!(statuses(&rig, path, 1).await, [503], "{path}");
    }
    assert_eq!(statuses(&rig, "/off", 5).await, [500; 5]);
}

#[tokio::test]
async fn without_a_setting_there_is_none() {
    let flaky = Flaky::start(500).await;
    let rig = rig(&format!("any: * -> {};", flaky.backend()));
    assert_eq!(statuses(&rig, "/", 20).await, [500; 20]);
}

#[tokio::test]
async fn each_endpoint_has_its_own() {
    let (bad, good) = (Flaky::start(500).await, Flaky::start(500).await);
    good.set(false);
    let rig = rig(&format!(
        "any: * -> consecutiveBreaker(2) -> <roundRobin, {}, {}>;",
        bad.backend(),
        good.backend()
    ));
    let seen = statuses(&rig, "/", 20).await;
    assert_eq!(
        seen.iter().filter(|status| **status == 500).count(),
        2,
        "{seen:?}"
    );
    assert_eq!(
        seen.iter().filter(|status| **status == 200).count(),
        18,
        "{seen:?}"
    );
    good.set(true);
    assert_eq!(statuses(&rig, "/", 2).await, [500; 2]);
    let answer = rig.get("/").await;
    assert_eq!(answer.head.status(), 503);
    assert!(answer.head.has("x-circuit-open"));
}

#[tokio::test]
async fn a_dynamic_backend_has_one_for_each_target() {
    let (bad, good) = (Flaky::start(500).await, Flaky::start(500).await);
    good.set(false);
    let rig =
        rig("any: * -> setDynamicBackendUrlFromHeader(\"X-To\") -> consecutiveBreaker(1) -> <dynamic>;");
    let to = |flaky: &Flaky| super::get_with("/", &format!("X-To: http://{}\r\n", flaky.origin.addr()));
    assert_eq!(rig.wire().await.ask(to(&bad)).await.head.status(), 500);
    let answer = rig.wire().await.ask(to(&bad)).await;
    assert_eq!(answer.head.field("x-circuit-open").as_deref(), Some("true"));
    assert_eq!(rig.wire().await.ask(to(&good)).await.head.status(), 200);
}

#[tokio::test]
async fn one_that_is_open_stays_so_when_routes_or_the_configuration_change() {
    let flaky = Flaky::start(500).await;
    let routes = |number: u32| {
        format!(
            "any: Path(\"/\") -> consecutiveBreaker(2) -> {};
             other: Path(\"/other\") -> rateBreaker(2, 9) -> {};
             now: Path(\"/now\") -> serve(200, \"v{number}\") -> <shunt>;",
            flaky.backend(),
            flaky.backend()
        )
    };
    let file = RoutesFile::new(&routes(1));
    let rig = file.rig();
    assert_eq!(statuses(&rig, "/", 3).await, [500, 500, 503]);
    file.write(&routes(2));
    until_told(&rig, "/now", 200, "v2").await;
    assert_eq!(statuses(&rig, "/", 1).await, [503]);
    reload(&rig, &format!("{}\n\trespond /new new", file.directives())).await;
    assert_eq!(statuses(&rig, "/", 1).await, [503]);
    reload(&rig, &directives("", &routes(3))).await;
    assert_eq!(statuses(&rig, "/", 1).await, [503]);
    // Another route with other settings has another one.
    assert_eq!(statuses(&rig, "/other", 3).await, [500, 500, 503]);
}

#[tokio::test]
async fn requests_that_are_turned_away_cost_no_connection() {
    let flaky = Flaky::start(500).await;
    let rig = rig(&format!(
        "any: * -> consecutiveBreaker(1) -> {};",
        flaky.backend()
    ));
    let mut wire = rig.wire().await;
    let body = "x".repeat(30_000);
    assert_eq!(wire.ask(post("/", &body)).await.head.status(), 500);
    for _ in 0..50 {
        let answer = wire.ask(post("/", &body)).await;
        assert_eq!(answer.head.status(), 503, "over the same connection");
    }
    assert_eq!((flaky.origin.accepted(), flaky.origin.open()), (1, 1));
}
