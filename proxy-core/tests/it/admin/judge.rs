//! The same requests to real Caddy and to Doorway, which must answer alike. Skipped, visibly, where there is no `caddy`.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::support::admin::{AdminRig, Ask, Client};
use crate::support::net::Net;
use crate::support::wait::eventually;
use crate::support::wire::Message;

/// Caddy, as a process of its own with an empty home.
struct Caddy {
    process: Child,
    client: Client,
    _home: TempDir,
}

/// In what the answers may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Differ {
    /// In nothing.
    Not,
    /// In the words of the error.
    Words,
    /// Caddy says 500 though the client is at fault.
    Blame,
    /// Both: other blame, other words.
    BlameAndWords,
}
use Differ::{Blame, BlameAndWords, Not, Words};

const ROUTES: &str = "/config/apps/http/servers/s/routes";

fn document(admin: &str) -> String {
    format!(
        r#"{{"admin":{{"listen":"{admin}"}},"apps":{{"http":{{"servers":{{"s":{{"listen":["127.0.0.1:0"],
        "routes":[{{"@id":"r1","handle":[{{"handler":"static_response","body":"a<b>&"}}]}},
        {{"@id":7,"handle":[{{"handler":"static_response","body":"b"}}]}}]}}}}}}}}}}"#
    )
}

// === impl Caddy ===

