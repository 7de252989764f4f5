//! Files as they are written, and as they should not be.

use proptest::prelude::*;
use route_store::Routes;

use super::*;

fn stored(host: &str, text: &str) -> StoredRoute {
    StoredRoute {
        host: host.to_owned(),
        version: 7,
        revision: 9,
        schema_version: 2,
        document: text.to_owned(),
    }
}

fn table() -> Table {
    let document = |host: &str| format!(r#"{{"schema_version":2,"host":"{host}","upstreams":[]}}"#);
    let mut table = Table::default();
    let revision = Revision {
        epoch: "000102030405060708090a0b0c0d0e0f".parse().unwrap(),
        number: 9,
    };
    let routes = vec![
        stored("a.test", &document("a.test")),
        stored("b.test", "broken\n{}"),
        stored("c.test", &document("c.test")),
    ];
    table.apply(
        route_store::Changes::All(Routes { revision, routes }),
        Terms::default(),
    );
    table.entries.get_mut("c.test").unwrap().is_lost = true;
    table
        .older
        .insert("a.test".to_owned(), stored("a.test", &document("a.test")));
    table
}

#[test]
fn what_is_written_is_read() {
    let bytes = encode(&table(), "redis 1");
    let read = decode(&bytes, "redis 1", Terms::default()).unwrap();
    assert_eq!(encode(&read, "redis 1"), bytes);
    assert_eq!((read.revision, read.older.len()), (table().revision, 1));
    assert!(read.entries["c.test"].is_lost && read.entries["b.test"].fault.is_some());
}

#[test]
fn no_part_of_a_file_is_taken_for_a_file() {
    let bytes = encode(&table(), "redis 1");
    for length in 0..bytes.len() {
        assert!(
            decode(&bytes[..length], "redis 1", Terms::default()).is_err(),
            "{length} bytes"
        );
    }
}

#[test]
fn a_changed_byte_is_seen() {
    let good = encode(&table(), "redis 1");
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        assert!(decode(&bytes, "redis 1", Terms::default()).is_err(), "byte {at}");
    }
}

proptest! {
    #[test]
    fn whatever_a_file_holds_it_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(decode(&bytes, "redis 1", Terms::default()).is_err());
    }
}
