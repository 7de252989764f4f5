//! The integration tests, one binary.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocation;
mod config;
mod cookies;
mod geo_parity;
mod networks;
mod parity;
mod paths;

use std::net::IpAddr;

use doors_routing::{Decision, Router, UpstreamBlock};
use doors_token::TokenCipher;

const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
const COOKIE: &str = "upstream";

fn cipher() -> TokenCipher {
    TokenCipher::new(SECRET).unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A token of `address`: the same each time, so that failures can be compared.
fn token(address: &str) -> String {
    cipher().encode_with_nonce(ip(address), [7; 12])
}

/// A token that another secret made.
fn foreign_token(address: &str) -> String {
    TokenCipher::new("MDEyMzQ1Njc4OWFiY2RlZg==")
        .unwrap()
        .encode_with_nonce(ip(address), [7; 12])
}

fn block(pod_cidr: &str) -> UpstreamBlock {
    UpstreamBlock::parse(pod_cidr, "svc.ns.svc.cluster.local", "8080").unwrap()
}

/// A router with one server for each CIDR, all on port 8080.
fn router(cidrs: &[&str]) -> Router {
    let blocks = cidrs.iter().map(|cidr| block(cidr)).collect();
    Router::try_new(cipher(), Some(COOKIE.to_owned()), blocks).unwrap()
}

fn decide(router: &Router, path: &str, cookies: &[&str]) -> Decision {
    router.decide(path, cookies.iter().map(|line| line.as_bytes()))
}

fn pod(address: &str, server: usize) -> Decision {
    Decision::Pod {
        addr: address.parse().unwrap(),
        server,
    }
}
