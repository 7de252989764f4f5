//! Simulations with a seed: how even the rules are, and what moves when an upstream comes or goes.

use super::hash::score;
use super::*;

/// Upstreams as a test wants them.
#[derive(Clone, Debug)]
struct Fleet(Vec<One>);

#[derive(Clone, Debug)]
struct One {
    label: String,
    is_free: bool,
    load: u32,
    latency: f64,
}

impl Fleet {
    fn of(count: usize) -> Self {
        let one = |n| One {
            label: format!("10.0.0.{n}:80"),
            is_free: true,
            load: 0,
            latency: 0.0,
        };
        Self((0..count).map(one).collect())
    }

    fn without(mut self, index: usize) -> Self {
        self.0[index].is_free = false;
        self
    }

    fn loads(mut self, loads: &[u32]) -> Self {
        for (one, load) in self.0.iter_mut().zip(loads) {
            one.load = *load;
        }
        self
    }

    /// How often each is chosen in `times` requests with keys of their own.
    fn counts(&self, rule: &Rule, times: usize) -> Vec<usize> {
        let mut random = seeded(7);
        let mut counts = vec![0; self.0.len()];
        for time in 0..times {
            let index = rule.choose(self, &format!("key {time}"), &mut random);
            counts[index.expect("one is free")] += 1;
        }
        counts
    }
}

impl Candidates for Fleet {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_free(&self, index: usize) -> bool {
        self.0[index].is_free
    }

    fn load(&self, index: usize) -> u32 {
        self.0[index].load
    }

    fn latency(&self, index: usize) -> f64 {
        self.0[index].latency
    }

    fn label(&self, index: usize) -> &str {
        &self.0[index].label
    }
}

