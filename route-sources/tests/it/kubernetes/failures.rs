//! An API that fails.

use super::*;

/// A source that has its first snapshot.
async fn running(api: &Api) -> Running {
    let mut running = run(settings(api));
    assert_eq!(running.served().await, ["a.test"]);
    // Its watches must have begun for what happens to them to matter.
    api.until("watches", |state| {
        KINDS.iter().all(|kind| state.count("watch", kind) > 0)
    })
    .await;
    running
}

#[tokio::test]
async fn an_outage_keeps_all_routes_and_says_so() {
    let api = api().await;
    let mut running = running(&api).await;
    api.change(|state| state.is_down = true);
    let stale = running
        .until("an outage", |snapshot| snapshot.stale.is_some())
        .await;
    assert_eq!(addresses(&stale, "a.test"), ["10.0.0.1:8080"]);
    assert!(stale.invalid.is_empty());
    api.change(|state| {
        state.is_down = false;
        state.lose("ingresses", "shop", "a");
        state.put("ingresses", ingress("b"));
    });
    let back = running.complete().await;
    assert_eq!(hosts(&back), ["b.test"], "what was missed is seen");
}

#[tokio::test]
async fn a_watch_that_is_gone_is_a_new_list_and_no_outage() {
    let api = api().await;
    let mut running = running(&api).await;
    api.change(|state| {
        let gone = json!({ "kind": "Status", "code": 410, "status": "Failure", "reason": "Expired", "message": "old" });
        state.say("ingresses", "", &json!({ "type": "ERROR", "object": gone }).to_string());
        state.put("ingresses", ingress("b"));
    });
    let next = bounded("a snapshot", running.snapshots.next()).await.unwrap();
    assert_eq!(hosts(&next), ["a.test", "b.test"]);
    assert_eq!(next.stale, None);
}

#[tokio::test]
async fn a_watch_from_too_long_ago_is_a_new_list_and_no_outage() {
    let api = api().await;
    let mut running = running(&api).await;
    api.change(|state| {
        state.lose("ingresses", "shop", "a");
        state.put("ingresses", ingress("b"));
        // All watches end well, and none can go on from where it was.
        state.cuts = 2;
    });
    let next = running
        .until("the new list", |snapshot| hosts(snapshot) == ["b.test"])
        .await;
    assert_eq!(next.stale, None);
}

#[tokio::test]
async fn a_watch_that_is_cut_begins_again() {
    let api = api().await;
    let mut running = running(&api).await;
    for (cut, name) in [(1, "b"), (3, "c"), (5, "d")] {
        api.change(|state| {
            state.cuts = cut;
            state.put("ingresses", ingress(name));
        });
        let host = format!("{name}.test");
        running
            .until("the change", |snapshot| document(snapshot, &host).is_some())
            .await;
    }
}

