//! The updater against a real server on loopback.

mod server;

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use geo_db::{
    Database,
    updater::{Outcome, Proxies, Settings, UpdateError, Updater},
};
use tokio_util::sync::CancellationToken;

use self::server::{Reply, Server};
use crate::support::{Tar, json, ten};

const VALIDATORS: &str = "ETag: \"one\"\r\nLast-Modified: Sat, 22 Aug 2026 01:54:00 GMT\r\n";

/// Seconds since 1970, as the updaters of these tests see them.
static NOW: AtomicU64 = AtomicU64::new(1_800_000_000);

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(NOW.load(Ordering::Relaxed))
}

fn settings(server: &Server) -> Settings {
    Settings {
        url: server.url("/geo.tar.gz"),
        ..Settings::default()
    }
}

fn updater(settings: Settings, database: &Database) -> Updater {
    Updater::try_new(settings, database.clone(), now, 1).unwrap()
}

/// One try of a fresh updater.
async fn once(settings: Settings, database: &Database) -> Result<Outcome, UpdateError> {
    updater(settings, database).update(|_| ()).await
}

/// A database that has the ten countries.
async fn loaded() -> Database {
    let server = Server::start(vec![Reply::ok("", &ten())]);
    let database = Database::default();
    once(settings(&server), &database).await.unwrap();
    database
}

fn knows_the_ten(database: &Database) -> bool {
    database
        .status()
        .loaded
        .is_some_and(|loaded| loaded.countries == 10)
}

#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    let server = Server::start(vec![
        Reply::ok(VALIDATORS, &ten()),
        Reply::status("304 Not Modified", ""),
    ]);
    let database = Database::default();
    let mut updater = updater(settings(&server), &database);

    let seen = Mutex::new(Vec::new());
    let first = updater
        .update(|progress| seen.lock().unwrap().push(progress))
        .await
        .unwrap();
    assert!(matches!(first, Outcome::Replaced { before: None, after } if after.total() > 100));
    assert!(knows_the_ten(&database));
    let last = *seen.lock().unwrap().last().unwrap();
    assert_eq!(
        (last.received, last.total),
        (ten().len() as u64, Some(ten().len() as u64))
    );

    assert_eq!(updater.update(|_| ()).await.unwrap(), Outcome::Current);
    let heads = server.heads();
    assert!(heads[0].starts_with("get /geo.tar.gz ") && heads[0].contains("user-agent: doorway/"));
    assert!(!heads[0].contains("if-none-match") && !heads[0].contains("if-modified-since"));
    assert!(heads[1].contains("if-none-match: \"one\"\r\n"));
    assert!(heads[1].contains("if-modified-since: sat, 22 aug 2026 01:54:00 gmt\r\n"));
    let status = database.status();
    assert_eq!(
        (status.checked, status.last_error, status.failures),
        (Some(now()), None, 0)
    );
}

#[tokio::test]
async fn no_failure_takes_the_table_away() {
    let html = b"<!doctype html><title>Sign in to the network</title>";
    let good = ten();
    let cases = [
        (vec![Reply::status("500 Internal Server Error", "")], "status 500"),
        (vec![Reply::status("404 Not Found", "")], "status 404"),
        (vec![Reply::ok("", html)], "no gzip stream"),
        (vec![Reply::ok("", &good[..good.len() / 2])], "damaged"),
        (vec![Reply::cut_off(&good)], "cannot be fetched"),
        (vec![Reply::Stall], "timed out"),
        (vec![Reply::Drip], "timed out"),
        (vec![Reply::Close], "cannot be fetched"),
        (
            vec![Reply::status("304 Not Modified", "")],
            "304 to a request without validators",
        ),
        (
            vec![Reply::status("302 Found", "Location: /geo.tar.gz\r\n"); 6],
            "more than 5 redirects",
        ),
        (
            vec![Reply::status("302 Found", "Location: file:///etc/passwd\r\n")],
            "status 302",
        ),
    ];
    let database = loaded().await;
    for (failures, (replies, expected)) in (1..).zip(cases) {
        let server = Server::start(replies);
        let settings = Settings {
            timeout: Duration::from_millis(400),
            ..settings(&server)
        };
        let error = once(settings, &database).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
        assert!(!error.contains("127.0.0.1"), "{error:?}");
        assert!(knows_the_ten(&database));
        let status = database.status();
        assert_eq!((status.last_error, status.failures), (Some(error), failures));
    }
}

#[tokio::test]
async fn five_redirects_are_followed() {
    let hop = Reply::status("302 Found", "Location: /geo.tar.gz\r\n");
    let replies = [vec![hop; 5], vec![Reply::ok("", &ten())]].concat();
    let server = Server::start(replies);
    let database = Database::default();
    once(settings(&server), &database).await.unwrap();
    assert!(knows_the_ten(&database));
}

#[tokio::test]
async fn too_many_bytes_are_not_taken() {
    for reply in [Reply::ok("", &ten()), Reply::unsized_ok(&ten())] {
        let server = Server::start(vec![reply]);
        let mut settings = settings(&server);
        settings.limits.packed = 1000;
        let error = once(settings, &Database::default()).await.unwrap_err();
        assert!(matches!(error, UpdateError::Large), "{error}");
    }
}

#[tokio::test]
async fn an_archive_that_lost_more_than_half_is_taken_by_force_alone() {
    let small = Tar::default()
        .country("bn", &json("BN", &["192.0.2.0/24"]))
        .gzip();
    let server = Server::start(vec![Reply::ok("", &small), Reply::ok("", &small)]);
    let database = loaded().await;
    let error = once(settings(&server), &database).await.unwrap_err();
    assert!(
        matches!(error, UpdateError::Lost { after, .. } if after.ipv4 == 1),
        "{error}"
    );
    assert!(knows_the_ten(&database));

    let force = Settings {
        force: true,
        ..settings(&server)
    };
    once(force, &database).await.unwrap();
    assert_eq!(database.status().loaded.unwrap().countries, 1);
}

