//! From nothing to the first snapshot.

use futures_util::FutureExt;

use super::*;

#[tokio::test]
async fn resources_become_routes() {
    let api = api().await;
    let snapshot = run(settings(&api)).complete().await;
    assert_eq!(hosts(&snapshot), ["a.test"]);
    assert_eq!(addresses(&snapshot, "a.test"), ["10.0.0.1:8080"]);
    assert!(snapshot.invalid.is_empty());
}

#[tokio::test]
async fn an_empty_cluster_is_a_complete_snapshot() {
    let api = Api::start().await;
    let snapshot = run(settings(&api)).complete().await;
    assert!(snapshot.routes.is_empty() && snapshot.invalid.is_empty());
}

#[tokio::test]
async fn the_first_snapshot_waits_for_every_list() {
    for held in KINDS {
        let api = api().await;
        api.change(|state| state.held.insert(held.to_owned()));
        let mut running = run(settings(&api));
        api.until("all other lists are in", |state| {
            KINDS
                .iter()
                .all(|kind| *kind == held || state.count("watch", kind) > 0)
        })
        .await;
        assert!(running.snapshots.next().now_or_never().is_none(), "{held}");
        api.change(|state| state.held.clear());
        assert_eq!(running.served().await, ["a.test"]);
    }
}

#[tokio::test]
async fn long_lists_come_in_pages() {
    let api = api().await;
    for number in 0..20 {
        api.put("ingresses", ingress(&format!("page-{number}")));
    }
    api.change(|state| state.page = 3);
    let snapshot = run(settings(&api)).complete().await;
    assert_eq!(snapshot.routes.len(), 21);
    api.until("pages", |state| state.count("list", "ingresses") == 7)
        .await;
}

#[tokio::test]
async fn slow_answers_are_waited_for() {
    let api = api().await;
    api.change(|state| state.is_slow = true);
    assert_eq!(run(settings(&api)).served().await, ["a.test"]);
}

#[tokio::test]
async fn only_the_namespaces_that_are_named_are_read() {
    let api = api().await;
    let mut elsewhere = ingress("b");
    elsewhere["metadata"]["namespace"] = json!("other");
    api.put("ingresses", elsewhere);
    let mut settings = settings(&api);
    settings.namespaces = vec!["shop".to_owned(), "empty".to_owned()];
    let mut running = run(settings);
    assert_eq!(running.served().await, ["a.test"]);
    api.until("requests", |state| {
        let mut asked = state
            .asked
            .iter()
            .filter(|asked| !asked.path.ends_with("ingressclasses"));
        asked.all(|asked| {
            asked.path.contains("/namespaces/shop/") || asked.path.contains("/namespaces/empty/")
        })
    })
    .await;
    api.put("ingresses", ingress("c"));
    running
        .until("a change in a namespace", |snapshot| snapshot.routes.len() == 2)
        .await;
}

#[tokio::test]
async fn an_api_that_is_away_at_the_start_holds_nobody_up() {
    let api = api().await;
    api.change(|state| state.is_down = true);
    let mut running = run(settings(&api));
    let first = bounded("a first snapshot", running.snapshots.next())
        .await
        .unwrap();
    assert!(first.routes.is_empty());
    assert!(
        first.stale.as_ref().unwrap().contains("cannot be reached"),
        "{:?}",
        first.stale
    );
    api.change(|state| state.is_down = false);
    assert_eq!(running.served().await, ["a.test"]);
}

#[tokio::test]
async fn an_api_that_never_answers_holds_nobody_up_for_longer_than_patience() {
    let api = api().await;
    api.change(|state| state.held.insert("services".to_owned()));
    let mut settings = settings(&api);
    settings.patience = Duration::from_millis(50);
    let mut running = run(settings);
    let first = bounded("a first snapshot", running.snapshots.next())
        .await
        .unwrap();
    assert!(first.routes.is_empty());
    assert!(first.stale.as_ref().unwrap().contains("not listed everything"));
    api.change(|state| state.held.clear());
    assert_eq!(running.served().await, ["a.test"]);
}

#[tokio::test]
async fn a_kubeconfig_that_comes_later_is_read_then() {
    let api = api().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    let mut settings = settings(&api);
    settings.access = Access::Kubeconfig {
        path: path.clone(),
        context: None,
    };
    let mut running = run(settings);
    let first = bounded("a first snapshot", running.snapshots.next())
        .await
        .unwrap();
    assert!(first.stale.is_some() && first.routes.is_empty());
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [{ "name": "c", "cluster": { "server": format!("http://{}", api.address) } }],
        "users": [{ "name": "u", "user": { "token": TOKEN } }],
        "contexts": [{ "name": "here", "context": { "cluster": "c", "user": "u" } }],
    });
    std::fs::write(path, config.to_string()).unwrap();
    assert_eq!(running.served().await, ["a.test"]);
}

#[tokio::test]
async fn a_source_ends_when_it_is_told_to() {
    let api = api().await;
    let mut running = run(settings(&api));
    running.complete().await;
    running.stop().await;
    let api = Api::start().await;
    api.change(|state| state.is_down = true);
    run(settings(&api)).stop().await;
}
