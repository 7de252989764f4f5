//! Decisions of the cache, at instants that the tests choose.

use super::*;
use crate::catalog::Instance;

const SECOND: Duration = Duration::from_secs(1);

/// A cache whose look-ups end when the test says so.
struct Fixture {
    cache: Cache,
    now: Instant,
}

impl Fixture {
    fn new(grace: u32, watch: bool) -> Self {
        let terms = Terms {
            refresh: 10 * SECOND,
            grace: grace * SECOND,
            slack: 5 * SECOND,
            watch,
        };
        Self {
            cache: Cache::new(terms),
            now: Instant::now(),
        }
    }

    fn later(&mut self, seconds: u32) -> &mut Self {
        self.now += seconds * SECOND;
        self
    }

    fn ask(&mut self, text: &str) -> Step {
        self.cache.ask(&name(text), self.now)
    }

    /// What a request gets whose look-up, if it begins one, finds this.
    fn request(&mut self, text: &str, found: Result<u16, LookupError>) -> (Outcome, bool) {
        match self.ask(text) {
            Step::Known(answer) => (Ok(answer), false),
            Step::Failed(error) => (Err(error), false),
            Step::Wait { flight, .. } => {
                let (outcome, _) = self
                    .cache
                    .end(&name(text), Some(&flight), found.map(answer), self.now);
                (outcome, true)
            }
        }
    }

    fn good(&mut self, text: &str, count: u16) -> bool {
        let (outcome, asked) = self.request(text, Ok(count));
        outcome.unwrap();
        asked
    }

    fn bad(&mut self, text: &str) -> (Option<usize>, bool) {
        let (outcome, asked) = self.request(text, Err(LookupError::NoLeader));
        (outcome.ok().map(|answer| answer.instances().len()), asked)
    }

    fn begin(&mut self, text: &str) -> (Arc<Flight>, Option<Arc<Answer>>) {
        match self.ask(text) {
            Step::Wait { flight, old, begin } => {
                assert!(begin.is_some());
                (flight, old)
            }
            other => panic!("{other:?}"),
        }
    }

    fn end(
        &mut self,
        text: &str,
        flight: Option<&Arc<Flight>>,
        found: Result<u16, LookupError>,
    ) -> Option<Change> {
        self.cache.end(&name(text), flight, found.map(answer), self.now).1
    }
}

fn name(text: &str) -> ServiceName {
    ServiceName::parse(text).unwrap()
}

fn answer(count: u16) -> Answer {
    let instances = (1..=count).map(|port| Instance::new("192.0.2.1", port)).collect();
    Answer::select(instances, None)
}

fn fails(error: LookupError, serves_old: bool) -> Option<Change> {
    Some(Change::Fails { error, serves_old })
}

#[test]
fn an_answer_is_used_for_one_refresh() {
    let mut f = Fixture::new(0, false);
    assert!(f.good("api", 1));
    assert!(!f.later(9).good("api", 2));
    assert!(f.later(1).good("api", 2));
    assert!(!f.later(9).good("api", 2));
}

#[test]
fn an_empty_answer_is_an_answer_and_is_kept_as_long() {
    let mut f = Fixture::new(30, false);
    f.good("api", 3);
    let (outcome, asked) = f.later(10).request("api", Ok(0));
    assert!(outcome.unwrap().is_empty() && asked);
    assert!(!f.later(9).good("api", 3));
    assert!(f.later(1).good("api", 3));
}

#[test]
fn without_grace_a_failed_refresh_leaves_nothing() {
    let mut f = Fixture::new(0, false);
    f.good("api", 1);
    assert_eq!(f.later(10).bad("api"), (None, true));
    assert_eq!(f.bad("api"), (None, false), "Consul is not asked again at once");
    assert_eq!(f.later(1).bad("api"), (None, true));
    assert!(f.later(2).good("api", 1));
}

#[test]
fn grace_uses_the_last_answer_until_the_next_try_without_end() {
    let mut f = Fixture::new(30, false);
    f.good("api", 2);
    assert_eq!(f.later(10).bad("api"), (Some(2), true));
    for _ in 0..3 {
        assert_eq!(f.later(29).bad("api"), (Some(2), false));
        assert_eq!(f.later(1).bad("api"), (Some(2), true));
    }
    assert!(f.later(30).good("api", 1));
    assert!(!f.later(9).good("api", 1), "what counts is the refresh again");
}

