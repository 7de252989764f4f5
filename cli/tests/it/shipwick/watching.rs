//! What `doorway shipwick watch` makes of files that change in every way, and of what it says about them.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use shipwick_routes::RenderOptions;

use super::pod::{Manner, Pod};
use super::proxies::{Kind, Proxy};
use crate::support::{Directory, Running, doorway};

fn document(admin: &str, pod: u16) -> String {
    format!(
        r#"{{"admin": "unix/{admin}", "apps": [{{"name": "web", "domain": "web.example.com",
            "replicas": [{{"name": "127.0.0.1", "port": {pod}}}]}}]}}"#
    )
}

/// Takes the requests of one look, and closes each connection without an answer.
fn be_silent(admin: &UnixListener) {
    for _attempt in 0..3 {
        refuse_one(admin);
    }
}

fn refuse_one(admin: &UnixListener) {
    let (stream, _) = admin.accept().unwrap();
    let mut request = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    while request.read_line(&mut line).unwrap() > 2 {
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    request.read_exact(&mut vec![0; length]).unwrap();
}

#[test]
fn files_come_and_go() {
    let proxy = Proxy::start(Kind::Doorway, RenderOptions::default());
    let place = proxy.directory.path();
    let (old, new) = (Pod::start(Manner::Answers), Pod::start(Manner::Answers));
    let admin = place.join("admin.sock").display().to_string();
    let routes = place.join("routes.d");
    fs::create_dir(&routes).unwrap();
    proxy
        .directory
        .write("routes.d/web.json", &document(&admin, old.port()));
    proxy.directory.write("routes.d/README", "no JSON");
    let listen = format!("127.0.0.1:{}", proxy.port);
    let command = [
        "shipwick",
        "watch",
        "routes.d",
        "--plain-http",
        "--listen",
        &listen,
    ];
    let watching = Running::start(&mut doorway(place, &command));
    watching.stderr_line("keeping the proxy at the desired routes");
    let serves = |pod: &Pod| {
        let port = pod.port().to_string();
        std::iter::repeat_with(|| proxy.get_if_served("web.example.com"))
            .take(20_000)
            .any(|body| body == port)
    };
    assert!(serves(&old));
    // The last file is deleted, the directory, and both come back, as a link that is put in their place.
    fs::remove_file(routes.join("web.json")).unwrap();
    watching.stderr_line("routes.d has no *.json");
    assert_eq!(proxy.get("web.example.com").body, old.port().to_string());
    fs::remove_file(routes.join("README")).unwrap();
    fs::remove_dir(&routes).unwrap();
    watching.stderr_line("cannot read routes.d");
    assert_eq!(proxy.get("web.example.com").body, old.port().to_string());
    fs::create_dir(place.join("next")).unwrap();
    proxy
        .directory
        .write("next/web.json", &document(&admin, new.port()));
    symlink("next", place.join("link")).unwrap();
    fs::rename(place.join("link"), &routes).unwrap();
    watching.stderr_line("what is read is right again");
    assert!(serves(&new));
    // Another admin address would move the endpoint away.
    proxy
        .directory
        .write("next/web.json", &document("/elsewhere.sock", old.port()));
    let said = watching.stderr_line("out of sync");
    assert!(said.contains("start again to change it"), "{said}");
    assert_eq!(proxy.get("web.example.com").body, new.port().to_string());
    proxy
        .directory
        .write("next/web.json", &document(&admin, old.port()));
    watching.stderr_line("in sync again");
    assert!(serves(&old));
    watching.signal("INT");
    assert_eq!(watching.end().0, Some(0));
}

#[test]
fn trouble_is_said_once() {
    let directory = Directory::new();
    let admin = directory.path().join("admin.sock");
    let listener = UnixListener::bind(&admin).unwrap();
    directory.write("desired.json", &document(&admin.display().to_string(), 80));
    let watching = Running::start(&mut doorway(
        directory.path(),
        &["shipwick", "watch", "desired.json"],
    ));
    be_silent(&listener);
    watching.stderr_line("the proxy is out of sync");
    directory.write("desired.json", r#"{"apps": ["#);
    be_silent(&listener);
    watching.stderr_line("the routes stay as they are");
    // What came of a look has been said when the next one asks.
    for _look in 0..3 {
        be_silent(&listener);
    }
    watching.signal("TERM");
    let (code, rest) = watching.end();
    assert_eq!(code, Some(0));
    assert!(rest.contains("stopping") && !rest.contains('\n'), "{rest}");
}
