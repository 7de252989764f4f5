//! A configuration that is refused changes nothing.

use std::net::{SocketAddr, TcpListener};

use super::{free, site, sites};
use crate::support::net::Net;
use crate::support::rig::{Rig, get};
use crate::support::wire::Wire;

/// A site over TLS whose certificate is in a file that is not there.
fn secured(address: SocketAddr, file: &str) -> String {
    let (ip, port) = (address.ip(), address.port());
    format!("https://a.localhost:{port} {{\n\tbind {ip}\n\ttls {file} {file}\n\trespond bad\n}}\n")
}

#[tokio::test]
async fn what_is_wrong_is_said_all_at_once_and_nothing_changes() {
    let ip = Net::fresh().pod(1);
    let (first, second) = (free(ip), free(ip));
    let taken = TcpListener::bind((ip, 0)).expect("a port is free");
    let taken = (taken.local_addr().expect("it is bound"), taken);
    let good = sites(&[site(first, "\trespond good")]);
    let rig = Rig::caddyfile(&good);
    let mut wire = rig.wire().await;
    assert_eq!(wire.ask(get("/")).await.body, b"good");

    let refused = [
        (
            sites(&[
                site(first, "\trespond bad"),
                site(second, "\trespond bad"),
                site(taken.0, "\trespond bad"),
            ]),
            vec!["cannot listen on", "stop what listens there"],
        ),
        (
            sites(&[
                site(first, "\trespond bad"),
                secured(second, "/no/such.pem"),
                secured(free(ip), "/none/either.pem"),
            ]),
            vec!["/no/such.pem", "/none/either.pem"],
        ),
        (sites(&[secured(first, "/no/such.pem")]), vec!["/no/such.pem"]),
        ("{\n\tadmin off\n}\n".to_owned(), vec!["no site"]),
    ];
    for (text, reasons) in refused {
        let error = rig.load(&text).await.expect_err("it is wrong");
        for reason in reasons {
            assert!(error.contains(reason), "{error}");
        }
        assert_eq!(wire.ask(get("/")).await.body, b"good");
        assert_eq!(rig.control().revision(), 1);
        assert_eq!(rig.control().addresses(), [first]);
        assert!(TcpListener::bind(second).is_ok(), "nothing stays bound");
    }
    assert_eq!(rig.reload(&good).await.revision, 2);
    assert_eq!(Wire::connect(first).await.ask(get("/")).await.body, b"good");
}
