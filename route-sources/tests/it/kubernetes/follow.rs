//! Changes, as they come.

use super::*;

#[tokio::test]
async fn what_changes_is_followed_and_what_does_not_stays_the_same_value() {
    let api = api().await;
    api.put("ingresses", ingress("b"));
    let mut running = run(settings(&api));
    let first = running.complete().await;
    let mut other = ingress("b");
    other["metadata"]["annotations"] = json!({ "doorway.dev/load-balancing": "first" });
    api.put("ingresses", other);
    let second = running.until("a change", |_| true).await;
    let same = |host| {
        Arc::ptr_eq(
            &document(&first, host).unwrap(),
            &document(&second, host).unwrap(),
        )
    };
    assert!(same("a.test"));
    assert!(!same("b.test"));
}

#[tokio::test]
async fn endpoints_that_come_and_go_are_followed() {
    let api = api().await;
    let mut running = run(settings(&api));
    running.complete().await;
    api.put("endpointslices", slice(&["10.0.0.2", "10.0.0.3"]));
    running
        .until("new pods", |snapshot| {
            addresses(snapshot, "a.test") == ["10.0.0.2:8080", "10.0.0.3:8080"]
        })
        .await;
    api.delete("endpointslices", "shop", "web-1");
    let empty = running
        .until("no pods", |snapshot| addresses(snapshot, "a.test").is_empty())
        .await;
    assert_eq!(hosts(&empty), ["a.test"], "the definition is still there");
    assert!(empty.invalid.is_empty());
}

#[tokio::test]
async fn the_last_route_goes_with_its_ingress() {
    let api = api().await;
    let mut running = run(settings(&api));
    running.complete().await;
    api.delete("ingresses", "shop", "a");
    let empty = running
        .until("no routes", |snapshot| snapshot.routes.is_empty())
        .await;
    assert_eq!(empty.stale, None);
}

#[tokio::test]
async fn a_change_that_changes_no_route_is_no_snapshot() {
    let api = api().await;
    let mut running = run(settings(&api));
    running.complete().await;
    let mut unrelated = service();
    unrelated["metadata"]["name"] = json!("unrelated");
    api.put("services", unrelated);
    api.put("endpointslices", slice(&["10.0.0.1"]));
    api.put("ingresses", ingress("b"));
    let next = bounded("a snapshot", running.snapshots.next()).await.unwrap();
    assert_eq!(hosts(&next), ["a.test", "b.test"]);
}

#[tokio::test]
async fn changes_that_come_together_are_one_snapshot() {
    let api = api().await;
    let mut settings = settings(&api);
    settings.settle = Duration::from_millis(200);
    let mut running = run(settings);
    running.complete().await;
    api.change(|state| {
        for number in 0..50 {
            state.put("ingresses", ingress(&format!("many-{number}")));
        }
    });
    let next = bounded("a snapshot", running.snapshots.next()).await.unwrap();
    assert_eq!(next.routes.len(), 51);
}

#[tokio::test]
async fn a_bookmark_is_where_the_next_watch_goes_on() {
    let api = api().await;
    let mut running = run(settings(&api));
    running.complete().await;
    let version = api.change(|state| state.bookmark("ingresses"));
    api.put("ingresses", ingress("b"));
    running
        .until("a change", |snapshot| snapshot.routes.len() == 2)
        .await;
    let later = api.change(|state| state.bookmark("ingresses"));
    assert_ne!(version, later);
    // What is put now proves that the bookmark before it was read.
    api.put("ingresses", ingress("c"));
    running
        .until("a change", |snapshot| snapshot.routes.len() == 3)
        .await;
    api.change(|state| state.cuts = 2);
    api.until("a watch from there on", |state| {
        let mut asked = state
            .asked
            .iter()
            .filter(|asked| asked.path.ends_with("ingresses"));
        asked.any(|asked| {
            let from = asked
                .query
                .get("resourceVersion")
                .and_then(|text| text.parse::<u64>().ok());
            asked.query.contains_key("watch") && from > later.parse().ok()
        })
    })
    .await;
    api.until("no new list", |state| state.count("list", "ingresses") == 1)
        .await;
}

#[tokio::test]
async fn everything_is_listed_anew_from_time_to_time() {
    let api = api().await;
    let mut settings = settings(&api);
    settings.resync = Duration::from_millis(100);
    let mut running = run(settings);
    running.complete().await;
    // No watch tells of it, so only a list can.
    api.change(|state| state.lose("ingresses", "shop", "a"));
    running
        .until("the loss is seen", |snapshot| snapshot.routes.is_empty())
        .await;
}

#[tokio::test]
async fn a_class_that_becomes_the_default_brings_ingresses_without_one() {
    let api = api().await;
    let mut unnamed = ingress("b");
    unnamed["spec"]["ingressClassName"] = Value::Null;
    api.put("ingresses", unnamed);
    let mut running = run(settings(&api));
    assert_eq!(running.served().await, ["a.test"]);
    let annotations = json!({ "ingressclass.kubernetes.io/is-default-class": "true" });
    api.put(
        "ingressclasses",
        json!({ "metadata": { "name": "doorway", "annotations": annotations }, "spec": { "controller": "doorway/ingress" } }),
    );
    running
        .until("the other Ingress", |snapshot| snapshot.routes.len() == 2)
        .await;
}
