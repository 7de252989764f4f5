//! `doorway shipwick`, and the routes that shipwick-routes renders in the proxies that take them.

mod commands;
mod pod;
mod proxies;
mod recovery;
mod traffic;
mod watching;

use shipwick_routes::{App, Replica, Upstream};

/// An application whose replicas listen on these ports of 127.0.0.1.
fn app(domain: &str, ports: &[u16]) -> App {
    App {
        domain: Some(domain.parse().unwrap()),
        replicas: Some(ports.iter().map(|port| replica(*port)).collect()),
        ..App::default()
    }
}

fn replica(port: u16) -> Replica {
    Replica::running(Upstream::new("127.0.0.1", port).unwrap())
}