#[test]
fn a_grace_shorter_than_the_refresh_tries_sooner() {
    let mut f = Fixture::new(2, false);
    f.good("api", 2);
    assert_eq!(f.later(10).bad("api"), (Some(2), true));
    assert!(f.later(2).good("api", 2));
}

#[test]
fn grace_needs_an_earlier_answer_and_an_empty_one_is_one() {
    let mut f = Fixture::new(30, false);
    assert_eq!(f.bad("api"), (None, true));
    f.later(1).good("none", 0);
    assert_eq!(f.later(10).bad("none"), (Some(0), true));
}

#[test]
fn a_reset_asks_again_and_keeps_the_answer_for_grace() {
    let mut f = Fixture::new(30, false);
    f.good("api", 2);
    f.cache.reset(&name("api"), f.now);
    assert!(f.good("api", 3));
    assert!(!f.good("api", 3), "once");
    f.cache.reset(&name("api"), f.now);
    assert_eq!(f.bad("api"), (Some(3), true));
    f.cache.reset(&name("other"), f.now);
    assert_eq!(f.cache.len(), 1);
}

#[test]
fn a_reset_in_vain_leaves_the_answer_in_use_for_the_rest_of_its_time() {
    let mut f = Fixture::new(0, false);
    f.good("api", 2);
    f.later(3);
    f.cache.reset(&name("api"), f.now);
    let (flight, old) = f.begin("api");
    assert_eq!(old.unwrap().instances().len(), 2);
    assert!(matches!(f.ask("api"), Step::Known(_)), "nobody else waits");
    assert_eq!(
        f.end("api", Some(&flight), Err(LookupError::NoLeader)),
        fails(LookupError::NoLeader, true)
    );
    assert_eq!(f.bad("api"), (Some(2), false));
    assert_eq!(f.later(6).bad("api"), (Some(2), false));
    assert_eq!(f.later(1).bad("api"), (None, true));
}

#[test]
fn a_reset_of_nothing_is_waited_for_by_all() {
    let mut f = Fixture::new(0, false);
    f.good("api", 0);
    f.cache.reset(&name("api"), f.now);
    let (flight, old) = f.begin("api");
    assert!(old.is_none() && matches!(f.ask("api"), Step::Wait { begin: None, .. }));
    f.end("api", Some(&flight), Ok(1));
    assert!(!f.good("api", 1));
}

#[test]
fn a_reset_takes_no_answer_from_a_watch_that_fails() {
    let mut f = Fixture::new(0, true);
    let (flight, _) = f.begin("api");
    f.end("api", Some(&flight), Ok(2));
    f.end("api", None, Err(LookupError::NoLeader));
    f.later(5);
    f.cache.reset(&name("api"), f.now);
    assert!(matches!(f.ask("api"), Step::Known(_)));
    assert!(
        matches!(f.later(5).ask("api"), Step::Failed(_)),
        "its time is over"
    );
}

#[test]
fn resets_are_few_however_many_requests_fail() {
    let mut f = Fixture::new(0, false);
    f.good("api", 2);
    let mut asked = 0;
    for _ in 0..100 {
        f.cache.reset(&name("api"), f.now);
        asked += u32::from(f.good("api", 2));
    }
    assert_eq!(asked, 2);
    f.later(1);
    f.cache.reset(&name("api"), f.now);
    assert!(f.good("api", 2));
}

#[test]
fn forgetting_all_asks_anew() {
    let mut f = Fixture::new(30, false);
    f.good("api", 2);
    f.cache.clear();
    assert_eq!(f.bad("api"), (None, true));
}

#[test]
fn many_requests_wait_for_one_look_up_and_others_do_not_notice() {
    let mut f = Fixture::new(0, false);
    f.good("fresh", 1);
    let (flight, old) = f.begin("slow");
    assert!(old.is_none());
    for _ in 0..20 {
        match f.ask("slow") {
            Step::Wait {
                flight: same,
                begin: None,
                ..
            } => assert!(Arc::ptr_eq(&same, &flight)),
            other => panic!("{other:?}"),
        }
    }
    assert!(!f.good("fresh", 1), "the other name is known");
}

