//! What a replica says of itself.

use super::*;

fn applied(number: u64) -> Option<Applied> {
    Some(Applied {
        revision: Revision {
            epoch: epoch(1),
            number,
        },
        at: 1_800_000_000 + number,
        invalid: 3,
    })
}

fn reported(store: &Scripted) -> Vec<u64> {
    store
        .state()
        .reports
        .iter()
        .map(|(replica, ..)| replica.revision.number)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn nothing_is_said_before_something_was_applied() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    running.is_quiet(Duration::from_secs(100)).await;
    assert!(store.state().reports.is_empty());
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_applied_is_said_and_not_what_was_read() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    running.applied.send_replace(applied(1));
    running.is_quiet(Duration::from_secs(15)).await;
    store.write("a.test", &document("a.test", "u:2"));
    assert_eq!(running.next().await.revision, at(2));
    running.is_quiet(Duration::from_secs(30)).await;
    assert!(
        reported(&store).iter().all(|number| *number == 1),
        "the second was read, not applied"
    );
    running.applied.send_replace(applied(2));
    running.is_quiet(Duration::from_millis(1)).await;
    assert_eq!(reported(&store).last(), Some(&2), "it is said at once");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn it_is_said_with_every_look_for_three_intervals() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    running.applied.send_replace(applied(1));
    running.is_quiet(Duration::from_secs(55)).await;
    {
        let state = store.state();
        assert_eq!(state.reports.len(), 6, "at once, and then each ten seconds");
        let (replica, ttl, _) = &state.reports[5];
        assert_eq!(*ttl, Duration::from_secs(30));
        let expected = route_store::Replica {
            id: "here-00000001".to_owned(),
            revision: Revision {
                epoch: epoch(1),
                number: 1,
            },
            applied_at: 1_800_000_001,
            version: "1.2.3".to_owned(),
            hostname: "here".to_owned(),
            invalid: 3,
        };
        assert_eq!(*replica, expected);
    }
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn it_is_said_again_after_an_outage() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    running.applied.send_replace(applied(1));
    store.be(Mood::Hangs);
    running.next().await;
    store.be(Mood::Answers);
    running.next().await;
    store.state().reports.clear();
    running.is_quiet(Duration::from_secs(25)).await;
    assert!(reported(&store).len() >= 2);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn it_is_said_on_after_whoever_applies_has_ended() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    running.applied.send_replace(applied(1));
    running.applied = watch::channel(None).0;
    running.is_quiet(Duration::from_secs(35)).await;
    assert_eq!(reported(&store), [1, 1, 1, 1]);
    running.end().await;
}

#[test]
fn a_replica_is_named_by_its_machine_and_eight_digits() {
    let (one, other) = (replica_id("edge").unwrap(), replica_id("edge").unwrap());
    assert_eq!(one.len(), "edge-".len() + 8);
    assert!(one.starts_with("edge-") && one != other);
}
