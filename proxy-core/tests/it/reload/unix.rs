//! Sites on unix sockets.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use super::{free, site, sites};
use crate::support::net::Net;
use crate::support::origin::Recorder;
use crate::support::rig::{self, Rig, get};
use crate::support::wire::Wire;

/// A site on the socket at `path`.
fn local(path: &Path, mode: &str, directives: &str) -> String {
    format!(
        "http://:80 {{\n\tbind unix/{}{mode}\n{directives}\n}}\n",
        path.display()
    )
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path)
        .expect("the socket is there")
        .permissions()
        .mode()
        & 0o777
}

#[tokio::test]
async fn a_site_is_served_on_a_unix_socket_by_all_workers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.sock");
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let directives = format!("\treverse_proxy {}", origin.addr());
    let rig = Rig::with_workers(2, &sites(&[local(&path, "", &directives)]));
    assert_eq!(mode(&path), 0o200);
    for _ in 0..20 {
        let asked = get("/").replace("\r\n\r\n", "\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n");
        let answer = Wire::connect_unix(&path).await.ask(asked).await;
        assert_eq!(answer.body, b"ok");
    }
    // Its peer has no address, and what it says of others is not believed.
    assert_eq!(origin.take_requests()[0].head.field("x-forwarded-for"), None);

    rig.stop().await;
    assert!(!path.exists(), "the socket goes with the proxy");
}

#[tokio::test]
async fn a_peer_on_a_unix_socket_may_be_trusted_to_name_the_client() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.sock");
    let site = local(&path, "", "\trespond \"{remote_host} {client_ip}\"");
    let global = super::GLOBAL.replace("}\n", "\tservers {\n\t\ttrusted_proxies_unix\n\t}\n}\n");
    let _rig = Rig::caddyfile(&format!("{global}{site}"));
    let asked = get("/").replace("\r\n\r\n", "\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n");
    let answer = Wire::connect_unix(&path).await.ask(asked).await;
    assert_eq!(answer.body, b"@ 192.0.2.1");
}

#[tokio::test]
async fn sockets_come_and_go_and_change_their_mode_while_the_proxy_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (
        folder.path().join("first.sock"),
        folder.path().join("second.sock"),
    );
    let rig = Rig::caddyfile(&sites(&[local(&first, "|0600", "\trespond one")]));
    let mut wire = Wire::connect_unix(&first).await;
    assert_eq!(wire.ask(get("/")).await.body, b"one");

    let both = [
        local(&first, "|0660", "\trespond two"),
        local(&second, "", "\trespond other"),
    ];
    let applied = rig.reload(&sites(&both)).await;
    assert_eq!(applied.added, [format!("unix/{}", second.display())]);
    assert_eq!((applied.kept, mode(&first)), (1, 0o660));
    assert_eq!(wire.ask(get("/")).await.body, b"two");
    assert_eq!(
        Wire::connect_unix(&second).await.ask(get("/")).await.body,
        b"other"
    );

    rig.reload(&sites(&both[1..])).await;
    assert!(!first.exists());
    assert_eq!(
        Wire::connect_unix(&second).await.ask(get("/")).await.body,
        b"other"
    );
}

#[tokio::test]
async fn what_is_in_the_way_is_an_error_unless_it_is_a_socket_that_nobody_listens_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.sock");
    let text = sites(&[local(&path, "", "\trespond ok")]);
    symlink("/nowhere", &path).unwrap();
    let error = rig::build(&rig::options(), &text).expect_err("a symbolic link");
    assert!(error.contains("symbolic link"), "{error}");

    fs::remove_file(&path).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    let error = rig::build(&rig::options(), &text).expect_err("somebody listens there");
    assert!(error.contains("cannot listen on unix/"), "{error}");

    drop(listener);
    let rig = Rig::caddyfile(&text);
    assert_eq!(Wire::connect_unix(&path).await.ask(get("/")).await.body, b"ok");
    drop(rig);
}

#[tokio::test]
async fn a_load_that_is_refused_leaves_no_socket_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.sock");
    let address = free(Net::fresh().pod(1));
    let taken = std::net::TcpListener::bind(address).unwrap();
    let rig = Rig::caddyfile(&sites(&[site(free(Net::fresh().pod(1)), "\trespond ok")]));
    let wanted = [local(&path, "", "\trespond ok"), site(address, "\trespond ok")];
    rig.load(&sites(&wanted)).await.expect_err("the port is taken");
    assert!(!path.exists());
    drop(taken);
    rig.reload(&sites(&wanted)).await;
    assert!(path.exists());
}
