//! Containers that come, go and change.

use std::time::Duration;

use route_sources::Route;
use serde_json::json;

use super::fake::{Fake, container, stopped};
use super::{Running, settings, shown};

fn shop(name: &str, address: &str) -> serde_json::Value {
    container(name, address, &json!({"doorway.host": "shop.test"}))
}

#[tokio::test]
async fn labels_of_both_forms_become_routes_and_others_do_not() {
    let fake = Fake::started();
    let proksi = json!({"proksi.enabled": "true", "proksi.host": "old.test", "proksi.port": "81"});
    fake.run(vec![
        container("db", "10.0.0.9", &json!({"com.docker.compose.service": "db"})),
        shop("shop-2", "10.0.0.2"),
        shop("shop-1", "10.0.0.1"),
        container("old", "10.0.0.3", &proksi),
    ]);
    let mut source = Running::start(&fake);
    let snapshot = source.next().await;
    assert_eq!(
        shown(&snapshot),
        ["old.test 10.0.0.3:81", "shop.test 10.0.0.1:80 10.0.0.2:80"]
    );
    assert_eq!((snapshot.invalid.len(), &snapshot.stale), (0, &None));
    source.end().await;
}

#[tokio::test]
async fn an_event_leads_to_a_new_list() {
    let fake = Fake::started();
    let mut source = Running::start(&fake);
    assert!(source.next().await.routes.is_empty());
    fake.run(vec![shop("a", "10.0.0.1")]);
    assert_eq!(shown(&*source.next().await), ["shop.test 10.0.0.1:80"]);
    source.end().await;
}

#[tokio::test]
async fn what_no_event_told_of_is_seen_at_the_interval() {
    let fake = Fake::started();
    let mut settings = settings(&fake);
    settings.interval = Duration::from_millis(20);
    let mut source = Running::with(settings);
    source.next().await;
    // The event of another kind is dropped by whoever reads it, so it is polling that sees this.
    fake.run(vec![shop("a", "10.0.0.1")]);
    assert_eq!(shown(&*source.next().await), ["shop.test 10.0.0.1:80"]);
    source.end().await;
}

#[tokio::test]
async fn a_stopped_and_then_removed_container_keeps_its_route_without_upstreams_until_it_is_forgotten() {
    let fake = Fake::started();
    fake.run(vec![
        shop("a", "10.0.0.1"),
        container("b", "10.0.0.2", &json!({"doorway.host": "b.test"})),
    ]);
    let mut source = Running::start(&fake);
    source.next().await;

    let b = container("b", "10.0.0.2", &json!({"doorway.host": "b.test"}));
    fake.run(vec![stopped(shop("a", "10.0.0.1")), b.clone()]);
    let when_stopped = source.next().await;
    assert_eq!(shown(&when_stopped), ["b.test 10.0.0.2:80", "shop.test"]);
    assert!(source.remembered.hosts().is_empty());

    // Removal changes nothing that is published, so the next snapshot is of what comes after it.
    let lists = fake.lists();
    fake.run(vec![b]);
    fake.listed(lists + 1).await;
    let host = "shop.test".parse().unwrap();
    let mut bound = 1_000_000;
    while source.remembered.hosts().is_empty() && bound > 0 {
        bound -= 1;
        tokio::task::yield_now().await;
    }
    assert_eq!(source.remembered.hosts(), [host]);
    assert!(!source.remembered.forget(&"b.test".parse().unwrap()));
    assert!(source.remembered.forget(&"shop.test".parse().unwrap()));
    assert_eq!(shown(&*source.next().await), ["b.test 10.0.0.2:80"]);
    source.end().await;
}

#[tokio::test]
async fn a_container_made_anew_replaces_the_address_and_its_labels() {
    let fake = Fake::started();
    fake.run(vec![shop("a", "10.0.0.1")]);
    let mut source = Running::start(&fake);
    source.next().await;
    fake.run(vec![]);
    assert_eq!(shown(&*source.next().await), ["shop.test"]);
    fake.run(vec![shop("a", "10.0.0.7")]);
    assert_eq!(shown(&*source.next().await), ["shop.test 10.0.0.7:80"]);
    let labels = json!({"doorway.host": "shop.test", "doorway.headers.response.set.X-A": "1"});
    fake.run(vec![container("a", "10.0.0.7", &labels)]);
    let snapshot = source.next().await;
    let Route::Document(document) = &snapshot.routes[0] else {
        panic!()
    };
    assert!(document.raw().headers.is_some());
    source.end().await;
}

#[tokio::test]
async fn unchanged_routes_are_the_same_values_and_no_snapshot_repeats_another() {
    let fake = Fake::started();
    fake.run(vec![shop("a", "10.0.0.1"), shop("b", "10.0.0.2")]);
    let mut source = Running::start(&fake);
    let before = source.next().await;
    let lists = fake.lists();
    fake.run(vec![shop("b", "10.0.0.2"), shop("a", "10.0.0.1")]);
    fake.listed(lists + 1).await;
    let c = container("c", "10.0.0.3", &json!({"doorway.host": "c.test"}));
    fake.run(vec![c, shop("b", "10.0.0.2"), shop("a", "10.0.0.1")]);
    let after = source.next().await;
    assert_eq!(after.routes.len(), 2);
    assert!(after.routes[1].is_same(&before.routes[0]));
    source.end().await;
}

