//! The settings of TLS connections: which clients may come, on which terms, and by which policy.

mod clients;
mod names;
mod reload;
mod sessions;
mod terms;

use std::net::Ipv4Addr;

use crate::support::rig::{Rig, build, options};

/// Global options of every configuration here.
const GLOBAL: &str = "\tadmin off\n\tauto_https disable_redirects\n\tgrace_period 5s\n";

/// A site of `host` at any port, with these lines in `tls internal` and these directives.
fn site(host: &str, tls: &str, directives: &str) -> String {
    format!("https://{host}:0 {{\n\tbind 127.0.0.1\n\ttls internal {{\n{tls}\n\t}}\n{directives}\n}}\n")
}

/// The lines of `client_auth`.
fn client_auth(lines: &str) -> String {
    format!("\t\tclient_auth {{\n{lines}\n\t\t}}")
}

/// A whole configuration of these sites, with more global options.
fn sites(options: &str, sites: &[String]) -> String {
    format!("{{\n{GLOBAL}{options}}}\n{}", sites.concat())
}

/// Why a configuration is refused.
fn refused(text: &str) -> String {
    match build(&options(), text) {
        Ok(_) => panic!("the configuration is taken:\n{text}"),
        Err(error) => error,
    }
}

/// A proxy with these sites.
fn rig(all: &[String]) -> Rig {
    Rig::caddyfile(&sites("", all))
}

const LOCALHOST: Ipv4Addr = Ipv4Addr::LOCALHOST;
