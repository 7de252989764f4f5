//! Which replicas are ready, what is routed during a rollout, and whose a domain is.

use shipwick_routes::{
    App, Conflict, Desired, Health, OwnRoute, Owner, Path, RenderOptions, Replica, Rollout, Upstream, render,
};

pub(crate) fn desired() -> Desired {
    Desired::new("unix//run/caddy/admin.sock".parse().unwrap())
}

pub(crate) fn replica(name: &str) -> Replica {
    Replica::running(Upstream::new(name, 8080).unwrap())
}

pub(crate) fn app(domain: &str, replicas: &[&str]) -> App {
    App {
        domain: Some(domain.parse().unwrap()),
        replicas: Some(replicas.iter().map(|name| replica(name)).collect()),
        ..App::default()
    }
}

/// The routes as lines `host[path] -> upstreams`, the last one left out.
pub(crate) fn routes(desired: &Desired) -> Vec<String> {
    let rendered = render(desired, &RenderOptions::default());
    let json: serde_json::Value = serde_json::from_slice(rendered.bytes()).unwrap();
    let routes = json["apps"]["http"]["servers"]["shipwick"]["routes"]
        .as_array()
        .unwrap();
    let lines = routes[..routes.len() - 1].iter().map(|route| {
        let hosts: Vec<_> = route["match"][0]["host"]
            .as_array()
            .unwrap()
            .iter()
            .map(text)
            .collect();
        let path = route["match"][0]["path"].get(0).map(text).unwrap_or_default();
        let handler = route["handle"].as_array().unwrap().last().unwrap();
        let dials = match handler["upstreams"].as_array() {
            Some(upstreams) => upstreams.iter().map(|upstream| text(&upstream["dial"])).collect(),
            None => vec![handler["status_code"].to_string()],
        };
        format!("{}{path} -> {}", hosts.join(","), dials.join(","))
    });
    lines.collect()
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn with(name: &str, app: App) -> Desired {
    let mut desired = desired();
    desired.apps.insert(name.to_owned(), app);
    desired
}

#[test]
fn only_ready_replicas_are_routed_to() {
    let all = [
        ("unknown", true, Health::Unknown),
        ("healthy", true, Health::Healthy),
        ("starting", true, Health::Starting),
        ("unhealthy", true, Health::Unhealthy),
        ("crashed", false, Health::Healthy),
        ("gone", false, Health::Unknown),
    ];
    let replicas = all.map(|(name, running, health)| Replica {
        running,
        health,
        ..replica(name)
    });
    let app = App {
        replicas: Some(replicas.to_vec()),
        ..app("web.example.com", &[])
    };
    assert_eq!(
        routes(&with("web", app)),
        ["web.example.com -> healthy:8080,unknown:8080"]
    );
}

#[test]
fn an_app_that_is_stopped_keeps_its_route() {
    let app = App {
        stopped: true,
        ..app("web.example.com", &["a"])
    };
    assert_eq!(routes(&with("web", app)), ["web.example.com -> 503"]);
}

#[test]
fn an_app_without_a_deployment_or_a_domain_has_no_route() {
    let new = App {
        replicas: None,
        ..app("web.example.com", &[])
    };
    assert_eq!(routes(&with("web", new)), [""; 0]);
    let worker = App {
        domain: None,
        ..app("web.example.com", &["a"])
    };
    assert_eq!(routes(&with("web", worker)), [""; 0]);
}

#[test]
fn a_rollout_alone_says_who_serves() {
    let rollout = |domain: Option<&str>, names: &[&str]| {
        Some(Rollout {
            domain: domain.map(|domain| domain.parse().unwrap()),
            replicas: names.iter().map(|name| replica(name)).collect(),
        })
    };
    let old = app("web.example.com", &["old_1", "old_2"]);
    let half = App {
        rollout: rollout(None, &["new_1", "old_2"]),
        ..old.clone()
    };
    assert_eq!(
        routes(&with("web", half)),
        ["web.example.com -> new_1:8080,old_2:8080"]
    );
    // A domain that changes moves with the first swap, and the old one is no longer served.
    let moves = App {
        rollout: rollout(Some("www.example.com"), &["new_1"]),
        ..old.clone()
    };
    assert_eq!(routes(&with("web", moves)), ["www.example.com -> new_1:8080"]);
    // The first deployment is routed at its first swap; one of a stopped application has nothing to route to before.
    let first = App {
        replicas: None,
        rollout: rollout(None, &["new_1"]),
        ..old.clone()
    };
    assert_eq!(routes(&with("web", first)), ["web.example.com -> new_1:8080"]);
    let stopped = App {
        stopped: true,
        rollout: rollout(None, &[]),
        ..old
    };
    assert_eq!(routes(&with("web", stopped)), ["web.example.com -> 503"]);
}

#[test]
fn a_replica_of_a_rollout_must_be_ready_too() {
    let starting = Replica {
        health: Health::Starting,
        ..replica("new_1")
    };
    let app = App {
        rollout: Some(Rollout {
            domain: None,
            replicas: vec![starting, replica("old_2")],
        }),
        ..app("web.example.com", &["old_1", "old_2"])
    };
    assert_eq!(routes(&with("web", app)), ["web.example.com -> old_2:8080"]);
}

#[test]
fn a_domain_belongs_to_the_first_by_name() {
    let mut desired = with("web", app("web.example.com", &["web_1"]));
    desired
        .apps
        .insert("api".to_owned(), app("web.example.com", &["api_1"]));
    assert_eq!(routes(&desired), ["web.example.com -> api_1:8080"]);
    let conflicts = desired.conflicts();
    assert_eq!(
        conflicts,
        [Conflict {
            app: "web".to_owned(),
            field: "domain".to_owned(),
            owner: Owner::App("api".to_owned()),
        }]
    );
    assert_eq!(conflicts[0].to_string(), r#"already served by application "api""#);
}

#[test]
fn the_domains_of_agent_and_dashboard_cannot_be_claimed() {
    let own = |domain: &str| {
        Some(OwnRoute {
            domain: domain.parse().unwrap(),
            upstream: "agent:9000".parse().unwrap(),
        })
    };
    let mut desired = with("web", app("agent.example.com", &["web_1"]));
    desired.agent = own("agent.example.com");
    assert_eq!(routes(&desired), ["agent.example.com -> agent:9000"]);
    let said: Vec<String> = desired.conflicts().iter().map(Conflict::to_string).collect();
    assert_eq!(
        said,
        ["already served by Shipwick itself (the agent or the dashboard)"]
    );
    desired.apps.clear();
    desired.dashboard = own("agent.example.com");
    assert_eq!(routes(&desired), ["agent.example.com -> agent:9000"]);
    assert_eq!(desired.conflicts().len(), 1);
}

#[test]
fn a_deployment_asks_first_whose_a_domain_is() {
    let mut desired = with("web", app("web.example.com", &["web_1"]));
    let domain = "web.example.com".parse().unwrap();
    let owner = |desired: &Desired, app: &str| desired.owner(&domain, None, app);
    assert_eq!(owner(&desired, "api"), Some(Owner::App("web".to_owned())));
    // Its owner may deploy again.
    assert_eq!(owner(&desired, "web"), None);
    desired.apps.get_mut("web").unwrap().stopped = true;
    assert_eq!(owner(&desired, "api"), Some(Owner::App("web".to_owned())));
    // One that moves away has both until it has moved.
    let moving = Rollout {
        domain: Some("www.example.com".parse().unwrap()),
        replicas: Vec::new(),
    };
    desired.apps.get_mut("web").unwrap().rollout = Some(moving);
    assert_eq!(owner(&desired, "api"), Some(Owner::App("web".to_owned())));
    desired
        .apps
        .insert("web".to_owned(), app("www.example.com", &["web_1"]));
    assert_eq!(owner(&desired, "api"), None);
    // One that was never deployed has none.
    let new = App {
        replicas: None,
        ..app("web.example.com", &[])
    };
    desired.apps.insert("new".to_owned(), new);
    assert_eq!(owner(&desired, "api"), None);
}

#[test]
fn a_host_is_shared_by_paths_the_longest_first() {
    let below = |prefix: &str, name: &str| App {
        path: Some(Path {
            prefix: prefix.parse().unwrap(),
            strip: true,
        }),
        ..app("a.example.com", &[name])
    };
    let mut desired = desired();
    let aliased = App {
        aliases: vec!["z.example.com".parse().unwrap(), "b.example.com".parse().unwrap()],
        ..app("y.example.com", &["whole"])
    };
    for (name, app) in [
        ("whole", aliased),
        ("root", app("a.example.com", &["root"])),
        ("api", below("/api", "api")),
        ("v2", below("/api/v2", "v2")),
    ] {
        desired.apps.insert(name.to_owned(), app);
    }
    assert_eq!(desired.conflicts(), []);
    assert_eq!(
        routes(&desired),
        [
            "a.example.com/api/v2 -> v2:8080",
            "a.example.com/api -> api:8080",
            "a.example.com -> root:8080",
            "b.example.com,y.example.com,z.example.com -> whole:8080",
        ]
    );
    // An alias that is taken falls away, the rest of the route stays.
    let other = App {
        aliases: vec!["b.example.com".parse().unwrap()],
        ..app("c.example.com", &["other"])
    };
    desired.apps.insert("zz".to_owned(), other);
    assert_eq!(routes(&desired)[4], "c.example.com -> other:8080");
    assert_eq!(desired.conflicts()[0].field, "aliases[0]");
    desired.apps.insert("zz".to_owned(), below("/api", "again"));
    assert_eq!(desired.conflicts()[0].owner, Owner::App("api".to_owned()));
}
