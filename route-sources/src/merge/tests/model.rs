//! Random sequences of snapshots, against a plain reading of the rules that begins from scratch each time.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// What a source may have: the host, its aliases, and what it says.
#[derive(Clone, Debug)]
struct Drawn {
    host: u8,
    aliases: Vec<u8>,
    says: u8,
}

/// How a source gets from one snapshot to its next.
#[derive(Clone, Debug)]
enum Step {
    /// Other values, though perhaps equal ones.
    All(Vec<Drawn>),
    /// One route is taken out, if there are so many.
    Remove(usize),
    /// One route comes in.
    Insert(usize, Drawn),
    /// Two change places.
    Swap(usize, usize),
    /// Nothing changes, but the list is another one.
    Same,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (0_u8..7, prop::collection::vec(0_u8..10, 0..3), 0_u8..5).prop_map(|(host, aliases, says)| Drawn {
        host,
        aliases,
        says,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        prop::collection::vec(drawn(), 0..7).prop_map(Step::All),
        (0_usize..6).prop_map(Step::Remove),
        (0_usize..6, drawn()).prop_map(|(at, drawn)| Step::Insert(at, drawn)),
        (0_usize..6, 0_usize..6).prop_map(|(one, other)| Step::Swap(one, other)),
        Just(Step::Same),
    ]
}

fn route(drawn: &Drawn) -> Route {
    let host = format!("h{}.test", drawn.host);
    let aliases: Vec<_> = drawn
        .aliases
        .iter()
        .map(|alias| format!("h{alias}.test"))
        .collect();
    let mut aliases: Vec<_> = aliases
        .iter()
        .map(String::as_str)
        .filter(|alias| *alias != host)
        .collect();
    aliases.dedup();
    match drawn.says {
        0 => held(&host),
        1 => Route::Configured(Arc::new(name(&host))),
        says => document(&host, &aliases, &format!("u{says}:1")),
    }
}

fn apply(routes: &mut Vec<Route>, step: &Step) {
    match step {
        Step::All(all) => *routes = all.iter().map(route).collect(),
        Step::Remove(at) if *at < routes.len() => drop(routes.remove(*at)),
        Step::Insert(at, drawn) => routes.insert((*at).min(routes.len()), route(drawn)),
        Step::Swap(one, other) if *one.max(other) < routes.len() => routes.swap(*one, *other),
        _ => {}
    }
}

/// A name, and which route of which source it has.
type Table = BTreeMap<String, (Kind, HostName, String)>;

/// Whether it is for an alias, and whose route with which host wants it; what it says. The least is the first.
type Wish = (bool, std::cmp::Reverse<Kind>, HostName, String);

/// The rules, read plainly.
fn model(sources: &BTreeMap<Kind, Vec<Route>>) -> (Table, Vec<String>, Vec<String>) {
    let mut own: BTreeMap<HostName, Vec<(Kind, Route)>> = BTreeMap::new();
    for (kind, routes) in sources.iter().rev() {
        let mut seen = BTreeSet::new();
        for route in routes.iter().filter(|route| seen.insert(route.host().clone())) {
            own.entry(route.host().clone())
                .or_default()
                .push((*kind, route.clone()));
        }
    }
    let mut wanted: BTreeMap<HostName, Vec<Wish>> = BTreeMap::new();
    for (host, routes) in &own {
        let (kind, route) = &routes[0];
        let claim = |is_alias| (is_alias, std::cmp::Reverse(*kind), host.clone(), said(route));
        wanted.entry(host.clone()).or_default().push(claim(false));
        if let Route::Document(document) = route {
            let aliases: BTreeSet<_> = document.aliases().iter().filter(|alias| *alias != host).collect();
            for alias in aliases {
                wanted.entry(alias.clone()).or_default().push(claim(true));
            }
        }
    }
    wanted.values_mut().for_each(|claims| claims.sort());
    let table = wanted.iter().map(|(name, claims)| {
        let (_, kind, host, said) = &claims[0];
        (name.to_string(), (kind.0, host.clone(), said.clone()))
    });
    let conflicts = own.iter().filter(|(_, routes)| routes.len() > 1);
    let conflicts = conflicts.map(|(host, routes)| {
        let kinds: Vec<_> = routes.iter().map(|(kind, _)| kind.as_str()).collect();
        format!("{host} {}", kinds.join(" "))
    });
    let collisions = wanted.iter().filter(|(_, claims)| claims.len() > 1);
    let collisions = collisions.map(|(name, claims)| {
        let claims: Vec<_> = claims
            .iter()
            .map(|(_, kind, host, _)| format!("{}:{host}", kind.0))
            .collect();
        format!("{name} {}", claims.join(" "))
    });
    (table.collect(), conflicts.collect(), collisions.collect())
}

fn table_of(names: &BTreeMap<HostName, Served>) -> Table {
    let row = |served: &Served| (served.kind, served.route.host().clone(), said(&served.route));
    names
        .iter()
        .map(|(name, served)| (name.to_string(), row(served)))
        .collect()
}

/// What a merge says: its table, conflicts, collisions.
fn answer(merge: &Merge) -> (Table, Vec<String>, Vec<String>) {
    let names = merge
        .names()
        .map(|(name, served)| (name.clone(), served.clone()))
        .collect();
    let conflicts = merge.conflicts().into_iter().map(|conflict| {
        let shadowed: Vec<_> = conflict.shadowed.iter().map(|kind| format!(" {kind}")).collect();
        format!("{} {}{}", conflict.host, conflict.winner, shadowed.concat())
    });
    let collisions = merge.collisions().into_iter().map(|collision| {
        let claims = std::iter::once(&collision.winner).chain(&collision.losers);
        let claims: Vec<_> = claims
            .map(|claim| format!("{}:{}", claim.kind, claim.host))
            .collect();
        format!("{} {}", collision.name, claims.join(" "))
    });
    (table_of(&names), conflicts.collect(), collisions.collect())
}

/// What was said before, as the deltas told it.
fn follow(told: &mut BTreeMap<HostName, Route>, delta: Delta) {
    for (name, route) in delta.set {
        if let Some(before) = told.insert(name, route.clone()) {
            assert!(!before.is_same(&route), "it was told already");
        }
    }
    for name in delta.removed {
        assert!(told.remove(&name).is_some(), "it was not there");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn going_on_comes_to_the_same_as_beginning_anew(steps in prop::collection::vec((0_usize..4, step()), 1..24)) {
        let mut merge = Merge::default();
        let mut sources: BTreeMap<Kind, Vec<Route>> = BTreeMap::new();
        let mut told = BTreeMap::new();
        for (kind, step) in steps {
            let kind = Kind::ALL[kind];
            let routes = sources.entry(kind).or_default();
            apply(routes, &step);
            let delta = merge.update(kind, snapshot(routes));
            follow(&mut told, delta);

            prop_assert_eq!(answer(&merge), model(&sources));
            let served: BTreeMap<_, _> = merge.names().map(|(name, served)| (name, &served.route)).collect();
            prop_assert_eq!(served.len(), told.len());
            for (name, route) in &told {
                prop_assert!(served[name].is_same(route), "the deltas say what is served: {}", name);
            }
            counts_are_as_the_lists(&merge)?;
        }
        let snapshots: Vec<_> = sources.iter().rev().map(|(kind, routes)| (*kind, snapshot(routes))).collect();
        let anew = super::merge(&snapshots);
        prop_assert_eq!(table_of(&anew.names), answer(&merge).0);
        prop_assert_eq!(anew.conflicts, merge.conflicts());
        prop_assert_eq!(anew.collisions, merge.collisions());
        prop_assert_eq!(anew.invalid, merge.invalid());
    }
}

fn counts_are_as_the_lists(merge: &Merge) -> Result<(), TestCaseError> {
    prop_assert_eq!(merge.name_count(), merge.names().count());
    prop_assert_eq!(merge.conflict_count(), merge.conflicts().len());
    prop_assert_eq!(merge.collision_count(), merge.collisions().len());
    prop_assert_eq!(merge.without_upstreams_count(), merge.without_upstreams().len());
    for kind in Kind::ALL {
        prop_assert_eq!(merge.invalid_count(kind), merge.invalid_of(kind).len());
    }
    Ok(())
}
