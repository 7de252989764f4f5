//! Sources on a paused clock, with scripted name servers.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time;
use tokio_util::sync::CancellationToken;

use super::super::health::Policy;
use super::super::load::{Slot, Slots};
use super::super::resolve::script::{Says, Zone};
use super::super::resolve::{ResolverSet, Terms};
use super::super::transport::{Protocol, Way};
use super::directory::{IDLE, MOST_NAMES, MOST_PENDING};
use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct Fixture {
    zone: Arc<Zone>,
    resolvers: Arc<ResolverSet>,
    slots: Slots,
    directories: Directories,
    _running: JoinSet<()>,
}

impl Fixture {
    fn new() -> Self {
        let zone = Arc::<Zone>::default();
        let resolvers = ResolverSet::of_zone(&zone);
        let mut running = JoinSet::new();
        running.spawn(Arc::clone(&resolvers).run(CancellationToken::new()));
        Self {
            zone,
            resolvers,
            slots: Slots::default(),
            directories: Directories::default(),
            _running: running,
        }
    }

    fn directory_of(&self, text: &str, families: Families) -> Arc<Directory> {
        let spec = Spec {
            text: text.to_owned(),
            terms: Terms::default(),
            targets: Terms::default(),
            families,
            max_requests: None,
        };
        self.directories.of(spec, care(), &self.resolvers, &self.slots)
    }

    fn directory(&self, text: &str) -> Arc<Directory> {
        self.directory_of(text, Families::Both)
    }

    /// A name that the configuration has, looked up.
    async fn always(&self, wanted: Wanted) -> (Arc<Directory>, Arc<Listing>) {
        let directory = self.directory(&format!("{wanted:?}"));
        let listing = directory.pinned(wanted, Instant::now());
        self.resolvers.begin();
        listing.ready().await;
        (directory, listing)
    }
}

fn plain() -> Arc<Way> {
    Arc::new(Way::plain(Protocol::Http1))
}

fn care() -> Care {
    Care {
        way: WayTo::new("plain".to_owned(), |_, _| Some(plain())),
        policy: Policy::default(),
    }
}

fn addresses(host: &str) -> Wanted {
    Wanted::addresses(host, "80").unwrap()
}

fn services(name: &str) -> Wanted {
    Wanted::services("", "", name).unwrap()
}

