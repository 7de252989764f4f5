//! How connections to the upstreams of one proxy are made, used and kept.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http1_codec::HeadLimits;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use sha2::{Digest as _, Sha256};
use tokio::time;
use tokio_rustls::TlsConnector;

use super::connect::{Connector, Dial, Io, failure};
use super::gate::Gate;
use super::idle::IdleTotal;
use super::pool::PoolLimits;
use super::proxy_header::{self, HeaderVersion};
use super::timed::{Patience, Timed};
use crate::error::{Failure, Reason};

/// As Caddy: a TLS handshake may take 10 seconds.
const TLS_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an upstream that says nothing holds a body back whose client waits for a 100.
const CONTINUE_TIMEOUT: Duration = Duration::from_secs(1);

/// What the head of an answer may be.
pub(crate) const HEAD_LIMITS: HeadLimits = HeadLimits {
    size: 64 * 1024,
    fields: 256,
    target: 0,
    bare_line_feed: false,
};

/// What all upstreams of a proxy have in common.
#[derive(Debug)]
pub(crate) struct Transport {
    pub(crate) dial: Dial,
    /// How long a TLS handshake may take. Default 10 seconds.
    pub(crate) tls_timeout: Duration,
    /// The header that names the client to the upstream.
    pub(crate) proxy_header: Option<HeaderVersion>,
    /// How long one read or write may take. Default: no limit.
    pub(crate) patience: Patience,
    /// How long the head of an answer may take. Default: no limit, as a Doors sync stream is silent for up to 20 seconds
    /// and others may be for longer.
    pub(crate) head_timeout: Option<Duration>,
    /// What the head of an answer may be. Default 64 KiB.
    pub(crate) head_limits: HeadLimits,
    /// How connections are kept for more than one request; `None`: not at all.
    pub(crate) keep: Option<PoolLimits>,
    /// How many may be idle in all, whatever they lead to. Default: no limit.
    pub(crate) idle_total: Option<Arc<IdleTotal>>,
    /// The most connections to one upstream, of all workers together. Default: no limit.
    pub(crate) most: Option<usize>,
    /// How long a body whose client waits for a 100 is held back. Default 1 second.
    pub(crate) continue_timeout: Duration,
}

/// What leads to one upstream, beside its addresses.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) lane: Lane,
    pub(crate) protocol: Protocol,
    /// The path of a unix socket, or one of Linux's abstract names behind an `@`. Its addresses say nothing then.
    pub(crate) unix: Option<Box<str>>,
    pub(crate) tls: Option<TlsWay>,
    /// The Host of requests, unless the configuration sets another.
    pub(crate) host: Option<HeaderValue>,
    /// What limits its connections.
    pub(crate) gate: Option<Arc<Gate>>,
}

/// TLS to one upstream.
#[derive(Debug)]
pub(crate) struct TlsWay {
    /// Whom its certificate must be for.
    pub(crate) name: ServerName<'static>,
    /// Offers what the proxy may speak.
    pub(crate) config: Arc<ClientConfig>,
    /// Offers HTTP/1.1 alone: for upgrades.
    pub(crate) http1: Arc<ClientConfig>,
}

/// Which HTTP an upstream speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2: without TLS by prior knowledge, else agreed on in the handshake.
    Http2,
    /// Whatever the TLS handshake agrees on.
    Either,
}

/// How connections were made, as a number: those of one lane to one address can stand for each other. It is made of the
/// settings themselves, so that it is the same in the next configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lane(u64);

/// What connections are kept by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    address: SocketAddr,
    lane: Lane,
    /// Whom the upstream was told of by the PROXY protocol: everything on the connection is taken for this client's.
    client: Option<IpAddr>,
}

/// What a connection is wanted for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Purpose {
    /// The client of the request; `None` if it has no address, or if it is the proxy itself that asks.
    pub(crate) client: Option<IpAddr>,
    /// It is to become another protocol, which HTTP/1.1 alone can.
    pub(crate) upgrades: bool,
}

/// A new connection, before the first request.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) stream: Io,
    pub(crate) address: SocketAddr,
    /// It speaks HTTP/2.
    pub(crate) http2: bool,
    /// It is encrypted.
    pub(crate) tls: bool,
}

// === impl Transport ===

impl Default for Transport {
    fn default() -> Self {
        Self {
            dial: Dial::default(),
            tls_timeout: TLS_TIMEOUT,
            proxy_header: None,
            patience: Patience::default(),
            head_timeout: None,
            head_limits: HEAD_LIMITS,
            keep: Some(PoolLimits::default()),
            idle_total: None,
            most: None,
            continue_timeout: CONTINUE_TIMEOUT,
        }
    }
}

