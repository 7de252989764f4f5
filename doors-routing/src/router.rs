//! The decision.

use std::net::{IpAddr, SocketAddr};

use doors_token::{DecodeError, MAX_TOKEN_LEN, TokenCipher};

use crate::{
    ConfigError, ConfigErrors, Decision, GoneReason, Server, UpstreamBlock, Warning, cookie, path,
    upstreams::{PodNetworks, overlaps},
};

/// How many values of the affinity cookie are tried before it counts as absent, so that no request can make the router
/// work without end. A browser sends one; two or three if the app moved between domains.
pub const MAX_COOKIE_TRIES: usize = 8;

/// Decides where requests go. Immutable; one value serves any number of threads.
#[derive(Debug)]
pub struct Router {
    cipher: TokenCipher,
    /// The affinity cookie; `None` with a single server, where it has nothing to say.
    cookie_name: Option<String>,
    servers: Vec<Server>,
    networks: PodNetworks,
    warnings: Vec<Warning>,
}

// === impl Router ===

impl Router {
    /// A router for servers in the order of `blocks`.
    ///
    /// - `cipher` holds the secret that the apps make their tokens with.
    /// - `cookie_name` is the name of the cookie that carries the app's token. It is needed with more than one block,
    ///   and neither needed nor read with one.
    ///
    /// CIDRs may overlap: a pod in several belongs to the first. [`warnings`](Self::warnings) tells.
    ///
    /// # Errors
    ///
    /// All that is wrong: no block, no or a bad cookie name, a bad host or port.
    pub fn try_new(
        cipher: TokenCipher,
        cookie_name: Option<String>,
        blocks: Vec<UpstreamBlock>,
    ) -> Result<Self, ConfigErrors> {
        let mut errors = Vec::new();
        if blocks.is_empty() {
            errors.push(ConfigError::NoUpstream);
        }
        match &cookie_name {
            None if blocks.len() > 1 => errors.push(ConfigError::CookieNameMissing),
            Some(name) if !cookie::is_name(name) => errors.push(ConfigError::CookieName(name.clone())),
            _ => {}
        }
        let mut servers = Vec::with_capacity(blocks.len());
        for (index, block) in blocks.into_iter().enumerate() {
            match block.check() {
                Ok(server) => servers.push(server),
                Err(wrong) => errors.extend(
                    wrong
                        .into_iter()
                        .map(|error| ConfigError::Upstream { index, error }),
                ),
            }
        }
        if let Some(errors) = ConfigErrors::some(errors) {
            return Err(errors);
        }
        let cookie_name = cookie_name.filter(|_| servers.len() > 1);
        let (networks, warnings) = (PodNetworks::new(&servers), overlaps(&servers));
        Ok(Self {
            cipher,
            cookie_name,
            servers,
            networks,
            warnings,
        })
    }

    /// The servers, in the order of configuration.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// What is allowed but hardly meant. To be logged once, when the configuration is loaded.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The index of the server that the pod `address` belongs to: the first whose CIDR holds it.
    #[must_use]
    pub fn server_of(&self, address: IpAddr) -> Option<usize> {
        self.networks.find(address)
    }

    /// Decides where a request goes.
    ///
    /// - `raw_path` is the path as it stands in the request target and will be forwarded, after dot segments were
    ///   resolved. It is compared as if percent-decoded once; see [`is_system_path`](crate::is_system_path).
    /// - `cookies` are the values of the Cookie header lines. They are read only where they matter: for page requests,
    ///   with more than one server. The affinity cookie is the first of its name whose value, without surrounding
    ///   quotes, decodes; a bad one is as good as none. At most [`MAX_COOKIE_TRIES`] values are tried.
    ///
    /// It never allocates, and takes time in proportion to the length of the path's first two segments and the lines.
    #[must_use]
    pub fn decide<'a>(&self, raw_path: &str, cookies: impl IntoIterator<Item = &'a [u8]>) -> Decision {
        if let Some(segment) = path::token_segment(raw_path) {
            return self.pod(segment).unwrap_or_else(Decision::Gone);
        }
        match &self.cookie_name {
            None => Decision::Server(0),
            Some(name) => self.pinned(name, cookies).map_or(Decision::Any, Decision::Server),
        }
    }

    /// The servers to try after the one decided on could not be connected to, in the order of configuration.
    ///
    /// - A system request never moves: only its pod has the session.
    /// - A GET or HEAD that the cookie pins to one server may go to all others: the cookie outlives the server, and a
    ///   page that any server can render is better than none. Other methods stay.
    /// - [`Decision::Any`] has no first choice: it names every server, and the caller leaves out those it tried.
    pub fn alternatives(&self, decision: Decision, method: &str) -> impl Iterator<Item = usize> + use<> {
        let (servers, pinned) = match decision {
            Decision::Any => (self.servers.len(), None),
            Decision::Server(server) if matches!(method, "GET" | "HEAD") => {
                (self.servers.len(), Some(server))
            }
            Decision::Server(_) | Decision::Pod { .. } | Decision::Gone(_) => (0, None),
        };
        (0..servers).filter(move |server| Some(*server) != pinned)
    }

    fn pod(&self, segment: &[u8]) -> Result<Decision, GoneReason> {
        let mut buffer = [0; MAX_TOKEN_LEN];
        let token = path::decoded(segment, &mut buffer).ok_or(DecodeError::Base64)?;
        let address = self.cipher.decode(token)?;
        let server = self.server_of(address).ok_or(GoneReason::OutsideCidrs(address))?;
        let port = self
            .servers
            .get(server)
            .map(Server::port)
            .ok_or(GoneReason::OutsideCidrs(address))?;
        Ok(Decision::Pod {
            addr: SocketAddr::new(address, port),
            server,
        })
    }

    fn pinned<'a>(&self, name: &str, cookies: impl IntoIterator<Item = &'a [u8]>) -> Option<usize> {
        let address = cookie::values(cookies, name.as_bytes())
            .take(MAX_COOKIE_TRIES)
            .find_map(|value| self.cipher.decode(value).ok())?;
        self.server_of(address)
    }
}
