//! Daemons that are away, slow, cut or wrong.

use std::time::Duration;

use route_sources::docker::{Endpoint, TlsFiles};
use serde_json::json;

use super::fake::{Fake, Mood, container};
use super::{Running, settings, shown};

fn shop(address: &str) -> serde_json::Value {
    container("shop", address, &json!({"doorway.host": "shop.test"}))
}

#[tokio::test]
async fn a_daemon_that_is_away_at_the_start_gives_an_empty_stale_snapshot_and_then_its_routes() {
    let mut fake = Fake::away();
    let mut source = Running::start(&fake);
    let first = source.next().await;
    assert!(first.routes.is_empty() && first.stale.is_some());
    fake.run(vec![shop("10.0.0.1")]);
    fake.start();
    let next = source.until(|snapshot| snapshot.stale.is_none()).await;
    assert_eq!(shown(&next), ["shop.test 10.0.0.1:80"]);
    source.end().await;
}

#[tokio::test]
async fn a_daemon_that_restarts_loses_no_route() {
    let mut fake = Fake::started();
    fake.run(vec![shop("10.0.0.1")]);
    let mut source = Running::start(&fake);
    let before = source.next().await;
    fake.stop();
    let during = source.next().await;
    assert!(during.stale.is_some() && during.routes[0].is_same(&before.routes[0]));
    fake.run(vec![
        shop("10.0.0.1"),
        container("b", "10.0.0.2", &json!({"doorway.host": "b.test"})),
    ]);
    fake.start();
    let after = source.until(|snapshot| snapshot.stale.is_none()).await;
    assert_eq!(shown(&after), ["b.test 10.0.0.2:80", "shop.test 10.0.0.1:80"]);
    assert!(after.routes[1].is_same(&before.routes[0]));
    // Events are told of by the new one.
    fake.run(vec![shop("10.0.0.3")]);
    assert_eq!(shown(&*source.next().await), ["b.test", "shop.test 10.0.0.3:80"]);
    source.end().await;
}

#[tokio::test]
async fn lists_that_are_cut_garbled_or_failing_keep_the_routes() {
    for mood in [Mood::Cut, Mood::Garbage, Mood::Failing] {
        let fake = Fake::started();
        fake.run(vec![shop("10.0.0.1")]);
        let mut source = Running::start(&fake);
        let before = source.next().await;
        fake.feel(mood);
        fake.run(vec![]);
        let during = source.next().await;
        assert!(during.stale.is_some(), "{mood:?}");
        assert!(
            during.routes.len() == 1 && during.routes[0].is_same(&before.routes[0]),
            "{mood:?}"
        );
        fake.feel(Mood::Well);
        let after = source.until(|snapshot| snapshot.stale.is_none()).await;
        assert_eq!(shown(&after), ["shop.test"], "{mood:?}");
        source.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_come_is_given_up_and_keeps_the_routes() {
    let fake = Fake::started();
    fake.run(vec![shop("10.0.0.1")]);
    let mut settings = settings(&fake);
    settings.interval = Duration::from_secs(30);
    let mut source = Running::with(settings);
    let before = source.until(|snapshot| snapshot.stale.is_none()).await;
    fake.feel(Mood::Silent);
    let during = super::Snapshots::next(&mut source.snapshots).await.unwrap();
    assert!(during.stale.as_ref().unwrap().contains("longer than 10s"));
    assert!(during.routes[0].is_same(&before.routes[0]));
    fake.feel(Mood::Well);
    while super::Snapshots::next(&mut source.snapshots)
        .await
        .unwrap()
        .stale
        .is_some()
    {}
    source.end().await;
}

#[tokio::test]
async fn a_daemon_at_a_port_is_followed() {
    let fake = Fake::started();
    let mut settings = settings(&fake);
    settings.endpoint = fake.listen().await;
    let mut source = Running::with(settings);
    assert!(source.next().await.stale.is_none());
    fake.run(vec![shop("10.0.0.1")]);
    assert_eq!(shown(&*source.next().await), ["shop.test 10.0.0.1:80"]);
    source.end().await;
}

#[tokio::test]
async fn files_of_tls_that_are_not_there_are_reported() {
    let fake = Fake::started();
    let mut settings = settings(&fake);
    settings.endpoint = Endpoint::tls("https://127.0.0.1:1", TlsFiles::default()).unwrap();
    let mut source = Running::with(settings);
    assert!(source.next().await.stale.is_some());
    source.end().await;
}

#[tokio::test]
async fn a_storm_of_events_is_no_storm_of_lists() {
    let fake = Fake::started();
    let mut source = Running::start(&fake);
    source.next().await;
    let before = fake.lists();
    for number in 1..50 {
        fake.run(vec![shop(&format!("10.0.0.{number}"))]);
    }
    source
        .until(|snapshot| shown(snapshot) == ["shop.test 10.0.0.49:80"])
        .await;
    assert!(fake.lists() - before < 10);
    source.end().await;
}

#[tokio::test]
async fn events_that_are_refused_cut_or_garbled_leave_the_interval() {
    for mood in [Mood::Failing, Mood::Cut, Mood::Garbage, Mood::Silent] {
        let fake = Fake::started();
        fake.feel_about_events(mood);
        let mut settings = settings(&fake);
        settings.interval = Duration::from_millis(20);
        let mut source = Running::with(settings);
        let first = source.next().await;
        assert_eq!(first.stale, None, "{mood:?}");
        fake.run(vec![shop("10.0.0.1")]);
        let next = source.next().await;
        assert_eq!(
            (shown(&next), &next.stale),
            (vec!["shop.test 10.0.0.1:80".to_owned()], &None),
            "{mood:?}"
        );
        source.end().await;
    }
}

#[tokio::test]
async fn events_are_followed_again_after_they_were_cut() {
    let fake = Fake::started();
    fake.feel_about_events(Mood::Cut);
    let mut source = Running::start(&fake);
    source.next().await;
    fake.feel_about_events(Mood::Well);
    for number in 1..=6 {
        let lists = fake.lists();
        fake.run(vec![shop(&format!("10.0.0.{number}"))]);
        fake.listed(lists + 1).await;
    }
    source
        .until(|snapshot| shown(snapshot) == ["shop.test 10.0.0.6:80"])
        .await;
    source.end().await;
}

#[tokio::test]
async fn a_source_ends_at_once_while_a_daemon_is_away_or_silent() {
    let away = Fake::away();
    let mut source = Running::start(&away);
    source.next().await;
    source.end().await;

    let silent = Fake::started();
    silent.feel(Mood::Silent);
    let source = Running::start(&silent);
    silent.listed(1).await;
    source.end().await;
}