impl Transport {
    /// Opens a connection to the upstream that `way` leads to: to the first of `addresses` that answers, with the PROXY
    /// header and the TLS handshake if there are to be some. The only place that does, for requests and for checks alike.
    ///
    /// Nothing of any request was sent when it fails.
    pub(crate) async fn connect(
        &self,
        connector: &Connector,
        way: &Way,
        addresses: impl Iterator<Item = SocketAddr> + Send,
        purpose: Purpose,
    ) -> Result<Connected, Failure> {
        let opening = async {
            let (address, mut stream) = connector
                .connect(&self.dial, way.unix.as_deref(), addresses)
                .await?;
            if let Some(version) = self.proxy_header {
                let written = proxy_header::write(&mut stream, version, purpose.client).await;
                written.map_err(failure)?;
            }
            Ok::<_, Failure>((address, stream))
        };
        let opened = time::timeout(self.dial.timeout, opening).await;
        let (address, stream) = opened.map_err(|_| Failure::from(Reason::TimedOut))??;
        let stream = Timed::around(stream, self.patience);
        match &way.tls {
            None => Ok(Connected {
                stream,
                address,
                http2: way.protocol == Protocol::Http2,
                tls: false,
            }),
            Some(tls) => {
                let (stream, http2) = self.shake_hands(tls, stream, way.protocol, purpose).await?;
                Ok(Connected {
                    stream,
                    address,
                    http2,
                    tls: true,
                })
            }
        }
    }

    async fn shake_hands(
        &self,
        tls: &TlsWay,
        stream: Io,
        protocol: Protocol,
        purpose: Purpose,
    ) -> Result<(Io, bool), Failure> {
        let config = if purpose.upgrades { &tls.http1 } else { &tls.config };
        let connecting = TlsConnector::from(Arc::clone(config)).connect(tls.name.clone(), stream);
        let stream = match time::timeout(self.tls_timeout, connecting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::TimedOut => {
                return Err(Failure::from(Reason::TimedOut).with_source(error));
            }
            Ok(Err(error)) => return Err(Failure::from(Reason::Handshake).with_source(error)),
            Err(_) => return Err(Reason::TimedOut.into()),
        };
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        if !http2 && protocol == Protocol::Http2 && !purpose.upgrades {
            return Err(Failure::from(Reason::Handshake).with_source("the upstream does not speak HTTP/2"));
        }
        Ok((Box::new(stream), http2))
    }

    /// What a connection to `address` is kept by.
    pub(crate) fn key(&self, way: &Way, address: SocketAddr, purpose: Purpose) -> Key {
        Key {
            address,
            lane: way.lane,
            client: self.proxy_header.and(purpose.client),
        }
    }
}

// === impl Way ===

impl Way {
    /// To an upstream that speaks `protocol` without TLS, made as by default.
    pub(crate) fn plain(protocol: Protocol) -> Self {
        Self {
            lane: Lane::PLAIN,
            protocol,
            unix: None,
            tls: None,
            host: None,
            gate: None,
        }
    }

    /// The protocols that may be spoken on a connection for `purpose`.
    pub(crate) fn protocol(&self, purpose: Purpose) -> Protocol {
        if purpose.upgrades && self.tls.is_some() {
            Protocol::Http1
        } else {
            self.protocol
        }
    }
}

// === impl Lane ===

impl Lane {
    /// Of connections that are made as by default.
    pub(crate) const PLAIN: Self = Self(0);

    /// That of connections which differ from those of this lane by `setting`.
    pub(crate) fn with(self, setting: impl AsRef<[u8]>) -> Self {
        let mut digest = Sha256::new();
        digest.update(self.0.to_be_bytes());
        digest.update(setting);
        let digest = digest.finalize();
        let first = digest.first_chunk().copied().unwrap_or_default();
        Self(u64::from_be_bytes(first))
    }
}

// === impl Key ===

impl Key {
    /// Where the connections lead to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address.hash(state);
        state.write_u64(self.lane.0);
        if let Some(client) = self.client {
            client.hash(state);
        }
    }
}

#[cfg(test)]
impl From<SocketAddr> for Key {
    fn from(address: SocketAddr) -> Self {
        Self {
            address,
            lane: Lane::PLAIN,
            client: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_differ_by_their_settings_and_by_nothing_else() {
        let one = Lane::PLAIN.with("tls a").with("name");
        assert_eq!(one, Lane::PLAIN.with("tls a").with("name"));
        for other in [
            Lane::PLAIN,
            Lane::PLAIN.with("tls a"),
            Lane::PLAIN.with("tls b").with("name"),
            Lane::PLAIN.with("name").with("tls a"),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn clients_are_told_apart_only_where_the_upstream_is_told_of_them() {
        let way = Way::plain(Protocol::Http1);
        let address = "127.0.0.1:80".parse().unwrap();
        let of = |transport: &Transport, client: &str| {
            let purpose = Purpose {
                client: client.parse().ok(),
                upgrades: false,
            };
            transport.key(&way, address, purpose)
        };
        let plain = Transport::default();
        assert_eq!(of(&plain, "192.0.2.1"), of(&plain, "192.0.2.2"));
        let telling = Transport {
            proxy_header: Some(HeaderVersion::V1),
            ..Transport::default()
        };
        assert_ne!(of(&telling, "192.0.2.1"), of(&telling, "192.0.2.2"));
        assert_eq!(of(&telling, "192.0.2.1"), of(&telling, "192.0.2.1"));
    }
}
