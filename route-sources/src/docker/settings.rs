//! How the source of Docker's routes is set up.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// How the source is set up. [`Default`] is what a proxy on the same machine needs.
#[derive(Clone, Debug)]
pub struct DockerSettings {
    /// Where the daemon is. Default: `unix:///var/run/docker.sock`.
    pub endpoint: Endpoint,
    /// What has the labels. Default: containers.
    pub mode: DockerMode,
    /// After how long everything is listed again, even if the daemon told of no change. Default: 15 s.
    pub interval: Duration,
    /// The longest that one listing may take. Default: 10 s.
    pub timeout: Duration,
    /// Networks in which the proxy reaches what it serves, the best first. Default: none, so that each container has one
    /// network or says which.
    pub networks: Vec<String>,
    /// Which labels are read. Default: both forms.
    pub forms: LabelForms,
    /// How the tasks of a service are reached where no label says it. Default: by their addresses.
    pub reach: Reach,
    /// Where containers in the host's network are, and ports that are published on all addresses. Default: `127.0.0.1`.
    pub host_address: IpAddr,
    /// Whether containers are reached by their published ports, for a proxy that is in none of their networks. Default: no.
    pub published_ports: bool,
}

/// What has the labels.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum DockerMode {
    /// Containers of one daemon.
    #[default]
    Container,
    /// Services of a swarm; the daemon must be one of its managers.
    Swarm,
}

/// Which forms of labels are read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LabelForms {
    /// Both.
    #[default]
    Both,
    /// `doorway.` only.
    Plain,
    /// `proksi.` only.
    Proksi,
}

/// How a service of a swarm is reached.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Reach {
    /// By the addresses of its running tasks.
    #[default]
    Tasks,
    /// By its virtual address.
    Vip,
    /// By the name `tasks.SERVICE`, which the proxy resolves when it connects.
    Dns,
}

/// Where a daemon is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Endpoint {
    /// A socket in the file system.
    Unix(PathBuf),
    /// `host:port`, without TLS.
    Tcp(String),
    /// `host:port` with TLS.
    Tls {
        /// `host:port`.
        address: String,
        /// What TLS needs.
        files: TlsFiles,
    },
}

/// Files for TLS with the daemon, all PEM.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TlsFiles {
    /// The certificate that is shown to the daemon.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Who vouches for the daemon, beside the authorities of the system.
    pub authority: PathBuf,
}

/// Not the address of a daemon. What was given is not repeated, as it may hold a password.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("not the address of a docker daemon: {0}")]
pub struct EndpointError(&'static str);

/// Where a daemon listens unless it is told otherwise.
const PLAIN_PORT: u16 = 2375;
/// The same with TLS.
const TLS_PORT: u16 = 2376;

// === impl DockerSettings ===

impl Default for DockerSettings {
    fn default() -> Self {
        Self {
            endpoint: Endpoint::default(),
            mode: DockerMode::default(),
            interval: Duration::from_secs(15),
            timeout: Duration::from_secs(10),
            networks: Vec::new(),
            forms: LabelForms::default(),
            reach: Reach::default(),
            host_address: IpAddr::from([127, 0, 0, 1]),
            published_ports: false,
        }
    }
}

// === impl LabelForms ===

impl LabelForms {
    pub(super) fn plain(self) -> bool {
        self != Self::Proksi
    }

    pub(super) fn proksi(self) -> bool {
        self != Self::Plain
    }
}

// === impl Endpoint ===

impl Endpoint {
    /// An address that begins with `https://`, with the files that it needs.
    ///
    /// # Errors
    ///
    /// If it is no such address.
    pub fn tls(address: &str, files: TlsFiles) -> Result<Self, EndpointError> {
        let rest = address
            .strip_prefix("https://")
            .or_else(|| address.strip_prefix("tcp://"));
        let address = authority(
            rest.ok_or(EndpointError("with files for TLS it begins with `https://`"))?,
            TLS_PORT,
        )?;
        Ok(Self::Tls { address, files })
    }
}

impl Default for Endpoint {
    fn default() -> Self {
        Self::Unix("/var/run/docker.sock".into())
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(given: &str) -> Result<Self, EndpointError> {
        if let Some(path) = given.strip_prefix("unix://") {
            let path = PathBuf::from(path);
            let error = EndpointError("after `unix://` comes an absolute path");
            return path.is_absolute().then_some(Self::Unix(path)).ok_or(error);
        }
        if given.starts_with("https://") {
            return Err(EndpointError(
                "`https://` needs the files of a certificate, a key and an authority",
            ));
        }
        let rest = given
            .strip_prefix("tcp://")
            .or_else(|| given.strip_prefix("http://"));
        rest.ok_or(EndpointError(
            "it begins with `unix://`, `tcp://`, `http://` or `https://`",
        ))
        .and_then(|rest| authority(rest, PLAIN_PORT))
        .map(Self::Tcp)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
            Self::Tls { address, .. } => write!(f, "https://{address}"),
        }
    }
}

/// `host:port`; without a port it is that of Docker.
fn authority(rest: &str, usual: u16) -> Result<String, EndpointError> {
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let authority: http::uri::Authority = rest
        .parse()
        .map_err(|_| EndpointError("after the scheme comes `host:port`, and no path"))?;
    if authority.as_str().contains('@') {
        return Err(EndpointError(
            "it holds a user or a password, which a daemon does not ask for",
        ));
    }
    if authority.port_u16().is_some() {
        return Ok(authority.as_str().to_owned());
    }
    if authority.as_str().len() > authority.host().len() {
        return Err(EndpointError("its port is none"));
    }
    Ok(format!("{authority}:{usual}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_and_written() {
        for text in [
            "unix:///run/docker.sock",
            "tcp://10.0.0.1:2375",
            "tcp://[::1]:2375",
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
        }
        assert_eq!("tcp://[::1]".parse(), Ok(Endpoint::Tcp("[::1]:2375".to_owned())));
        assert_eq!("http://a:1".parse(), Ok(Endpoint::Tcp("a:1".to_owned())));
        let tls = Endpoint::tls("https://a", TlsFiles::default()).unwrap();
        assert_eq!(tls.to_string(), "https://a:2376");
    }

    #[test]
    fn what_is_no_endpoint_is_refused_and_not_repeated() {
        for text in [
            "",
            "docker.sock",
            "unix://docker.sock",
            "tcp://a:",
            "tcp://a:99999",
            "tcp://",
            "tcp://a:1/b",
            "https://a:1",
            "tcp://u:secret@a:1",
            "ssh://a",
        ] {
            let error = text.parse::<Endpoint>().unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