/// SplitMix64.
fn seeded(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn rules() -> Vec<Rule> {
    vec![
        Rule::Random,
        Rule::RandomChoose(2),
        Rule::RandomChoose(3),
        Rule::LeastConn,
        Rule::PeakEwma,
        Rule::RoundRobin(Turn::default()),
        Rule::Weighted(Schedule::new(&[1; 5]), Turn::default()),
        Rule::Hash(None),
        Rule::Hash(Bound::new(1.25)),
    ]
}

fn is_even(counts: &[usize], times: usize, shares: usize) -> bool {
    let fair = times / shares;
    counts.iter().all(|count| count.abs_diff(fair) < fair / 10)
}

#[test]
fn every_rule_is_fair_to_idle_upstreams() {
    for rule in rules() {
        let counts = Fleet::of(5).counts(&rule, 20_000);
        assert!(is_even(&counts, 20_000, 5), "{rule:?}: {counts:?}");
    }
    assert_eq!(Fleet::of(5).counts(&Rule::First, 10), [10, 0, 0, 0, 0]);
}

#[test]
fn one_that_is_not_free_leaves_its_share_to_all_others() {
    for rule in rules() {
        let counts = Fleet::of(5).without(1).counts(&rule, 20_000);
        let (left, gone): (Vec<usize>, usize) = ([0, 2, 3, 4].map(|at| counts[at]).to_vec(), counts[1]);
        assert_eq!(gone, 0, "{rule:?}");
        assert!(is_even(&left, 20_000, 4), "{rule:?}: {counts:?}");
    }
    assert_eq!(Fleet::of(3).without(0).counts(&Rule::First, 10), [0, 10, 0]);
}

#[test]
fn none_is_chosen_where_none_is_free() {
    let mut random = seeded(1);
    for rule in rules().iter().chain([&Rule::First]) {
        assert_eq!(rule.choose(&Fleet::of(0), "", &mut random), None, "{rule:?}");
        let down = Fleet::of(2).without(0).without(1);
        assert_eq!(rule.choose(&down, "", &mut random), None, "{rule:?}");
    }
}

#[test]
fn round_robin_begins_at_the_first_and_goes_round() {
    let rule = Rule::RoundRobin(Turn::default());
    let mut random = seeded(1);
    let mut next = |fleet: &Fleet| rule.choose(fleet, "", &mut random).unwrap();
    let fleet = Fleet::of(3);
    assert_eq!([(); 4].map(|()| next(&fleet)), [0, 1, 2, 0]);
    let fleet = fleet.without(2);
    assert_eq!([(); 4].map(|()| next(&fleet)), [1, 0, 1, 0]);
}

#[test]
fn weights_are_shares_and_are_spread() {
    let order = |weights: &[u32]| Schedule::new(weights).0.to_vec();
    assert_eq!(order(&[3, 1]), [0, 0, 1, 0]);
    assert_eq!(order(&[5, 1, 1]), [0, 0, 1, 0, 2, 0, 0]);
    assert_eq!(order(&[10, 10]), [0, 1], "a common factor is no longer way round");
    assert_eq!(order(&[0, 7]), [1]);
    assert_eq!(order(&[0, 0]), [0_u32; 0]);
    assert_eq!(order(&[]), [0_u32; 0]);

    let rule = Rule::Weighted(Schedule::new(&[6, 3, 1]), Turn::default());
    assert_eq!(Fleet::of(3).counts(&rule, 1000), [600, 300, 100]);
    // Those without a weight get nothing, and without the heaviest the others keep their proportion.
    assert_eq!(Fleet::of(4).counts(&rule, 1000), [600, 300, 100, 0]);
    let counts = Fleet::of(3).without(0).counts(&rule, 1000);
    assert!((700..=800).contains(&counts[1]) && counts[0] == 0, "{counts:?}");
    // More weights than upstreams are no fault.
    assert_eq!(Fleet::of(1).counts(&rule, 10), [10]);
}

#[test]
fn large_weights_keep_a_schedule_small() {
    let schedule = Schedule::new(&[u32::MAX, u32::MAX - 1, 1]);
    assert!(schedule.0.len() as u64 <= MOST + 3);
    let counts = Fleet::of(3).counts(&Rule::Weighted(schedule, Turn::default()), 10_000);
    assert!(counts[2] > 0 && counts[0].abs_diff(counts[1]) < 20, "{counts:?}");
}

/// The most entries of a schedule, but for those that rounding leaves.
const MOST: u64 = 4096;

#[test]
fn the_one_with_the_fewest_requests_is_taken_and_ties_are_shared() {
    let fleet = Fleet::of(4).loads(&[3, 1, 1, 2]);
    let counts = fleet.counts(&Rule::LeastConn, 10_000);
    assert!(
        (counts[0], counts[3]) == (0, 0) && counts[1].abs_diff(counts[2]) < 500,
        "{counts:?}"
    );

    // Of two chosen at random the busiest is never taken, and the idlest of four in half of all pairs.
    let counts = Fleet::of(4)
        .loads(&[9, 5, 3, 1])
        .counts(&Rule::RandomChoose(2), 12_000);
    for (count, share) in counts.iter().zip([0, 2_000, 4_000, 6_000]) {
        assert!(count.abs_diff(share) < 300, "{counts:?}");
    }
    let all = Rule::RandomChoose(9);
    assert_eq!(Fleet::of(3).loads(&[2, 1, 2]).counts(&all, 100), [0, 100, 0]);
}

#[test]
fn a_slow_upstream_gets_less_by_its_latency() {
    let mut fleet = Fleet::of(2);
    fleet.0[0].latency = 10e6;
    fleet.0[1].latency = 1e6;
    assert_eq!(fleet.counts(&Rule::PeakEwma, 100), [0, 100]);
    // With ten requests waiting at the fast one it would take longer there.
    fleet.0[1].load = 10;
    assert_eq!(fleet.counts(&Rule::PeakEwma, 100), [100, 0]);
    // A new one is tried, but with one request at a time.
    fleet.0[0] = One {
        latency: 0.0,
        ..fleet.0[0].clone()
    };
    assert_eq!(fleet.counts(&Rule::PeakEwma, 100), [100, 0]);
    fleet.0[0].load = 1;
    assert_eq!(fleet.counts(&Rule::PeakEwma, 100), [0, 100]);
}

fn owners(fleet: &Fleet, keys: usize) -> Vec<String> {
    let mut random = seeded(1);
    let rule = Rule::Hash(None);
    let owner = |key| {
        let index = rule.choose(fleet, &format!("key {key}"), &mut random).unwrap();
        fleet.0[index].label.clone()
    };
    (0..keys).map(owner).collect()
}

#[test]
fn only_the_keys_of_an_upstream_that_goes_move_and_only_to_one_that_comes() {
    const KEYS: usize = 10_000;
    let before = owners(&Fleet::of(10), KEYS);

    let after = owners(&Fleet::of(10).without(4), KEYS);
    for (before, after) in before.iter().zip(&after) {
        assert!(before == after || before == "10.0.0.4:80");
    }

    let mut more = Fleet::of(10);
    more.0.insert(3, Fleet::of(11).0[10].clone());
    let after = owners(&more, KEYS);
    let moved = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after);
    let (to_new, others): (Vec<_>, Vec<_>) = moved.partition(|(_, after)| *after == "10.0.0.10:80");
    assert!(
        others.is_empty() && to_new.len().abs_diff(KEYS / 11) < KEYS / 100,
        "{}",
        to_new.len()
    );

    // The order in which a name server lists them changes nothing.
    let mut turned = Fleet::of(10);
    turned.0.reverse();
    assert_eq!(owners(&turned, KEYS), before);
}

