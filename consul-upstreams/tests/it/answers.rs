//! What becomes of Consul's answers.

use std::time::Duration;

use consul_upstreams::{Locality, LookupError, Secret, Settings, Tier};

use crate::fake::{Consul, Instance, Mode};
use crate::support::{Source, settings, texts};

fn zones(zones: &str) -> Vec<Instance> {
    let instance = |(at, zone): (usize, char)| {
        let port = i64::try_from(at).unwrap() + 80;
        Instance::at("192.0.2.1", port).on(&format!("n{at}"), &zone.to_string())
    };
    zones.chars().enumerate().map(instance).collect()
}

fn local(consul: &Consul) -> Settings {
    Settings {
        locality: Some(Locality {
            node_meta: "zone".to_owned(),
            local_value: "a".to_owned(),
            minimum: 2,
        }),
        ..settings(&consul.address)
    }
}

#[tokio::test]
async fn only_passing_instances_are_used_in_a_stable_order() {
    let consul = Consul::start().await;
    let all = [
        Instance::at("192.0.2.3", 80).check("serfHealth", "passing"),
        Instance::at("192.0.2.1", 80)
            .check("serfHealth", "passing")
            .check("http", "warning"),
        Instance::at("192.0.2.10", 80),
        Instance::at("192.0.2.2", 80).check("http", "critical"),
    ];
    consul.set("api", all.clone());
    let source = Source::new(&settings(&consul.address));
    assert_eq!(
        source.addresses("api").await.unwrap(),
        ["192.0.2.3:80", "192.0.2.10:80"]
    );
    let mut turned = all.to_vec();
    turned.reverse();
    consul.set("other", turned);
    assert_eq!(
        source.addresses("other").await.unwrap(),
        ["192.0.2.3:80", "192.0.2.10:80"]
    );
}

#[tokio::test]
async fn the_tier_follows_the_answers() {
    let consul = Consul::start().await;
    let source = Source::new(&local(&consul));
    for (now, tier, used) in [
        ("aabc", Tier::Local, 2),
        ("abc", Tier::All, 3),
        ("aaa", Tier::Local, 3),
        ("", Tier::All, 0),
    ] {
        consul.set("api", zones(now));
        // However long Consul takes, the answer before is not used.
        source.consul.reset_all();
        let answer = source.consul.instances("api").await.unwrap();
        assert_eq!((answer.tier(), answer.instances().len()), (tier, used), "{now}");
    }
}

#[tokio::test]
async fn a_long_answer_is_read_whole() {
    let consul = Consul::start().await;
    let all: Vec<_> = (1..=2000).map(|port| Instance::at("192.0.2.1", port)).collect();
    consul.set("api", all);
    let source = Source::new(&settings(&consul.address));
    let found = source.addresses("api").await.unwrap();
    assert_eq!((found.len(), found[1999].as_str()), (2000, "192.0.2.1:2000"));
    assert_eq!(source.consul.explain("api").await.unwrap().registered, 2000);
}

#[tokio::test]
async fn a_tag_narrows_the_answer() {
    let consul = Consul::start().await;
    consul.set(
        "api",
        [
            Instance::at("192.0.2.1", 80).tagged("v1"),
            Instance::at("192.0.2.2", 80).tagged("v2"),
        ],
    );
    let source = Source::new(&Settings {
        tag: Some("v2".to_owned()),
        ..settings(&consul.address)
    });
    assert_eq!(source.addresses("api").await.unwrap(), ["192.0.2.2:80"]);
}

#[tokio::test]
async fn tokens_that_may_not_look_are_told_from_services_without_instances() {
    let consul = Consul::start().await;
    consul.set("api", [Instance::at("192.0.2.1", 80)]);
    consul.only("good");
    let with = |token: Option<&str>| {
        Source::new(&Settings {
            token: token.map(Secret::from),
            ..settings(&consul.address)
        })
    };
    assert_eq!(
        with(Some("good")).addresses("api").await.unwrap(),
        ["192.0.2.1:80"]
    );
    assert_eq!(
        with(None).addresses("api").await.unwrap(),
        [""; 0],
        "as Consul answers"
    );
    let refused = with(Some("bad-token")).addresses("api").await.unwrap_err();
    assert_eq!(refused, LookupError::Acl("ACL not found".into()));

    consul.mode(Mode::Filtered);
    let filtered = with(Some("good")).addresses("api").await;
    assert_eq!(filtered, Err(LookupError::Filtered), "it is no empty service");
}

#[tokio::test]
async fn a_filtered_answer_with_instances_is_one() {
    let consul = Consul::start().await;
    consul.mode(Mode::Body(
        r#"[{"Node": {"Address": "192.0.2.1"}, "Service": {"Port": 80}}]"#,
    ));
    let source = Source::new(&settings(&consul.address));
    assert_eq!(source.addresses("api").await.unwrap(), ["192.0.2.1:80"]);
}

#[tokio::test]
async fn an_explanation_names_what_is_used_and_what_is_not() {
    let consul = Consul::start().await;
    let mut all = zones("aab");
    all.push(
        Instance::at("192.0.2.2", 80)
            .on("n7", "a")
            .check("http", "critical"),
    );
    all.push(Instance::at("192.0.2.2", 70_000).on("n8", "a"));
    consul.set("api", all);
    let source = Source::new(&local(&consul));
    let explanation = source.consul.explain("api").await.unwrap();
    assert_eq!(texts(&explanation.answer), ["192.0.2.1:80", "192.0.2.1:81"]);
    assert_eq!(explanation.answer.tier(), Tier::Local);
    let passed: Vec<_> = explanation
        .answer
        .passed_over()
        .iter()
        .map(|one| one.zone().unwrap())
        .collect();
    assert_eq!(passed, ["b"]);
    let skipped: Vec<_> = explanation
        .skipped
        .iter()
        .map(|one| format!("{}: {}", one.id, one.reason))
        .collect();
    assert_eq!(
        skipped,
        [
            "n8/api-70000: port 70000 is not one from 1 to 65535",
            r#"n7/api-80: check "http" is "critical""#
        ]
    );
    assert_eq!(explanation.registered, 5);
    assert_eq!(source.consul.explain("unknown").await.unwrap().registered, 0);
    assert!(source.consul.explain("../x").await.unwrap_err().is_name());
}

/// Which of the names a watch has to tell of a change within a second.
#[tokio::test]
async fn with_watch_a_change_arrives_without_a_request() {
    let consul = Consul::start().await;
    consul.set("api", zones("a"));
    let source = Source::new(&Settings {
        watch: true,
        refresh: Duration::from_secs(3600),
        ..settings(&consul.address)
    });
    assert_eq!(source.addresses("api").await.unwrap().len(), 1);
    for count in [2, 3, 0, 1] {
        consul.set("api", zones(&"a".repeat(count)));
        let arrives = async {
            while source.addresses("api").await.unwrap().len() != count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let limit = Duration::from_secs(10);
        tokio::time::timeout(limit, arrives).await.unwrap();
    }
    let targets = consul.targets();
    assert_eq!(targets[0], "/v1/health/service/api?passing=1");
    assert!(
        targets[1].starts_with("/v1/health/service/api?passing=1&index=11&wait="),
        "{targets:?}"
    );
}
