//! Backends with several endpoints.

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, SocketAddr};

use crate::support::origin::{Origin, Recorder, Reply, ok};
use crate::support::rig::{Rig, get};
use crate::support::wire::Wire;

use super::{RoutesFile, backend, get_with, rig, told, until_told};

/// Endpoints that say their own addresses.
struct Endpoints(Vec<Recorder>);

// === impl Endpoints ===

impl Endpoints {
    async fn start(count: usize) -> Self {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(Recorder::start(Ipv4Addr::LOCALHOST, |_| Reply::ok("ok")).await);
        }
        Self(all)
    }

    fn list(&self) -> String {
        let all: Vec<_> = self.0.iter().map(|origin| backend(origin.addr())).collect();
        all.join(", ")
    }

    /// How many requests each has had since the last call.
    fn take_counts(&self) -> Vec<usize> {
        self.0.iter().map(|origin| origin.take_requests().len()).collect()
    }
}

async fn ask(rig: &Rig, count: usize) {
    let mut wire = rig.wire().await;
    for _ in 0..count {
        assert_eq!(wire.ask(get("/")).await.head.status(), 200);
    }
}

#[tokio::test]
async fn in_turns_each_has_its_share() {
    let endpoints = Endpoints::start(3).await;
    for algorithm in ["roundRobin, ", "", "weightedRoundRobin, "] {
        let rig = rig(&format!("any: * -> <{algorithm}{}>;", endpoints.list()));
        ask(&rig, 30).await;
        assert_eq!(endpoints.take_counts(), [10, 10, 10], "{algorithm}");
    }
}

#[tokio::test]
async fn by_chance_or_by_load_all_take_part() {
    let endpoints = Endpoints::start(3).await;
    for algorithm in ["random", "powerOfRandomNChoices", "leastRequests"] {
        let rig = rig(&format!("any: * -> <{algorithm}, {}>;", endpoints.list()));
        // That one of three never takes one of 150 by chance is less likely than 1 in 10^25.
        ask(&rig, 150).await;
        let counts = endpoints.take_counts();
        assert_eq!(counts.iter().sum::<usize>(), 150);
        assert!(counts.iter().all(|count| *count > 0), "{algorithm}: {counts:?}");
    }
}

#[tokio::test]
async fn an_algorithm_that_is_unknown_makes_its_route_invalid_and_no_other() {
    let endpoints = Endpoints::start(1).await;
    let rig = rig(&format!(
        "bad: Path(\"/bad\") -> <fastest, {}>; good: Path(\"/good\") -> <random, {}>;",
        endpoints.list(),
        endpoints.list()
    ));
    assert_eq!(rig.get("/bad").await.head.status(), 404);
    assert_eq!(rig.get("/good").await.head.status(), 200);
}

/// Where each of some clients is sent.
async fn homes(rig: &Rig, endpoints: &Endpoints, field: &str) -> HashMap<String, SocketAddr> {
    let mut homes = HashMap::new();
    for _ in 0..2 {
        for number in 0..60 {
            let client = format!("10.0.0.{number}");
            let request = get_with("/", &format!("{field}: {client}\r\n"));
            assert_eq!(rig.wire().await.ask(request).await.head.status(), 200);
            let taken: Vec<_> = endpoints
                .0
                .iter()
                .filter(|origin| !origin.take_requests().is_empty())
                .collect();
            assert_eq!(taken.len(), 1);
            let before = homes.insert(client, taken[0].addr());
            assert!(
                before.is_none_or(|before| before == taken[0].addr()),
                "it stays where it was"
            );
        }
    }
    homes
}

#[tokio::test]
async fn a_hash_leads_a_client_to_the_same_endpoint_and_moves_few_when_one_goes() {
    let endpoints = Endpoints::start(4).await;
    for (key, field) in [
        ("", "X-Forwarded-For"),
        ("consistentHashKey(\"${request.header.X-User}\") -> ", "X-User"),
    ] {
        let all = rig(&format!("any: * -> {key}<consistentHash, {}>;", endpoints.list()));
        let before = homes(&all, &endpoints, field).await;
        let mut counts = BTreeMap::new();
        for home in before.values() {
            *counts.entry(*home).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 4, "all have some: {counts:?}");
        let gone = endpoints.0[3].addr();
        let fewer = Endpoints::list(&endpoints).replace(&format!(", {}", backend(gone)), "");
        let fewer = rig(&format!("any: * -> {key}<consistentHash, {fewer}>;"));
        for (client, home) in homes(&fewer, &endpoints, field).await {
            assert!(
                before[&client] == home || before[&client] == gone,
                "{client} had no reason to move"
            );
        }
    }
}

#[tokio::test]
async fn without_a_field_for_the_hash_the_address_of_the_client_counts() {
    let endpoints = Endpoints::start(4).await;
    let rig = rig(&format!("any: * -> <consistentHash, {}>;", endpoints.list()));
    ask(&rig, 12).await;
    let mut counts = endpoints.take_counts();
    counts.sort_unstable();
    assert_eq!(counts, [0, 0, 0, 12]);
}

/// Endpoints that the test plays by hand.
async fn held(count: usize) -> Vec<Origin> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(Origin::bind(Ipv4Addr::LOCALHOST).await);
    }
    all
}

/// Sends a request, and gives it with the number of the endpoint that has it.
async fn send(rig: &Rig, origins: &[Origin], path: &str) -> (usize, Wire, Wire) {
    let mut client = rig.wire().await;
    client.send(get(path)).await;
    let accepts = origins.iter().map(|origin| Box::pin(origin.accept()));
    let (mut upstream, number, _) = futures_util::future::select_all(accepts).await;
    upstream.head().await;
    (number, client, upstream)
}

