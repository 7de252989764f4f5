//! `listen ADDRESS...`: where the hosts of sources are served, written as the addresses of sites are.

use std::net::IpAddr;

use super::super::super::{
    address::{Address, Scheme},
    cx::Cx,
    site::Key,
};
use crate::caddyfile::{parser::Line, token::Token};

pub(super) fn read(line: &Line, cx: &mut Cx<'_>) -> Vec<Key> {
    let args = cx
        .some(line, "an address, such as http://:80")
        .unwrap_or_default();
    args.iter().filter_map(|arg| key(arg, cx)).collect()
}

/// Where hosts are served when nothing is said: at the ports that HTTP and HTTPS are known by.
pub(super) fn usual(name: &Token) -> Vec<Key> {
    let key = |scheme| Key {
        address: Address {
            scheme,
            host: String::new(),
            port: None,
            path: String::new(),
        },
        token: name.clone(),
    };
    vec![key(Scheme::Http), key(Scheme::Https)]
}

/// An address of a server: a scheme, an interface if not every one, and a port if not the usual one.
fn key(token: &Token, cx: &mut Cx<'_>) -> Option<Key> {
    let address = Address::parse(&token.text)
        .map_err(|(message, help)| cx.error(token.span, message, help))
        .ok()?;
    let (message, help) = if address.scheme == Scheme::None {
        (
            "this address does not say what is spoken there",
            "write http:// or https:// before it",
        )
    } else if !address.host.is_empty() && address.host.parse::<IpAddr>().is_err() {
        (
            "this is not an interface",
            "leave the host out, which the sources name, or write an IP address",
        )
    } else if !address.path.is_empty() {
        ("an address to listen on has no path", "remove it")
    } else {
        return Some(Key {
            address,
            token: token.clone(),
        });
    };
    cx.error(token.span, message, help.to_owned());
    None
}
