//! What of an upstream leads to what, for all of its proxies.

use super::probe::ProbeError;
use super::*;
use crate::upstream::breaker::BreakerRule;
use crate::upstream::load::Slots;
use crate::upstream::resolve::{ResolveSettings, ResolverSet};
use crate::upstream::transport::{Protocol, Way};

const SECOND: Duration = Duration::from_secs(1);

fn passive(most: u32) -> Passive {
    Passive {
        duration: SECOND * 10,
        most,
        statuses: [503, 5, 404].into(),
        latency: Some(SECOND),
    }
}

fn unknown() -> Instant {
    unreachable!("nobody looks at the clock while all is well")
}

#[tokio::test(start_paused = true)]
async fn failures_count_for_all_proxies_of_an_upstream_each_with_its_own_limit() {
    let slots = Slots::default();
    let (slot, again) = (slots.of("a:80"), slots.of("a:80"));
    let strict = Health {
        passive: Some(Arc::new(passive(1))),
        ..Health::default()
    };
    let lenient = Health {
        passive: Some(Arc::new(passive(2))),
        ..Health::default()
    };
    assert_eq!(strict.trouble(&slot, unknown), None);
    strict.failed(&slot, &"refused");
    assert_eq!(strict.trouble(&slot, Instant::now), Some(Trouble::Failures));
    assert_eq!(lenient.trouble(&again, Instant::now), None);
    lenient.failed(&again, &"refused");
    assert_eq!(lenient.trouble(&again, Instant::now), Some(Trouble::Failures));
    assert_eq!(
        strict.waits(Trouble::Failures, &slot, Instant::now()),
        Some(SECOND * 10)
    );
    tokio::time::advance(SECOND * 10).await;
    assert_eq!(fails(&slot, Instant::now), 0);
    assert_eq!(strict.trouble(&slot, unknown), None);
    assert_eq!(
        slot.standing().age(Instant::now()),
        Duration::ZERO,
        "it has just come back"
    );
}

#[test]
fn an_answer_has_one_flaw_at_most() {
    let health = Health {
        passive: Some(Arc::new(passive(1))),
        ..Health::default()
    };
    let flaw = |status: u16, latency| health.flaw(StatusCode::from_u16(status).unwrap(), latency);
    let slow = Some(SECOND);
    assert_eq!(
        flaw(503, slow),
        Some(Flaw::Status(StatusCode::SERVICE_UNAVAILABLE))
    );
    assert_eq!(flaw(599, None).is_some(), flaw(404, None).is_some());
    assert_eq!(flaw(200, slow), Some(Flaw::Latency(SECOND)));
    assert_eq!(flaw(200, Some(SECOND * 9 / 10)), None);
    assert_eq!(flaw(405, None), None);
    assert_eq!(Health::default().flaw(StatusCode::BAD_GATEWAY, slow), None);
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_is_trouble_until_its_time_is_over() {
    let slot = Slots::default().of("a:80");
    let health = Health {
        breaker: Some(Arc::new(Breaker::new(BreakerSettings {
            rule: BreakerRule::Consecutive { failures: 1 },
            timeout: SECOND * 5,
            half_open: 1,
        }))),
        ..Health::default()
    };
    let pass = health.enter(unknown).unwrap();
    Health::leave(&slot, pass, true);
    assert_eq!(health.trouble(&slot, Instant::now), Some(Trouble::Breaker));
    assert!(health.enter(Instant::now).is_err());
    assert_eq!(
        health.waits(Trouble::Breaker, &slot, Instant::now()),
        Some(SECOND * 5)
    );
    tokio::time::advance(SECOND * 5).await;
    assert_eq!(health.trouble(&slot, Instant::now), None);
    let pass = health.enter(Instant::now).unwrap();
    assert!(health.enter(Instant::now).is_err(), "one at a time");
    Health::leave(&slot, pass, false);
    assert!(health.enter(unknown).is_ok());
}

#[tokio::test(start_paused = true)]
async fn checks_change_the_mind_and_one_that_comes_back_is_new() {
    let slot = Slots::default().of("127.0.0.1:80");
    let names = ResolverSet::new(ResolveSettings::default());
    let plan = Plan {
        probe: Probe {
            name: names.watch("127.0.0.1", &[]),
            port: 80,
            transport: Arc::default(),
            way: Arc::new(Way::plain(Protocol::Http1)),
            timeout: SECOND,
            http: None,
        },
        interval: SECOND * 30,
        limits: Limits { passes: 2, fails: 1 },
    };
    let check = Arc::new(Check::new(Arc::clone(&slot), plan, Instant::now()));
    let health = Health {
        check: Some(Arc::clone(&check)),
        ..Health::default()
    };
    assert_eq!(
        health.trouble(&slot, unknown),
        None,
        "healthy until a check says otherwise"
    );
    assert_eq!(health.waits(Trouble::Checks, &slot, Instant::now()), None);
    check.count(&Err(ProbeError::TimedOut), Instant::now());
    check.plan_next(Instant::now() + SECOND * 30);
    assert_eq!(health.trouble(&slot, unknown), Some(Trouble::Checks));
    tokio::time::advance(SECOND * 20).await;
    assert_eq!(
        health.waits(Trouble::Checks, &slot, Instant::now()),
        Some(SECOND * 10)
    );
    check.count(&Ok(()), Instant::now());
    assert_eq!(health.trouble(&slot, unknown), Some(Trouble::Checks));
    assert_eq!(slot.standing().age(Instant::now()), SECOND * 20);
    check.count(&Ok(()), Instant::now());
    assert_eq!(health.trouble(&slot, unknown), None);
    assert_eq!(
        slot.standing().age(Instant::now()),
        Duration::ZERO,
        "slow start begins"
    );
}