#[tokio::test]
async fn a_hash_with_a_bound_leads_elsewhere_what_would_be_too_much() {
    let origins = held(3).await;
    let list: Vec<_> = origins.iter().map(|origin| backend(origin.addr())).collect();
    let list = list.join(", ");
    for (filters, most) in [("consistentHashBalanceFactor(1) -> ", 2), ("", 6)] {
        let rig = rig(&format!(
            "any: * -> consistentHashKey(\"all\") -> {filters}<consistentHash, {list}>;"
        ));
        let mut counts = [0; 3];
        let mut open = Vec::new();
        for _ in 0..6 {
            let (number, client, upstream) = send(&rig, &origins, "/").await;
            counts[number] += 1;
            open.push((client, upstream));
        }
        assert_eq!(counts.iter().max(), Some(&most), "{filters}: {counts:?}");
    }
}

#[tokio::test]
async fn the_load_of_endpoints_is_known_to_the_next_table_too() {
    let origins = held(2).await;
    let list: Vec<_> = origins.iter().map(|origin| backend(origin.addr())).collect();
    let third = Recorder::saying(Ipv4Addr::LOCALHOST, "third").await;
    let routes = |number: u32, list: &str| {
        format!(
            "any: Path(\"/\") -> <leastRequests, {list}>; now: Path(\"/now\") -> serve(200, \"v{number}\") -> <shunt>;"
        )
    };
    let file = RoutesFile::new(&routes(1, &list[0]));
    let rig = file.rig();
    let mut busy = Vec::new();
    for _ in 0..3 {
        busy.push(send(&rig, &origins, "/").await);
    }
    // The three that the first one has still count when it stands in another list, so the other one takes three.
    file.write(&routes(2, &list.join(", ")));
    until_told(&rig, "/now", 200, "v2").await;
    for _ in 0..3 {
        let sent = send(&rig, &origins, "/").await;
        assert_eq!(sent.0, 1);
        busy.push(sent);
    }
    // Both are busy now, and one that comes new is not.
    let all = format!("{}, {}", list.join(", "), backend(third.addr()));
    file.write(&routes(3, &all));
    until_told(&rig, "/now", 200, "v3").await;
    for _ in 0..3 {
        assert_eq!(told(&rig.get("/").await), (200, "third".to_owned()));
    }
    for (_, client, upstream) in &mut busy {
        upstream.send(ok("late")).await;
        assert_eq!(client.answer().await.body, b"late");
    }
}

#[tokio::test]
async fn shares_stay_even_while_the_table_changes_all_the_time() {
    let endpoints = Endpoints::start(2).await;
    let routes = |number: usize| {
        format!(
            "any: Path(\"/\") -> <roundRobin, {}>; now: Path(\"/now\") -> serve(200, \"v{number}\") -> <shunt>;",
            endpoints.list()
        )
    };
    let file = RoutesFile::new(&routes(0));
    let rig = file.rig();
    for number in 1..=40 {
        assert_eq!(rig.get("/").await.head.status(), 200);
        file.write(&routes(number));
        until_told(&rig, "/now", 200, &format!("v{number}")).await;
    }
    let counts = endpoints.take_counts();
    // By chance alone fewer than 5 of 40 happen once in 10^7 times.
    assert!(counts.iter().all(|count| *count >= 5), "{counts:?}");
}

#[tokio::test]
async fn an_endpoint_that_is_new_takes_little_until_its_time_is_over() {
    let endpoints = Endpoints::start(2).await;
    let created = |number: usize, ago: u64| {
        let now = std::time::SystemTime::now();
        let since = now
            .duration_since(std::time::UNIX_EPOCH)
            .expect("after 1970")
            .as_secs()
            - ago;
        format!(
            "endpointCreated(\"http://{}\", {since})",
            endpoints.0[number].addr()
        )
    };
    let list = endpoints.list();
    let old = rig(&format!(
        "any: * -> fadeIn(\"1h\") -> {} -> {} -> <roundRobin, {list}>;",
        created(0, 7200),
        created(1, 0)
    ));
    ask(&old, 60).await;
    let counts = endpoints.take_counts();
    // A share of seconds in an hour: two or three at most, unless the test takes minutes.
    assert!(counts[0] >= 50, "{counts:?}");

    // Where all are new nobody has to wait.
    let new = rig(&format!("any: * -> fadeIn(\"1h\") -> <roundRobin, {list}>;"));
    ask(&new, 10).await;
    assert_eq!(endpoints.take_counts().iter().sum::<usize>(), 10);

    // One whose time is over is as all others.
    let both = rig(&format!(
        "any: * -> fadeIn(\"1h\", 2) -> {} -> {} -> <roundRobin, {list}>;",
        created(0, 7200),
        created(1, 7200)
    ));
    ask(&both, 10).await;
    assert_eq!(endpoints.take_counts(), [5, 5]);
}

#[tokio::test]
async fn zones_of_endpoints_are_no_part_of_their_addresses() {
    let endpoints = Endpoints::start(2).await;
    let zoned: Vec<_> = endpoints
        .0
        .iter()
        .map(|origin| format!("\"http://{}?zone=eu-1\"", origin.addr()))
        .collect();
    let rig = rig(&format!("any: * -> <{}>;", zoned.join(", ")));
    ask(&rig, 4).await;
    assert_eq!(endpoints.take_counts(), [2, 2]);
}