#[tokio::test]
async fn a_restart_begins_with_what_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(vec![
        Reply::ok(VALIDATORS, &ten()),
        Reply::status("304 Not Modified", ""),
        Reply::ok("", &ten()),
    ]);
    let kept = || Settings {
        directory: Some(directory.path().join("geo")),
        ..settings(&server)
    };
    once(kept(), &Database::default()).await.unwrap();

    let database = Database::default();
    assert_eq!(once(kept(), &database).await.unwrap(), Outcome::Current);
    assert!(knows_the_ten(&database));
    assert!(server.heads()[1].contains("if-none-match: \"one\""));

    // Validators of another archive are no use: a 304 would leave the wrong data in place for good.
    let facts = only(&directory.path().join("geo"), "json");
    let text = fs::read_to_string(&facts).unwrap();
    fs::write(&facts, text.replacen("\"sha256\": \"", "\"sha256\": \"00", 1)).unwrap();
    once(kept(), &Database::default()).await.unwrap();
    assert!(!server.heads()[2].contains("if-none-match"));
}

#[tokio::test]
async fn what_is_kept_and_damaged_is_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(vec![
        Reply::ok(VALIDATORS, &ten()),
        Reply::status("503 Unavailable", ""),
    ]);
    let kept = || Settings {
        directory: Some(directory.path().to_owned()),
        ..settings(&server)
    };
    once(kept(), &Database::default()).await.unwrap();
    let archive = only(directory.path(), "gz");
    let mut bytes = fs::read(&archive).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&archive, bytes).unwrap();

    let database = Database::default();
    assert!(once(kept(), &database).await.is_err());
    assert!(!database.has_data());
    assert!(!server.heads()[1].contains("if-none-match"));
}

#[tokio::test]
async fn run_tries_again_after_failures_and_ends_when_it_is_told() {
    let server = Server::start(vec![
        Reply::status("500 Internal Server Error", ""),
        Reply::Close,
        Reply::ok("", &ten()),
    ]);
    let settings = Settings {
        retry: Duration::from_millis(1),
        ..settings(&server)
    };
    let database = Database::default();
    let stop = CancellationToken::new();
    let running = updater(settings, &database).run(stop.clone());
    let watching = async {
        while !database.has_data() || database.status().failures > 0 {
            tokio::task::yield_now().await;
        }
        let due = due_after_success(&database).await;
        assert!(
            (21 * 3600 + 1800..=26 * 3600 + 1800).contains(&due.as_secs()),
            "{due:?}"
        );
        stop.cancel();
    };
    tokio::join!(running, watching);
    assert_eq!(server.heads().len(), 3);
    assert_eq!(database.status().next_try, None);
}

/// The wait that follows a success, once it is known.
async fn due_after_success(database: &Database) -> Duration {
    loop {
        let due = database
            .status()
            .next_try
            .and_then(|due| due.duration_since(now()).ok());
        match due {
            Some(due) if due > Duration::from_secs(3600) => return due,
            _ => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn what_was_checked_lately_is_not_asked_for_at_start() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(vec![Reply::ok(VALIDATORS, &ten())]);
    let kept = || Settings {
        directory: Some(directory.path().to_owned()),
        ..settings(&server)
    };
    once(kept(), &Database::default()).await.unwrap();

    let database = Database::default();
    let stop = CancellationToken::new();
    let running = updater(kept(), &database).run(stop.clone());
    let watching = async {
        let due = due_after_success(&database).await;
        assert_eq!(due, Duration::from_secs(24 * 3600));
        assert!(knows_the_ten(&database));
        stop.cancel();
    };
    tokio::join!(running, watching);
    assert_eq!(server.heads().len(), 1);
}

#[tokio::test]
async fn requests_go_by_the_proxy_that_is_set() {
    let proxy = Server::start(vec![Reply::ok("", &ten())]);
    let vars = |name: &str| match name {
        "HTTP_PROXY" => Some(proxy.url("")),
        "no_proxy" => Some("other.test".to_owned()),
        _ => None,
    };
    let settings = Settings {
        url: "http://geo.test/geo.tar.gz".to_owned(),
        proxies: Proxies::from_vars(vars),
        ..Settings::default()
    };
    let database = Database::default();
    once(settings, &database).await.unwrap();
    assert!(proxy.heads()[0].starts_with("get http://geo.test/geo.tar.gz http/1.1\r\n"));
    assert_eq!(
        database.status().loaded.unwrap().source,
        "http://geo.test/geo.tar.gz"
    );
}

#[test]
fn settings_of_no_use_are_refused() {
    let refused = |change: fn(&mut Settings)| {
        let mut settings = Settings::default();
        change(&mut settings);
        Updater::try_new(settings, Database::default(), now, 1).is_err()
    };
    assert!(!refused(|_| ()));
    assert!(refused(|settings| settings.url = "ftp://a.test/x".to_owned()));
    assert!(refused(|settings| settings.url = "x".to_owned()));
    assert!(refused(|settings| settings.interval = Duration::ZERO));
    assert!(refused(|settings| settings.retry = Duration::MAX));
    assert!(refused(
        |settings| settings.proxies.all = Some("http://".to_owned())
    ));
}

/// The only file of a kind in a directory.
fn only(directory: &Path, extension: &str) -> std::path::PathBuf {
    let paths = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let found: Arc<[_]> = paths
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    assert_eq!(found.len(), 1);
    found[0].clone()
}