fn labels(list: &[Upstream]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

fn slot_of(list: &[Upstream], label: &str) -> Arc<Slot> {
    let upstream = list.iter().find(|upstream| upstream.to_string() == label);
    Arc::clone(upstream.unwrap().slot())
}

#[tokio::test(start_paused = true)]
async fn each_address_is_an_upstream_and_another_order_is_no_change() {
    let f = Fixture::new();
    f.zone
        .set("app", Says::Addresses(&["192.0.2.1", "192.0.2.2", "2001:db8::1"]));
    let (_directory, listing) = f.always(addresses("app")).await;
    let before = listing.current();
    assert_eq!(
        labels(&before),
        ["192.0.2.1:80", "192.0.2.2:80", "[2001:db8::1]:80"]
    );
    f.zone
        .set("app", Says::Addresses(&["2001:db8::1", "192.0.2.2", "192.0.2.1"]));
    time::sleep(SECOND * 3).await;
    assert!(f.zone.asked("app") >= 3);
    assert!(Arc::ptr_eq(&before, &listing.current()));
}

#[tokio::test(start_paused = true)]
async fn upstreams_that_stay_keep_what_is_remembered_of_them() {
    let f = Fixture::new();
    f.zone.set("app", Says::Addresses(&["192.0.2.1", "192.0.2.2"]));
    let (_directory, listing) = f.always(addresses("app")).await;
    let stays = slot_of(&listing.current(), "192.0.2.2:80");
    stays.standing().suspect(Instant::now());
    f.zone.set("app", Says::Addresses(&["192.0.2.2", "192.0.2.3"]));
    time::sleep(SECOND * 2).await;
    let after = listing.current();
    assert_eq!(labels(&after), ["192.0.2.2:80", "192.0.2.3:80"]);
    assert!(Arc::ptr_eq(&stays, &slot_of(&after, "192.0.2.2:80")));
    assert!(slot_of(&after, "192.0.2.2:80").standing().is_failing());
}

#[tokio::test(start_paused = true)]
async fn only_addresses_of_the_family_count() {
    let f = Fixture::new();
    f.zone.set("app", Says::Addresses(&["192.0.2.1", "2001:db8::1"]));
    f.zone.set("six", Says::Addresses(&["2001:db8::1"]));
    let now = Instant::now();
    for (families, host, expected) in [
        (Families::Ipv4, "app", vec!["192.0.2.1:80"]),
        (Families::Ipv6, "app", vec!["[2001:db8::1]:80"]),
        (Families::Ipv4, "six", vec![]),
    ] {
        let directory = f.directory_of(host, families);
        let listing = directory.find(addresses(host), now).unwrap();
        listing.ready().await;
        assert_eq!(labels(&listing.current()), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn services_are_upstreams_by_priority_and_target() {
    let f = Fixture::new();
    f.zone.set(
        "_x._tcp.app",
        Says::Services(&["10 b.app. 81", "10 a.app. 80", "5 z.app. 82", "5 b\\032c.app. 1"]),
    );
    f.zone.set("z.app.", Says::Addresses(&["192.0.2.9"]));
    let (_directory, listing) = f.always(services("_x._tcp.app")).await;
    let list = listing.current();
    assert_eq!(labels(&list), ["z.app:82", "a.app:80", "b.app:81"]);
    assert_eq!(list[0].host(), ("z.app", 82));
    let found = list[0].addresses(SECOND, 0).await.unwrap();
    assert_eq!(found.first().unwrap().to_string(), "192.0.2.9:82");
}

#[tokio::test(start_paused = true)]
async fn a_new_service_takes_requests_once_its_host_is_known() {
    let f = Fixture::new();
    f.zone.set("_x._tcp.app", Says::Services(&["0 a.app. 80"]));
    f.zone.set("a.app.", Says::Addresses(&["192.0.2.1"]));
    f.zone.set("b.app.", Says::Takes(SECOND * 3, "192.0.2.2"));
    let (_directory, listing) = f.always(services("_x._tcp.app")).await;
    assert_eq!(labels(&listing.current()), ["a.app:80"]);
    f.zone
        .set("_x._tcp.app", Says::Services(&["0 a.app. 80", "0 b.app. 80"]));
    time::sleep(SECOND * 2).await;
    assert_eq!(
        labels(&listing.current()),
        ["a.app:80"],
        "b.app is being looked up"
    );
    time::sleep(SECOND * 2).await;
    assert_eq!(f.zone.asked("b.app."), 1);
    time::sleep(SECOND * 2).await;
    let list = listing.current();
    assert_eq!(labels(&list), ["a.app:80", "b.app:80"]);
    assert!(list.iter().all(|upstream| upstream.name().is_ready()));
}

#[tokio::test(start_paused = true)]
async fn upstreams_stay_while_name_servers_fail_and_follow_when_they_are_back() {
    let f = Fixture::new();
    let one = Says::Addresses(&["192.0.2.1"]);
    f.zone.set("app", one.clone());
    let (_directory, listing) = f.always(addresses("app")).await;
    for trouble in [Some(Says::Fails), Some(Says::Hangs), None] {
        match trouble {
            Some(says) => f.zone.set("app", says),
            None => f.zone.unset("app"),
        }
        time::sleep(SECOND * 60).await;
        assert_eq!(labels(&listing.current()), ["192.0.2.1:80"]);
        f.zone.set("app", one.clone());
        time::sleep(SECOND * 60).await;
    }
    f.zone.set("app", Says::Addresses(&["192.0.2.2"]));
    time::sleep(SECOND * 60).await;
    assert_eq!(labels(&listing.current()), ["192.0.2.2:80"]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_fails_brings_the_next_look_up_of_the_name_that_led_there() {
    let f = Fixture::new();
    f.zone.set("_x._tcp.app", Says::Hangs);
    let terms = Terms::default();
    let wanted = services("_x._tcp.app");
    f.zone.set("_x._tcp.app", Says::Services(&["0 a.app. 80"]));
    f.zone.set("a.app.", Says::Addresses(&["192.0.2.1"]));
    let (_directory, listing) = f.always(wanted).await;
    f.zone.set("_x._tcp.app", Says::Fails);
    // After some failures the pauses are long.
    time::sleep(SECOND * 100).await;
    let asked = f.zone.asked("_x._tcp.app");
    listing.current()[0].connect_failed();
    time::sleep(SECOND * 2).await;
    assert_eq!(f.zone.asked("_x._tcp.app"), asked + 1, "{terms:?}");
}

// --- several sources ---

#[tokio::test(start_paused = true)]
async fn one_source_that_fails_or_hangs_leaves_the_others() {
    let f = Fixture::new();
    f.zone.set("good", Says::Takes(SECOND / 10, "192.0.2.1"));
    f.zone.set("hangs", Says::Hangs);
    let finders = ["hangs", "good", "missing"].map(|host| {
        let directory = f.directory(host);
        Finder::Always(directory.pinned(addresses(host), Instant::now()), directory)
    });
    f.resolvers.begin();
    let dynamic = Dynamic::new(finders.to_vec(), Vec::new());
    let ask = |_: usize| unreachable!("no source has placeholders");
    let mut first = dynamic.find(ask, Instant::now());
    assert!(first.is_pending());
    let began = Instant::now();
    first.ready().await;
    assert_eq!(began.elapsed(), SECOND / 10);
    assert!(first.renew() && !first.renew());
    assert_eq!(labels(first.list()), ["192.0.2.1:80"]);
    let later = dynamic.find(ask, Instant::now());
    assert!(!later.is_pending(), "only the first request waits");
    assert!(std::ptr::eq(first.list(), later.list()), "it is the same list");
}

#[tokio::test(start_paused = true)]
async fn what_the_configuration_names_takes_the_place_of_what_is_not_found() {
    let f = Fixture::new();
    let fixed = Upstream::new(f.resolvers.watch("192.0.2.7", &[]), 80, plain(), &f.slots);
    let directory = f.directory("app");
    let listing = directory.pinned(addresses("app"), Instant::now());
    f.resolvers.begin();
    listing.ready().await;
    let dynamic = Dynamic::new(
        vec![Finder::Always(listing, directory)],
        vec![Finder::Fixed(Arc::from([fixed]))],
    );
    let ask = |_: usize| Err(Unusable::Host);
    let mut found = dynamic.find(ask, Instant::now());
    assert_eq!(labels(found.list()), ["192.0.2.7:80"]);
    f.zone.set("app", Says::Addresses(&["192.0.2.1"]));
    time::sleep(SECOND * 40).await;
    assert!(found.renew(), "attempts that begin anew see it");
    assert_eq!(labels(found.list()), ["192.0.2.1:80"]);
    assert_eq!(labels(&dynamic.known()), ["192.0.2.1:80", "192.0.2.7:80"]);
}

// --- names that requests bring ---

#[tokio::test(start_paused = true)]
async fn a_name_is_looked_up_once_for_all_who_ask() {
    let f = Fixture::new();
    f.zone.set("app", Says::Takes(SECOND, "192.0.2.1"));
    let directories = [f.directory("one"), f.directory("other"), f.directory("one")];
    assert!(Arc::ptr_eq(&directories[0], &directories[2]));
    for directory in &directories {
        for host in ["app", "APP"] {
            let listing = directory.find(addresses(host), Instant::now()).unwrap();
            listing.ready().await;
            assert_eq!(labels(&listing.current()), ["192.0.2.1:80"]);
        }
    }
    assert_eq!(f.zone.asked("app"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_names_is_bounded_and_leaves_those_alone_that_lead_somewhere() {
    let f = Fixture::new();
    f.zone.set("good", Says::Addresses(&["192.0.2.1"]));
    let directory = f.directory("flood");
    let good = directory.find(addresses("good"), Instant::now()).unwrap();
    good.ready().await;
    let (mut busy, mut waiting) = (0, JoinSet::new());
    for number in 0..10_000 {
        match directory.find(addresses(&format!("n{number}")), Instant::now()) {
            Ok(listing) => {
                // Every request waits for its name, and holds it.
                waiting.spawn(async move { listing.ready().await });
            }
            Err(why) => {
                assert_eq!(why, Unusable::Busy);
                busy += 1;
                time::sleep(Duration::from_millis(10)).await;
                while waiting.try_join_next().is_some() {}
            }
        }
        assert!(directory.listings().len() <= MOST_NAMES);
        assert!(
            f.resolvers.len() <= MOST_NAMES + MOST_PENDING + 1,
            "{}",
            f.resolvers.len()
        );
    }
    assert!(busy > 0);
    assert!(f.zone.running().most <= MOST_PENDING, "{}", f.zone.running().most);
    let again = directory.find(addresses("good"), Instant::now()).unwrap();
    assert!(Arc::ptr_eq(&good, &again));
    drop(waiting);
    time::sleep(SECOND).await;
    assert!(f.resolvers.len() <= MOST_NAMES, "{}", f.resolvers.len());
}

#[tokio::test(start_paused = true)]
async fn a_flood_that_hangs_makes_newcomers_wait_and_nobody_else() {
    let f = Fixture::new();
    f.zone.set("good", Says::Addresses(&["192.0.2.1"]));
    let directory = f.directory("flood");
    let good = directory.find(addresses("good"), Instant::now()).unwrap();
    good.ready().await;
    for number in 0..1000 {
        let host = format!("n{number}");
        f.zone.set(&host, Says::Hangs);
        let found = directory.find(addresses(&host), Instant::now());
        assert_eq!(found.is_ok(), number < MOST_PENDING, "{number}");
    }
    let again = directory.find(addresses("good"), Instant::now()).unwrap();
    assert!(!again.current().is_empty());
    // Their look-ups are given up.
    time::sleep(SECOND * 6).await;
    assert!(directory.find(addresses("late"), Instant::now()).is_ok());
}

#[tokio::test(start_paused = true)]
async fn of_too_many_good_names_the_one_that_was_asked_for_the_longest_time_ago_goes() {
    let f = Fixture::new();
    let directory = f.directory("many");
    let host = |number: usize| format!("n{number}");
    for number in 0..=MOST_NAMES {
        f.zone.set(&host(number), Says::Addresses(&["192.0.2.1"]));
        let listing = directory.find(addresses(&host(number)), Instant::now()).unwrap();
        listing.ready().await;
        // The first one is asked for again and again.
        assert!(directory.find(addresses(&host(0)), Instant::now()).is_ok());
    }
    let asked = |number: usize| f.zone.asked(&host(number));
    assert_eq!(directory.listings().len(), MOST_NAMES);
    let (first, second) = (asked(0), asked(1));
    for number in [0, 1] {
        let listing = directory.find(addresses(&host(number)), Instant::now()).unwrap();
        listing.ready().await;
    }
    assert_eq!((asked(0), asked(1)), (first, second + 1));
}

#[tokio::test(start_paused = true)]
async fn names_that_nobody_asks_for_are_forgotten_and_not_looked_up_any_more() {
    let f = Fixture::new();
    f.zone.set("app", Says::Addresses(&["192.0.2.1"]));
    f.zone.set("always", Says::Addresses(&["192.0.2.2"]));
    let directory = f.directory("some");
    directory.pinned(addresses("always"), Instant::now());
    f.resolvers.begin();
    directory
        .find(addresses("app"), Instant::now())
        .unwrap()
        .ready()
        .await;
    time::sleep(IDLE - SECOND).await;
    directory.forget_idle(Instant::now());
    assert_eq!(directory.listings().len(), 2);
    time::sleep(SECOND).await;
    directory.forget_idle(Instant::now());
    time::sleep(SECOND).await;
    let asked = f.zone.asked("app");
    time::sleep(SECOND * 60).await;
    assert_eq!(f.zone.asked("app"), asked);
    assert_eq!((directory.listings().len(), f.resolvers.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_next_configuration_goes_on_with_the_same_names() {
    let f = Fixture::new();
    f.zone.set("app", Says::Addresses(&["192.0.2.1"]));
    let running = f.directory("a {http.vars.x} 80");
    let before = running.find(addresses("app"), Instant::now()).unwrap();
    before.ready().await;
    let next = f.directory("a {http.vars.x} 80");
    drop(running);
    let after = next.find(addresses("app"), Instant::now()).unwrap();
    assert!(Arc::ptr_eq(&before, &after));
    drop((before, after, next));
    time::sleep(SECOND).await;
    assert_eq!(f.resolvers.len(), 0, "nothing is left of what nobody uses");
}
