//! Settings that are of no use.

use std::time::UNIX_EPOCH;

use route_store::{OpenError, StoreKind, StoreSettings, open};

#[tokio::test]
async fn an_address_of_another_kind_is_refused_without_being_repeated() {
    for (kind, url) in [
        (StoreKind::Redis, ""),
        (StoreKind::Redis, "http://user:s3cret@a.test"),
        (StoreKind::Redis, "redis://:s3cret@a.test:port"),
        (StoreKind::Redis, "a.test:6379"),
        (StoreKind::Postgres, ""),
        (StoreKind::Postgres, "mysql://user:s3cret@a.test/db"),
        (StoreKind::Postgres, "postgres://user:s3cret@a.test:port/db"),
        (StoreKind::Sqlite, ""),
        (StoreKind::Sqlite, "sqlite::memory:"),
        (StoreKind::Sqlite, "postgres://user:s3cret@a.test/db"),
        (StoreKind::Sqlite, "sqlite://a.db?mode=ro"),
    ] {
        let settings = StoreSettings::new(kind, url);
        let error = open(&settings, UNIX_EPOCH).unwrap_err();
        assert!(
            matches!(error, OpenError::Url { kind: of, .. } if of == kind),
            "{url}: {error}"
        );
        let told = format!("{error} {error:?} {settings:?}");
        assert!(!told.contains("s3cret") && told.contains("write "), "{told}");
    }
}

#[tokio::test]
async fn addresses_of_servers_that_are_away_open() {
    for (kind, url) in [
        (StoreKind::Memory, ""),
        (StoreKind::Redis, "redis://127.0.0.1:1"),
        (StoreKind::Redis, "rediss://user:word@127.0.0.1:1/3"),
        (StoreKind::Postgres, "postgresql://user:word@127.0.0.1:1/db"),
        (StoreKind::Sqlite, "/no/such/folder/a.db"),
        (StoreKind::Sqlite, "sqlite:///no/such/folder/a.db"),
    ] {
        let store = open(&StoreSettings::new(kind, url), UNIX_EPOCH).unwrap();
        assert_eq!(store.kind(), kind.as_str());
    }
}

#[tokio::test]
async fn a_prefix_is_a_name() {
    for prefix in ["", "1a", "A", "a-b", "a'b", "a{b", "a b", &"a".repeat(41)] {
        let settings = StoreSettings {
            prefix: prefix.to_owned(),
            ..StoreSettings::default()
        };
        let error = open(&settings, UNIX_EPOCH).unwrap_err();
        assert!(matches!(error, OpenError::Prefix(_)), "{prefix}");
    }
}

#[test]
fn kinds_are_named() {
    for name in ["memory", "redis", "sqlite", "postgres"] {
        assert_eq!(name.parse::<StoreKind>().unwrap().to_string(), name);
    }
    let error = "etcd".parse::<StoreKind>().unwrap_err().to_string();
    assert!(error.contains("etcd") && error.contains("sqlite"), "{error}");
}
