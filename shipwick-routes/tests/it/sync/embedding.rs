//! What an agent around a syncer does: it works in many tasks, gives up what it waits for, and changes its database at any
//! moment.

#![expect(clippy::disallowed_methods, reason = "an agent spawns its tasks")]

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use shipwick_routes::sync::{Settings, Source, Status, Synced, Syncer};
use shipwick_routes::{Desired, Rollout};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::admin::{Admin, Answer};
use super::{Database, HOUR, settings, syncer};
use crate::desired::replica;

fn serving(name: &str) -> Rollout {
    Rollout {
        domain: None,
        replicas: vec![replica(name)],
    }
}

/// Gives what the database said when it was asked, some time later.
#[derive(Clone)]
struct Slow {
    database: Database,
    /// Told when it was asked.
    asked: Arc<Notify>,
    /// Waited for before it answers.
    go_on: Arc<Notify>,
}

impl Source for Slow {
    type Error = Infallible;

    async fn desired(&self) -> Result<Desired, Infallible> {
        let desired = self.database.desired().await;
        self.asked.notify_one();
        self.go_on.notified().await;
        desired
    }
}

/// The old deployment, which is gone, must not come back because it was read before the new one was recorded.
#[tokio::test]
async fn a_rollout_that_ends_while_the_database_is_read_is_not_undone() {
    let admin = Admin::start().await;
    let slow = Slow {
        database: Database::new(&admin),
        asked: Arc::default(),
        go_on: Arc::default(),
    };
    slow.database.route("web", &["old_1"]);
    let syncer = Syncer::new(admin.address().parse().unwrap(), slow.clone(), settings());
    let rollout = syncer.begin_rollout("web", Some(serving("old_1"))).unwrap();
    slow.go_on.notify_one();
    rollout.serve(serving("new_1")).await.unwrap();
    slow.asked.notified().await;
    let ends = async {
        slow.asked.notified().await;
        slow.database.route("web", &["new_1"]);
        rollout.finish();
        slow.go_on.notify_one();
    };
    let (synced, ()) = tokio::join!(syncer.sync(), ends);
    assert_eq!(synced.unwrap(), Synced::Unchanged);
    assert_eq!(admin.upstreams(), ["new_1:8080"]);
}

/// Wherever a sync is given up, the next one has the proxy at the routes, and a look gets its turn again.
#[tokio::test]
async fn a_sync_may_be_given_up_at_any_moment() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    for polls in 0..30 {
        let name = format!("web_{polls}");
        database.route("web", &[&name]);
        {
            let mut given_up = pin!(syncer.sync());
            for _ in 0..polls {
                let polled = given_up.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                if polled.is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        syncer.sync().await.unwrap();
        assert_eq!(admin.upstreams(), [format!("{name}:8080")], "{polls}");
    }
    // One that was given up while it waited for its turn waits no more.
    admin.answer(Answer::Hang);
    database.route("web", &["last"]);
    let (mut has_the_turn, mut waits) = (Box::pin(syncer.sync()), Box::pin(syncer.sync()));
    let mut context = Context::from_waker(Waker::noop());
    assert!(has_the_turn.as_mut().poll(&mut context).is_pending());
    assert!(waits.as_mut().poll(&mut context).is_pending());
    drop((waits, has_the_turn));
    admin.answer(Answer::Healthy);
    let (stop, before) = (CancellationToken::new(), admin.requests().len());
    let looked = async {
        admin.asked(before + 1).await;
        while !syncer.status().reachable || admin.upstreams() != ["last:8080"] {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    };
    tokio::join!(syncer.run(stop.clone()), looked);
}

#[tokio::test]
async fn tasks_share_a_syncer() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["old_1"]);
    let (syncer, stop) = (Arc::new(syncer), CancellationToken::new());
    let looks = tokio::spawn({
        let (syncer, stop) = (Arc::clone(&syncer), stop.clone());
        async move { syncer.run(stop).await }
    });
    let deployment = tokio::spawn({
        let syncer = Arc::clone(&syncer);
        async move {
            let rollout = syncer.begin_rollout("web", Some(serving("old_1"))).unwrap();
            rollout.serve(serving("new_1")).await.unwrap();
            database.route("web", &["new_1"]);
            rollout.finish();
        }
    });
    deployment.await.unwrap();
    assert_eq!(admin.upstreams(), ["new_1:8080"]);
    stop.cancel();
    looks.await.unwrap();
}

#[tokio::test]
async fn an_app_that_is_deleted_has_no_route_any_more() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["web_1"]);
    syncer.sync().await.unwrap();
    database.0.lock().unwrap().apps.clear();
    assert_eq!(syncer.sync().await.unwrap(), Synced::Loaded);
    assert!(!admin.running().unwrap().contains("web.example.com"));
    assert_eq!(syncer.status().routes, 0);
}

/// Those of Shipwick's agent.
#[tokio::test]
async fn by_default_the_proxy_is_believed_for_ten_seconds() {
    let default = Settings::default();
    let seconds = [default.tick, default.verify_every, default.timeout].map(|time| time.as_secs());
    assert_eq!(seconds, [1, 10, 15]);
    let admin = Admin::start().await;
    let (database, syncer) = syncer(
        &admin,
        Settings {
            timeout: HOUR,
            ..default
        },
    );
    database.route("web", &["web_1"]);
    syncer.sync().await.unwrap();
    for synced in [Synced::Unchanged, Synced::Verified, Synced::Unchanged] {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(5)).await;
        tokio::time::resume();
        assert_eq!(syncer.sync().await.unwrap(), synced);
    }
}

#[tokio::test]
async fn settings_without_bounds_are_taken() {
    let admin = Admin::start().await;
    for time in [Duration::MAX, Duration::ZERO] {
        let (database, syncer) = syncer(
            &admin,
            Settings {
                tick: time,
                verify_every: time,
                timeout: Duration::MAX,
                ..Settings::default()
            },
        );
        database.route("web", &["web_1"]);
        let (stop, before) = (CancellationToken::new(), admin.requests().len());
        let loaded = async {
            admin.asked(before + 1).await;
            stop.cancel();
        };
        tokio::join!(syncer.run(stop.clone()), loaded);
        syncer.sync().await.unwrap();
        assert_eq!(admin.upstreams(), ["web_1:8080"]);
    }
}

#[test]
fn without_a_proxy_there_is_a_status_too() {
    assert_eq!(
        serde_json::to_string(&Status::default()).unwrap(),
        r#"{"enabled":false,"reachable":false,"error":"","routes":0}"#
    );
}
