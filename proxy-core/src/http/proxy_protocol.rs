//! The PROXY protocol: whom a load balancer in front of this proxy names as the client, and who may name one.
//!
//! [`header`] reads the bytes; it is pure and strict, as what stands there decides who a client is.

pub(crate) mod header;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time;

use self::header::{Found, HeaderError, MAX_HEADER};
use crate::ip_set::IpSet;

/// From whom a header is taken, and for how long it is waited for.
#[derive(Debug)]
pub(crate) struct ProxyProtocol {
    pub(crate) timeout: Duration,
    /// Peers whose header is used.
    pub(crate) allow: IpSet,
    /// Peers that must send none; it comes before `allow`.
    pub(crate) deny: IpSet,
    /// For all others.
    pub(crate) fallback: Policy,
}

/// What happens to a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// It is read, and what it says is not used.
    Ignore,
    /// The client is whom it names.
    Use,
    /// A connection that begins with one is closed.
    Reject,
    /// The client is whom it names, and a connection without one is closed.
    Require,
    /// It is not looked for.
    Skip,
}

/// Why a connection is closed.
#[derive(Debug, Error)]
pub(crate) enum Refused {
    #[error("the PROXY protocol header: {0}")]
    Header(#[from] HeaderError),
    #[error("it sent a PROXY protocol header, which it may not")]
    Forbidden,
    #[error("it sent no PROXY protocol header")]
    Missing,
    #[error("the PROXY protocol header did not come in time")]
    TimedOut,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What a connection began with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Begun {
    /// The client, if a header names it and may do so.
    pub(crate) client: Option<SocketAddr>,
    /// What was read behind the header.
    pub(crate) ahead: Bytes,
}

// === impl ProxyProtocol ===

impl ProxyProtocol {
    /// Reads the header at the beginning of `stream`, if there is one, from `peer`; `None` is a process of this machine,
    /// which may always name the client.
    ///
    /// # Errors
    ///
    /// If the connection must be closed.
    pub(crate) async fn begin(
        &self,
        stream: &mut (impl AsyncRead + Unpin),
        peer: Option<SocketAddr>,
    ) -> Result<Begun, Refused> {
        let policy = self.policy(peer);
        if policy == Policy::Skip {
            return Ok(Begun {
                client: None,
                ahead: Bytes::new(),
            });
        }
        let mut bytes = BytesMut::new();
        let found = match time::timeout(self.timeout, read(stream, &mut bytes)).await {
            Ok(found) => found?,
            // As in Caddy, a client that says nothing at all says nothing of others either.
            Err(_) if bytes.is_empty() => Found::Nothing,
            Err(_) => return Err(Refused::TimedOut),
        };
        let client = match (policy, found) {
            (Policy::Reject, Found::Header { .. }) => return Err(Refused::Forbidden),
            (Policy::Require, Found::Nothing) => return Err(Refused::Missing),
            (Policy::Use | Policy::Require, Found::Header { client, .. }) => client,
            _ => None,
        };
        if let Found::Header { length, .. } = found {
            bytes = bytes.split_off(length.min(bytes.len()));
        }
        Ok(Begun {
            client,
            ahead: bytes.freeze(),
        })
    }

    fn policy(&self, peer: Option<SocketAddr>) -> Policy {
        let Some(peer) = peer else { return Policy::Use };
        if self.deny.contains(peer.ip()) {
            Policy::Reject
        } else if self.allow.contains(peer.ip()) {
            Policy::Use
        } else {
            self.fallback
        }
    }
}

/// Reads until it is clear what the connection begins with. An end before that is nothing, whatever was begun.
async fn read(stream: &mut (impl AsyncRead + Unpin), bytes: &mut BytesMut) -> Result<Found, Refused> {
    loop {
        if let Some(found) = header::find(bytes)? {
            return Ok(found);
        }
        bytes.reserve(MAX_HEADER);
        if stream.read_buf(bytes).await? == 0 {
            return Ok(Found::Nothing);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    const HEADER: &[u8] = b"PROXY TCP4 192.0.2.1 192.0.2.2 4711 80\r\n";
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

    fn from(fallback: Policy) -> ProxyProtocol {
        let set = |network: &str| IpSet::new(&[network.parse().unwrap()]);
        ProxyProtocol {
            timeout: Duration::from_secs(5),
            allow: set("10.0.0.0/8"),
            deny: set("10.6.0.0/16"),
            fallback,
        }
    }

    /// What becomes of a connection from `peer` that begins with these pieces and then waits.
    async fn begun(protocol: &ProxyProtocol, peer: Option<&str>, pieces: &[&[u8]]) -> Result<Begun, String> {
        let (mut near, mut far) = tokio::io::duplex(1024);
        let peer = peer.map(|peer| peer.parse().unwrap());
        let writing = async {
            for piece in pieces {
                far.write_all(piece).await.unwrap();
                tokio::task::yield_now().await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            begun = protocol.begin(&mut near, peer) => begun.map_err(|refused| refused.to_string()),
            () = writing => unreachable!("it never ends"),
        }
    }

    #[tokio::test]
    async fn who_may_name_the_client_is_said_by_networks() {
        let named = "192.0.2.1:4711".parse().ok();
        for (peer, policy, client) in [
            (Some("10.1.1.1:1"), Policy::Ignore, named),
            (None, Policy::Ignore, named),
            (Some("198.51.100.1:1"), Policy::Ignore, None),
            (Some("198.51.100.1:1"), Policy::Use, named),
            (Some("198.51.100.1:1"), Policy::Require, named),
        ] {
            let begun = begun(&from(policy), peer, &[HEADER, REQUEST]).await.unwrap();
            assert_eq!(begun.client, client, "{peer:?} {policy:?}");
            assert!(REQUEST.starts_with(&begun.ahead), "the header is gone");
        }
        for (peer, policy) in [
            (Some("10.6.1.1:1"), Policy::Use),
            (Some("198.51.100.1:1"), Policy::Reject),
        ] {
            let refused = begun(&from(policy), peer, &[HEADER]).await.unwrap_err();
            assert!(refused.contains("which it may not"), "{refused}");
        }
    }

    #[tokio::test]
    async fn a_connection_without_a_header_loses_no_byte() {
        for (peer, policy) in [
            ("10.1.1.1:1", Policy::Ignore),
            ("10.6.1.1:1", Policy::Ignore),
            ("198.51.100.1:1", Policy::Reject),
        ] {
            let begun = begun(&from(policy), Some(peer), &[b"P", b"OST", REQUEST])
                .await
                .unwrap();
            assert_eq!(begun.client, None);
            assert!([b"POST", REQUEST].concat().starts_with(&begun.ahead) && !begun.ahead.is_empty());
        }
        let refused = begun(&from(Policy::Require), Some("198.51.100.1:1"), &[REQUEST]).await;
        assert!(refused.unwrap_err().contains("sent no PROXY"));
    }

    #[tokio::test]
    async fn where_none_is_looked_for_nothing_is_read() {
        let begun = begun(&from(Policy::Skip), Some("198.51.100.1:1"), &[HEADER]).await;
        let nothing = Begun {
            client: None,
            ahead: Bytes::new(),
        };
        assert_eq!(begun.unwrap(), nothing);
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_of_a_header_is_waited_for_but_not_for_ever() {
        let protocol = from(Policy::Use);
        let (first, second) = HEADER.split_at(20);
        let begun_in_pieces = begun(&protocol, Some("10.1.1.1:1"), &[first, second])
            .await
            .unwrap();
        assert!(begun_in_pieces.client.is_some());
        let refused = begun(&protocol, Some("10.1.1.1:1"), &[first]).await.unwrap_err();
        assert!(refused.contains("in time"), "{refused}");
        let silent = begun(&protocol, Some("10.1.1.1:1"), &[]).await.unwrap();
        assert_eq!(silent.client, None);
    }
}
