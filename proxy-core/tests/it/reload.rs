//! Replacing the configuration of a running proxy: what is unchanged notices nothing.

mod listeners;
mod refused;
mod routes;
mod streams;
mod unix;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// Global options of every configuration here.
const GLOBAL: &str = "{\n\tadmin off\n\tauto_https disable_redirects\n\tgrace_period 5s\n}\n";

/// A site on `address` with these directives.
fn site(address: SocketAddr, directives: &str) -> String {
    format!(
        "http://:{} {{\n\tbind {}\n{directives}\n}}\n",
        address.port(),
        address.ip()
    )
}

/// A whole configuration of these sites.
fn sites(sites: &[String]) -> String {
    format!("{GLOBAL}{}", sites.concat())
}

/// An address that nobody listens on.
fn free(ip: Ipv4Addr) -> SocketAddr {
    let probe = TcpListener::bind((ip, 0)).expect("a port is free");
    probe.local_addr().expect("it is bound")
}