#[test]
fn while_a_refresh_is_under_way_the_last_answer_serves_for_as_long_as_it_may_take() {
    let mut f = Fixture::new(0, false);
    f.good("api", 2);
    let (flight, old) = f.later(14).begin("api");
    assert_eq!(old.unwrap().instances().len(), 2);
    assert!(matches!(f.ask("api"), Step::Known(_)));
    assert_eq!(
        f.later(5).end("api", Some(&flight), Err(LookupError::TimedOut)),
        fails(LookupError::TimedOut, false)
    );
    assert_eq!(f.bad("api"), (None, false));

    let mut f = Fixture::new(0, false);
    f.good("api", 2);
    let (_, old) = f.later(15).begin("api");
    assert!(old.is_none(), "an answer of long ago is not used");
    assert!(matches!(f.ask("api"), Step::Wait { begin: None, .. }));

    let mut f = Fixture::new(0, false);
    f.good("api", 0);
    let (_, old) = f.later(10).begin("api");
    assert!(old.is_none(), "there may be something now");
}

#[test]
fn what_was_pushed_out_does_not_come_back_with_its_answer() {
    let mut f = Fixture::new(0, false);
    let (flight, _) = f.begin("api");
    f.cache.clear();
    let (second, _) = f.begin("api");
    let (outcome, change) = f.cache.end(&name("api"), Some(&flight), Ok(answer(3)), f.now);
    assert_eq!(outcome.unwrap().instances().len(), 3, "those who waited get it");
    assert_eq!(change, None);
    assert!(matches!(f.ask("api"), Step::Wait { flight, .. } if Arc::ptr_eq(&flight, &second)));
}

#[test]
fn of_services_with_instances_the_one_asked_for_least_lately_goes() {
    let mut f = Fixture::new(0, false);
    for n in 0..100 {
        f.good(&format!("s{n}"), 1);
    }
    f.good("s0", 1);
    assert_eq!(f.cache.len(), 100);
    f.good("s100", 1);
    assert_eq!(f.cache.len(), 100);
    assert!(!f.good("s0", 1), "it was asked for");
    assert!(f.good("s1", 1), "it went");
}

#[test]
fn made_up_names_push_out_no_good_ones() {
    let mut f = Fixture::new(0, false);
    for n in 0..100 {
        f.good(&format!("s{n}"), 1);
    }
    for n in 0..1000 {
        f.good(&format!("empty{n}"), 0);
        f.bad(&format!("failing{n}"));
    }
    assert_eq!(f.cache.len(), 164);
    for n in 0..100 {
        assert!(!f.good(&format!("s{n}"), 1), "s{n}");
    }
}

#[test]
fn a_service_that_lost_its_instances_is_still_a_good_one() {
    let mut f = Fixture::new(0, false);
    f.good("api", 1);
    f.later(10).good("api", 0);
    for n in 0..100 {
        f.good(&format!("empty{n}"), 0);
    }
    assert!(!f.good("api", 1));
}

#[test]
fn beyond_a_number_of_first_look_ups_names_are_turned_away() {
    let mut f = Fixture::new(0, false);
    let flights: Vec<_> = (0..64).map(|n| f.begin(&format!("s{n}")).0).collect();
    assert!(matches!(f.ask("more"), Step::Failed(LookupError::Busy)));
    f.end("s0", Some(&flights[0]), Ok(0));
    assert!(matches!(f.ask("more"), Step::Wait { .. }));
}

#[test]
fn each_change_is_told_once() {
    let mut f = Fixture::new(0, false);
    let mut changes = Vec::new();
    for found in [
        Ok(1),
        Err(LookupError::NoLeader),
        Err(LookupError::TimedOut),
        Ok(1),
        Ok(0),
        Ok(0),
        Ok(1),
    ] {
        let (flight, _) = f.later(10).begin("api");
        changes.push(f.end("api", Some(&flight), found));
    }
    assert_eq!(
        changes,
        [
            None,
            fails(LookupError::NoLeader, false),
            None,
            Some(Change::Works { failures: 2 }),
            Some(Change::Emptied { failures: 0 }),
            None,
            None
        ]
    );
}

