//! A syncer against an admin API that does what proxies do, the worst included.

mod admin;
mod embedding;
mod faults;
mod logs;
mod rollouts;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shipwick_routes::sync::{Settings, Source, Synced, Syncer};
use shipwick_routes::{App, Desired};

use self::admin::{Admin, Answer};
use crate::desired::app;

/// Far longer than a test.
const HOUR: Duration = Duration::from_secs(3600);

/// What an agent's database says.
#[derive(Clone)]
struct Database(Arc<Mutex<Desired>>);

impl Database {
    fn new(admin: &Admin) -> Self {
        Self(Arc::new(Mutex::new(Desired::new(
            admin.address().parse().unwrap(),
        ))))
    }

    fn set(&self, name: &str, app: App) {
        self.0.lock().unwrap().apps.insert(name.to_owned(), app);
    }

    fn route(&self, name: &str, replicas: &[&str]) {
        self.set(name, app(&format!("{name}.example.com"), replicas));
    }
}

impl Source for Database {
    type Error = Infallible;

    async fn desired(&self) -> Result<Desired, Infallible> {
        Ok(self.0.lock().unwrap().clone())
    }
}

/// Believes the proxy for an hour.
fn settings() -> Settings {
    Settings {
        verify_every: HOUR,
        timeout: HOUR,
        ..Settings::default()
    }
}

/// Asks the proxy each time.
fn doubting() -> Settings {
    Settings {
        verify_every: Duration::ZERO,
        ..settings()
    }
}

fn syncer(admin: &Admin, settings: Settings) -> (Database, Syncer<Database>) {
    let database = Database::new(admin);
    let address = admin.address().parse().unwrap();
    (database.clone(), Syncer::new(address, database, settings))
}

#[tokio::test]
async fn the_same_routes_are_loaded_once() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    assert_eq!(
        (syncer.status().enabled, syncer.status().reachable),
        (true, false)
    );
    database.route("web", &["web_1"]);
    assert_eq!(syncer.sync().await.unwrap(), Synced::Loaded);
    for _ in 0..4 {
        assert_eq!(syncer.sync().await.unwrap(), Synced::Unchanged);
    }
    assert_eq!(admin.requests(), ["POST /load"]);
    database.route("web", &["web_1", "web_2"]);
    assert_eq!(syncer.sync().await.unwrap(), Synced::Loaded);
    assert_eq!(admin.requests().len(), 2);
    assert_eq!(admin.upstreams(), ["web_1:8080", "web_2:8080"]);
    let status = syncer.status();
    assert_eq!(
        serde_json::to_string(&status).unwrap(),
        r#"{"enabled":true,"reachable":true,"error":"","routes":1}"#
    );
}

#[tokio::test]
async fn another_order_is_the_same_routes() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["web_1", "web_2"]);
    syncer.sync().await.unwrap();
    database.route("web", &["web_2", "web_1"]);
    assert_eq!(syncer.sync().await.unwrap(), Synced::Unchanged);
}

#[tokio::test]
async fn a_proxy_that_has_lost_the_routes_gets_them_again() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, doubting());
    database.route("web", &["web_1"]);
    syncer.sync().await.unwrap();
    assert_eq!(syncer.sync().await.unwrap(), Synced::Verified);
    admin.lose();
    assert_eq!(syncer.sync().await.unwrap(), Synced::Loaded);
    let marker = admin.marker().unwrap();
    assert_eq!(
        admin.requests(),
        [
            "POST /load".to_owned(),
            format!("GET /id/{marker}"),
            format!("GET /id/{marker}"),
            "POST /load".to_owned()
        ]
    );
}

#[tokio::test]
async fn over_a_socket_the_host_is_one_that_every_caddy_takes() {
    let admin = Admin::start().await;
    assert!(admin.address().starts_with("unix//"));
    let (database, syncer) = syncer(&admin, doubting());
    database.route("web", &["web_1"]);
    syncer.sync().await.unwrap();
    syncer.sync().await.unwrap();
    for head in admin.heads() {
        let head = head.to_ascii_lowercase();
        assert!(head.contains("\r\nhost: \r\n"), "{head}");
        assert!(head.contains("\r\nconnection: close\r\n"), "{head}");
        assert!(!head.contains("origin") && !head.contains("sec-fetch"), "{head}");
        assert_eq!(
            head.contains("\r\ncontent-type: application/json\r\n"),
            head.starts_with("post")
        );
    }
    let running = admin.running().unwrap();
    let listen = format!(r#"{{"admin":{{"listen":"{}"}}"#, admin.address());
    assert!(running.starts_with(&listen), "{running}");
}

#[tokio::test]
async fn over_tcp_the_host_is_the_address_that_it_listens_on() {
    let admin = Admin::start_tcp().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["web_1"]);
    syncer.sync().await.unwrap();
    let host = admin.address().strip_prefix("http://").unwrap();
    assert!(
        admin.heads()[0]
            .to_ascii_lowercase()
            .contains(&format!("\r\nhost: {host}\r\n"))
    );
    assert!(
        admin
            .running()
            .unwrap()
            .contains(&format!(r#""listen":"{host}""#))
    );
}

#[tokio::test]
async fn routes_for_another_admin_address_are_not_loaded() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.0.lock().unwrap().admin = "http://localhost:1".parse().unwrap();
    let error = syncer.sync().await.unwrap_err();
    assert!(error.to_string().contains("another admin address"), "{error}");
    assert_eq!(admin.requests(), [""; 0]);
}

#[tokio::test]
async fn routes_that_cannot_be_computed_change_nothing() {
    let admin = Admin::start().await;
    let address = admin.address().parse().unwrap();
    let broken = || Err(std::io::Error::other("the database is locked"));
    let syncer = Syncer::new(address, broken, settings());
    let error = syncer.sync().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot compute the routes: the database is locked"
    );
    assert_eq!(syncer.status().error, error.to_string());
    assert_eq!(admin.requests(), [""; 0]);
}

/// A list that was computed earlier is never loaded later.
#[tokio::test]
async fn routes_are_computed_in_the_turn_in_which_they_are_loaded() {
    let admin = Admin::start().await;
    let (database, syncer) = syncer(&admin, settings());
    database.route("web", &["web_1"]);
    admin.answer(Answer::Hang);
    let (first, second) = (syncer.sync(), syncer.sync());
    let driver = async {
        admin.asked(1).await;
        // The second waits for its turn, and must not have computed yet.
        tokio::task::yield_now().await;
        database.route("web", &["web_2"]);
        admin.answer(Answer::Healthy);
    };
    let (first, second, ()) = tokio::join!(first, second, driver);
    assert_eq!(
        (first.unwrap(), second.unwrap()),
        (Synced::Loaded, Synced::Loaded)
    );
    assert_eq!(admin.upstreams(), ["web_2:8080"]);
}
