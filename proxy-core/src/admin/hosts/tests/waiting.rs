//! Changes that are answered once replicas have them.

use std::time::Duration;

use serde_json::json;
use tokio::time::{self, Instant};

use super::rig::{Rig, delete, document, post, put};

/// Asks for a change that waits, and lets `meanwhile` happen.
async fn while_waiting(
    rig: &Rig,
    wait: &str,
    meanwhile: impl Future<Output = ()>,
) -> (u16, serde_json::Value) {
    let question = put(&format!("a.test?wait={wait}")).json(&document("a.test", 80));
    let (reply, ()) = tokio::join!(rig.ask(question), meanwhile);
    (
        reply.status.as_u16(),
        serde_json::from_slice(&reply.body).unwrap(),
    )
}

#[tokio::test(start_paused = true)]
async fn a_change_is_answered_once_every_replica_has_it() {
    let rig = Rig::new();
    rig.report("edge-a", rig.revision().await).await;
    rig.report("edge-b", rig.revision().await).await;
    let began = Instant::now();
    let (status, said) = while_waiting(&rig, "30s", async {
        time::sleep(Duration::from_secs(1)).await;
        let revision = rig.revision().await;
        *rig.view.applied.lock().unwrap() = Some(revision);
        rig.report("edge-a", revision).await;
        time::sleep(Duration::from_secs(1)).await;
        rig.report("edge-b", revision).await;
    })
    .await;
    assert_eq!(
        (status, &said["replicas"], &said["version"]),
        (200, &json!(2), &json!(1))
    );
    let took = began.elapsed();
    assert!(
        (Duration::from_secs(2)..Duration::from_secs(3)).contains(&took),
        "{took:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn whoever_lags_is_named() {
    let rig = Rig::new();
    let before = rig.revision().await;
    rig.report("edge-a", before).await;
    rig.report("edge-b", before).await;
    let (status, said) = while_waiting(&rig, "5s", async {
        time::sleep(Duration::from_secs(1)).await;
        let revision = rig.revision().await;
        *rig.view.applied.lock().unwrap() = Some(revision);
        rig.report("edge-a", revision).await;
    })
    .await;
    assert_eq!(status, 504);
    assert_eq!(said["lagging"][0]["id"], "edge-b");
    assert_eq!(said["lagging"].as_array().unwrap().len(), 1);
    assert_eq!(said["lagging_here"], json!(false));
    assert_eq!(said["version"], 1, "{said}");
    assert!(
        said["error"].as_str().unwrap().starts_with("it is written, but "),
        "{said}"
    );
    assert_eq!(rig.stored("a.test").await.unwrap(), document("a.test", 80));
}

#[tokio::test(start_paused = true)]
async fn this_replica_counts_too() {
    let rig = Rig::new();
    let (status, said) = while_waiting(&rig, "1s", async {}).await;
    assert_eq!((status, &said["lagging_here"]), (504, &json!(true)));
    let (status, _) = while_waiting(&rig, "1s", async {
        *rig.view.applied.lock().unwrap() = Some(rig.revision().await);
    })
    .await;
    assert_eq!(status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_is_gone_is_not_waited_for() {
    let rig = Rig::new();
    rig.report("edge-gone", rig.revision().await).await;
    let (status, said) = while_waiting(&rig, "60s", async {
        *rig.view.applied.lock().unwrap() = Some(rig.revision().await);
    })
    .await;
    assert_eq!((status, &said["replicas"]), (200, &json!(0)));
}

#[tokio::test(start_paused = true)]
async fn replicas_of_another_epoch_have_nothing_of_this_one() {
    let rig = Rig::new();
    let mut elsewhere = rig.revision().await;
    elsewhere.epoch = route_store::Epoch::random().unwrap();
    elsewhere.number = 1000;
    rig.report("edge-a", elsewhere).await;
    let (status, said) = while_waiting(&rig, "5s", async {
        *rig.view.applied.lock().unwrap() = Some(rig.revision().await);
    })
    .await;
    assert_eq!((status, &said["lagging"][0]["id"]), (504, &json!("edge-a")));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_goes_away_meanwhile_is_waited_for() {
    let rig = Rig::new();
    let (status, said) = while_waiting(&rig, "5s", async {
        time::sleep(Duration::from_millis(100)).await;
        rig.store.go(true);
    })
    .await;
    assert_eq!(status, 504);
    assert_eq!(said["store_error"], "the memory store cannot be reached");
    rig.store.go(false);
    let (status, _) = while_waiting(&rig, "10s", async {
        time::sleep(Duration::from_millis(100)).await;
        let revision = rig.revision().await;
        rig.store.go(true);
        time::sleep(Duration::from_secs(2)).await;
        *rig.view.applied.lock().unwrap() = Some(revision);
        rig.store.go(false);
    })
    .await;
    assert_eq!(status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait() {
    let rig = Rig::new();
    let began = Instant::now();
    let (status, said) = while_waiting(&rig, "10m", async {
        time::sleep(Duration::from_secs(1)).await;
        rig.stop.cancel();
    })
    .await;
    assert_eq!(status, 504);
    assert!(said["error"].as_str().unwrap().contains("stopping"), "{said}");
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn removals_and_rollbacks_are_waited_for_too() {
    let rig = Rig::new();
    let version = rig.put("a.test", 80).await;
    rig.says(504, delete("a.test?wait=1s")).await;
    let question = post("/routes/a.test/rollback?wait=1s").json(&json!({ "version": version }));
    rig.says(504, question).await;
    assert_eq!(rig.stored("a.test").await.unwrap(), document("a.test", 80));
}
