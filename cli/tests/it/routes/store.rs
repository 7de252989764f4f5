//! `doorway store` on files of SQLite.

use serde_json::Value;

use super::rig::{done, failed};
use crate::support::{Directory, doorway, finish};

fn store(directory: &Directory, arguments: &[&str]) -> crate::support::Finished {
    finish(&mut doorway(directory.path(), &[&["store"], arguments].concat()))
}

#[test]
fn a_store_is_laid_out_and_looked_at() {
    let directory = Directory::new();
    let url = format!("sqlite:{}", directory.path().join("routes.db").display());
    let said = done(store(&directory, &["migrate", &url]));
    assert!(said.starts_with("the sqlite store "), "{said}");
    let again = done(store(&directory, &["migrate", &url]));
    assert!(again.contains("the newest"), "{again}");
    let checked = done(store(&directory, &["check", &url]));
    assert!(
        checked.contains("sqlite, layout ") && checked.contains("routes     0"),
        "{checked}"
    );
    let json: Value = serde_json::from_str(&done(store(&directory, &["check", "--json", &url]))).unwrap();
    assert_eq!((&json["kind"], &json["routes"]), (&"sqlite".into(), &0.into()));
}

#[test]
fn a_url_may_come_from_the_environment() {
    let directory = Directory::new();
    let url = format!("sqlite:{}", directory.path().join("routes.db").display());
    let mut command = doorway(directory.path(), &["store", "migrate"]);
    done(finish(command.env("DOORWAY_STORE_URL", &url)));
    let mut command = doorway(directory.path(), &["store", "check", "--url-env", "EDGE"]);
    done(finish(command.env("EDGE", &url)));
    for arguments in [
        &["check"][..],
        &["migrate", "--url-env", "NOWHERE"],
        &["check", "mysql://a"],
        &["check", "memory"],
    ] {
        let finished = store(&directory, arguments);
        assert_eq!(finished.code, Some(2), "{arguments:?}: {}", finished.stderr);
    }
}

#[test]
fn a_store_that_is_away_is_named_without_its_password() {
    let directory = Directory::new();
    let said = failed(store(&directory, &["check", "redis://:sesame@127.0.0.1:1/0"]));
    assert!(said.contains("redis") && !said.contains("sesame"), "{said}");
    let said = failed(store(
        &directory,
        &["check", "postgres://edge:sesame@127.0.0.1:1/doorway"],
    ));
    assert!(said.contains("postgres") && !said.contains("sesame"), "{said}");
}
