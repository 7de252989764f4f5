//! A decision allocates nothing, whatever comes in. The counter replaces the allocator of this test binary.

use allocation_counter::measure;
use doors_routing::Decision;

use super::{foreign_token, router, token};

#[test]
fn a_decision_allocates_nothing() {
    let four = token("10.0.1.5");
    let (first, rest) = four.split_at(1);
    let encoded = format!("%{:02x}{rest}", first.as_bytes()[0]);
    let paths = [
        "/".to_owned(),
        "/docs/start".to_owned(),
        format!("/~/{four}/h/1"),
        format!("/%7E/{encoded}/h/1"),
        format!("/~/{}/h/1", token("fd00:1::5")),
        format!("/~/{}/h/1", token("192.0.2.1")),
        format!("/~/{}/h/1", foreign_token("10.0.0.5")),
        format!("/~/{}/h/1", "%41".repeat(10_000)),
        "/~/bad".to_owned(),
    ];
    let lines = [
        String::new(),
        "theme=dark; lang=en".to_owned(),
        format!("a=b; upstream={four}"),
        format!("upstream=\"{}\"", token("fd00:1::5")),
        "upstream=bad; ".repeat(1000),
    ];
    let routers = [
        router(&["10.0.0.0/24"]),
        router(&["10.0.0.0/24", "10.0.1.0/24", "fd00:1::/64"]),
    ];
    for router in &routers {
        for path in &paths {
            let mut decisions = Vec::with_capacity(lines.len() * lines.len());
            let allocations = measure(|| {
                for first in &lines {
                    for second in &lines {
                        decisions.push(router.decide(path, [first.as_bytes(), second.as_bytes()]));
                    }
                }
            });
            assert_eq!(allocations.count_total, 0, "{path}");
            assert_eq!(decisions.len(), 25);
        }
    }
}

#[test]
fn going_through_the_alternatives_allocates_nothing() {
    let router = router(&["10.0.0.0/24", "10.0.1.0/24"]);
    let mut count = 0;
    let allocations = measure(|| count = router.alternatives(Decision::Server(0), "GET").count());
    assert_eq!((count, allocations.count_total), (1, 0));
}

#[test]
fn the_counter_counts() {
    assert!(measure(|| drop(String::from("x"))).count_total > 0);
}
