//! Routes in files, edited while requests come.

use std::fs;

use super::eventually;
use super::origin::Origin;
use super::replica::Replica;
use super::traffic::Traffic;
use crate::support::Directory;

/// A route of Proksi's form in YAML.
fn yaml(host: &str, origin: &Origin) -> String {
    let port = origin.port();
    format!("routes:\n  - host: {host}\n    upstreams:\n      - {{ ip: 127.0.0.1, port: {port} }}\n")
}

/// The same in HCL.
fn hcl(host: &str, origin: &Origin) -> String {
    let port = origin.port();
    format!(
        "routes = [\n  {{\n    host = \"{host}\"\n    upstreams = [{{ ip = \"127.0.0.1\", port = {port} }}]\n  }}\n]\n"
    )
}

/// Lines of a source that reads this file often.
fn file(name: &str) -> String {
    format!("\t\tfile {name} {{\n\t\t\tpoll 50ms\n\t\t}}\n")
}

/// Takes a file through everything that editors and people do to it.
fn is_edited(name: &str, text: fn(&str, &Origin) -> String) {
    let (one, two) = (Origin::start("one"), Origin::start("two"));
    let home = Directory::with(name, &text("a.test", &one));
    let replica = Replica::start_in(home, &file(name));
    let write = |text: &str| replica.home().write(name, text);
    assert_eq!(replica.get("a.test", "/").body, "one");
    let traffic = Traffic::start(replica.port(), "a.test", &["one", "two"]);

    write(&text("a.test", &two));
    replica.answers("a.test", "two");

    // Each of these is told, and changes nothing.
    let whole = text("a.test", &one);
    let (half, _) = whole.split_at(whole.len() / 2);
    for bad in ["routes: [}", "", half] {
        write(bad);
        replica.says("no route can be made of it");
        assert_eq!(replica.get("a.test", "/").body, "two", "{bad:?}");
        let told = replica.source("file");
        assert!(
            told["invalid"][0]["place"].as_str().unwrap().contains(name),
            "{told:#}"
        );
    }
    fs::remove_file(replica.home().path().join(name)).unwrap();
    replica.says("no route can be made of it");
    assert_eq!(replica.get("a.test", "/").body, "two");

    write(&whole);
    replica.answers("a.test", "one");
    traffic.end_well();
    assert_eq!(
        replica.source("file")["invalid"].as_array().map(Vec::len),
        Some(0)
    );
}

#[test]
fn a_file_in_yaml_is_edited_without_a_restart_and_without_a_failed_request() {
    is_edited("routes.yaml", yaml);
}

#[test]
fn a_file_in_hcl_is_edited_without_a_restart_and_without_a_failed_request() {
    is_edited("routes.hcl", hcl);
}

#[test]
fn one_bad_route_of_a_file_keeps_nothing_from_the_others() {
    let (one, two) = (Origin::start("one"), Origin::start("two"));
    let home = Directory::with("routes.yaml", &yaml("a.test", &one));
    let replica = Replica::start_in(home, &file("routes.yaml"));
    let more = format!(
        "{}  - host: b.test\n    upstreams: [{{ ip: 127.0.0.1, port: 99999 }}]\n",
        yaml("a.test", &two)
    );
    replica.home().write("routes.yaml", &more);
    replica.answers("a.test", "two");
    assert_eq!(replica.status_of("b.test"), 404);
    let told = replica.source("file");
    assert_eq!(told["invalid"].as_array().map(Vec::len), Some(1), "{told:#}");
    assert_eq!(told["invalid"][0]["host"], "b.test", "{told:#}");
}

#[test]
fn a_list_without_routes_removes_them() {
    let one = Origin::start("one");
    let home = Directory::with("routes.yaml", &yaml("a.test", &one));
    let replica = Replica::start_in(home, &file("routes.yaml"));
    assert_eq!(replica.get("a.test", "/").body, "one");
    replica.home().write("routes.yaml", "routes: []\n");
    eventually("its host is gone", || {
        (replica.status_of("a.test") == 404).then_some(())
    });
}