#[tokio::test]
async fn a_malformed_container_is_reported_by_name_and_changes_no_other() {
    let fake = Fake::started();
    fake.run(vec![
        shop("a", "10.0.0.1"),
        container("b", "10.0.0.2", &json!({"doorway.host": "b.test"})),
    ]);
    let mut source = Running::start(&fake);
    let before = source.next().await;
    let wrong = json!({"doorway.host": "shop.test", "doorway.wieght": "1"});
    fake.run(vec![
        container("a", "10.0.0.1", &wrong),
        container("b", "10.0.0.2", &json!({"doorway.host": "b.test"})),
    ]);
    let after = source.next().await;
    assert_eq!(shown(&after), ["b.test 10.0.0.2:80", "shop.test"]);
    assert!(after.routes[0].is_same(&before.routes[0]));
    assert_eq!(
        (after.invalid[0].place.as_str(), after.invalid[0].kept),
        ("container a", true)
    );
    source.end().await;
}

#[tokio::test]
async fn hazard_13_a_host_whose_login_is_refused_is_held_and_comes_back_when_it_is_right() {
    let fake = Fake::started();
    fake.run(vec![shop("a", "10.0.0.1")]);
    let mut source = Running::start(&fake);
    let before = source.next().await;
    let wrong = json!({"doorway.host": "shop.test", "doorway.basic_auth": "bob:secret"});
    fake.run(vec![shop("a", "10.0.0.1"), container("b", "10.0.0.2", &wrong)]);
    let held = source.next().await;
    assert_eq!(shown(&held), ["shop.test held"]);
    assert!(!format!("{held:?}").contains("secret") && !held.invalid[0].kept);
    fake.run(vec![shop("a", "10.0.0.1")]);
    let after = source.next().await;
    assert!(after.routes[0].is_same(&before.routes[0]));
    source.end().await;
}

#[tokio::test]
async fn an_alias_of_a_container_that_is_gone_is_anothers_once_that_defines_it() {
    let fake = Fake::started();
    fake.run(vec![container(
        "a",
        "10.0.0.1",
        &json!({"doorway.host": "a.test,b.test"}),
    )]);
    let mut source = Running::start(&fake);
    source.next().await;
    fake.run(vec![container(
        "b",
        "10.0.0.2",
        &json!({"doorway.host": "b.test"}),
    )]);
    let snapshot = source.next().await;
    assert_eq!(shown(&snapshot), ["a.test", "b.test 10.0.0.2:80"]);
    let Route::Document(document) = &snapshot.routes[0] else {
        panic!()
    };
    assert!(document.aliases().is_empty());
    source.end().await;
}

#[tokio::test]
async fn networks_of_the_host_of_another_container_and_of_ipv6_are_read() {
    let fake = Fake::started();
    let mut host = container(
        "host",
        "",
        &json!({"doorway.host": "host.test", "doorway.port": "8080"}),
    );
    host["HostConfig"]["NetworkMode"] = json!("host");
    host["NetworkSettings"]["Networks"] = json!({"host": {"IPAddress": ""}});
    let mut side = container(
        "side",
        "",
        &json!({"doorway.host": "side.test", "doorway.port": "9"}),
    );
    side["HostConfig"]["NetworkMode"] = json!("container:id-six");
    side["NetworkSettings"]["Networks"] = json!({});
    let mut six = container("six", "", &json!({"doorway.host": "six.test"}));
    six["NetworkSettings"]["Networks"]["web"]["GlobalIPv6Address"] = json!("fd00::6");
    fake.run(vec![host, side, six]);
    let mut source = Running::start(&fake);
    let snapshot = source.next().await;
    assert_eq!(
        shown(&snapshot),
        [
            "host.test 127.0.0.1:8080",
            "side.test [fd00::6]:9",
            "six.test [fd00::6]:80"
        ]
    );
    source.end().await;
}

#[tokio::test]
async fn a_list_with_everything_that_a_daemon_says_is_read() {
    let fake = Fake::started();
    fake.run(vec![json!({
        "Id": "4f66ad9a0b2e1c7d", "Names": ["/link/alias", "/shop-1"], "Image": "shop", "ImageID": "sha256:00",
        "Command": "/shop", "Created": 1_764_570_000, "State": "running", "Status": "Up 2 hours (healthy)",
        "Ports": [
            {"IP": "0.0.0.0", "PrivatePort": 80, "PublicPort": 8080, "Type": "tcp"},
            {"IP": "::", "PrivatePort": 80, "PublicPort": 8080, "Type": "tcp"},
            {"PrivatePort": 53, "Type": "udp"},
        ],
        "Labels": {"doorway.host": "shop.test", "com.docker.compose.project": "shop"},
        "HostConfig": {"NetworkMode": "shop_default", "Annotations": null},
        "NetworkSettings": {"Networks": {"shop_default": {
            "IPAMConfig": null, "Links": null, "Aliases": null, "MacAddress": "02:42:ac:12:00:02", "DriverOpts": null,
            "GwPriority": 0, "NetworkID": "n", "EndpointID": "e", "Gateway": "172.18.0.1", "IPAddress": "172.18.0.2",
            "IPPrefixLen": 16, "IPv6Gateway": "", "GlobalIPv6Address": "", "GlobalIPv6PrefixLen": 0, "DNSNames": null,
        }}},
        "Mounts": [{"Type": "bind", "Source": "/a", "Destination": "/b", "Mode": "ro", "RW": false, "Propagation": "rprivate"}],
    })]);
    let mut settings = settings(&fake);
    let mut source = Running::with(settings.clone());
    assert_eq!(shown(&*source.next().await), ["shop.test 172.18.0.2:80"]);
    source.end().await;

    settings.published_ports = true;
    let mut source = Running::with(settings);
    assert_eq!(shown(&*source.next().await), ["shop.test 127.0.0.1:8080"]);
    source.end().await;
}
