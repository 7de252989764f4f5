//! Routes that a server has.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use crate::support::logs;
use crate::support::origin::{Origin, Recorded, Recorder, Reply};
use crate::support::rig::Rig;
use crate::support::wait::eventually;

use super::{POLL, RoutesFile, filters, reload, site, told, until_told};

/// A server of routes.
struct Server {
    recorder: Recorder,
    says: Says,
}

/// What it says: a status, further fields, and a body.
#[derive(Clone, Default)]
struct Says(Arc<Mutex<(u16, String, Vec<u8>)>>);

// === impl Server ===

impl Server {
    async fn start(routes: &str) -> Self {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), routes).await
    }

    async fn start_at(address: SocketAddr, routes: &str) -> Self {
        let says = Says::default();
        says.set(200, "", routes);
        let script = says.clone();
        let recorder = Recorder::start_at(address, move |request| script.answer(request)).await;
        Self { recorder, says }
    }

    fn lines(&self) -> String {
        format!(
            "\t\turl http://{}/routes?token=secret\n\t\tpoll {POLL:?}",
            self.recorder.addr()
        )
    }

    fn directives(&self) -> String {
        format!("\teskip {{\n{}\n\t}}", self.lines())
    }

    fn rig(&self) -> Rig {
        site(&filters::options(), &self.directives())
    }

    /// Waits until it was asked `count` times more.
    async fn until_asked(&self, count: usize) {
        let before = self.recorder.requests().len();
        eventually("it is asked again", async || {
            (self.recorder.requests().len() >= before + count).then_some(())
        })
        .await;
    }
}

// === impl Says ===

impl Says {
    fn set(&self, status: u16, fields: &str, body: impl AsRef<[u8]>) {
        let says = (status, fields.to_owned(), body.as_ref().to_vec());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = says;
    }

    fn answer(&self, request: &Recorded) -> Reply {
        let (status, fields, body) = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let known = request.head.field("if-none-match");
        if status == 200 && known.is_some_and(|etag| fields.contains(&format!("ETag: {etag}\r\n"))) {
            return Reply::keep(format!("HTTP/1.1 304 Not Modified\r\n{fields}\r\n"));
        }
        let mut bytes = format!(
            "HTTP/1.1 {status} X\r\n{fields}Content-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(&body);
        Reply::Keep(bytes)
    }
}

fn saying(text: &str) -> String {
    format!("a: Path(\"/a\") -> serve(200, \"{text}\") -> <shunt>;")
}

#[tokio::test]
async fn what_a_server_says_are_the_routes_and_a_change_is_seen() {
    let server = Server::start(&saying("1")).await;
    let rig = server.rig();
    until_told(&rig, "/a", 200, "1").await;
    server.says.set(200, "", saying("2"));
    until_told(&rig, "/a", 200, "2").await;
    let request = server.recorder.requests().remove(0);
    assert_eq!(
        (request.head.method(), request.head.target()),
        ("GET", "/routes?token=secret")
    );
}

#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    let server = Server::start("").await;
    server.says.set(200, "ETag: \"v1\"\r\n", saying("1"));
    let rig = server.rig();
    until_told(&rig, "/a", 200, "1").await;
    server.until_asked(3).await;
    let last = server.recorder.requests().pop().expect("it was asked");
    assert_eq!(last.head.field("if-none-match").as_deref(), Some("\"v1\""));
    assert_eq!(told(&rig.get("/a").await), (200, "1".to_owned()));
    server.says.set(200, "ETag: \"v2\"\r\n", saying("2"));
    until_told(&rig, "/a", 200, "2").await;
}

