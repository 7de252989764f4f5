//! A store that is away.

use super::*;

#[tokio::test(start_paused = true)]
async fn an_outage_is_told_once_and_takes_no_route_away() {
    for mood in [Mood::Refuses, Mood::Hangs, Mood::MakesNoSense] {
        let store = Scripted::with(&["a.test"]);
        let mut running = run(
            &store,
            Settings {
                now: || 1_796_106_387,
                ..settings()
            },
        );
        let before = running.next().await;
        store.be(mood);
        let away = running.next().await;
        assert!(away.routes[0].is_same(&before.routes[0]));
        assert_eq!(away.revision, at(1));
        let stale = away.stale.as_ref().unwrap();
        assert!(
            stale.contains("scripted") && stale.ends_with(", since 2026-12-01T06:26:27Z"),
            "{stale}"
        );
        running.is_quiet(Duration::from_secs(900)).await;

        store.be(Mood::Answers);
        let back = running.next().await;
        assert!(back.routes[0].is_same(&before.routes[0]));
        assert_eq!(back.stale, None);
        running.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_written_during_an_outage_comes_after_it() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    store.be(Mood::Refuses);
    running.next().await;
    store.write("a.test", &document("a.test", "u:2"));
    running.is_quiet(Duration::from_secs(60)).await;
    store.be(Mood::Answers);
    let back = running.next().await;
    assert_eq!((said(&back), &back.stale), (vec!["a.test u:2".to_owned()], &None));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_given_up_in_time_and_asked_again() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    store.be(Mood::Hangs);
    let stale = running.next().await.stale.clone().unwrap();
    assert_eq!(
        stale,
        "the scripted store cannot be reached: it did not answer within 10s"
    );
    let asked = store.state().asked.len();
    running.is_quiet(Duration::from_secs(100)).await;
    assert_eq!(
        store.state().asked.len() - asked,
        5,
        "each takes 10 seconds, and so does the wait"
    );
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_cannot_listen_tries_again_and_asks_meanwhile() {
    let store = Scripted::with(&["a.test"]);
    store.speak();
    store.be(Mood::Refuses);
    let mut running = run(
        &store,
        Settings {
            sync_interval: LONG,
            ..settings()
        },
    );
    assert!(running.next().await.stale.is_some());
    store.be(Mood::Answers);
    let start = tokio::time::Instant::now();
    let back = running.next().await;
    assert_eq!((said(&back), &back.stale), (vec!["a.test u:1".to_owned()], &None));
    assert!(start.elapsed() <= Duration::from_secs(30), "by the paused clock");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_does_not_keep_the_source_from_ending() {
    let store = Scripted::with(&["a.test"]);
    store.be(Mood::Hangs);
    let running = run(&store, settings());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let start = tokio::time::Instant::now();
    running.end().await;
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn without_anything_known_a_store_that_is_away_is_told_after_the_time_for_the_start() {
    let store = Scripted::with(&["a.test"]);
    store.be(Mood::Refuses);
    let mut running = run(&store, settings());
    let start = tokio::time::Instant::now();
    let first = running.next().await;
    assert_eq!(start.elapsed(), Duration::from_secs(3));
    assert_eq!(
        (first.routes.len(), first.revision, first.stale.is_some()),
        (0, None, true)
    );
    store.be(Mood::Answers);
    assert_eq!(said(&*running.next().await), ["a.test u:1"]);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_comes_a_little_late_is_waited_for() {
    let store = Scripted::with(&["a.test"]);
    store.be(Mood::Refuses);
    let mut running = run(&store, settings());
    running.is_quiet(Duration::from_secs(1)).await;
    store.be(Mood::Answers);
    let first = running.next().await;
    assert_eq!(
        (said(&first), &first.stale),
        (vec!["a.test u:1".to_owned()], &None)
    );
    running.end().await;
}
