//! Many hosts at once.

use serde_json::{Value, json};

use super::rig::{Rig, document, done, failed, saying};

fn exported(rig: &Rig) -> Value {
    serde_json::from_str(&done(rig.routes(&["export"]))).unwrap()
}

#[test]
fn what_is_exported_can_be_imported() {
    let rig = Rig::start();
    assert_eq!(exported(&rig), json!([]));
    for host in ["a.test", "b.test", "c.test"] {
        rig.put(&saying(host, host));
    }
    let all = done(rig.routes(&["export"]));
    let lines = done(rig.routes(&["export", "--lines"]));
    assert_eq!(lines.lines().count(), 3);
    rig.stop();

    let other = Rig::start();
    let imported = other.routes_of(&["import", "--wait"], &all);
    assert!(
        imported.stderr.contains("3 changed, 0 documents as before"),
        "{}",
        imported.stderr
    );
    assert_eq!(imported.stdout, "a.test added\nb.test added\nc.test added\n");
    assert_eq!(other.says("b.test"), (200, "b.test".to_owned()));
    let again = other.routes_of(&["import", "-"], &lines);
    assert!(
        again.stderr.contains("0 changed, 3 documents as before"),
        "{}",
        again.stderr
    );
    assert_eq!(done(other.routes(&["export"])), all);
    other.stop();
}

#[test]
fn one_wrong_document_keeps_all_out() {
    let rig = Rig::start();
    let documents =
        json!([document("a.test", 80), { "host": "b.test", "upstreams": "x" }, { "host": "c d" }]);
    let said = failed(rig.routes_of(&["import"], &documents.to_string()));
    assert!(
        said.contains("document 2 (b.test): ") && said.contains("document 3: "),
        "{said}"
    );
    // The proxy alone knows that such a handler cannot be.
    let unbuildable = json!({ "host": "b.test", "handlers": [{ "handler": "no_such_handler" }] });
    let documents = json!([document("a.test", 80), unbuildable]);
    let said = failed(rig.routes_of(&["import"], &documents.to_string()));
    assert!(said.contains("error: b.test: "), "{said}");
    assert_eq!(exported(&rig), json!([]));
    rig.stop();
}

#[test]
fn others_are_removed_only_when_asked() {
    let rig = Rig::start();
    for host in ["a.test", "b.test"] {
        rig.put(&saying(host, host));
    }
    let file = rig.directory.write(
        "routes.json",
        &json!([saying("a.test", "other"), saying("c.test", "c")]).to_string(),
    );
    let file = file.to_str().unwrap();
    let dry = done(rig.routes(&["import", file, "--replace", "--dry-run"]));
    assert_eq!(
        dry,
        "a.test would be changed\nc.test would be added\nb.test would be removed\n"
    );
    assert_eq!(
        exported(&rig),
        json!([saying("a.test", "a.test"), saying("b.test", "b.test")])
    );
    done(rig.routes(&["import", file]));
    assert_eq!(exported(&rig).as_array().unwrap().len(), 3);
    let replaced = done(rig.routes(&["import", file, "--replace", "--wait"]));
    assert_eq!(replaced, "b.test removed\n");
    assert_eq!(
        exported(&rig),
        json!([saying("a.test", "other"), saying("c.test", "c")])
    );
    rig.stop();
}