#[tokio::test]
async fn whatever_else_a_server_says_leaves_the_routes_as_they_were() {
    logs::capture();
    let server = Server::start(&saying("1")).await;
    let rig = server.rig();
    until_told(&rig, "/a", 200, "1").await;
    for (status, fields, body) in [
        (500, "", b"a: * -> <shunt>".as_slice()),
        (404, "", b""),
        (200, "ETag: \"bad\"\r\n", b"<html>not routes</html>"),
        (200, "", b"\xff\xfe"),
        (304, "", b""),
        (204, "", b""),
        (302, "Location: http://127.0.0.1:1/\r\n", b""),
    ] {
        server.says.set(status, fields, body);
        server.until_asked(3).await;
        assert_eq!(told(&rig.get("/a").await), (200, "1".to_owned()), "{status}");
    }
    // Garbage with a tag is asked for again without that tag.
    server.says.set(200, "ETag: \"bad\"\r\n", saying("2"));
    until_told(&rig, "/a", 200, "2").await;
    let address = server.recorder.addr().to_string();
    assert!(!logs::lines_with(&["routes cannot be read", &address]).is_empty());
    assert!(
        logs::lines_with(&["routes cannot be read", "secret"]).is_empty(),
        "no query in logs"
    );
}

#[tokio::test]
async fn until_a_server_has_said_something_there_are_no_routes() {
    let server = Server::start("").await;
    server.says.set(500, "", "");
    let directives = format!(
        "\teskip {{\n{}\n\t\tinline `b: Path(\"/b\") -> serve(200, \"b\") -> <shunt>;`\n\t}}",
        server.lines()
    );
    let rig = site(&filters::options(), &directives);
    server.until_asked(2).await;
    for path in ["/a", "/b"] {
        let answer = rig.get(path).await;
        assert_eq!(told(&answer), (503, "Service Unavailable\n".to_owned()), "{path}");
        assert!(answer.head.has("retry-after"));
    }
    server.says.set(200, "", saying("1"));
    until_told(&rig, "/a", 200, "1").await;
    assert_eq!(told(&rig.get("/b").await), (200, "b".to_owned()));
}

#[tokio::test]
async fn a_server_that_goes_and_comes_back_is_found_again() {
    logs::capture();
    let server = Server::start(&saying("1")).await;
    let address = server.recorder.addr();
    let rig = server.rig();
    until_told(&rig, "/a", 200, "1").await;
    server.recorder.vanish().await;
    logs::until_line_with(&["routes cannot be read", &address.to_string()]).await;
    assert_eq!(told(&rig.get("/a").await), (200, "1".to_owned()));
    let _server = Server::start_at(address, &saying("2")).await;
    until_told(&rig, "/a", 200, "2").await;
    logs::until_line_with(&["routes can be read again", &address.to_string()]).await;
}

#[tokio::test]
async fn a_server_that_is_slow_keeps_no_other_source_waiting() {
    let silent = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let server = Server::start(&saying("1")).await;
    let file = RoutesFile::new("f: Path(\"/f\") -> serve(200, \"1\") -> <shunt>;");
    let first = format!(
        "\teskip {{\n\t\turl http://{}/\n\t\tfile {}\n{}\n\t}}",
        silent.addr(),
        file.path().display(),
        server.lines()
    );
    let rig = site(&filters::options(), &first);
    let mut asked = silent.accept().await;
    asked.head().await;
    // It has said nothing yet.
    assert_eq!(rig.get("/f").await.head.status(), 503);
    asked.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    until_told(&rig, "/f", 200, "1").await;
    // It is asked again and says nothing for as long as the test lasts.
    asked.head().await;
    file.write("f: Path(\"/f\") -> serve(200, \"2\") -> <shunt>;");
    until_told(&rig, "/f", 200, "2").await;
    server.says.set(200, "", saying("2"));
    until_told(&rig, "/a", 200, "2").await;
    rig.stop().await;
}

#[tokio::test]
async fn another_configuration_goes_on_with_what_a_server_has_said() {
    let server = Server::start(&saying("1")).await;
    let rig = server.rig();
    until_told(&rig, "/a", 200, "1").await;
    server.says.set(500, "", "");
    reload(
        &rig,
        &server
            .directives()
            .replace("poll", "default_status 410\n\t\tpoll"),
    )
    .await;
    assert_eq!(told(&rig.get("/a").await), (200, "1".to_owned()));
    assert_eq!(rig.get("/none").await.head.status(), 410);
    server.says.set(200, "", saying("2"));
    until_told(&rig, "/a", 200, "2").await;
}