#[test]
fn names_that_never_had_instances_do_not_fill_the_log() {
    let mut f = Fixture::new(0, false);
    let told = (0..30)
        .filter_map(|n| {
            let text = format!("s{n}");
            let (flight, _) = f.begin(&text);
            f.end(&text, Some(&flight), Err(LookupError::NoLeader))
        })
        .count();
    assert_eq!(told, 1);

    // In turn with one that works, as names that Consul refuses may be.
    let mut told = 0;
    for n in 0..30 {
        let text = format!("t{n}");
        let (flight, _) = f.begin(&text);
        let refused = f.end(&text, Some(&flight), Err(LookupError::Status(400, "".into())));
        told += u32::from(refused.is_some());
        f.good(&format!("good{n}"), 1);
    }
    assert_eq!(told, 1, "one was told before, and one a second may come");
    let (flight, _) = f.later(2).begin("t");
    assert!(f.end("t", Some(&flight), Err(LookupError::NoLeader)).is_some());
}

#[test]
fn the_same_instances_are_the_same_answer() {
    let mut f = Fixture::new(0, false);
    let (first, _) = f.request("api", Ok(2));
    let (same, _) = f.later(10).request("api", Ok(2));
    let (other, _) = f.later(10).request("api", Ok(3));
    let (first, same, other) = (first.unwrap(), same.unwrap(), other.unwrap());
    assert!(Arc::ptr_eq(&first, &same) && !Arc::ptr_eq(&first, &other));
}

#[test]
fn what_a_working_watch_said_stays_fresh() {
    let mut f = Fixture::new(0, true);
    let (flight, _) = f.begin("api");
    f.end("api", Some(&flight), Ok(2));
    assert!(!f.later(1000).good("api", 2));
    f.cache.reset(&name("api"), f.now);
    assert!(!f.good("api", 2), "it knows of each change already");
    assert_eq!(f.end("api", None, Ok(0)), Some(Change::Emptied { failures: 0 }));
    assert!(matches!(f.ask("api"), Step::Known(answer) if answer.is_empty()));
}

#[test]
fn what_a_failing_watch_said_last_is_good_for_one_refresh() {
    let mut f = Fixture::new(0, true);
    let (flight, _) = f.begin("api");
    f.end("api", Some(&flight), Ok(2));
    assert_eq!(
        f.later(100).end("api", None, Err(LookupError::NoLeader)),
        fails(LookupError::NoLeader, true)
    );
    assert!(matches!(f.later(9).ask("api"), Step::Known(_)));
    assert_eq!(f.end("api", None, Err(LookupError::TimedOut)), None);
    assert!(
        matches!(f.later(1).ask("api"), Step::Failed(LookupError::TimedOut)),
        "and nobody waits"
    );
    assert_eq!(f.end("api", None, Ok(2)), Some(Change::Works { failures: 2 }));
    assert!(matches!(f.ask("api"), Step::Known(_)));
}

#[test]
fn with_grace_a_failing_watch_leaves_the_last_answer_in_use() {
    let mut f = Fixture::new(5, true);
    let (flight, _) = f.begin("api");
    f.end("api", Some(&flight), Ok(2));
    f.end("api", None, Err(LookupError::NoLeader));
    assert!(matches!(f.later(10_000).ask("api"), Step::Known(_)));
}

#[test]
fn a_watch_that_ends_leaves_an_answer_of_now() {
    let mut f = Fixture::new(0, true);
    let (flight, _) = f.begin("api");
    f.end("api", Some(&flight), Ok(2));
    f.later(500);
    assert!(f.cache.is_idle(&name("api"), 500 * SECOND, f.now));
    f.cache.unwatch(&name("api"), f.now);
    let Step::Wait {
        begin: Some(Begin::Watch(stop)),
        ..
    } = f.later(10).ask("api")
    else {
        panic!("it is watched again")
    };
    assert!(!stop.is_cancelled());
    f.cache.clear();
    assert!(stop.is_cancelled(), "it ends with what it watches for");
}
