//! `bind ADDRESS... { protocols ... }`: where a site listens. The global `default_bind` is written alike.

use super::super::cx::Cx;
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{HostPort, ListenAddress, ListenError, Protocol, UnixSocket},
};

/// Where a site listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::adapt) struct Binding {
    pub(in crate::adapt) interfaces: Vec<Interface>,
    /// The HTTP versions there; empty for those of the server.
    pub(in crate::adapt) protocols: Vec<Protocol>,
}

/// An interface, which each address of a site adds its port to, or a socket, which has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::adapt) enum Interface {
    /// Empty for every interface.
    Host(String),
    Unix(UnixSocket),
}

// === impl Interface ===

impl Interface {
    pub(in crate::adapt) fn listen(&self, port: u16) -> ListenAddress {
        match self {
            Self::Host(host) => HostPort::new(host.clone(), port).into(),
            Self::Unix(socket) => socket.clone().into(),
        }
    }
}

pub(in crate::adapt) fn read(line: &Line, cx: &mut Cx<'_>) -> Binding {
    let mut binding = Binding::default();
    if line.args.is_empty() {
        let name = cx.quote(&line.name);
        let message = format!("`{name}` needs an address, such as 127.0.0.1");
        cx.error(line.name.span, message, None);
    }
    for inner in line.block.iter().flatten() {
        if inner.name.text == "protocols" {
            protocols(inner, &mut binding.protocols, cx);
        } else {
            cx.unknown(&inner.name, "option", &["protocols"]);
        }
    }
    binding
        .interfaces
        .extend(line.args.iter().filter_map(|arg| interface(arg, cx)));
    binding
}

/// `protocols h1 h2 h2c h3`, each at most once.
pub(in crate::adapt) fn protocols(line: &Line, protocols: &mut Vec<Protocol>, cx: &mut Cx<'_>) {
    for arg in cx.some(line, "h1, h2, h2c or h3").unwrap_or_default() {
        let protocol = cx.check(
            arg,
            Protocol::named(&arg.text).ok_or("expected h1, h2, h2c or h3"),
        );
        if protocol.is_some_and(|protocol| protocols.contains(&protocol)) {
            cx.error(arg.span, "this protocol is repeated", None);
        }
        protocols.extend(protocol);
    }
}

fn interface(arg: &Token, cx: &mut Cx<'_>) -> Option<Interface> {
    let refused = |error: ListenError, cx: &mut Cx<'_>| {
        cx.error(arg.span, error.to_string(), error.help().to_owned());
        None
    };
    let text = match arg.text.split_once('/') {
        None => arg.text.as_str(),
        Some(("tcp", rest)) => rest,
        Some(("unix", path)) => match UnixSocket::parse(path) {
            Ok(socket) => return Some(Interface::Unix(socket)),
            Err(error) => return refused(error, cx),
        },
        Some((network, _)) => return refused(ListenError::of_network(network), cx),
    };
    let host = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text);
    if check::host(host).is_ok() {
        return Some(Interface::Host(host.to_owned()));
    }
    let has_port = text
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let help = if has_port {
        "leave the port out: it comes from the address of the site"
    } else if text.contains('{') {
        "placeholders are not possible here; use an environment variable: {$NAME}"
    } else {
        "write an IP address, such as 127.0.0.1 or ::1, or unix//path/of/the.sock"
    };
    cx.error(arg.span, "this is not an address to listen on", help.to_owned());
    None
}
