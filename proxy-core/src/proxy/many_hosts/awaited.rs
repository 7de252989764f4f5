//! Which sources are waited for.

use super::*;
use crate::control::Reconciler;

const WITHOUT: &str = "{\n\tadmin off\n}\nhttp://a.test:0 {\n\trespond \"file\"\n}\n";
const STORE: &str =
    "{\n\tadmin off\n\troute_sources {\n\t\tlisten http://127.0.0.1:0\n\t\tstore memory\n\t}\n}\n";
const FILES: &str = "{\n\tadmin off\n\troute_sources {\n\t\tlisten http://127.0.0.1:0\n\t\tfile /nowhere/routes.json\n\t}\n}\n";

fn config(text: &str) -> Config {
    caddy_config::from_caddyfile("Caddyfile", text, &|_| None)
        .unwrap()
        .config
}

/// A proxy whose sources do not run.
fn proxy(text: &str, given: Vec<(Kind, route_sources::Snapshots)>) -> Proxy {
    let options = Options {
        listen: false,
        host_sources: given,
        ..Options::default()
    };
    Proxy::build(&config(text), &options).unwrap()
}

fn awaits(reconciler: &Reconciler, kind: Kind) -> bool {
    reconciler.views.current().hosts.awaits(kind)
}

#[tokio::test]
async fn a_load_does_not_end_the_wait_for_sources() {
    let (_publisher, snapshots) = route_sources::channel();
    let proxy = proxy(STORE, vec![(Kind::Docker, snapshots)]);
    let reconciler = proxy.reconciler();
    for _load in 0..2 {
        assert!(awaits(&reconciler, Kind::Store) && awaits(&reconciler, Kind::Docker));
        Arc::clone(&reconciler).load(config(STORE)).await.unwrap();
    }
    let never = CancellationToken::new();
    reconciler
        .take_snapshot(Kind::Docker, snapshot(Vec::new()), &never)
        .await;
    Arc::clone(&reconciler).load(config(WITHOUT)).await.unwrap();
    assert!(!awaits(&reconciler, Kind::Store), "nobody speaks any more");
    assert!(!awaits(&reconciler, Kind::Docker), "it has spoken");
}

#[tokio::test]
async fn what_the_configuration_serves_is_not_what_its_files_say() {
    let proxy = proxy(FILES, Vec::new());
    let reconciler = proxy.reconciler();
    reconciler
        .configure_hosts(vec!["a.test".parse().unwrap()], 443)
        .await;
    assert!(awaits(&reconciler, Kind::File));
    let never = CancellationToken::new();
    reconciler
        .take_snapshot(Kind::File, snapshot(Vec::new()), &never)
        .await;
    assert!(!awaits(&reconciler, Kind::File));
}

#[tokio::test]
async fn a_source_that_goes_on_need_not_speak_again() {
    let proxy = proxy(STORE, Vec::new());
    let reconciler = proxy.reconciler();
    let never = CancellationToken::new();
    reconciler
        .take_snapshot(Kind::Store, snapshot(Vec::new()), &never)
        .await;
    // Two loads before anybody has looked at the sources.
    for text in [WITHOUT, STORE] {
        Arc::clone(&reconciler).load(config(text)).await.unwrap();
    }
    assert!(awaits(&reconciler, Kind::Store));
    reconciler.keep_source(Kind::Store).await;
    assert!(!awaits(&reconciler, Kind::Store));
    // One that is gone has to.
    reconciler.forget_source(Kind::Store).await;
    for text in [WITHOUT, STORE] {
        Arc::clone(&reconciler).load(config(text)).await.unwrap();
    }
    reconciler.keep_source(Kind::Store).await;
    assert!(awaits(&reconciler, Kind::Store));
}

#[tokio::test]
async fn the_last_words_of_a_source_that_has_ended_change_nothing() {
    let proxy = proxy(STORE, Vec::new());
    let reconciler = proxy.reconciler();
    let ended = CancellationToken::new();
    ended.cancel();
    reconciler
        .take_snapshot(Kind::Store, snapshot(vec![route(1, 80)]), &ended)
        .await;
    assert_eq!(reconciler.views.current().hosts.len(), 0);
    assert!(awaits(&reconciler, Kind::Store));
}
