//! Swaps return only when the proxy has the new routes; an error leaves the predecessor.

use shipwick_routes::sync::Synced;
use shipwick_routes::{App, Health, Replica, Rollout};

use super::admin::{Admin, Answer};
use super::{Syncer, settings, syncer};
use crate::desired::{app, replica};

fn serving(names: &[&str]) -> Rollout {
    Rollout {
        domain: None,
        replicas: names.iter().map(|name| replica(name)).collect(),
    }
}

#[tokio::test]
async fn a_rolling_redeploy_never_has_less_than_it_had() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["old_1", "old_2"]);
    syncer.sync().await.unwrap();
    let rollout = syncer
        .begin_rollout("web", Some(serving(&["old_1", "old_2"])))
        .unwrap();
    // To begin is to go on with the predecessors.
    assert_eq!(syncer.sync().await.unwrap(), Synced::Unchanged);
    for (swap, upstreams) in [
        (["new_1", "old_2"], ["new_1:8080", "old_2:8080"]),
        (["new_1", "new_2"], ["new_1:8080", "new_2:8080"]),
    ] {
        rollout.serve(serving(&swap)).await.unwrap();
        assert_eq!(admin.upstreams(), upstreams);
        // The database still names the old deployment, and a look in between must not route to it.
        assert_eq!(syncer.sync().await.unwrap(), Synced::Unchanged);
    }
    database.route("web", &["new_1", "new_2"]);
    rollout.finish();
    assert_eq!(syncer.sync().await.unwrap(), Synced::Unchanged);
    assert_eq!(admin.requests().len(), 3);
}

#[tokio::test]
async fn a_swap_that_fails_leaves_the_predecessor_and_goes_back() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["old_1"]);
    syncer.sync().await.unwrap();
    let rollout = syncer.begin_rollout("web", Some(serving(&["old_1"]))).unwrap();
    admin.answer(Answer::Status(400, "no"));
    let new = Rollout {
        domain: Some("web.example.com".parse().unwrap()),
        ..serving(&["new_1"])
    };
    let error = rollout.serve(new).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "could not route web.example.com to the new version: the proxy rejected the configuration (HTTP 400): no"
    );
    admin.answer(Answer::Healthy);
    // The proxy has them still, and so it stays.
    assert_eq!(syncer.sync().await.unwrap(), Synced::Unchanged);
    assert_eq!(rollout.abandon().await.unwrap(), Synced::Unchanged);
    assert_eq!(admin.upstreams(), ["old_1:8080"]);
}

#[tokio::test]
async fn half_way_through_it_is_rolled_back_to_the_old_deployment() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["old_1", "old_2"]);
    syncer.sync().await.unwrap();
    let rollout = syncer
        .begin_rollout("web", Some(serving(&["old_1", "old_2"])))
        .unwrap();
    rollout.serve(serving(&["new_1", "old_2"])).await.unwrap();
    assert_eq!(rollout.abandon().await.unwrap(), Synced::Loaded);
    assert_eq!(admin.upstreams(), ["old_1:8080", "old_2:8080"]);
}

#[tokio::test]
async fn a_first_deployment_is_routed_at_its_first_swap() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    let rollout = syncer.begin_rollout("web", None).unwrap();
    syncer.sync().await.unwrap();
    assert_eq!(syncer.status().routes, 0);
    admin.answer(Answer::Status(500, ""));
    let error = rollout.serve(serving(&["web_1"])).await;
    // Without a domain there is no route, so that nothing had to be loaded.
    error.unwrap();
    let new = Rollout {
        domain: Some("web.example.com".parse().unwrap()),
        ..serving(&["web_1"])
    };
    rollout.serve(new.clone()).await.unwrap_err();
    admin.answer(Answer::Healthy);
    rollout.serve(new).await.unwrap();
    assert_eq!(admin.upstreams(), ["web_1:8080"]);
    database.route("web", &["web_1"]);
    rollout.finish();
    assert_eq!(syncer.sync().await.unwrap(), Synced::Unchanged);
}

#[tokio::test]
async fn members_that_are_not_ready_wait() {
    let admin = Admin::start().await;
    let (_database, syncer) = syncer(&admin, settings());
    let mut new = Rollout {
        domain: Some("web.example.com".parse().unwrap()),
        ..serving(&["old_1"])
    };
    new.replicas.push(Replica {
        health: Health::Starting,
        ..replica("new_1")
    });
    let rollout = syncer.begin_rollout("web", None).unwrap();
    rollout.serve(new).await.unwrap();
    assert_eq!(admin.upstreams(), ["old_1:8080"]);
}

#[tokio::test]
async fn an_app_has_one_rollout_at_a_time() {
    let admin = Admin::start().await;
    let (_database, syncer) = syncer(&admin, settings());
    let begin = |syncer: &Syncer<_>| syncer.begin_rollout("web", None).map(drop);
    let first = syncer.begin_rollout("web", None).unwrap();
    let refused = begin(&syncer).unwrap_err();
    assert_eq!(
        refused.to_string(),
        r#"a rollout of application "web" is under way"#
    );
    syncer.begin_rollout("api", None).unwrap().finish();
    drop(first);
    begin(&syncer).unwrap();
}

/// An agent that is told to stop drops what it waits for.
#[tokio::test]
async fn a_swap_that_is_given_up_is_taken_back() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["old_1"]);
    syncer.sync().await.unwrap();
    let rollout = syncer.begin_rollout("web", Some(serving(&["old_1"]))).unwrap();
    admin.answer(Answer::Hang);
    {
        let swap = std::pin::pin!(rollout.serve(serving(&["new_1"])));
        tokio::select! {
            _ = swap => panic!("nobody answers"),
            () = admin.asked(2) => {}
        }
    }
    admin.answer(Answer::Healthy);
    assert_eq!(syncer.sync().await.unwrap(), Synced::Loaded);
    assert_eq!(admin.upstreams(), ["old_1:8080"]);
}

/// First nothing is routed to it, then its containers are told to stop.
#[tokio::test]
async fn to_stop_an_app_is_to_route_nothing_to_it_first() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["web_1", "web_2"]);
    syncer.sync().await.unwrap();
    let stopped = App {
        stopped: true,
        ..app("web.example.com", &["web_1", "web_2"])
    };
    database.set("web", stopped);
    assert_eq!(syncer.sync().await.unwrap(), Synced::Loaded);
    assert_eq!(admin.upstreams(), [""; 0]);
    assert!(
        admin
            .running()
            .unwrap()
            .contains("503 Service Unavailable: no healthy replica.")
    );
    assert_eq!(syncer.status().routes, 1);
    database.route("web", &["web_1", "web_2"]);
    syncer.sync().await.unwrap();
    assert_eq!(admin.upstreams().len(), 2);
}
