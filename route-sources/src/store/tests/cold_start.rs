//! The file that keeps routes for a start while the store is away.

use std::path::Path;

use super::*;

fn at_path(path: &Path) -> Settings {
    Settings {
        snapshot_path: Some(path.to_owned()),
        ..settings()
    }
}

/// A file of a run that knew these hosts.
async fn file_of(path: &Path, store: &Arc<Scripted>) {
    let mut running = run(store, at_path(path));
    running.next().await;
    running.end().await;
    assert!(path.exists(), "it is written at the end");
}

#[tokio::test(start_paused = true)]
async fn the_file_is_written_some_time_after_a_change_and_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deeper/routes");
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, at_path(&path));
    running.next().await;
    running.is_quiet(Duration::from_millis(900)).await;
    assert!(!path.exists(), "other changes may follow");
    running.is_quiet(Duration::from_secs(2)).await;
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("scripted 1") && text.contains("a.test"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    store.write("b.test", &document("b.test", "u:1"));
    running.next().await;
    running.is_quiet(Duration::from_secs(2)).await;
    assert!(std::fs::read_to_string(&path).unwrap().contains("b.test"));
    let left = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "nothing else is left behind");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_start_while_the_store_is_away_serves_the_routes_of_the_last_run() {
    for (mood, wait) in [(Mood::Refuses, 0), (Mood::MakesNoSense, 0), (Mood::Hangs, 3)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("routes");
        let store = Scripted::with(&["a.test"]);
        file_of(&path, &store).await;
        store.be(mood);
        let mut running = run(&store, at_path(&path));
        let start = tokio::time::Instant::now();
        let first = running.next().await;
        assert_eq!(start.elapsed(), Duration::from_secs(wait), "{mood:?}");
        assert_eq!(
            (said(&first), first.revision),
            (vec!["a.test u:1".to_owned()], at(1))
        );
        assert!(first.stale.is_some());

        store.be(Mood::Answers);
        store.write("a.test", &document("a.test", "u:2"));
        let back = running.next().await;
        assert_eq!((said(&back), &back.stale), (vec!["a.test u:2".to_owned()], &None));
        running.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_answers_wins_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("routes");
    let store = Scripted::with(&["a.test", "b.test"]);
    file_of(&path, &store).await;
    store.write("a.test", &document("a.test", "u:2"));
    store.forget("b.test");
    let mut running = run(&store, at_path(&path));
    let first = running.next().await;
    assert_eq!(
        (said(&first), wrong(&first), &first.stale),
        (vec!["a.test u:2".to_owned()], Vec::new(), &None)
    );
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_lost_while_nobody_ran_empties_nothing_either() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("routes");
    let store = Scripted::with(&["a.test"]);
    file_of(&path, &store).await;
    store.lose(2);
    for _ in 0..2 {
        // The second run has the new epoch from the file, and that the route is lost.
        let mut running = run(&store, at_path(&path));
        let first = running.next().await;
        assert_eq!(
            (said(&first), wrong(&first)),
            (vec!["a.test u:1".to_owned()], vec!["a.test kept".to_owned()])
        );
        running.end().await;
    }
    let accept = Settings {
        data_loss: DataLoss::Accept,
        ..at_path(&path)
    };
    let mut running = run(&store, accept);
    assert!(running.next().await.routes.is_empty());
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_last_good_document_of_a_host_is_in_the_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("routes");
    let store = Scripted::with(&["a.test", "b.test"]);
    let mut running = run(&store, at_path(&path));
    running.next().await;
    store.write("a.test", "no JSON");
    store.write("b.test", r#"{"schema_version":99,"host":"b.test"}"#);
    running.next().await;
    running.end().await;
    for mood in [Mood::Refuses, Mood::Answers] {
        store.be(mood);
        let mut running = run(&store, at_path(&path));
        let first = running.next().await;
        assert_eq!(said(&first), ["a.test u:1", "b.test u:1"]);
        assert_eq!(wrong(&first), ["a.test kept", "b.test kept"]);
        running.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_of_no_use_is_told_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("routes");
    let store = Scripted::with(&["a.test"]);
    file_of(&path, &store).await;
    let good = std::fs::read_to_string(&path).unwrap();
    for (text, reason) in [
        (String::new(), "no file of routes"),
        ("something\nelse\n".to_owned(), "no file of routes"),
        (good.replace("scripted 1", "scripted 2"), "another store"),
        (good.replacen("\"version\":1", "\"version\":2", 1), "version 2"),
        (good.replace("u:1", "u:2"), "damaged"),
        (good.strip_suffix("\n").unwrap().to_owned() + "x", "damaged"),
    ] {
        std::fs::write(&path, &text).unwrap();
        store.be(Mood::Refuses);
        let mut running = run(&store, at_path(&path));
        let first = running.next().await;
        assert_eq!(
            (first.routes.len(), first.stale.is_some(), first.invalid.len()),
            (0, true, 1)
        );
        assert!(first.invalid[0].reason.contains(reason), "{:?}", first.invalid);
        assert_eq!(first.invalid[0].place, path.display().to_string());
        running.is_quiet(Duration::from_secs(30)).await;
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            text,
            "nothing is written before something is known"
        );
        store.be(Mood::Answers);
        assert_eq!(said(&*running.next().await), ["a.test u:1"]);
        assert_eq!(
            running.next().await.invalid,
            [],
            "it is of no interest once there is another"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), good);
        running.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_cannot_be_written_harms_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("routes");
    std::fs::create_dir(&path).unwrap();
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, at_path(&path));
    let first = running.next().await;
    assert_eq!(
        (said(&first), first.invalid.len()),
        (vec!["a.test u:1".to_owned()], 1)
    );
    store.write("a.test", &document("a.test", "u:2"));
    assert_eq!(said(&*running.next().await), ["a.test u:2"]);
    running.end().await;
}
