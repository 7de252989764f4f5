//! The pure part of refreshing.

use super::*;

#[test]
fn the_wait_after_failures_doubles_up_to_the_ceiling() {
    let settings = ResolveSettings::default();
    let waits = [0, 1, 2, 3, 4, 5, 6, u32::MAX].map(|earlier| backoff(earlier, &settings, 0).as_secs());

    assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
}

#[test]
fn chance_adds_up_to_a_quarter_to_the_wait() {
    let settings = ResolveSettings::default();
    for earlier in 0..8 {
        let base = backoff(earlier, &settings, 0);
        assert_eq!(backoff(earlier, &settings, 0xff), base * 5 / 4);
        assert!((base..=base * 5 / 4).contains(&backoff(earlier, &settings, 0x5a)));
    }
}

#[test]
fn the_wait_after_a_failure_respects_the_floor() {
    let settings = ResolveSettings::default().with_floor(Duration::from_secs(7));

    assert_eq!(backoff(0, &settings, 0), Duration::from_secs(7));
}
