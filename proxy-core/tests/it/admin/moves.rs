//! The endpoint itself as something that changes: bound first, served last, and never lost.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use proxy_core::AdminOptions;
use tokio::net::{TcpStream, UnixStream};

use super::{load, saying, says, site};
use crate::support::admin::{AdminRig, Ask, Client};
use crate::support::net::Net;
use crate::support::wait::eventually;
use crate::support::wire::{Message, Wire};

async fn until_refused(address: SocketAddr) {
    eventually("a refused connection", async || {
        TcpStream::connect(address).await.is_err().then_some(())
    })
    .await;
}

/// A port that nobody else takes, as the address is this test's own.
fn free_address() -> SocketAddr {
    let free = TcpListener::bind((Net::fresh().pod(1), 0)).unwrap();
    free.local_addr().unwrap()
}

/// Asks over a socket.
async fn ask_socket(path: &Path, ask: &Ask) -> Message {
    let mut wire = Wire::over(UnixStream::connect(path).await.unwrap());
    wire.ask(ask.bytes("127.0.0.1")).await
}

#[tokio::test]
async fn the_request_that_moves_the_endpoint_is_answered_and_the_old_place_is_left() {
    let rig = AdminRig::start(&site("first")).await;
    let before = rig.client().await;
    let mut idle = before.wire().await;
    let next = free_address();
    before.done(&load(saying(&next.to_string(), "second"))).await;
    assert_eq!(rig.admin.address().await, Some(next.to_string()));
    assert_eq!(
        Client { address: next }.get("/config/admin/listen").await,
        format!("\"{next}\"\n")
    );
    until_refused(before.address).await;
    assert_eq!(idle.rest().await.0, b"", "idle connections to the old place end");
    assert_eq!(says(&rig).await, "second");
}

#[tokio::test]
async fn a_refused_load_leaves_the_endpoint_where_it_is_whatever_it_says_of_it() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let next = free_address();
    let broken = |admin: &str| {
        format!(r#"{{{admin}"apps":{{"http":{{"servers":{{"s":{{"listen":["192.0.2.1:1"]}}}}}}}}}}"#)
    };
    for admin in [
        String::new(),
        r#""admin":{"disabled":true},"#.to_owned(),
        format!(r#""admin":{{"listen":"{next}"}},"#),
        r#""admin":{"listen":"127.0.0.1:0","origins":["elsewhere"]},"#.to_owned(),
    ] {
        client.refused(400, &load(broken(&admin))).await;
        assert_eq!(
            client.get("/id/text/handle/0/body").await,
            "\"first\"\n",
            "{admin}"
        );
        assert!(TcpStream::connect(next).await.is_err(), "{admin}");
    }
    for admin in [
        "localhost:99999",
        "localhost:x",
        "udp/localhost:1",
        "unix//",
        "192.0.2.1:2019",
    ] {
        let error = client.refused(400, &load(saying(admin, "second"))).await;
        assert!(
            error.contains("starting the administration endpoint") || error.contains("admin.listen"),
            "{error}"
        );
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = client.refused(400, &load(saying(&address, "second"))).await;
    assert!(
        error.contains(&format!("cannot serve the admin API on {address}: ")),
        "{error}"
    );
    assert_eq!(says(&rig).await, "first");
}

#[tokio::test]
async fn the_endpoint_moves_to_all_addresses_and_back_at_one_port() {
    let first = free_address();
    let rig = AdminRig::start(&saying(&first.to_string(), "first")).await;
    let client = Client { address: first };
    let all = format!("0.0.0.0:{}", first.port());
    client.done(&load(saying(&all, "second"))).await;
    // Hosts are free there.
    let foreign = Ask::new("GET", "/id/text/handle/0/body").field("Host", "a.test");
    assert_eq!(client.ask(&foreign).await.text(), "\"second\"\n");
    client.done(&load(saying(&first.to_string(), "third"))).await;
    client.refused(403, &foreign).await;
    assert_eq!(says(&rig).await, "third");
}

#[tokio::test]
async fn who_may_ask_changes_without_a_move() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let ask = Ask::new("POST", "/config/admin/enforce_origin").json("true");
    client.done(&ask).await;
    client.refused(403, &Ask::new("GET", "/config/")).await;
    let origin = format!("http://localhost:{}", client.address.port());
    client
        .done(&Ask::new("DELETE", "/config/admin/enforce_origin").field("Origin", &origin))
        .await;
    assert_eq!(client.ask(&Ask::new("GET", "/config/")).await.head.status(), 200);
}

#[tokio::test]
async fn a_socket_is_private_unless_it_says_otherwise_and_goes_with_the_endpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("admin.sock");
    let address = format!("unix/{}", path.display());
    // Of a process that was killed.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let rig = AdminRig::start(&saying(&address, "first")).await;
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let get = Ask::new("GET", "/id/text/handle/0/body");
    assert_eq!(ask_socket(&path, &get).await.text(), "\"first\"\n");
    let page = get.clone().field("Origin", "http://127.0.0.1");
    assert_eq!(ask_socket(&path, &page).await.head.status(), 403);
    // As Shipwick's agent loads and checks.
    let opened = load(saying(&format!("{address}|0660"), "second"));
    assert_eq!(ask_socket(&path, &opened).await.head.status(), 200);
    assert_eq!(mode(), 0o660);
    assert_eq!(ask_socket(&path, &get).await.text(), "\"second\"\n");
    assert_eq!(
        ask_socket(&path, &load(saying("127.0.0.1:0", "third")))
            .await
            .head
            .status(),
        200
    );
    assert!(!path.exists());
    let client = rig.client().await;
    client.done(&load(saying(&address, "fourth"))).await;
    until_refused(client.address).await;
    rig.stop().await;
    assert!(!path.exists());
}

