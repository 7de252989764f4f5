//! Tests of what is known after watches have told it in any order.

use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::kubernetes::files::Certificates;
use crate::kubernetes::settings::{Access, Settings};
use crate::kubernetes::translate::translate;
use crate::kubernetes::watch::parts;

fn made<T: DeserializeOwned>(value: Value) -> Box<T> {
    Box::new(serde_json::from_value(value).unwrap())
}

/// An object and the number of its watch: see [`parts`].
fn object(number: usize) -> (usize, Object) {
    let name = format!("n{}", number % 7);
    let meta = json!({ "namespace": "shop", "name": name });
    let backend = json!({ "service": { "name": format!("n{}", number % 5), "port": { "number": 80 } } });
    let paths = json!([{ "path": format!("/{}", number % 3), "pathType": "Prefix", "backend": backend }]);
    let rules = json!([{ "host": format!("{}.test", number % 2), "http": { "paths": paths } }]);
    let slice = json!({
        "metadata": { "namespace": "shop", "name": name, "labels": { "kubernetes.io/service-name": "n1" } },
        "addressType": "IPv4", "ports": [{ "port": 8080 }],
        "endpoints": [{ "addresses": [format!("10.0.0.{}", number % 4)] }],
    });
    match number % 3 {
        0 => (
            1,
            Object::Ingress(made(
                json!({ "metadata": meta, "spec": { "ingressClassName": "doorway", "rules": rules } }),
            )),
        ),
        1 => (
            2,
            Object::Service(made(
                json!({ "metadata": meta, "spec": { "ports": [{ "port": 80 }] } }),
            )),
        ),
        _ => (3, Object::Slice(made(slice))),
    }
}

fn tell(known: &mut Known, part: usize, change: Change) {
    known.hear(Told {
        part,
        what: Ok(change),
    });
}

fn listed(numbers: &[usize]) -> Known {
    let mut known = Known::new(parts(&[]));
    for part in 0..known.parts().len() {
        tell(&mut known, part, Change::Begin);
        for number in numbers {
            let (of, object) = object(*number);
            if of == part {
                tell(&mut known, part, Change::Listed(object));
            }
        }
        tell(&mut known, part, Change::Complete);
    }
    known
}

/// Everything that a snapshot would say.
fn said(known: &Known) -> String {
    let settings = Settings::new(Access::InCluster, "/nowhere", "one");
    let translation = translate(&known.cluster, &Certificates::new(), &settings);
    format!(
        "{:?} {:?} {}",
        translation.routes,
        translation.invalid,
        known.is_complete()
    )
}

proptest! {
    #[test]
    fn the_order_of_arrival_changes_nothing(
        numbers in proptest::collection::hash_set(0_usize..21, 0..21),
        order in Just((0_usize..21).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        // Of two objects with one name the later counts, so there is one of each: 21 is 3 kinds with 7 names.
        let mut sorted: Vec<_> = numbers.iter().copied().collect();
        sorted.sort_unstable();
        let shuffled: Vec<_> = order.iter().copied().filter(|number| numbers.contains(number)).collect();
        prop_assert_eq!(said(&listed(&sorted)), said(&listed(&shuffled)));

        let mut watched = listed(&[]);
        for number in &order {
            let (part, object) = object(*number);
            tell(&mut watched, part, Change::Put(object));
        }
        for number in order.iter().rev().filter(|number| !numbers.contains(number)) {
            let (part, object) = object(*number);
            tell(&mut watched, part, Change::Gone(object));
        }
        prop_assert_eq!(said(&listed(&sorted)), said(&watched));
    }
}

#[test]
fn a_list_that_is_not_complete_changes_nothing() {
    let mut known = listed(&[0, 1, 2]);
    let before = said(&known);
    tell(&mut known, 1, Change::Begin);
    assert_eq!(said(&known), before);
    let failure = Failure::ended();
    assert!(known.hear(Told {
        part: 1,
        what: Err(failure)
    }));
    assert_eq!(said(&known), before);
    assert!(known.stale().unwrap().contains("ingresses: the watch has ended"));
    tell(&mut known, 1, Change::Begin);
    tell(&mut known, 1, Change::Complete);
    assert!(known.cluster.ingresses.is_empty() && known.stale().is_none());
}

#[test]
fn a_list_of_one_namespace_leaves_the_others_alone() {
    let mut known = Known::new(parts(&["shop".to_owned(), "other".to_owned()]));
    // The parts are classes, then Ingresses of each namespace in their order.
    let (_, ingress) = object(0);
    tell(&mut known, 2, Change::Begin);
    tell(&mut known, 2, Change::Listed(ingress));
    tell(&mut known, 2, Change::Complete);
    tell(&mut known, 1, Change::Begin);
    tell(&mut known, 1, Change::Complete);
    assert_eq!(known.cluster.ingresses.len(), 1);
}

#[test]
fn what_no_watch_of_ours_says_is_nothing() {
    let mut known = listed(&[]);
    assert!(!known.hear(Told {
        part: 99,
        what: Ok(Change::Complete)
    }));
}