#[tokio::test]
async fn garbage_in_a_watch_is_survived() {
    let api = api().await;
    let mut running = running(&api).await;
    for (garbage, name) in [
        ("<html>", "b"),
        (r#"{"type":"ADDED","object":{"spec":7}}"#, "c"),
        ("\u{1}\u{2}", "d"),
    ] {
        api.change(|state| {
            state.say("ingresses", "", garbage);
            state.put("ingresses", ingress(name));
        });
        let host = format!("{name}.test");
        let next = running
            .until("the change", |snapshot| document(snapshot, &host).is_some())
            .await;
        assert!(document(&next, "a.test").is_some());
    }
}

#[tokio::test]
async fn garbage_instead_of_a_list_keeps_all_routes() {
    let api = api().await;
    let mut running = running(&api).await;
    api.change(|state| {
        state.garbage.insert("services".to_owned());
        state.oldest = state.version() + 1;
        state.cuts = 2;
    });
    let stale = running
        .until("an outage", |snapshot| snapshot.stale.is_some())
        .await;
    assert_eq!(addresses(&stale, "a.test"), ["10.0.0.1:8080"]);
    assert!(
        stale
            .stale
            .as_ref()
            .unwrap()
            .contains("services: its answer cannot be read"),
        "{:?}",
        stale.stale
    );
    api.change(|state| state.garbage.clear());
    running.complete().await;
}

#[tokio::test]
async fn credentials_that_are_refused_are_said_to_be() {
    let api = api().await;
    let mut settings = settings(&api);
    settings.access = Access::Url {
        url: format!("http://{}", api.address),
        token: Some("a-wrong-token".to_owned()),
        ca: None,
    };
    assert!(!format!("{settings:?}").contains("a-wrong-token"));
    let mut running = run(settings);
    let first = bounded("a first snapshot", running.snapshots.next())
        .await
        .unwrap();
    let stale = first.stale.as_ref().unwrap();
    assert!(
        stale.contains("401: it does not accept the credentials"),
        "{stale}"
    );
    assert!(
        !stale.contains("a-wrong-token") && !stale.contains("127.0.0.1"),
        "{stale}"
    );
}

#[tokio::test]
async fn an_error_of_the_server_keeps_all_routes() {
    let api = api().await;
    let mut running = running(&api).await;
    api.change(|state| {
        state.fails = KINDS.iter().map(|kind| ((*kind).to_owned(), 500)).collect();
        state.cuts = 1;
    });
    let stale = running
        .until("an outage", |snapshot| snapshot.stale.is_some())
        .await;
    assert_eq!(hosts(&stale), ["a.test"]);
    api.change(|state| state.fails.clear());
    running.complete().await;
}

#[tokio::test]
async fn without_the_right_to_secrets_all_else_is_served_and_what_needs_them_is_closed() {
    let api = api().await;
    let mut with_accounts = ingress("b");
    with_accounts["metadata"]["annotations"] = json!({ "doorway.dev/basic-auth-secret": "staff" });
    api.put("ingresses", with_accounts);
    let mut with_tls = ingress("c");
    with_tls["spec"]["tls"] = json!([{ "secretName": "cert" }]);
    api.put("ingresses", with_tls);
    api.change(|state| {
        state.fails.insert("secrets".to_owned(), 403);
        state.fails.insert("ingressclasses".to_owned(), 403);
    });
    let mut running = run(settings(&api));
    let snapshot = running.complete().await;
    assert_eq!(addresses(&snapshot, "a.test"), ["10.0.0.1:8080"]);
    for host in ["b.test", "c.test"] {
        let closed = document(&snapshot, host).unwrap();
        assert_eq!(closed.raw().target.upstreams.as_deref(), Some(&[][..]), "{host}");
    }
    let places: Vec<_> = snapshot.invalid.iter().map(|one| one.place.as_str()).collect();
    assert!(
        places.contains(&"kubernetes secrets") && places.contains(&"kubernetes ingressclasses"),
        "{places:?}"
    );
    api.change(|state| state.fails.clear());
    running
        .until("the right is there", |snapshot| snapshot.invalid.len() == 2)
        .await;
}

#[tokio::test]
async fn without_a_right_that_everything_needs_nobody_is_held_up() {
    for kind in ["ingresses", "services", "endpointslices"] {
        let api = api().await;
        api.change(|state| state.fails.insert(kind.to_owned(), 403));
        let mut running = run(settings(&api));
        let first = bounded("a first snapshot", running.snapshots.next())
            .await
            .unwrap();
        assert!(first.routes.is_empty() && first.stale.is_some());
        assert_eq!(first.invalid[0].place, format!("kubernetes {kind}"));
        api.change(|state| state.fails.clear());
        assert_eq!(running.served().await, ["a.test"]);
    }
}

#[tokio::test]
async fn a_right_that_is_taken_away_keeps_what_is_known() {
    let api = api().await;
    let mut running = running(&api).await;
    api.change(|state| {
        state.fails.insert("services".to_owned(), 403);
        state.cuts = 1;
    });
    let stale = running
        .until("the loss is seen", |snapshot| !snapshot.invalid.is_empty())
        .await;
    assert_eq!(addresses(&stale, "a.test"), ["10.0.0.1:8080"]);
    assert!(stale.invalid[0].kept && stale.stale.is_some());
}

#[tokio::test]
async fn lists_without_the_right_to_watch_are_reported() {
    let api = api().await;
    api.change(|state| state.watch_fails.insert("services".to_owned(), 403));
    let mut running = run(settings(&api));
    let snapshot = running
        .until("a report", |snapshot| !snapshot.invalid.is_empty())
        .await;
    assert_eq!(snapshot.invalid[0].place, "kubernetes services");
}
