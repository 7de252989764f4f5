//! Services of a swarm.

use route_sources::docker::{DockerMode, Reach};
use serde_json::{Value, json};

use super::fake::Fake;
use super::{Running, settings, shown};

fn service(name: &str, labels: &Value) -> Value {
    json!({
        "ID": format!("id-{name}"),
        "Spec": {
            "Name": name,
            "Labels": labels,
            "TaskTemplate": {"Networks": [{"Target": "net-web"}]},
            "EndpointSpec": {"Mode": "vip", "Ports": [{"Protocol": "tcp", "TargetPort": 8080, "PublishedPort": 80}]},
        },
        "Endpoint": {"VirtualIPs": [
            {"NetworkID": "net-ingress", "Addr": "10.255.0.5/16"},
            {"NetworkID": "net-web", "Addr": "10.1.0.2/24"},
        ]},
    })
}

fn task(id: &str, service: &str, state: &str) -> Value {
    let desired = if state == "running" { "running" } else { "shutdown" };
    json!({"ID": id, "ServiceID": format!("id-{service}"), "Status": {"State": state}, "DesiredState": desired})
}

fn networks(tasks: &[(&str, &str)]) -> Vec<Value> {
    let entry = |(name, address): &(&str, &str)| json!({"Name": name, "EndpointIP": address, "Info": null});
    let tasks: Vec<_> = tasks.iter().map(entry).collect();
    vec![
        json!({"Id": "net-web", "Name": "web", "Ingress": false, "Services": {"app": {"VIP": "10.1.0.2", "Tasks": tasks}}}),
        json!({"Id": "net-ingress", "Name": "ingress", "Ingress": true}),
    ]
}

fn start(fake: &Fake, reach: Reach) -> Running {
    let mut settings = settings(fake);
    (settings.mode, settings.reach) = (DockerMode::Swarm, reach);
    Running::with(settings)
}

fn app() -> Vec<Value> {
    vec![service("app", &json!({"doorway.host": "app.test"}))]
}

#[tokio::test]
async fn running_tasks_are_the_upstreams_of_a_service() {
    let fake = Fake::started();
    let tasks = vec![
        task("t2", "app", "running"),
        task("t1", "app", "running"),
        task("t0", "app", "failed"),
    ];
    fake.deploy(
        app(),
        tasks,
        networks(&[
            ("app.2.t2", "10.1.0.8"),
            ("app.1.t1", "10.1.0.9"),
            ("app.1.t0", "10.1.0.7"),
        ]),
    );
    let mut source = start(&fake, Reach::Tasks);
    assert_eq!(
        shown(&*source.next().await),
        ["app.test 10.1.0.8:8080 10.1.0.9:8080"]
    );
    source.end().await;
}

#[tokio::test]
async fn a_service_is_reached_by_its_virtual_address_or_by_name() {
    for (reach, address) in [(Reach::Vip, "10.1.0.2:8080"), (Reach::Dns, "tasks.app:8080")] {
        let fake = Fake::started();
        fake.deploy(app(), vec![task("t1", "app", "running")], networks(&[]));
        let mut source = start(&fake, reach);
        assert_eq!(shown(&*source.next().await), [format!("app.test {address}")]);
        source.end().await;
    }
}

#[tokio::test]
async fn hazard_5_a_service_without_tasks_is_kept_without_upstreams_and_never_by_a_name_that_is_not_there() {
    let fake = Fake::started();
    fake.deploy(
        app(),
        vec![task("t1", "app", "running")],
        networks(&[("app.1.t1", "10.1.0.9")]),
    );
    let mut source = start(&fake, Reach::Dns);
    assert_eq!(shown(&*source.next().await), ["app.test tasks.app:8080"]);
    fake.deploy(app(), vec![task("t1", "app", "shutdown")], networks(&[]));
    assert_eq!(shown(&*source.next().await), ["app.test"]);
    fake.deploy(app(), vec![task("t2", "app", "running")], networks(&[]));
    assert_eq!(shown(&*source.next().await), ["app.test tasks.app:8080"]);
    fake.deploy(Vec::new(), Vec::new(), Vec::new());
    assert_eq!(shown(&*source.next().await), ["app.test"]);
    source.end().await;
}

#[tokio::test]
async fn tasks_whose_addresses_are_not_known_yet_do_not_take_the_route_away() {
    let fake = Fake::started();
    let (one, two) = (task("t1", "app", "running"), task("t2", "app", "running"));
    fake.deploy(app(), vec![one.clone()], networks(&[("app.1.t1", "10.1.0.9")]));
    let mut source = start(&fake, Reach::Tasks);
    let before = source.next().await;
    fake.deploy(app(), vec![two.clone()], networks(&[]));
    let during = source.next().await;
    assert!(during.routes[0].is_same(&before.routes[0]) && during.invalid[0].kept);
    fake.deploy(app(), vec![two, one], networks(&[("app.2.t2", "10.1.0.8")]));
    let after = source.next().await;
    assert_eq!(
        (shown(&after), after.invalid.len()),
        (vec!["app.test 10.1.0.8:8080".to_owned()], 0)
    );
    source.end().await;
}

#[tokio::test]
async fn a_daemon_that_is_no_manager_is_reported() {
    let fake = Fake::started();
    fake.feel(super::fake::Mood::Failing);
    let mut source = start(&fake, Reach::Tasks);
    assert!(
        source
            .next()
            .await
            .stale
            .as_ref()
            .unwrap()
            .contains("a plugin failed")
    );
    source.end().await;
}
