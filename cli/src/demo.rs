//! `doorway demo`: Doors-like pods in this process, and the configuration of a proxy in front of them.
//!
//! The pods listen on 127.0.0.2, 127.0.0.3 and so on. One of them is fresh: a DNS server in this process gives its
//! address for the pods' name. A rollout moves the name to the next pod and lets the old one drain. The proxy is
//! an ordinary one: it knows the name, the DNS server, the network of the pods and the secret, and nothing else.

mod app;
mod cluster;
mod dns;
mod ids;
mod keeper;
mod page;
mod pod;
mod shared;
mod stream;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use doors_token::TokenCipher;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::cluster::{FIRST_POD, POD_ADDRESSES, SECOND_POD};
use self::dns::Responder;
use self::keeper::Keeper;
use self::shared::Shared;

/// The name of the Caddyfile in messages.
pub(crate) const CADDYFILE_NAME: &str = "demo.Caddyfile";
/// The environment variable that the Caddyfile takes the secret from.
pub(crate) const SECRET_VARIABLE: &str = "SECRET";
/// How many ports are tried when any will do.
const PORT_ATTEMPTS: usize = 32;

/// Pods and DNS server, bound and ready to run.
#[derive(Debug)]
pub(crate) struct Demo {
    shared: Arc<Shared>,
    keeper: Keeper,
    responder: Responder,
    secret: String,
    port: u16,
}

// === impl Demo ===

impl Demo {
    /// Starts the first two pods on `port` and binds the DNS server; 0 takes a port that is free on all addresses.
    pub(crate) async fn start(port: u16) -> anyhow::Result<Self> {
        let secret = doors_token::generate_secret()?;
        let shared = Arc::new(Shared::new(TokenCipher::new(&secret)?, Instant::now()));
        let responder = Responder::bind(Arc::clone(&shared)).await?;
        let (keeper, port) = start_pods(&shared, port).await?;
        shared.set_caddyfile(caddyfile(port, responder.address()?));
        Ok(Self {
            shared,
            keeper,
            responder,
            secret,
            port,
        })
    }

    /// The proxy's configuration. It takes the secret from [`SECRET_VARIABLE`].
    pub(crate) fn caddyfile(&self) -> &str {
        self.shared.caddyfile()
    }

    /// The secret that the pods make their tokens with.
    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    /// Where the proxy will listen.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Runs pods and DNS server until `stop` is cancelled; returns when all of them are done.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let tasks = TaskTracker::new();
        tasks.spawn(self.responder.run(stop.clone()));
        tasks.spawn(self.keeper.run(stop));
        tasks.close();
        tasks.wait().await;
    }
}

/// The Caddyfile of a proxy on `port`, for pods on the same port whose name the DNS server at `resolver` knows.
pub(crate) fn caddyfile(port: u16, resolver: SocketAddr) -> String {
    let name = dns::NAME;
    let cookie = app::ID_COOKIE;
    format!(
        "{{
	admin off
	auto_https off
	grace_period 2s
}}

http://localhost:{port}, http://127.0.0.1:{port} {{
	bind 127.0.0.1
	doors_handler {{
		secret {{${SECRET_VARIABLE}}}
		cookie_name {cookie}
		upstream {{
			pod_cidr 127.0.0.0/24
			host {name}
			upstream_port {port}
		}}
	}}
	reverse_proxy {{
		dynamic doors_upstreams
		transport http {{
			resolvers {resolver}
		}}
	}}
}}
"
    )
}

/// Starts the first two pods, on `port` or, if that is 0, on one that is free for them and for the proxy.
async fn start_pods(shared: &Arc<Shared>, port: u16) -> anyhow::Result<(Keeper, u16)> {
    if port != 0 {
        return Ok((try_port(shared, port).await?, port));
    }
    for _ in 0..PORT_ATTEMPTS {
        let probe = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free on 127.0.0.1")?;
        let port = probe.local_addr().context("a socket has no address")?.port();
        drop(probe);
        match try_port(shared, port).await {
            Err(InUse::Taken { .. }) => {}
            started => return Ok((started?, port)),
        }
    }
    bail!("found no port that is free on 127.0.0.1 and on the pods' addresses, in {PORT_ATTEMPTS} attempts")
}

/// Starts the pods on `port` if it is free for the proxy too.
async fn try_port(shared: &Arc<Shared>, port: u16) -> Result<Keeper, InUse> {
    let refused = |address| move |error| InUse::new(address, port, error);
    // Bound without port sharing, so that another proxy that shares its ports is seen.
    drop(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused(Ipv4Addr::LOCALHOST))?);
    let mut keeper = Keeper::new(Arc::clone(shared), port);
    for address in [FIRST_POD, SECOND_POD] {
        keeper.start(address).await.map_err(refused(address))?;
    }
    shared.change(|cluster| cluster.add_pod(SECOND_POD, shared.token(SECOND_POD)));
    Ok(keeper)
}

/// Why the demo cannot have its ports.
#[derive(Debug)]
enum InUse {
    Taken { address: Ipv4Addr, port: u16 },
    Other(anyhow::Error),
}

// === impl InUse ===

impl InUse {
    fn new(address: Ipv4Addr, port: u16, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::Taken { address, port },
            io::ErrorKind::AddrNotAvailable => Self::Other(anyhow!(missing_address(address))),
            _ => Self::Other(anyhow::Error::new(error).context(format!("cannot listen on {address}:{port}"))),
        }
    }
}

impl From<InUse> for anyhow::Error {
    fn from(in_use: InUse) -> Self {
        match in_use {
            InUse::Taken { address, port } => anyhow!(
                "{address}:{port} is in use by another program\n  help: choose another port, for example: \
                 doorway demo --port {}",
                if port < 65000 { port + 1 } else { 9000 }
            ),
            InUse::Other(error) => error,
        }
    }
}

/// What to do where only 127.0.0.1 exists.
fn missing_address(address: Ipv4Addr) -> String {
    let last = Ipv4Addr::from_bits(FIRST_POD.to_bits() + u32::from(POD_ADDRESSES) - 1);
    format!(
        "this machine has no address {address}\n  help: the demo's pods need {FIRST_POD} to {last}. Linux has them; \
         on macOS add each of them first:\n        sudo ifconfig lo0 alias {FIRST_POD} up"
    )
}

#[cfg(test)]
mod tests;
