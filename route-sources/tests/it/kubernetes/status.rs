//! The status of Ingresses.

use route_store::{Epoch, MemoryStore, Store};

use super::*;

fn published(ips: &[&str]) -> Value {
    let mut service = service();
    service["metadata"]["name"] = json!("doorway");
    let ingress: Vec<_> = ips.iter().map(|ip| json!({ "ip": ip })).collect();
    service["status"] = json!({ "loadBalancer": { "ingress": ingress } });
    service
}

fn settings_as(api: &Api, identity: &str) -> Settings {
    Settings {
        publish_service: Some("shop/doorway".to_owned()),
        lease: Duration::from_secs(3),
        identity: identity.to_owned(),
        ..settings(api)
    }
}

async fn until_status(api: &Api, ip: &str) {
    api.until("the status", |state| {
        let ingress = state.get("ingresses", "shop", "a").unwrap();
        ingress["status"]["loadBalancer"]["ingress"][0]["ip"] == ip
    })
    .await;
}

#[tokio::test]
async fn the_addresses_of_a_service_are_written_and_followed() {
    let api = api().await;
    api.put("services", published(&["192.0.2.1"]));
    let mut running = run(settings_as(&api, "one"));
    running.complete().await;
    until_status(&api, "192.0.2.1").await;
    api.put("services", published(&["192.0.2.2"]));
    until_status(&api, "192.0.2.2").await;
    let lease = api.object("leases", "shop", "doorway-status").unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], "one");
    running.stop().await;
    let lease = api.object("leases", "shop", "doorway-status").unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], Value::Null, "it is given back");
}

#[tokio::test]
async fn a_write_that_meets_another_is_tried_from_a_fresh_read() {
    let api = api().await;
    api.put("services", published(&["192.0.2.1"]));
    api.change(|state| state.conflicts = 3);
    let _running = run(settings_as(&api, "one"));
    until_status(&api, "192.0.2.1").await;
    api.until("tries", |state| state.count("PATCH", "/status") == 4)
        .await;
}

#[tokio::test]
async fn only_who_has_the_lease_writes() {
    let api = api().await;
    api.put("services", published(&["192.0.2.1"]));
    let spec = json!({ "holderIdentity": "another", "leaseDurationSeconds": 600 });
    let lease = json!({ "metadata": { "namespace": "shop", "name": "doorway-status" }, "spec": spec });
    api.put("leases", lease);
    let mut running = run(settings_as(&api, "one"));
    running.complete().await;
    api.until("two looks at the lease", |state| {
        state.count("list", "leases/doorway-status") > 1
    })
    .await;
    api.until("no write", |state| state.count("PATCH", "/status") == 0)
        .await;
    let spec = json!({ "holderIdentity": null, "leaseDurationSeconds": 600 });
    let lease = json!({ "metadata": { "namespace": "shop", "name": "doorway-status" }, "spec": spec });
    api.put("leases", lease);
    until_status(&api, "192.0.2.1").await;
}

#[tokio::test]
async fn a_lease_whose_holder_is_gone_is_taken_over() {
    let api = api().await;
    api.put("services", published(&["192.0.2.1"]));
    let spec = json!({ "holderIdentity": "gone", "leaseDurationSeconds": 1 });
    api.put(
        "leases",
        json!({ "metadata": { "namespace": "shop", "name": "doorway-status" }, "spec": spec }),
    );
    let _running = run(settings_as(&api, "one"));
    until_status(&api, "192.0.2.1").await;
}

#[tokio::test]
async fn a_status_that_may_not_be_written_costs_no_route() {
    let api = api().await;
    api.put("services", published(&["192.0.2.1"]));
    api.change(|state| state.no_status = true);
    let mut running = run(settings_as(&api, "one"));
    assert_eq!(running.served().await, ["a.test"]);
    api.until("a try", |state| state.count("PATCH", "/status") == 1)
        .await;
    api.put("ingresses", ingress("b"));
    running
        .until("routes go on", |snapshot| snapshot.routes.len() == 2)
        .await;
    api.change(|state| state.no_status = false);
    until_status(&api, "192.0.2.1").await;
}

#[tokio::test]
async fn a_lease_of_the_store_decides_where_there_is_a_store() {
    let api = api().await;
    api.put("services", published(&["192.0.2.1"]));
    let store = Arc::new(MemoryStore::new(Epoch::random().unwrap(), now()));
    let hour = Duration::from_secs(3600);
    assert!(store.acquire("kubernetes-status", "another", hour).await.unwrap());
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings {
        tls_directory: directory.path().to_owned(),
        ..settings_as(&api, "one")
    };
    let (publisher, snapshots) = channel();
    let source =
        KubernetesSource::new(settings, publisher, now).with_store(Arc::<MemoryStore>::clone(&store));
    let mut running = run_source(source, snapshots, Some(directory));
    running.complete().await;
    api.until("no write", |state| state.count("PATCH", "/status") == 0)
        .await;
    store.release("kubernetes-status", "another").await.unwrap();
    until_status(&api, "192.0.2.1").await;
    assert!(!store.acquire("kubernetes-status", "another", hour).await.unwrap());
    running.stop().await;
    assert!(
        store.acquire("kubernetes-status", "another", hour).await.unwrap(),
        "it is given back"
    );
    assert!(api.object("leases", "shop", "doorway-status").is_none());
}

#[tokio::test]
async fn a_service_that_is_not_there_is_reported() {
    let api = api().await;
    let snapshot = run(settings_as(&api, "one")).complete().await;
    assert_eq!(snapshot.invalid[0].place, "service shop/doorway");
    api.until("no lease", |state| state.count("POST", "leases") == 0)
        .await;
}

#[tokio::test]
async fn the_owner_of_an_ingress_that_lost_a_path_is_told_once() {
    let api = api().await;
    api.put("services", published(&["192.0.2.1"]));
    let mut younger = ingress("b");
    younger["metadata"]["uid"] = json!("the-uid");
    younger["metadata"]["creationTimestamp"] = json!("2026-02-01T00:00:00Z");
    younger["spec"]["rules"][0]["host"] = json!("a.test");
    api.put("ingresses", younger);
    let mut running = run(settings_as(&api, "one"));
    let snapshot = running.complete().await;
    assert!(
        snapshot.invalid[0]
            .reason
            .contains("already served by the older Ingress shop/a")
    );
    api.until("an Event", |state| state.count("POST", "/events") == 1)
        .await;
    let event = api.change(|state| state.list("events", Some("shop"))[0].clone());
    assert_eq!(event["type"], "Warning");
    assert_eq!(event["regarding"]["uid"], "the-uid");
    assert!(
        event["note"]
            .as_str()
            .unwrap()
            .starts_with("a.test: path `/` is already served")
    );
    api.put("ingresses", ingress("c"));
    running
        .until("another change", |snapshot| snapshot.routes.len() == 2)
        .await;
    until_status(&api, "192.0.2.1").await;
    running.stop().await;
    api.until("no second Event", |state| state.count("POST", "/events") == 1)
        .await;
}

#[tokio::test]
async fn two_replicas_write_once() {
    let api = api().await;
    api.put("services", published(&["192.0.2.1"]));
    let mut one = run(settings_as(&api, "one"));
    let mut other = run(settings_as(&api, "other"));
    one.complete().await;
    other.complete().await;
    until_status(&api, "192.0.2.1").await;
    api.put("services", published(&["192.0.2.2"]));
    until_status(&api, "192.0.2.2").await;
    one.stop().await;
    other.stop().await;
    api.until("one write for each", |state| state.count("PATCH", "/status") == 2)
        .await;
}
