//! Look-ups while the table is replaced.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::UNIX_EPOCH,
};

use geo_db::{CountryCode, Database, Table};

/// A table in which every address of both families is one country's.
fn all(code: &str) -> Arc<Table> {
    let code: CountryCode = code.parse().unwrap();
    Arc::new(Table::new(["0.0.0.0/0", "::/0"].map(|prefix| (prefix.parse().unwrap(), code))).unwrap())
}

#[test]
fn a_thousand_swaps_leave_every_look_up_an_answer_and_nothing_behind() {
    let (de, at) = (all("DE"), all("AT"));
    let database = Database::default();
    database.replace(Arc::clone(&de), "test", UNIX_EPOCH);
    let over = AtomicBool::new(false);

    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    assert!(database.lookup("203.0.113.1".parse().unwrap()).is_some());
                    // One view holds one age of both families.
                    let table = database.table().unwrap();
                    let ipv4 = table.lookup("203.0.113.1".parse().unwrap());
                    assert_eq!(ipv4, table.lookup("2001:db8::1".parse().unwrap()));
                }
            });
        }
        for _ in 0..500 {
            database.replace(Arc::clone(&at), "test", UNIX_EPOCH);
            database.replace(Arc::clone(&de), "test", UNIX_EPOCH);
        }
        over.store(true, Ordering::Relaxed);
    });

    drop(database);
    assert_eq!((Arc::strong_count(&de), Arc::strong_count(&at)), (1, 1));
}

#[test]
fn the_status_tells_of_the_table_in_use() {
    let database = Database::default();
    assert_eq!(database.status(), geo_db::Status::default());
    assert!(database.table().is_none());

    let fetched = UNIX_EPOCH + std::time::Duration::from_secs(100);
    database.replace(all("DE"), "a file", fetched);
    let status = database.status();
    assert_eq!(
        status
            .age(fetched + std::time::Duration::from_secs(7))
            .unwrap()
            .as_secs(),
        7
    );
    let loaded = status.loaded.unwrap();
    assert_eq!(
        (loaded.source.as_str(), loaded.countries, loaded.prefixes.total()),
        ("a file", 1, 2)
    );
}
