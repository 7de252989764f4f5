//! Circuit breakers in all their states, by hand and at random.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn consecutive(failures: u32) -> BreakerSettings {
    BreakerSettings {
        rule: BreakerRule::Consecutive { failures },
        timeout: SECOND * 60,
        half_open: 1,
    }
}

fn rate(failures: u32, window: u32) -> BreakerSettings {
    BreakerSettings {
        rule: BreakerRule::Rate { failures, window },
        ..consecutive(0)
    }
}

/// One request after the other; `None` where the last one was not let through.
fn run(machine: &mut Machine, results: &[bool], now: Instant) -> Option<()> {
    for failed in results {
        let ticket = machine.begin(now)?;
        machine.end(ticket, Some(*failed), now);
    }
    Some(())
}

#[test]
fn failures_in_a_row_open_it_and_a_success_begins_anew() {
    let now = Instant::now();
    let mut machine = Machine::new(consecutive(3));
    run(&mut machine, &[true, true, false, true, true], now).unwrap();
    assert!(machine.admits(now));
    run(&mut machine, &[true], now).unwrap();
    assert_eq!((machine.admits(now), machine.stand(now)), (false, Stand::Open));
    assert_eq!(machine.begin(now + SECOND * 59), None);
}

#[test]
fn failures_among_the_last_requests_open_it_even_before_there_were_that_many() {
    let now = Instant::now();
    let mut machine = Machine::new(rate(3, 5));
    run(&mut machine, &[true, true, true], now).unwrap();
    assert_eq!(machine.stand(now), Stand::Open);

    let mut machine = Machine::new(rate(3, 5));
    // The first failure is the sixth last by the time of the third one.
    run(&mut machine, &[true, false, false, true, false, true], now).unwrap();
    assert_eq!(machine.stand(now), Stand::Closed);
    run(&mut machine, &[true], now).unwrap();
    assert_eq!(machine.stand(now), Stand::Open);
}

#[test]
fn a_success_closes_it_after_its_time_and_a_failure_opens_it_again() {
    let begin = Instant::now();
    let mut machine = Machine::new(consecutive(1));
    run(&mut machine, &[true], begin).unwrap();
    let later = begin + SECOND * 60;
    assert_eq!(machine.stand(later), Stand::HalfOpen);
    let probe = machine.begin(later).unwrap();
    assert!(!machine.admits(later), "one at a time");
    assert_eq!(machine.end(probe, Some(true), later), Some(Stand::Open));
    assert!(!machine.admits(later + SECOND * 59));
    let again = later + SECOND * 60;
    let probe = machine.begin(again).unwrap();
    assert_eq!(machine.end(probe, Some(false), again), Some(Stand::Closed));
    assert!(machine.begin(again).is_some() && machine.begin(again).is_some());
}

#[test]
fn as_many_requests_try_it_as_the_settings_say_and_all_must_succeed() {
    let begin = Instant::now();
    let mut machine = Machine::new(BreakerSettings {
        half_open: 2,
        ..rate(1, 1)
    });
    run(&mut machine, &[true], begin).unwrap();
    let later = begin + SECOND * 60;
    let (one, two) = (machine.begin(later).unwrap(), machine.begin(later).unwrap());
    assert_eq!(machine.begin(later), None);
    assert_eq!(machine.end(one, Some(false), later), None);
    assert_eq!(machine.end(two, None, later), None, "given up: no result");
    let three = machine.begin(later).unwrap();
    assert_eq!(machine.end(three, Some(false), later), Some(Stand::Closed));
}

#[test]
fn results_of_requests_that_began_in_another_state_are_not_counted() {
    let begin = Instant::now();
    let mut machine = Machine::new(consecutive(1));
    let (first, late, later) = (
        machine.begin(begin).unwrap(),
        machine.begin(begin).unwrap(),
        machine.begin(begin).unwrap(),
    );
    assert_eq!(machine.end(first, Some(true), begin), Some(Stand::Open));
    assert_eq!(machine.end(late, Some(false), begin), None);
    let now = begin + SECOND * 60;
    let probe = machine.begin(now).unwrap();
    assert_eq!(machine.end(later, Some(true), now), None, "it began long before");
    assert_eq!(machine.end(probe, Some(false), now), Some(Stand::Closed));
}