#[test]
fn keys_go_where_caddy_sends_them() {
    // XXH64 of the address and the key, one behind the other.
    assert_eq!(score("", ""), 0xef46_db37_51d8_e999);
    assert_eq!(score("a", "bc"), score("ab", "c"));
    assert_eq!(score("a", "bc"), 0x44bc_2cf5_ad77_0999);
}

#[test]
fn a_bounded_hash_sends_a_hot_key_to_others_before_one_is_overrun() {
    let rule = Rule::Hash(Bound::new(1.25));
    let mut random = seeded(1);
    let mut fleet = Fleet::of(4);
    // A hundred requests with one key, none of which ends.
    for _ in 0..100 {
        let index = rule.choose(&fleet, "hot", &mut random).unwrap();
        fleet.0[index].load += 1;
    }
    let most = fleet.0.iter().map(|one| one.load).max();
    assert!(most <= Some(32), "{fleet:?}");
    // Without load the key stays where it is hashed to.
    let idle = Fleet::of(4);
    let home = Rule::Hash(None).choose(&idle, "hot", &mut random);
    assert_eq!(rule.choose(&idle, "hot", &mut random), home);
    for wrong in [0.9, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Bound::new(wrong).is_none());
    }
}

/// Upstreams with weights of their own.
#[derive(Debug)]
struct Weighted(Fleet, Vec<u16>);

impl Candidates for Weighted {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_free(&self, index: usize) -> bool {
        self.0.is_free(index)
    }

    fn load(&self, index: usize) -> u32 {
        self.0.load(index)
    }

    fn latency(&self, index: usize) -> f64 {
        self.0.latency(index)
    }

    fn is_weighted(&self) -> bool {
        true
    }

    fn weight(&self, index: usize) -> u16 {
        self.1[index]
    }

    fn label(&self, index: usize) -> &str {
        self.0.label(index)
    }
}

#[test]
fn by_chance_and_by_turns_each_has_the_share_of_its_weight() {
    for rule in [Rule::Random, Rule::RoundRobin(Turn::default())] {
        for (fleet, shares) in [(Fleet::of(3), [5, 3, 2]), (Fleet::of(3).without(0), [0, 6, 4])] {
            let weighted = Weighted(fleet, vec![50, 30, 20]);
            let (mut random, mut counts) = (seeded(3), [0_usize; 3]);
            for _ in 0..20_000 {
                counts[rule.choose(&weighted, "", &mut random).unwrap()] += 1;
            }
            for (count, share) in counts.iter().zip(shares) {
                let expected = share * 2_000;
                assert!(count.abs_diff(expected) <= expected / 10, "{rule:?}: {counts:?}");
            }
        }
    }
}

#[test]
fn turns_by_weight_are_spread_evenly() {
    let rule = Rule::RoundRobin(Turn::default());
    let weighted = Weighted(Fleet::of(2), vec![9, 1]);
    let mut random = seeded(1);
    let chosen: Vec<usize> = (0..1000)
        .map(|_| rule.choose(&weighted, "", &mut random).unwrap())
        .collect();
    for ten in chosen.chunks(20) {
        let light = ten.iter().filter(|index| **index == 1).count();
        assert!((1..=3).contains(&light), "{light} of 20");
    }
    let none = Weighted(Fleet::of(1).without(0), vec![5]);
    assert_eq!(rule.choose(&none, "", &mut random), None);
}
