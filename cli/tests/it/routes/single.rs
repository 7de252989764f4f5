//! One host after the other.

use serde_json::{Value, json};

use super::rig::{READER, Rig, WRITER, document, done, failed, saying};

#[test]
fn a_route_is_written_served_changed_and_removed() {
    let rig = Rig::start();
    let file = rig
        .directory
        .write("a.json", &saying("a.test", "first").to_string());
    let put = rig.routes(&["put", "a.test", file.to_str().unwrap(), "--create", "--wait=20s"]);
    assert!(
        put.stderr
            .contains("a.test written: version 1, revision 1, applied by "),
        "{}",
        put.stderr
    );
    done(put);
    assert_eq!(rig.says("a.test"), (200, "first".to_owned()));

    let got = rig.routes(&["get", "a.test"]);
    assert_eq!(got.stderr, "version 1\n");
    assert_eq!(
        serde_json::from_str::<Value>(&got.stdout).unwrap(),
        saying("a.test", "first")
    );

    let change = saying("a.test", "second").to_string();
    done(rig.routes_of(&["put", "a.test", "--if-match", "1", "--wait"], &change));
    assert_eq!(rig.says("a.test"), (200, "second".to_owned()));
    let stale = failed(rig.routes_of(&["put", "a.test", "-", "--if-match", "1"], &change));
    assert!(
        stale.contains("412: the document was changed: its version is 2"),
        "{stale}"
    );
    failed(rig.routes_of(&["put", "a.test", "--create"], &change));

    done(rig.routes(&["rollback", "a.test", "1", "--wait"]));
    assert_eq!(rig.says("a.test"), (200, "first".to_owned()));
    let first = done(rig.routes(&["get", "a.test", "--version", "2"]));
    assert!(first.contains("second"), "{first}");

    done(rig.routes(&["delete", "a.test", "--if-match", "1", "--wait"]));
    assert_ne!(rig.says("a.test").1, "first");
    let gone = failed(rig.routes(&["delete", "a.test"]));
    assert!(
        gone.contains("404: the store has no document for a.test"),
        "{gone}"
    );

    let history = done(rig.routes(&["history", "a.test"]));
    let lines: Vec<&str> = history.lines().collect();
    assert_eq!(lines.len(), 5, "{history}");
    assert!(
        lines[1].ends_with("removed") && lines[2].ends_with("back to version 1"),
        "{history}"
    );
    let json: Value = serde_json::from_str(&done(rig.routes(&["history", "a.test", "--json"]))).unwrap();
    assert_eq!(json[3]["kind"], "put");
    rig.stop();
}

#[test]
fn what_is_wrong_with_a_document_is_said_line_by_line() {
    let rig = Rig::start();
    let wrong = json!({ "host": "a.test", "aliases": ["b c"], "upstreams": [{ "address": "nowhere" }] });
    let said = failed(rig.routes_of(&["put", "a.test"], &wrong.to_string()));
    assert!(
        said.contains("error: aliases[0]: ") && said.contains("error: upstreams[0].address: "),
        "{said}"
    );
    let said = failed(rig.routes_of(&["put", "a.test"], "{\n  \"host\": x"));
    assert!(said.contains("error: line 2, column "), "{said}");
    let said = failed(rig.routes_of(&["put", "b.test"], &document("a.test", 80).to_string()));
    assert!(said.contains("error: host: "), "{said}");
    rig.stop();
}

#[test]
fn hosts_are_listed_as_a_table_and_as_json() {
    let rig = Rig::start();
    rig.put(&saying("a.test", "a"));
    rig.put(&saying("b.test", "b"));
    let table = done(rig.routes(&["list"]));
    assert_eq!(
        table,
        "HOST    SOURCE  VERSION  STATE\na.test  store   1        served\nb.test  store   2        served\n"
    );
    let json: Value = serde_json::from_str(&done(rig.routes(&["list", "--json"]))).unwrap();
    assert_eq!(
        (&json[1]["host"], &json[1]["version"]),
        (&json!("b.test"), &json!(2))
    );
    rig.stop();
}

#[test]
fn the_status_tells_sources_and_replicas() {
    let rig = Rig::start();
    rig.put(&saying("a.test", "a"));
    let status = done(rig.routes(&["status"]));
    assert!(status.contains("memory, revision 1"), "{status}");
    assert!(
        status.contains("source store") && status.contains("1 routes"),
        "{status}"
    );
    let json: Value = serde_json::from_str(&done(rig.routes(&["status", "--json"]))).unwrap();
    assert_eq!(json["applied"]["revision"]["number"], 1, "{json}");
    assert_eq!(json["store"]["kind"], "memory");
    rig.stop();
}

#[test]
fn a_token_is_shown_from_a_file_or_a_variable() {
    let rig = Rig::guarded();
    let none = failed(rig.routes(&["list"]));
    assert!(none.contains("401") && none.contains("--token-file"), "{none}");
    let file = rig.directory.write("token", &format!("{READER}\n"));
    done(rig.routes(&["list", "--token-file", file.to_str().unwrap()]));
    done(rig.routes_of(&["list", "--token-file", "-"], READER));
    done(rig.routes_as(READER, &["list"]));
    let other = failed(rig.routes_as("a-secret-of-nobody", &["list"]));
    assert!(other.contains("401") && !other.contains("nobody"), "{other}");
    let file = rig.directory.write("a.json", &saying("a.test", "a").to_string());
    let put = ["put", "a.test", file.to_str().unwrap()];
    let refused = failed(rig.routes_as(READER, &put));
    assert!(
        refused.contains("403") && refused.contains("reading"),
        "{refused}"
    );
    done(rig.routes_as(WRITER, &put));
    let history: Value =
        serde_json::from_str(&done(rig.routes_as(READER, &["history", "a.test", "--json"]))).unwrap();
    assert_eq!(history[0]["author"], "deploy");
    rig.stop();
}

#[test]
fn a_token_that_is_none_is_refused_before_anybody_is_asked() {
    let rig = Rig::start();
    for (token, arguments) in [
        ("", ["list", "--token-env", "DOORWAY_TOKEN"]),
        ("x", ["list", "--token-env", "NOWHERE"]),
    ] {
        let finished = rig.routes_as(token, &arguments);
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    }
    let both = rig.routes_of(&["put", "a.test", "--token-file", "-"], "x");
    assert_eq!(both.code, Some(2), "{}", both.stderr);
    rig.stop();
}

#[test]
fn operators_hear_when_there_is_nothing_to_decide() {
    let rig = Rig::start();
    let forget = failed(rig.routes(&["forget", "a.test"]));
    assert!(forget.contains("404"), "{forget}");
    let accept = failed(rig.routes(&["accept-loss"]));
    assert!(accept.contains("409"), "{accept}");
    rig.stop();
}
