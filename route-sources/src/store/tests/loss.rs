//! A store that has lost what it held.

use super::*;
use crate::store::table::has_lost;

fn with(data_loss: DataLoss) -> Settings {
    Settings {
        data_loss,
        ..settings()
    }
}

#[test]
fn another_epoch_or_a_number_that_went_back_is_a_loss() {
    let revision = |life, number| Revision {
        epoch: epoch(life),
        number,
    };
    for (known, now, is_loss) in [
        (None, revision(1, 0), false),
        (Some(revision(1, 5)), revision(1, 5), false),
        (Some(revision(1, 5)), revision(1, 6), false),
        (Some(revision(1, 5)), revision(1, 4), true),
        (Some(revision(1, 5)), revision(2, 5), true),
        (Some(revision(1, 5)), revision(2, 900), true),
    ] {
        assert_eq!(has_lost(known, now), is_loss, "{known:?} {now:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_store_with_another_epoch_empties_nothing() {
    let store = Scripted::with(&["a.test", "b.test"]);
    let mut running = run(&store, settings());
    let before = running.next().await;
    store.lose(2);
    let after = running.next().await;
    assert!(
        after
            .routes
            .iter()
            .zip(&before.routes)
            .all(|(after, before)| after.is_same(before))
    );
    assert_eq!(
        (said(&after).len(), wrong(&after)),
        (2, vec!["a.test kept".to_owned(), "b.test kept".to_owned()])
    );
    assert!(after.invalid[0].reason.contains("lost"));
    assert_eq!(
        after.revision,
        Some(Revision {
            epoch: epoch(2),
            number: 0
        })
    );
    // Nor later, when everything is read again.
    running.is_quiet(Duration::from_secs(1500)).await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_store_says_in_its_new_life_counts() {
    let store = Scripted::with(&["a.test", "b.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    store.lose(2);
    // As many writes as before: the number is the same, and what it counts is not.
    store.write("a.test", &document("a.test", "u:2"));
    store.write("c.test", &document("c.test", "u:2"));
    let after = running.next().await;
    assert_eq!(said(&after), ["a.test u:2", "b.test u:1", "c.test u:2"]);
    assert_eq!(wrong(&after), ["b.test kept"]);
    // Somebody writes what was lost: then it is the store's again, and may be removed.
    store.write("b.test", &document("b.test", "u:1"));
    let after = running.next().await;
    assert_eq!((said(&after).len(), wrong(&after)), (3, Vec::new()));
    store.forget("b.test");
    assert_eq!(said(&*running.next().await), ["a.test u:2", "c.test u:2"]);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_loss_that_is_accepted_is_followed_and_the_next_one_is_not() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    running.handle.accept_loss();
    running.is_quiet(Duration::from_secs(15)).await;
    store.lose(2);
    assert_eq!(
        said(&*running.next().await),
        ["a.test u:1"],
        "it was accepted too early"
    );
    running.handle.accept_loss();
    let accepted = running.next().await;
    assert_eq!((accepted.routes.len(), wrong(&accepted)), (0, Vec::new()));
    store.write("a.test", &document("a.test", "u:2"));
    running.next().await;
    store.lose(3);
    assert_eq!(said(&*running.next().await), ["a.test u:2"]);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_is_followed_whatever_it_lost_if_a_setting_says_so() {
    let store = Scripted::with(&["a.test", "b.test"]);
    let mut running = run(&store, with(DataLoss::Accept));
    running.next().await;
    store.lose(2);
    assert!(running.next().await.routes.is_empty());
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_went_back_within_its_epoch_keeps_what_it_does_not_know_any_more() {
    let store = Scripted::with(&["a.test", "b.test"]);
    store.write("a.test", &document("a.test", "u:2"));
    let mut running = run(&store, settings());
    running.next().await;
    store.go_back(1, &[("a.test", "u:1", 1)]);
    let after = running.next().await;
    assert_eq!(said(&after), ["a.test u:1", "b.test u:1"], "what it has counts");
    assert_eq!(wrong(&after), ["b.test kept"]);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_lost_is_written_again_if_a_setting_says_so() {
    let store = Scripted::with(&["a.test", "b.test"]);
    let mut running = run(&store, with(DataLoss::Restore));
    let before = running.next().await;
    store.lose(2);
    store.write("b.test", &document("b.test", "u:2"));
    let after = running.next().await;
    assert_eq!(
        (said(&after), wrong(&after)),
        (vec!["a.test u:1".to_owned(), "b.test u:2".to_owned()], Vec::new())
    );
    assert!(after.routes[0].is_same(&before.routes[0]));
    {
        let state = store.state();
        assert_eq!(state.routes["a.test"].document, document("a.test", "u:1"));
        assert_eq!(state.routes["b.test"].document, document("b.test", "u:2"));
        assert_eq!(state.authors["a.test"], "restore by here-00000001");
        assert_eq!((state.authors.len(), &state.lease), (1, &None));
    }
    running.is_quiet(Duration::from_secs(60)).await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn of_a_store_that_went_back_newer_versions_are_written_again_unless_somebody_else_writes() {
    let store = Scripted::with(&["a.test", "b.test", "c.test"]);
    for host in ["a.test", "b.test"] {
        store.write(host, &document(host, "u:2"));
    }
    let mut running = run(&store, with(DataLoss::Restore));
    running.next().await;
    // Another replica is at it.
    store.state().lease = Some("there".to_owned());
    let old = [("a.test", "u:1", 1), ("b.test", "u:1", 2), ("c.test", "u:1", 3)];
    store.go_back(3, &old);
    assert_eq!(
        said(&*running.next().await),
        ["a.test u:1", "b.test u:1", "c.test u:1"]
    );
    store.write("b.test", &document("b.test", "u:9"));
    assert_eq!(
        said(&*running.next().await),
        ["a.test u:1", "b.test u:9", "c.test u:1"]
    );
    store.state().lease = None;
    assert_eq!(
        said(&*running.next().await),
        ["a.test u:2", "b.test u:9", "c.test u:1"]
    );
    assert_eq!(store.state().authors.keys().collect::<Vec<_>>(), ["a.test"]);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_restore_that_fails_takes_nothing_away_and_is_tried_again() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, with(DataLoss::Restore));
    running.next().await;
    store.lose(2);
    store.be(Mood::OnlyReads);
    let failed = running.next().await;
    assert_eq!(
        (said(&failed), wrong(&failed)),
        (vec!["a.test u:1".to_owned()], vec!["a.test kept".to_owned()])
    );
    assert!(failed.stale.is_some());
    // What the store says meanwhile is served.
    store.state().write_silently("b.test", "u:2");
    assert_eq!(said(&*running.next().await), ["a.test u:1", "b.test u:2"]);
    store.be(Mood::Answers);
    let restored = running.next().await;
    assert_eq!((wrong(&restored), &restored.stale), (Vec::new(), &None));
    assert!(store.state().routes.contains_key("a.test"));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_deleted_after_the_loss_is_not_written_again() {
    let store = Scripted::with(&["a.test", "b.test"]);
    let mut running = run(&store, with(DataLoss::Restore));
    running.next().await;
    store.lose(2);
    // Another replica has written it again, and somebody deletes it, before this one looks.
    store.write("a.test", &document("a.test", "u:1"));
    store.forget("a.test");
    let after = running.next().await;
    assert_eq!(
        (said(&after), wrong(&after)),
        (vec!["b.test u:1".to_owned()], Vec::new())
    );
    assert_eq!(store.state().routes.keys().collect::<Vec<_>>(), ["b.test"]);
    running.is_quiet(Duration::from_secs(60)).await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_somebody_writes_while_it_is_restored_stays() {
    for (host, went_back) in [("a.test", false), ("b.test", true)] {
        let store = Scripted::with(&["a.test", "b.test"]);
        store.write("b.test", &document("b.test", "u:2"));
        let mut running = run(&store, with(DataLoss::Restore));
        running.next().await;
        if went_back {
            store.go_back(2, &[("a.test", "u:1", 1), ("b.test", "u:1", 2)]);
        } else {
            store.lose(2);
        }
        store.state().meanwhile = Some((host, "u:9"));
        assert!(said(&*running.next().await).contains(&format!("{host} u:9")));
        assert_eq!(store.state().routes[host].document, document(host, "u:9"));
        running.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_its_old_self_again_has_lost_nothing() {
    let store = Scripted::with(&["a.test", "b.test"]);
    let mut running = run(&store, settings());
    let before = running.next().await;
    let whole = store.state().routes.clone();
    store.lose(2);
    assert_eq!(wrong(&*running.next().await).len(), 2);
    {
        let mut state = store.state();
        state.routes = whole;
        state.revision = at(2).unwrap();
    }
    let back = running.next().await;
    assert_eq!((wrong(&back), back.revision), (Vec::new(), at(2)));
    assert!(
        back.routes
            .iter()
            .zip(&before.routes)
            .all(|(back, before)| back.is_same(before))
    );
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_know_what_has_changed_is_not_believed() {
    let store = Scripted::with(&["a.test", "b.test"]);
    let mut running = run(&store, settings());
    running.next().await;
    store.be(Mood::Lies);
    store.lose(2);
    store.write("a.test", &document("a.test", "u:2"));
    let after = running.next().await;
    assert_eq!(said(&after), ["a.test u:2", "b.test u:1"]);
    assert_eq!(wrong(&after), ["b.test kept"]);
    running.end().await;
}
