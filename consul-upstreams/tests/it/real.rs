//! The same against a real agent: the one that `DOORWAY_TEST_CONSUL` names, else `consul` on the path. `cargo xtask
//! consul` unpacks one.

mod agent;

use std::collections::BTreeMap;
use std::time::Duration;

use consul_upstreams::{Locality, LookupError, Secret, Settings};
use serde_json::{Value, json};

use self::agent::Agent;
use crate::fake::{Consul, Instance};
use crate::support::{Source, settings};

/// An agent, or the end of the test with a line that says so.
macro_rules! agent {
    ($($start:tt)*) => {
        match Agent::$($start)*.await {
            Some(agent) => agent,
            None => return println!("skipped: there is no `consul`; `cargo xtask consul` unpacks one"),
        }
    };
}

/// What both know.
fn fleet() -> Vec<Instance> {
    vec![
        Instance::at("192.0.2.4", 80)
            .on("n1", "a")
            .check("c1", "passing")
            .tagged("v1"),
        Instance::at("", 81).on("n2", "a").tagged("v2"),
        Instance::at("2001:db8::1", 82).on("n3", "b"),
        Instance::at("[2001:db8::2]", 83).on("n4", "b"),
        Instance::at("192.0.2.4", 70_000).on("n5", "b"),
        Instance::at("192.0.2.5", 84).on("n6", "a").check("c6", "warning"),
        Instance::at("192.0.2.6", 85)
            .on("n7", "a")
            .check("c7", "critical"),
        Instance::at("app.test", 86).on("n8", "c"),
        Instance {
            weight: 7,
            ..Instance::at("192.0.2.4", 87).on("n9", "a")
        },
    ]
}

#[tokio::test]
async fn the_fake_answers_as_the_real_agent_does() {
    let agent = agent!(dev());
    let fake = Consul::start().await;
    agent.register("api", &fleet()).await;
    fake.set("api", fleet());
    let targets = [
        "/v1/health/service/api?passing=1",
        "/v1/health/service/API?passing=1",
        "/v1/health/service/api",
        "/v1/health/service/api?passing=1&tag=v1",
        "/v1/health/service/api?passing=1&stale=",
        "/v1/health/service/unknown?passing=1",
        "/v1/health/service/api?passing=1&dc=nowhere",
        "/v1/health/service/api?passing=1&ns=x",
    ];
    for target in targets {
        let (real, made_up) = (agent.get(target).await, get(&fake.address, target).await);
        assert_eq!(real.0, made_up.0, "{target}: {} {}", real.1, made_up.1);
        if real.0 == 200 {
            let (real, made_up) = (entries(&real.1), entries(&made_up.1));
            assert_eq!(
                real.keys().collect::<Vec<_>>(),
                made_up.keys().collect::<Vec<_>>(),
                "{target}"
            );
            for (id, entry) in &made_up {
                is_within(entry, &real[id], id);
            }
        }
    }
}

#[tokio::test]
async fn a_source_reads_the_real_agent_as_the_fake() {
    let agent = agent!(dev());
    let fake = Consul::start().await;
    agent.register("api", &fleet()).await;
    fake.set("api", fleet());
    let with = |address: &str| {
        Source::new(&Settings {
            locality: Some(Locality {
                node_meta: "zone".to_owned(),
                local_value: "a".to_owned(),
                minimum: 3,
            }),
            ..settings(address)
        })
    };
    let (real, made_up) = (with(&agent.address), with(&fake.address));
    let explained = [&real, &made_up].map(|source| source.consul.explain("api"));
    let [real_one, made_up_one] = futures_util::future::join_all(explained)
        .await
        .try_into()
        .unwrap();
    let (real_one, made_up_one) = (real_one.unwrap(), made_up_one.unwrap());
    assert_eq!(real_one.answer, made_up_one.answer);
    assert_eq!(real_one.registered, made_up_one.registered);
    let reasons = |skipped: &[consul_upstreams::Skipped]| {
        let mut all: Vec<_> = skipped
            .iter()
            .map(|one| format!("{} {}", one.id, one.reason))
            .collect();
        all.sort();
        all
    };
    assert_eq!(reasons(&real_one.skipped), reasons(&made_up_one.skipped));
    assert_eq!(
        real.addresses("api").await.unwrap(),
        ["192.0.2.4:80", "192.0.2.4:87", "192.0.2.9:81"]
    );
    assert_eq!(real_one.answer.instances()[1].weight(), 7);
    assert_eq!(real.consul.explain("unknown").await.unwrap().registered, 0);
}