impl Caddy {
    async fn start() -> Option<Self> {
        // An address of this test's own, so that nobody else takes the port in the meantime.
        let free = TcpListener::bind((Net::fresh().pod(1), 0)).unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.json");
        std::fs::write(&path, document(&address.to_string())).unwrap();
        let started = Command::new("caddy")
            .arg("run")
            .arg("--config")
            .arg(&path)
            .env("HOME", home.path())
            .env("XDG_CONFIG_HOME", home.path())
            .env("XDG_DATA_HOME", home.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(process) = started else {
            println!("skipped: there is no `caddy` to compare with");
            return None;
        };
        eventually("Caddy's admin API", async || {
            std::net::TcpStream::connect(address).ok()
        })
        .await;
        Some(Self {
            process,
            client: Client { address },
            _home: home,
        })
    }
}

impl Drop for Caddy {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// What of an answer is compared.
fn seen(message: &Message, port: u16, differ: Differ) -> String {
    let head = &message.head;
    let mut status = head.status();
    if matches!(differ, Blame | BlameAndWords) && status == 500 {
        status = 400;
    }
    let names = [
        "content-type",
        "content-length",
        "etag",
        "location",
        "x-content-type-options",
        "access-control-allow-origin",
        "access-control-allow-methods",
        "access-control-allow-headers",
        "access-control-allow-credentials",
    ];
    let mut text = format!("{status}\n");
    let words = matches!(differ, Words | BlameAndWords);
    for name in names
        .into_iter()
        .filter(|name| !(words && *name == "content-length"))
    {
        text.push_str(&format!("{name}: {:?}\n", head.all(name)));
    }
    let body = message.text();
    text.push_str(if words {
        body.get(..10).unwrap_or(&body)
    } else {
        &body
    });
    text.replace(&format!(":{port}"), ":PORT")
}

async fn compare(rig: &AdminRig, caddy: &Caddy, ask: &Ask, differ: Differ) {
    let client = rig.client().await;
    let ours = client.ask(ask).await;
    let theirs = caddy.client.ask(ask).await;
    assert_eq!(
        seen(&ours, client.address.port(), differ),
        seen(&theirs, caddy.client.address.port(), differ),
        "left is Doorway, right is Caddy: {}",
        String::from_utf8_lossy(&ask.bytes("HOST"))
    );
}

/// Both with the same document, and Doorway at a port of its own.
async fn both() -> Option<(AdminRig, Caddy)> {
    let caddy = Caddy::start().await?;
    Some((AdminRig::start(&document("127.0.0.1:0")).await, caddy))
}

#[tokio::test]
async fn paths_and_methods_are_answered_as_by_caddy() {
    let Some((rig, caddy)) = both().await else { return };
    let get = |path: &str| Ask::new("GET", path);
    for path in [
        "/",
        "/nope",
        "/config",
        "/id",
        "/pki",
        "/config//apps",
        "/config/apps/",
        "/config/apps",
        "/config/nope",
        "/config/nope/deeper",
        "/config/%61pps",
        "/config/apps?x=1",
        "/config?x=1",
        "/config/./x",
        "/a/../config/",
        "/id/r1",
        "/id/r1/",
        "/id/r1/handle/0",
        "/id/7",
        "/id/x",
        "/id/",
        "/id/r1/nope/x",
        "/load",
        "/adapt",
        "/stop",
        "/load/",
        "/stop/",
        "/config/...",
        "/config/apps/.../servers",
        "/config/a%20b",
        "/config/a%22b",
        "/config/x%2Fy",
    ] {
        // The listening ports differ, and so does what is made of them.
        if path != "/config/..." {
            compare(&rig, &caddy, &get(path), Not).await;
        }
    }
    for rest in [
        "",
        "/0",
        "/00",
        "/+1",
        "/-0",
        "/x",
        "/-1",
        "/5",
        "/5/",
        "/00/match",
        "/0/handle/0/body/x",
        "/...",
        "/0/nope",
        "/99999999999999999999",
        "/5/x",
        "/x/y",
    ] {
        compare(&rig, &caddy, &get(&format!("{ROUTES}{rest}")), Not).await;
    }
    for method in ["HEAD", "OPTIONS", "FOO", "TRACE"] {
        compare(&rig, &caddy, &Ask::new(method, "/config/"), Not).await;
    }
    for (method, path) in [
        ("POST", "/"),
        ("POST", "/config"),
        ("POST", "/load/../load"),
        ("OPTIONS", "/load"),
        ("PUT", "/stop"),
        ("OPTIONS", "*"),
    ] {
        compare(&rig, &caddy, &Ask::new(method, path), Not).await;
    }
    rig.stop().await;
}

/// Both must hold the same routes.
async fn compare_routes(rig: &AdminRig, caddy: &Caddy, after: &str) {
    let ours = rig.client().await.get(ROUTES).await;
    assert_eq!(ours, caddy.client.get(ROUTES).await, "after {after}");
}

#[tokio::test]
async fn edits_are_made_and_refused_as_by_caddy() {
    let Some((rig, caddy)) = both().await else { return };
    let one = r#"{"handle":[{"handler":"static_response","body":"n"}]}"#;
    let two = format!("[{one},{one}]");
    for (method, rest, body, differ) in [
        ("POST", "", one, Not),
        ("POST", "/0", one, Not),
        ("POST", "/99", one, Not),
        ("POST", "/x", one, Not),
        ("POST", "/...", &two, Not),
        ("POST", "/...", one, Blame),
        ("POST", "/.../x", one, Blame),
        ("PUT", "", one, Not),
        ("PUT", "/...", one, Not),
        ("PUT", "/0", one, Not),
        ("PUT", "/9", one, Not),
        ("PUT", "/99", one, Blame),
        ("PUT", "/01", one, Blame),
        ("PATCH", "/0", one, Not),
        ("PATCH", "/99", one, Blame),
        ("PATCH", "/nope/deeper", one, Blame),
        ("PATCH", "/1/nope", "1", Not),
        ("DELETE", "/1/nope", "", Not),
        ("DELETE", "/99", "", Blame),
        ("DELETE", "/0", "", Not),
        ("DELETE", "/1/", "", Not),
        ("PUT", "/0/handle", "1", Not),
        ("PUT", "/0/terminal", "true", Not),
        ("PUT", "/0/terminal", "true", Not),
        ("POST", "/0/terminal/x", "{}", Blame),
        ("DELETE", "/0/terminal/x", "", Blame),
        ("PATCH", "/0/handle/0/body", "\"zz\"", Not),
        ("POST", "/0/handle/0/body", "\"zz2\"", Not),
        (
            "POST",
            "/0/handle/0/body",
            r#""\u0001\u007f\b\f\u2028\u00e9\ud83d\ude00/\/""#,
            Not,
        ),
        ("POST", "", "{bad", BlameAndWords),
        ("POST", "", "1 2", BlameAndWords),
        ("POST", "", r#"{"handle":[{"handler":"nope"}]}"#, BlameAndWords),
        ("POST", "", r#"{"foo":1}"#, BlameAndWords),
        ("POST", "", r#"{"@id":"r7","handle":[]}"#, Not),
        ("POST", "", r#"{"@id":"r7","handle":[]}"#, Not),
        ("POST", "", r#"{"@id":true,"handle":[]}"#, Not),
        ("POST", "", r#"{"@id":"","handle":[]}"#, Not),
        ("POST", "", r#"{"@id":1.5,"handle":[]}"#, Not),
        ("DELETE", "/...", "", Not),
        ("PATCH", "/...", one, Not),
        ("PATCH", "/0/nope", "1", Blame),
    ] {
        let ask = Ask::new(method, &format!("{ROUTES}{rest}"));
        let ask = if method == "DELETE" { ask } else { ask.json(body) };
        compare(&rig, &caddy, &ask, differ).await;
        compare_routes(&rig, &caddy, &format!("{method} {rest} {body}")).await;
    }
    rig.stop().await;
}

#[tokio::test]
async fn other_edits_are_made_and_refused_as_by_caddy() {
    let Some((rig, caddy)) = both().await else { return };
    let server = "/config/apps/http/servers/s";
    for (method, path, body, differ) in [
        ("DELETE", "/id/7", "", Not),
        ("DELETE", "/id/7", "", Not),
        (
            "POST",
            "/id/r1/handle",
            r#"{"handler":"static_response","status_code":404}"#,
            Not,
        ),
        ("DELETE", "/id/r1/handle/1", "", Not),
        (
            "PUT",
            "/id/r1/handle/0",
            r#"{"handler":"static_response","status_code":404}"#,
            Not,
        ),
        (
            "PUT",
            "/config/apps/http/servers/new/automatic_https/disable",
            "true",
            Not,
        ),
        (
            "POST",
            "/config/apps/http/servers/s2/listen",
            r#"["127.0.0.1:1"]"#,
            Blame,
        ),
        ("PUT", &format!("{server}/listen/0/x"), "true", Blame),
        ("PUT", &format!("{server}/listen/5/x"), "true", Blame),
        ("POST", &format!("{server}/foo/..."), "[1]", BlameAndWords),
        ("POST", "/config/apps/http/grace_period", "1e9", Not),
        ("POST", &format!("{server}/idle_timeout"), "1.5e9", Not),
        (
            "POST",
            &format!("{server}/read_timeout"),
            "12345678901234567890",
            BlameAndWords,
        ),
        ("POST", "/config/foo", "[[1,2],[3]]", BlameAndWords),
        ("POST", "/config/", "[]", BlameAndWords),
        ("PUT", "/config/", "{}", Not),
    ] {
        let ask = Ask::new(method, path);
        let ask = if method == "DELETE" { ask } else { ask.json(body) };
        compare(&rig, &caddy, &ask, differ).await;
        compare(&rig, &caddy, &Ask::new("GET", "/config/apps"), Not).await;
    }
    let route = format!("{ROUTES}/0/terminal");
    for content_type in [
        "text/plain",
        "application/foo+json; charset=utf8",
        "application/json; charset=utf-8",
        "text/json",
        "",
    ] {
        let ask = Ask::new("POST", &route)
            .body("true")
            .field("Content-Type", content_type);
        compare(&rig, &caddy, &ask, Not).await;
    }
    compare(&rig, &caddy, &Ask::new("POST", &route).body("true"), Not).await;
    compare(&rig, &caddy, &Ask::new("POST", &route).json(""), Not).await;
    compare(&rig, &caddy, &Ask::new("GET", "/config/apps"), Not).await;
    rig.stop().await;
}

#[tokio::test]
async fn if_match_is_checked_as_by_caddy() {
    let Some((rig, caddy)) = both().await else { return };
    let client = rig.client().await;
    let etag = client
        .ask(&Ask::new("GET", ROUTES))
        .await
        .head
        .field("etag")
        .unwrap();
    let body = format!("{ROUTES}/0/handle/0/body");
    for (field, differ) in [
        (etag.as_str(), Not),
        (etag.as_str(), Not),
        ("*", Not),
        ("x", Not),
        ("\"x\"", Not),
        ("\"/config/nope/x 12\"", Blame),
        ("\"/config/ 12\"", Not),
        ("W/\"a b\"", Not),
        ("\"a b c\"", Not),
        ("\"nope 12\"", Not),
        ("\" 12\"", Not),
        ("\"/ 12\"", Blame),
        ("\"/config/nope 396548453caeba50\"", Not),
        ("\"/config/nope   396548453CAEBA50\"", Not),
        ("", Not),
    ] {
        let ask = Ask::new("PATCH", &body).json("\"m\"").field("If-Match", field);
        compare(&rig, &caddy, &ask, differ).await;
        compare_routes(&rig, &caddy, field).await;
    }
    rig.stop().await;
}

#[tokio::test]
async fn loads_and_adaptations_are_answered_as_by_caddy() {
    let Some((rig, caddy)) = both().await else { return };
    let typed = |method: &str, path: &str, body: &str, kind: &str| {
        Ask::new(method, path).body(body).field("Content-Type", kind)
    };
    let caddyfile = ":0 {\n\tbind 127.0.0.1\n\trespond \"a<b\"\n}\n";
    for (path, body, kind, differ) in [
        ("/load", "{}", "text/plain", Not),
        ("/load", "{}", "text/yaml; charset=utf-8", Not),
        ("/load", "{}", "application/foo+json", Not),
        ("/load", "{}", ";;", Not),
        ("/load", "{}", "json", Not),
        ("/load", "{bad", "application/json", Words),
        ("/load", "[1]", "application/json", Words),
        // With the address: a refused document without one moves Caddy's endpoint.
        (
            "/load",
            r#"{"admin":{"listen":"ADMIN"},"apps":{"http":{"lisen":[]}}}"#,
            "text/json",
            Words,
        ),
        (
            "/load",
            r#"{"admin":{"@id":"q","listen":"ADMIN"},"apps":{"http":{"@id":"q"}}}"#,
            "text/json",
            Words,
        ),
        ("/load", ":80 {\n\tfoo\n}\n", "text/caddyfile", Words),
        ("/load", "", "text/caddyfile", Words),
        ("/adapt", caddyfile, "text/caddyfile", Not),
        ("/adapt", caddyfile, "TEXT/Caddyfile; charset=utf-8", Not),
        ("/adapt", ":80 {\n\tfoo\n}\n", "text/caddyfile", Words),
        (
            "/adapt",
            "{ \"b\" : [ 1, \"a <\\\" \\\\\" ],\n\"a\":1}",
            "application/json",
            Not,
        ),
        ("/adapt", "{\"a\":1", "application/json", BlameAndWords),
        ("/adapt", "", "application/json", BlameAndWords),
        ("/adapt", "{}", "text/yaml", Not),
        ("/adapt", "{}", ";;", Not),
    ] {
        let ours = rig.client().await;
        let ask = |to: &Client| {
            typed(
                "POST",
                path,
                &body.replace("ADMIN", &to.address.to_string()),
                kind,
            )
        };
        let (here, there) = (
            ours.ask(&ask(&ours)).await,
            caddy.client.ask(&ask(&caddy.client)).await,
        );
        assert_eq!(
            seen(&here, ours.address.port(), differ),
            seen(&there, caddy.client.address.port(), differ),
            "{path} {kind} {body}"
        );
    }
    compare(&rig, &caddy, &Ask::new("POST", "/adapt").body("{\"a\":1}"), Not).await;
    compare(
        &rig,
        &caddy,
        &typed("GET", "/adapt", caddyfile, "text/caddyfile"),
        Not,
    )
    .await;
    rig.stop().await;
}

#[tokio::test]
async fn pages_and_foreign_hosts_are_kept_out_as_by_caddy() {
    let Some((rig, caddy)) = both().await else { return };
    let ours = rig.client().await;
    for fields in [
        vec![("Host", "localhost")],
        vec![("Host", "LOCALHOST:PORT")],
        vec![("Host", "127.0.0.1:PORT")],
        vec![("Host", "[::1]:PORT")],
        vec![("Host", "evil.com:PORT")],
        vec![("Upgrade", "websocket")],
        vec![("Sec-Fetch-Mode", "no-cors")],
        vec![("Sec-Fetch-Mode", "cors")],
        vec![("Sec-Fetch-Mode", "navigate")],
        vec![("Sec-Fetch-Mode", "")],
        vec![("Sec-Fetch-Mode", "cors"), ("Referer", "http://localhost:PORT/x")],
        vec![("Sec-Fetch-Mode", "cors"), ("Referer", "http://evil/x")],
        vec![("Referer", "http://evil/x")],
        vec![("Origin", "null")],
        vec![("Origin", "")],
        vec![("Origin", "http://localhost:PORT")],
        vec![("Origin", "https://localhost:PORT")],
        vec![("Origin", "http://localhost")],
        vec![("Origin", "localhost:PORT")],
        vec![("Origin", "http://127.0.0.1:PORT/x")],
        vec![("Origin", "http://user@localhost:PORT")],
        vec![("Origin", "http://evil")],
        vec![("Origin", "::bad")],
    ] {
        for (method, path) in [
            ("GET", ROUTES),
            ("OPTIONS", "/load"),
            ("PUT", "/stop"),
            ("GET", "/nope"),
        ] {
            let ask = |port: u16| {
                let value = |value: &str| value.replace("PORT", &port.to_string());
                fields.iter().fold(Ask::new(method, path), |ask, (name, text)| {
                    ask.field(name, &value(text))
                })
            };
            let here = ours.ask(&ask(ours.address.port())).await;
            let there = caddy.client.ask(&ask(caddy.client.address.port())).await;
            assert_eq!(
                seen(&here, ours.address.port(), Not),
                seen(&there, caddy.client.address.port(), Not),
                "{method} {path} {fields:?}"
            );
        }
    }
    rig.stop().await;
}
