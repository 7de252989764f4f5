//! An agent that rolls applications out and drives the proxy as Shipwick drives Caddy: it loads a whole document over a
//! socket, marks it with an `@id`, and looks for the mark to see whether it still runs.

use std::net::Ipv4Addr;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::admin::{AdminRig, Ask};
use crate::support::origin::Recorder;
use crate::support::rig::{HOST, get};
use crate::support::wire::{Message, Wire};

/// The document of an agent: a route for each application, and one for everything else that bears the mark.
fn document(socket: &str, mark: &str, upstreams: &[String]) -> String {
    let dials: Vec<Value> = upstreams.iter().map(|dial| json!({ "dial": dial })).collect();
    let text = json!(["text/plain; charset=utf-8"]);
    let proxy = json!({
        "handler": "reverse_proxy",
        "health_checks": {"passive": {"fail_duration": "5s", "max_fails": 1}},
        "load_balancing": {"selection_policy": {"policy": "round_robin"}, "try_duration": "5s"},
        "transport": {"dial_timeout": "500ms", "protocol": "http"},
        "upstreams": dials,
    });
    let nobody = json!({
        "handler": "static_response", "status_code": 404, "headers": {"Content-Type": text},
        "body": "404 Not Found: no application is served at this address.\n",
    });
    let routes = json!([
        {"match": [{"host": [HOST]}], "handle": [proxy], "terminal": true},
        {"@id": mark, "handle": [nobody]},
    ]);
    let server = json!({
        "listen": ["127.0.0.1:0"], "automatic_https": {"disable": true}, "routes": routes,
    });
    json!({"admin": {"listen": socket}, "apps": {"http": {"servers": {"shipwick": server}}}}).to_string()
}

/// One request, on a connection of its own, as the agent sends it.
async fn ask(socket: &Path, ask: Ask) -> Message {
    let mut wire = Wire::connect_unix(socket).await;
    wire.ask(ask.bytes("127.0.0.1")).await
}

async fn load(socket: &Path, document: &str) -> u16 {
    let answer = ask(socket, Ask::new("POST", "/load").json(document)).await;
    answer.head.status()
}

async fn runs(socket: &Path, mark: &str) -> u16 {
    ask(socket, Ask::new("GET", &format!("/id/{mark}")))
        .await
        .head
        .status()
}

#[tokio::test]
async fn an_agent_loads_marks_and_checks_its_documents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("admin.sock");
    let socket = format!("unix/{}", path.display());
    let bootstrap = json!({"admin": {"listen": socket}}).to_string();
    let rig = AdminRig::start(&bootstrap).await;
    let (old, new) = (
        Recorder::saying(Ipv4Addr::LOCALHOST, "old").await,
        Recorder::saying(Ipv4Addr::LOCALHOST, "new").await,
    );
    assert_eq!(runs(&path, "shipwick-config-1").await, 404);

    let first = document(&socket, "shipwick-config-1", &[old.addr().to_string()]);
    assert_eq!(load(&path, &first).await, 200);
    assert_eq!(runs(&path, "shipwick-config-1").await, 200);
    let mut client = Wire::connect(rig.site()).await;
    assert_eq!(client.ask(get("/")).await.body, b"old");
    let elsewhere = "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n";
    let nobody = client.ask(elsewhere).await;
    assert_eq!(nobody.head.status(), 404);
    assert_eq!(
        nobody.body,
        b"404 Not Found: no application is served at this address.\n"
    );

    let running = rig.control.revision();
    assert_eq!(load(&path, &first).await, 200);
    assert_eq!(rig.control.revision(), running, "the same document is no load");

    let refused = first.replace("round_robin", "by_magic");
    let answer = ask(&path, Ask::new("POST", "/load").json(refused)).await;
    assert_eq!(answer.head.status(), 400);
    assert!(
        answer.text().starts_with("{\"error\":\"loading config: "),
        "{}",
        answer.text()
    );

    let second = document(&socket, "shipwick-config-2", &[new.addr().to_string()]);
    assert_eq!(load(&path, &second).await, 200);
    assert_eq!(
        client.ask(get("/")).await.body,
        b"new",
        "over the same connection"
    );
    assert_eq!(runs(&path, "shipwick-config-1").await, 404);
    assert_eq!(runs(&path, "shipwick-config-2").await, 200);
}
