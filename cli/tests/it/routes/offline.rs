//! What needs no proxy, and what happens without one.

use serde_json::{Value, json};

use super::rig::{document, done, failed};
use crate::support::{Directory, doorway, finish, finish_with_input};

#[test]
fn documents_are_checked_without_a_proxy() {
    let directory = Directory::new();
    let check = |text: &str| finish_with_input(&mut doorway(directory.path(), &["routes", "validate"]), text);
    for text in [
        document("a.test", 80).to_string(),
        json!([document("a.test", 80), document("b.test", 80)]).to_string(),
        format!("{}\n{}\n", document("a.test", 80), document("b.test", 80)),
    ] {
        done(check(&text));
    }
    let said = failed(check(&format!(
        "{}\n{{\"host\":\"b c\"}}",
        document("a.test", 80)
    )));
    assert!(
        said.starts_with("error: standard input: document 2: host: "),
        "{said}"
    );
    let said = failed(check("[{\"host\":\"a.test\"},]"));
    assert!(said.starts_with("error: standard input:1:"), "{said}");
    let twice = json!([document("a.test", 80), document("A.test", 81)]).to_string();
    let said = failed(check(&twice));
    assert!(
        said.contains("document 2: document 1 is about a.test, too"),
        "{said}"
    );
    let newer = json!({ "schema_version": 99, "host": "a.test" }).to_string();
    let said = failed(check(&newer));
    assert!(
        said.contains("document 1 (a.test): ") && said.contains("99"),
        "{said}"
    );
}

#[test]
fn the_schema_is_printed() {
    let directory = Directory::new();
    let schema = done(finish(&mut doorway(directory.path(), &["routes", "schema"])));
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["required"], json!(["host"]));
}

#[test]
fn where_nobody_listens_that_is_said() {
    let directory = Directory::new();
    let socket = format!("unix/{}", directory.path().join("none.sock").display());
    for arguments in [
        &["routes", "list"][..],
        &["routes", "export"],
        &["routes", "status"],
        &["routes", "get", "a.test"],
        &["routes", "delete", "a.test"],
    ] {
        let all = [arguments, &["--address", &socket]].concat();
        let said = failed(finish(&mut doorway(directory.path(), &all)));
        assert!(said.contains("nothing listens on"), "{said}");
    }
}

#[test]
fn a_wait_is_a_duration() {
    let directory = Directory::new();
    for wait in ["--wait=soon", "--wait=0s", "--wait=11m"] {
        let finished = finish(&mut doorway(
            directory.path(),
            &["routes", "delete", "a.test", wait],
        ));
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    }
}