#[test]
fn what_was_counted_before_it_opened_does_not_open_it_again() {
    let begin = Instant::now();
    let mut machine = Machine::new(rate(2, 10));
    run(&mut machine, &[true, true], begin).unwrap();
    let now = begin + SECOND * 60;
    run(&mut machine, &[false, true], now).unwrap();
    assert_eq!(machine.stand(now), Stand::Closed, "one failure of ten");
}

/// SplitMix64.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 31)
}

/// Whatever comes in whatever order: never more requests than allowed try an open upstream, and it is closed only by
/// as many successes as configured.
#[test]
fn a_random_life_keeps_the_rules() {
    for seed in 0..200 {
        let mut random = seed;
        let half_open = u32::try_from(next(&mut random) % 3 + 1).unwrap();
        let settings = BreakerSettings {
            half_open,
            timeout: SECOND * 5,
            ..if seed % 2 == 0 { consecutive(3) } else { rate(3, 8) }
        };
        let mut machine = Machine::new(settings);
        let (mut now, mut running, mut opened) = (Instant::now(), Vec::new(), None);
        for _ in 0..2_000 {
            match next(&mut random) % 4 {
                0 => now += SECOND / 4,
                1 | 2 => {
                    let expected = machine.admits(now);
                    let ticket = machine.begin(now);
                    assert_eq!(ticket.is_some(), expected, "seed {seed}");
                    running.extend(ticket);
                }
                _ if running.is_empty() => {}
                _ => {
                    let index = usize::try_from(next(&mut random)).unwrap() % running.len();
                    let ticket: Ticket = running.swap_remove(index);
                    let result =
                        [Some(true), Some(false), None][usize::try_from(next(&mut random) % 3).unwrap()];
                    if machine.end(ticket, result, now) == Some(Stand::Open) {
                        assert_eq!(result, Some(true), "seed {seed}");
                        opened = Some(now);
                    }
                }
            }
            let probes = running
                .iter()
                .filter(|ticket| ticket.is_probe && ticket.generation == machine.generation)
                .count();
            assert!(probes <= usize::try_from(half_open).unwrap(), "seed {seed}");
            if let State::HalfOpen { in_flight, .. } = machine.state {
                assert_eq!(usize::try_from(in_flight).unwrap(), probes, "seed {seed}");
            }
            if let (State::Open { until }, Some(opened)) = (machine.state, opened) {
                assert_eq!(until, opened + settings.timeout, "seed {seed}");
            }
        }
        assert!(opened.is_some(), "seed {seed}");
    }
}

#[test]
fn what_all_workers_share_follows_the_machine() {
    let begin = Instant::now();
    let breaker = Breaker::new(consecutive(2));
    let enter = |now| breaker.enter(|| now);
    for _ in 0..3 {
        assert_eq!(enter(begin).unwrap().leave(false, || begin), None);
    }
    assert_eq!(enter(begin).unwrap().leave(true, || begin), None);
    assert_eq!(enter(begin).unwrap().leave(true, || begin), Some(Stand::Open));
    assert!(!breaker.admits(|| begin) && enter(begin).is_none());
    assert_eq!(breaker.waits(begin + SECOND), Some(SECOND * 59));
    let now = begin + SECOND * 60;
    assert!(breaker.admits(|| now));
    let probe = enter(now).unwrap();
    assert!(!breaker.admits(|| now) && enter(now).is_none());
    drop(probe);
    assert!(breaker.admits(|| now), "given up, and the place is free");
    assert_eq!(enter(now).unwrap().leave(false, || now), Some(Stand::Closed));
    assert!(breaker.admits(|| now) && breaker.waits(now).is_none());
}
