//! A store that answers.

use super::*;

#[tokio::test(start_paused = true)]
async fn routes_come_sorted_and_with_their_revision() {
    let store = Scripted::with(&["b.test", "a.test"]);
    let mut running = run(&store, settings());
    let snapshot = running.next().await;
    assert_eq!(said(&snapshot), ["a.test u:1", "b.test u:1"]);
    assert_eq!(snapshot.revision, at(2));
    assert_eq!((&snapshot.stale, wrong(&snapshot)), (&None, Vec::new()));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_store_at_the_first_start_is_just_empty() {
    let mut running = run(&Scripted::new(), settings());
    let snapshot = running.next().await;
    assert_eq!(
        (snapshot.routes.len(), snapshot.revision, &snapshot.stale),
        (0, at(0), &None)
    );
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_published_or_read_while_nothing_changes() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    running.is_quiet(Duration::from_secs(95)).await;
    assert_eq!(running.store.state().reads, (1, 0));
    assert_eq!(running.store.state().asked.len(), 9, "once each interval");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn only_what_has_changed_is_another_value() {
    let store = Scripted::with(&["a.test", "b.test", "c.test"]);
    let mut running = run(&store, settings());
    let before = running.next().await;
    store.write("b.test", &document("b.test", "u:2"));
    store.forget("c.test");
    let after = running.next().await;
    assert_eq!(said(&after), ["a.test u:1", "b.test u:2"]);
    assert_eq!(after.revision, at(5));
    assert!(after.routes[0].is_same(&before.routes[0]));
    assert!(!after.routes[1].is_same(&before.routes[1]));
    assert_eq!(store.state().reads, (1, 1));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_says_the_same_is_another_revision_of_the_same_value() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, settings());
    let before = running.next().await;
    store.write("a.test", &document("a.test", "u:1"));
    let after = running.next().await;
    assert_eq!(after.revision, at(2));
    assert!(after.routes[0].is_same(&before.routes[0]));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_last_route_can_be_removed() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    store.forget("a.test");
    let after = running.next().await;
    assert_eq!((after.routes.len(), wrong(&after)), (0, Vec::new()));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_speaks_is_asked_at_once() {
    let store = Scripted::with(&["a.test"]);
    store.speak();
    let mut running = run(&store, settings());
    running.next().await;
    running.is_quiet(Duration::from_secs(5)).await;
    let start = tokio::time::Instant::now();
    store.write("a.test", &document("a.test", "u:2"));
    assert_eq!(said(&*running.next().await), ["a.test u:2"]);
    assert!(
        start.elapsed() < Duration::from_millis(200),
        "by the paused clock"
    );
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_is_hung_up_on_listens_again_and_asks_what_was_missed() {
    let store = Scripted::with(&["a.test"]);
    store.speak();
    let long = Settings {
        sync_interval: LONG,
        ..settings()
    };
    let mut running = run(&store, long);
    running.next().await;
    running.is_quiet(Duration::from_secs(5)).await;
    store.state().write_silently("a.test", "u:2");
    store.hang_up();
    assert_eq!(said(&*running.next().await), ["a.test u:2"]);
    assert_eq!(store.state().listened, 2);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_speak_is_not_asked_to_again() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    running.is_quiet(Duration::from_secs(300)).await;
    assert_eq!(store.state().listened, 1);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_store_is_asked_at_once_after_a_write_of_ones_own() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(
        &store,
        Settings {
            sync_interval: LONG,
            ..settings()
        },
    );
    running.next().await;
    store.write("a.test", &document("a.test", "u:2"));
    running.handle.sync_now();
    let start = tokio::time::Instant::now();
    assert_eq!(said(&*running.next().await), ["a.test u:2"]);
    assert!(start.elapsed() < Duration::from_secs(1), "by the paused clock");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_written_past_the_store_is_found_in_time() {
    let store = Scripted::with(&["a.test", "b.test"]);
    let mut running = run(&store, settings());
    let before = running.next().await;
    // The version and the revision stay, as after a program that knows nothing of them.
    store.state().routes.get_mut("b.test").unwrap().document = document("b.test", "u:2");
    let start = tokio::time::Instant::now();
    let after = running.next().await;
    assert_eq!(said(&after), ["a.test u:1", "b.test u:2"]);
    assert!(after.routes[0].is_same(&before.routes[0]));
    assert!(start.elapsed() >= Duration::from_secs(590));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_keeps_no_changes_is_made_up_for() {
    let store = Scripted::with(&["a.test", "b.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    // It counts the revision, but says neither what it wrote nor what it removed.
    {
        let mut state = store.state();
        state.routes.get_mut("a.test").unwrap().document = document("a.test", "u:2");
        state.routes.remove("b.test");
        state.revision.number += 1;
    }
    assert_eq!(said(&*running.next().await), ["a.test u:1", "b.test u:1"]);
    let healed = running.next().await;
    assert_eq!(
        (said(&healed), wrong(&healed)),
        (vec!["a.test u:2".to_owned()], Vec::new())
    );
    running.end().await;
}
