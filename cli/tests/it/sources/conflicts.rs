//! One host in a file and in the store.

use super::{Origin, Replica, document, sqlite};
use crate::support::Directory;

#[test]
fn the_store_wins_over_a_file_until_its_document_is_deleted() {
    let (file, store) = (Origin::start("file"), Origin::start("store"));
    let routes = format!("{{\"hosts\": [{}]}}", document("a.test", &file));
    let home = Directory::with("routes.json", &routes);
    let lines = format!("\t\tfile routes.json\n{}", sqlite(&home.path().join("store.db")));
    let replica = Replica::start_in(home, &lines);
    assert_eq!(replica.get("a.test", "/").body, "file");

    replica.routes_done(&["put", "a.test", "--wait"], &document("a.test", &store));
    assert_eq!(replica.get("a.test", "/").body, "store");
    let (told, _) = replica.routes_done(&["status"], "");
    assert!(
        told.lines()
            .any(|line| line.starts_with("conflicts") && line.ends_with(" 1")),
        "{told}"
    );
    let conflict = &replica.status()["conflicts"][0];
    assert_eq!(
        (&conflict["host"], &conflict["winner"], &conflict["shadowed"][0]),
        (&"a.test".into(), &"store".into(), &"file".into()),
        "{conflict:#}"
    );

    replica.routes_done(&["delete", "a.test", "--wait"], "");
    assert_eq!(replica.get("a.test", "/").body, "file");
    let (told, _) = replica.routes_done(&["status"], "");
    assert!(!told.contains("conflicts"), "{told}");
}