#[tokio::test]
async fn a_socket_is_not_put_where_something_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    std::fs::write(&file, "precious").unwrap();
    symlink(&file, &link).unwrap();
    for path in [&file, &link] {
        let address = format!("unix/{}", path.display());
        let error = client.refused(400, &load(saying(&address, "second"))).await;
        assert!(error.contains("is in its place"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&link).unwrap(), "precious");
}

#[tokio::test]
async fn an_endpoint_that_is_switched_off_answers_that_and_no_more() {
    let rig = AdminRig::start(&site("first")).await;
    let client = rig.client().await;
    client
        .done(&Ask::new("PATCH", "/config/admin").json(r#"{"disabled":true}"#))
        .await;
    until_refused(client.address).await;
    assert_eq!(rig.admin.address().await, None);
    assert_eq!(says(&rig).await, "first");
    // The process itself can still bring it back.
    let source = proxy_core::Source {
        file: "/etc/doorway.json".to_owned(),
        adapter: String::new(),
    };
    rig.admin.load(site("second"), source, false).await.unwrap();
    assert!(rig.admin.address().await.is_some());
    assert_eq!(says(&rig).await, "second");
}

#[tokio::test]
async fn without_a_word_about_it_the_endpoint_is_at_the_address_of_the_process() {
    let address = free_address().to_string();
    let options = AdminOptions {
        address: address.clone(),
        ..AdminOptions::default()
    };
    let rig = AdminRig::with_options("null", options).await;
    let client = rig.client().await;
    assert_eq!(client.address.to_string(), address);
    assert_eq!(client.get("/config/").await, "null\n");
    client.done(&load(site("first"))).await;
    assert_eq!(says(&rig).await, "first");
    rig.client().await.done(&load("{}")).await;
    assert_eq!(client.get("/config/").await, "{}\n");
    assert!(rig.control.addresses().is_empty());
}

#[tokio::test]
async fn a_configuration_of_nothing_leaves_the_endpoint_where_it_is_and_closed_to_the_same() {
    let elsewhere = free_address();
    let options = AdminOptions {
        address: elsewhere.to_string(),
        ..AdminOptions::default()
    };
    let guarded = site("first").replace(
        r#""listen":"127.0.0.1:0"}"#,
        r#""listen":"127.0.0.1:0","enforce_origin":true,"origins":["trusted"]}"#,
    );
    let rig = AdminRig::with_options(&guarded, options).await;
    let client = rig.client().await;
    let trusted = |method: &str, path: &str| {
        Ask::new(method, path)
            .field("Host", "trusted")
            .field("Origin", "http://trusted")
    };
    client.done(&trusted("DELETE", "/config/")).await;
    assert!(rig.control.addresses().is_empty());
    assert_eq!(rig.client().await.address, client.address, "it has not moved");
    assert!(TcpStream::connect(elsewhere).await.is_err());
    client.refused(403, &Ask::new("GET", "/config/")).await;
    assert_eq!(client.ask(&trusted("GET", "/config/")).await.text(), "null\n");
    client
        .done(&trusted("POST", "/load").json(saying(&elsewhere.to_string(), "second")))
        .await;
    assert_eq!(says(&rig).await, "second");
    assert_eq!(rig.client().await.address, elsewhere);
}
