//! Facts about a request that few configurations ask for. What nobody asks for is not collected.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use consul_upstreams::Tier;
use tokio::time::Instant;

use crate::tls::ClientAuth;

/// What is noted beside a request.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// When its head was there.
    pub(crate) began: Instant,
    /// Where its connection came in.
    pub(crate) local: Option<SocketAddr>,
    /// The TLS of its connection.
    pub(crate) tls: Option<Arc<TlsFacts>>,
    /// When the listener that it came by will close, once that is known.
    pub(crate) closing: Option<Instant>,
    /// Where it was sent last.
    pub(crate) upstream: Option<Chosen>,
    /// How often it was sent elsewhere after a first attempt.
    pub(crate) retries: u32,
    /// When it was sent there.
    pub(crate) sent: Option<Instant>,
    /// The last attempt failed before there was an answer.
    pub(crate) transport_error: bool,
    /// How long all attempts took.
    pub(crate) proxied: Option<Duration>,
    /// Which instances of a service in Consul were to choose from.
    pub(crate) consul_tier: Option<Tier>,
}

/// The upstream that was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// A name or address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// From sending the request to the head of the answer.
    pub(crate) latency: Option<Duration>,
}

/// What a handshake of TLS agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsFacts {
    /// As Caddy names it, such as `tls1.3`.
    pub(crate) version: &'static str,
    /// As the standards number it.
    pub(crate) version_number: u16,
    /// As the standards name it.
    pub(crate) cipher_suite: &'static str,
    /// As the standards number it.
    pub(crate) cipher_suite_number: u16,
    pub(crate) resumed: bool,
    /// What was agreed on by ALPN.
    pub(crate) proto: String,
    /// What the client asked for.
    pub(crate) server_name: String,
    /// The client's own certificate.
    pub(crate) client: Option<ClientCertificate>,
}

/// The certificate that a client has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientCertificate {
    pub(crate) der: Vec<u8>,
    /// Of its subject; empty if it has none.
    pub(crate) common_name: String,
    /// Its number, in decimal digits.
    pub(crate) serial: String,
}

/// On which terms a listener has let a connection in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admission {
    /// How often the listener's terms had changed before.
    pub(crate) terms: u64,
    /// What the client had to show.
    pub(crate) clients: Option<Arc<ClientAuth>>,
}

/// The name of the machine, as far as it can be known.
pub(crate) fn host_name() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let name = read.or_else(|_| std::fs::read_to_string("/etc/hostname"));
    name.map(|name| name.trim().to_owned()).unwrap_or_default()
}

// === impl Facts ===

impl Facts {
    /// A request whose head came now.
    pub(crate) fn now() -> Self {
        Self {
            began: Instant::now(),
            local: None,
            tls: None,
            closing: None,
            upstream: None,
            retries: 0,
            sent: None,
            transport_error: false,
            proxied: None,
            consul_tier: None,
        }
    }

    /// The last upstream answered, or failed.
    pub(crate) fn answered(&mut self) {
        let Some(took) = self.sent.take().map(|sent| sent.elapsed()) else {
            return;
        };
        self.proxied = Some(self.proxied.unwrap_or_default().saturating_add(took));
        if let Some(upstream) = &mut self.upstream {
            upstream.latency = Some(took);
        }
    }
}

// === impl TlsFacts ===

impl TlsFacts {
    /// Whether the connection was opened for `host`, a name without its port.
    pub(crate) fn is_for(&self, host: &str) -> bool {
        self.server_name.eq_ignore_ascii_case(host)
    }
}

// === impl Admission ===

impl Admission {
    /// The certificate of a client, in DER, if what was asked of clients says whose it is. Where any certificate will do,
    /// anybody may have made it.
    pub(crate) fn vouched_for<'f>(&self, secured: &'f TlsFacts) -> Option<&'f [u8]> {
        let clients = self.clients.as_ref()?;
        let shown = secured.client.as_ref()?;
        clients.vouches().then_some(shown.der.as_slice())
    }
}

// === impl Chosen ===

impl Chosen {
    /// Whether it is a unix socket: its path is the host then.
    pub(crate) fn is_socket(&self) -> bool {
        self.host.starts_with(['/', '@'])
    }

    /// Host and port as they are dialled, or the path of a unix socket.
    pub(crate) fn address(&self) -> String {
        let Self { host, port, .. } = self;
        if self.is_socket() {
            host.clone()
        } else if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_counts_only_where_not_any_will_do() {
        let secured = TlsFacts {
            client: Some(ClientCertificate {
                der: vec![7],
                ..ClientCertificate::default()
            }),
            ..TlsFacts::default()
        };
        let vouched_for = |clients: Option<ClientAuth>| {
            let admission = Admission {
                clients: clients.map(Arc::new),
                ..Admission::default()
            };
            admission.vouched_for(&secured).map(<[u8]>::to_vec)
        };
        let any = ClientAuth {
            mandatory: true,
            ..ClientAuth::default()
        };
        assert_eq!(vouched_for(None), None);
        assert_eq!(vouched_for(Some(any.clone())), None);
        let verified = ClientAuth {
            verified: true,
            ..any.clone()
        };
        assert_eq!(vouched_for(Some(verified)), Some(vec![7]));
        let listed = ClientAuth {
            leaves: vec![vec![vec![7].into()]],
            ..any
        };
        assert_eq!(vouched_for(Some(listed)), Some(vec![7]));
    }
}
