//! Predicates of the client's address.

use std::net::IpAddr;

use http::HeaderName;
use ipnet::IpNet;

use super::{ArgsError, Predicate, Predicates, some_texts};
use crate::{Arg, routing::Asked};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// `ClientIP`, `Source` and `SourceFromLast`: an address is in one of the networks.
#[derive(Debug)]
struct Networks {
    of: Of,
    networks: Vec<IpNet>,
}

/// Whose address.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// Who is connected.
    Peer,
    /// The first that `X-Forwarded-For` names, which anybody may have written; else the peer.
    First,
    /// The last that it names; else the peer.
    Last,
}

pub(super) fn add(all: &mut Predicates) {
    all.add(
        "ClientIP",
        (
            "who is connected has an address in one of these networks",
            r#"ClientIP("10.0.0.0/8", "::1")"#,
        ),
        |args| Networks::new(Of::Peer, args),
    );
    all.add(
        "Source",
        (
            "the first address of X-Forwarded-For, which clients can write, is in one of these networks",
            r#"Source("10.0.0.0/8")"#,
        ),
        |args| Networks::new(Of::First, args),
    );
    all.add(
        "SourceFromLast",
        (
            "the last address of X-Forwarded-For is in one of these networks",
            r#"SourceFromLast("10.0.0.0/8")"#,
        ),
        |args| Networks::new(Of::Last, args),
    );
}

impl Networks {
    fn new(of: Of, args: &[Arg]) -> Result<Self, ArgsError> {
        let texts = some_texts(args, "one or more addresses or networks")?;
        let networks = texts.into_iter().map(network).collect::<Result<_, _>>()?;
        Ok(Self { of, networks })
    }
}

fn network(text: &str) -> Result<IpNet, ArgsError> {
    let address = text.parse::<IpAddr>().ok();
    if address.is_some_and(|address| address.is_unspecified()) {
        return Err(ArgsError(format!(
            "{text} is nobody's address; all of them are {text}/0"
        )));
    }
    let parsed = address.map(IpNet::from).or_else(|| text.parse().ok());
    parsed.ok_or_else(|| ArgsError(format!("{text:?} is neither an address nor a network")))
}

impl Predicate for Networks {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        let entries = || asked.values(&X_FORWARDED_FOR).flat_map(|value| value.split(','));
        let named = match self.of {
            Of::Peer => None,
            Of::First => entries().next(),
            Of::Last => entries().last(),
        };
        let named = named.map(str::trim).filter(|entry| !entry.is_empty());
        let address = match named {
            // What is no address is in no network.
            Some(entry) => address(entry),
            None => asked.peer,
        };
        let address = address.map(|address| address.to_canonical());
        address.is_some_and(|address| self.networks.iter().any(|network| network.contains(&address)))
    }
}

/// An address, with or without a port.
fn address(entry: &str) -> Option<IpAddr> {
    let with_port = || Some(entry.parse::<std::net::SocketAddr>().ok()?.ip());
    let in_brackets = || entry.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    entry.parse().ok().or_else(with_port).or_else(in_brackets)
}