#[tokio::test]
async fn order_stays_when_the_agent_s_changes() {
    let agent = agent!(dev());
    let mut all: Vec<_> = (1..=4)
        .map(|n| {
            Instance::at(&format!("192.0.2.{n}"), 80)
                .on(&format!("n{n}"), "a")
                .check(&format!("c{n}"), "passing")
        })
        .collect();
    agent.register("api", &all).await;
    let source = Source::new(&settings(&agent.address));
    assert_eq!(source.addresses("api").await.unwrap().len(), 4);
    all[0].checks[0].1 = "critical".to_owned();
    agent.register("api", &all).await;
    let expected = ["192.0.2.2:80", "192.0.2.3:80", "192.0.2.4:80"];
    source.consul.reset_all();
    assert_eq!(source.addresses("api").await.unwrap(), expected);
}

#[tokio::test]
async fn maintenance_takes_an_instance_out() {
    let agent = agent!(dev());
    let service = json!({"ID": "api-1", "Name": "api", "Port": 80});
    agent.put("/v1/agent/service/register", &service).await;
    let source = Source::new(&settings(&agent.address));
    assert_eq!(
        source.addresses("api").await.unwrap(),
        ["127.0.0.1:80"],
        "the node's own address"
    );
    agent
        .put("/v1/agent/service/maintenance/api-1?enable=true", &Value::Null)
        .await;
    source.consul.reset_all();
    assert!(source.addresses("api").await.unwrap().is_empty());
    let explanation = source.consul.explain("api").await.unwrap();
    let reason = explanation.skipped[0].reason.to_string();
    assert_eq!(reason, r#"check "_service_maintenance:api-1" is "critical""#);
}

#[tokio::test]
async fn names_that_lead_elsewhere_are_redirected_by_the_agent_and_refused_by_us() {
    let agent = agent!(dev());
    let source = Source::new(&settings(&agent.address));
    for escape in ["..%2f..%2fagent%2fself", "%2e%2e%2f%2e%2e%2fagent%2fself"] {
        let (status, _) = agent.get(&format!("/v1/health/service/{escape}?passing=1")).await;
        assert_eq!(status, 301, "the trap is there");
    }
    assert!(source.addresses("../../agent/self").await.unwrap_err().is_name());
    // What looks as if it were escaped is a name.
    assert!(
        source
            .addresses("..%2f..%2fagent%2fself")
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn datacenters_and_namespaces_that_are_not_there_are_told() {
    let agent = agent!(dev());
    let elsewhere = Settings {
        datacenter: Some("nowhere".to_owned()),
        ..settings(&agent.address)
    };
    assert_eq!(
        Source::new(&elsewhere).addresses("api").await,
        Err(LookupError::NoDatacenter)
    );
    let enterprise = Settings {
        namespace: Some("x".to_owned()),
        ..settings(&agent.address)
    };
    let found = Source::new(&enterprise).addresses("api").await;
    assert!(matches!(found, Err(LookupError::Status(400, _))), "{found:?}");
}

#[tokio::test]
async fn tokens_are_asked_for() {
    let agent = agent!(with_acl("the-master-token"));
    let with = |token: Option<&str>| {
        Source::new(&Settings {
            token: token.map(Secret::from),
            ..settings(&agent.address)
        })
    };
    agent.register("api", &[Instance::at("192.0.2.1", 80)]).await;
    assert_eq!(
        with(Some("the-master-token")).addresses("api").await.unwrap(),
        ["192.0.2.1:80"]
    );
    assert!(with(None).addresses("api").await.unwrap().is_empty());
    let unknown = with(Some("8e32cd6f-0000-0000-0000-000000000000"))
        .addresses("api")
        .await;
    assert_eq!(unknown, Err(LookupError::Acl("ACL not found".into())));
}

#[tokio::test]
async fn without_a_leader_that_is_what_is_told_to_who_waits_long_enough() {
    let agent = agent!(without_leader());
    let with = |timeout: u64, stale: bool| Settings {
        timeout: Duration::from_secs(timeout),
        stale,
        ..settings(&agent.address)
    };
    let (patient, usual) = (Source::new(&with(60, false)), Source::new(&with(1, false)));
    assert_eq!(usual.addresses("api").await, Err(LookupError::TimedOut));
    assert_eq!(patient.addresses("api").await, Err(LookupError::NoLeader));
}

#[tokio::test]
async fn an_agent_without_servers_says_so() {
    let agent = agent!(client());
    let found = Source::new(&settings(&agent.address)).addresses("api").await;
    assert_eq!(found, Err(LookupError::NoServers));
}

#[tokio::test]
async fn a_unix_socket_works() {
    let agent = agent!(dev());
    agent.register("api", &[Instance::at("192.0.2.1", 80)]).await;
    let source = Source::new(&settings(agent.socket()));
    assert_eq!(source.addresses("api").await.unwrap(), ["192.0.2.1:80"]);
}

#[tokio::test]
async fn a_watch_tells_changes_and_outlives_the_agent() {
    let mut agent = agent!(dev());
    agent
        .register("api", &[Instance::at("192.0.2.1", 80).on("n1", "a")])
        .await;
    let source = Source::new(&Settings {
        watch: true,
        refresh: Duration::from_secs(3600),
        grace_period: Duration::from_secs(1),
        ..settings(&agent.address)
    });
    assert_eq!(source.addresses("api").await.unwrap().len(), 1);
    agent
        .register("api", &[Instance::at("192.0.2.2", 80).on("n2", "a")])
        .await;
    source.until(2).await;
    // Another service does not matter.
    agent
        .register("other", &[Instance::at("192.0.2.2", 81).on("n2", "a")])
        .await;
    let gone = json!({"Node": "n1"});
    agent.put("/v1/catalog/deregister", &gone).await;
    source.until(1).await;

    agent.kill();
    // An agent that came back at once would be asked for an index of its future, and let the question wait.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(source.addresses("api").await.unwrap(), ["192.0.2.2:80"]);
    agent.restart().await;
    agent
        .register(
            "api",
            &[
                Instance::at("192.0.2.3", 80),
                Instance::at("192.0.2.4", 80).on("n4", "a"),
            ],
        )
        .await;
    source.until(2).await;
    assert_eq!(
        source.addresses("api").await.unwrap(),
        ["192.0.2.3:80", "192.0.2.4:80"]
    );
}

// === helpers ===

async fn get(address: &str, target: &str) -> (u16, String) {
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .tls_backend_preconfigured(agent::no_tls())
        .build()
        .unwrap();
    let response = client.get(format!("{address}{target}")).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Entries by the ids of their services.
fn entries(body: &str) -> BTreeMap<String, Value> {
    let all: Vec<Value> = serde_json::from_str(body).unwrap();
    let id = |entry: &Value| entry["Service"]["ID"].as_str().unwrap().to_owned();
    all.into_iter().map(|entry| (id(&entry), entry)).collect()
}

/// Whether what the fake says is of the same kind as what the agent says, and the same where it matters.
fn is_within(made_up: &Value, real: &Value, place: &str) {
    const SAME: [&str; 8] = [
        "Node", "Address", "Port", "Service", "Tags", "Weights", "Meta", "Status",
    ];
    match (made_up, real) {
        (Value::Object(made_up), Value::Object(real)) => {
            for (name, value) in made_up {
                let place = format!("{place}.{name}");
                let other = real.get(name).unwrap_or_else(|| panic!("{place} is not there"));
                if SAME.contains(&name.as_str()) && !value.is_object() && !is_nothing(value) {
                    assert_eq!(value, other, "{place}");
                }
                is_within(value, other, &place);
            }
        }
        (Value::Array(made_up), Value::Array(real)) => {
            assert_eq!(made_up.len(), real.len(), "{place}");
            for (made_up, real) in made_up.iter().zip(real) {
                is_within(made_up, real, place);
            }
        }
        (made_up, real) if is_nothing(made_up) || is_nothing(real) => {}
        (made_up, real) => {
            let kind = |value: &Value| std::mem::discriminant(value);
            assert_eq!(kind(made_up), kind(real), "{place}: {made_up} {real}");
        }
    }
}

/// Agents write null or an empty value, some of them one and some the other.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

impl Source {
    /// Waits until so many addresses are known.
    async fn until(&self, count: usize) {
        let arrives = async {
            while self.addresses("api").await.unwrap().len() != count {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), arrives)
            .await
            .unwrap();
    }
}
