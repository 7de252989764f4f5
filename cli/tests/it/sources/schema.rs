//! Documents of several versions of the schema in one store, as a rolling upgrade leaves them.

use std::path::Path;
use std::time::SystemTime;

use route_store::{Document, Expected, StoreKind, StoreSettings, Terms};

use super::{Origin, Replica, document, eventually, sqlite};
use crate::support::Directory;

/// Writes a document as another release does: nothing of it is checked.
fn write(file: &Path, host: &str, schema_version: u32, text: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let settings = StoreSettings::new(StoreKind::Sqlite, file.display().to_string());
    runtime.block_on(async {
        let store = route_store::open(&settings, SystemTime::UNIX_EPOCH).unwrap();
        let terms = Terms {
            author: "another release",
            expected: Expected::Any,
        };
        let document = Document { schema_version, text };
        store.put(host, document, terms).await.unwrap();
    });
}

fn newer(host: &str) -> String {
    format!("{{\"schema_version\": 3, \"host\": \"{host}\", \"somewhere\": \"else\"}}")
}

/// How the admin API says that a host is.
fn state(replica: &Replica, host: &str) -> String {
    let (_, told) = replica.ask("GET", "/routes", "");
    let all = told["hosts"].as_array().unwrap();
    let found = all.iter().find(|one| one["host"] == host);
    found
        .map(|one| one["state"].as_str().unwrap().to_owned())
        .unwrap_or_default()
}

#[test]
fn a_newer_document_is_never_replaced_by_a_lower_source_and_others_are_served() {
    let (file, one) = (Origin::start("file"), Origin::start("one"));
    let routes = format!(
        "{{\"hosts\": [{}, {}]}}",
        document("new.test", &file),
        document("known.test", &file)
    );
    let home = Directory::with("routes.json", &routes);
    let store = home.path().join("store.db");
    let replica = Replica::start_in(home, &format!("\t\tfile routes.json\n{}", sqlite(&store)));
    replica.routes_done(&["put", "known.test", "--wait"], &document("known.test", &one));
    replica.routes_done(&["put", "plain.test", "--wait"], &document("plain.test", &one));
    assert_eq!(replica.get("new.test", "/").body, "file");

    write(&store, "new.test", 3, &newer("new.test"));
    write(&store, "known.test", 3, &newer("known.test"));
    let old = format!(
        "{{\"schema_version\": 1, \"route\": {{\"host\": \"old.test\", \"upstreams\": [{{\"ip\": \"127.0.0.1\", \"port\": {}}}]}}}}",
        one.port()
    );
    write(&store, "old.test", 1, &old);
    replica.answers("old.test", "one");

    // The first was never known here: an error, not what another source has. The other stays what it was.
    assert_eq!(replica.status_of("new.test"), 503);
    assert_eq!(replica.get("known.test", "/").body, "one");
    assert_eq!(replica.get("plain.test", "/").body, "one");
    assert_eq!(state(&replica, "new.test"), "unavailable");
    let told = replica.source("store");
    assert_eq!(told["invalid"].as_array().map(Vec::len), Some(2), "{told:#}");

    // Whoever runs the newer release takes it back.
    replica.routes_done(&["delete", "new.test", "--wait"], "");
    assert_eq!(replica.get("new.test", "/").body, "file");
    replica.routes_done(&["put", "known.test", "--wait"], &document("known.test", &one));
    eventually("nothing is wrong any more", || {
        (replica.source("store")["invalid"].as_array()?.is_empty()).then_some(())
    });
}

#[test]
fn a_document_that_a_newer_release_would_write_is_refused_here() {
    let home = Directory::new();
    let store = home.path().join("store.db");
    let replica = Replica::start_in(home, &sqlite(&store));
    let refused = replica.routes(&["put", "new.test"], &newer("new.test"));
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains('3'), "{}", refused.stderr);
    assert_eq!(replica.status_of("new.test"), 404);
}
