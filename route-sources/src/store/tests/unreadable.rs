//! Documents that cannot be served.

use super::*;

fn newer(host: &str) -> String {
    format!(r#"{{"schema_version":99,"host":"{host}","shape":"unknown"}}"#)
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_document_is_skipped_and_told_and_others_are_served() {
    let store = Scripted::with(&["a.test", "z.test"]);
    for (host, text) in [
        ("b.test", "no JSON"),
        ("c.test", "{}"),
        (
            "d.test",
            r#"{"schema_version":2,"host":"other.test","upstreams":[]}"#,
        ),
        (
            "not a host",
            r#"{"schema_version":2,"host":"not a host","upstreams":[]}"#,
        ),
        ("e.test", ""),
    ] {
        store.write(host, text);
    }
    let mut running = run(&store, settings());
    let snapshot = running.next().await;
    assert_eq!(said(&snapshot), ["a.test u:1", "z.test u:1"]);
    assert_eq!(
        wrong(&snapshot),
        ["b.test", "c.test", "d.test", "e.test", "not a host"]
    );
    assert_eq!(snapshot.invalid[2].place, "version 5 in the scripted store");
    assert!(snapshot.invalid[2].reason.contains("other.test"));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_last_good_document_serves_on_until_there_is_another_or_the_host_goes() {
    let store = Scripted::with(&["a.test", "b.test"]);
    let mut running = run(&store, settings());
    let before = running.next().await;
    store.write("a.test", "no JSON");
    store.write("b.test", "no JSON");
    let broken = running.next().await;
    assert_eq!(wrong(&broken), ["a.test kept", "b.test kept"]);
    assert!(broken.routes[0].is_same(&before.routes[0]));
    store.write("a.test", &document("a.test", "u:2"));
    store.forget("b.test");
    let after = running.next().await;
    assert_eq!(
        (said(&after), wrong(&after)),
        (vec!["a.test u:2".to_owned()], Vec::new())
    );
    // What was there before it went is not remembered.
    store.write("b.test", "no JSON");
    let again = running.next().await;
    assert_eq!(
        (said(&again).len(), wrong(&again)),
        (1, vec!["b.test".to_owned()])
    );
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_newer_document_of_a_host_that_was_never_known_is_503() {
    let store = Scripted::new();
    store.write("a.test", &newer("a.test"));
    // The store says so, whatever the text is.
    store.write_as("b.test", "<host>b.test</host>", 3);
    let mut running = run(&store, settings());
    let snapshot = running.next().await;
    assert_eq!(said(&snapshot), ["a.test 503", "b.test 503"]);
    assert_eq!(wrong(&snapshot), ["a.test", "b.test"]);
    let Route::Held(held) = &snapshot.routes[1] else {
        panic!()
    };
    let Held { reason, .. } = &**held;
    assert!(reason.contains("schema version 3"), "{reason}");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_newer_document_leaves_the_last_known_one_where_it_is() {
    let store = Scripted::with(&["a.test"]);
    let mut running = run(&store, settings());
    let before = running.next().await;
    store.write("a.test", &newer("a.test"));
    let after = running.next().await;
    assert!(after.routes[0].is_same(&before.routes[0]));
    assert_eq!(wrong(&after), ["a.test kept"]);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_newer_document_is_503_if_a_setting_says_so() {
    let store = Scripted::with(&["a.test"]);
    let unavailable = Settings {
        newer: Newer::Unavailable,
        ..settings()
    };
    let mut running = run(&store, unavailable);
    running.next().await;
    store.write("a.test", &newer("a.test"));
    let after = running.next().await;
    assert_eq!(
        (said(&after), wrong(&after)),
        (vec!["a.test 503".to_owned()], vec!["a.test".to_owned()])
    );
    store.write("b.test", &document("b.test", "u:1"));
    assert!(
        running.next().await.routes[0].is_same(&after.routes[0]),
        "it is the same value"
    );
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_older_document_is_upgraded() {
    let store = Scripted::new();
    let first =
        r#"{"schema_version":1,"route":{"host":"a.test","upstreams":[{"ip":"127.0.0.1","port":8080}]}}"#;
    store.write_as("a.test", first, 1);
    let mut running = run(&store, settings());
    assert_eq!(said(&*running.next().await), ["a.test 127.0.0.1:8080"]);
    running.end().await;
}
