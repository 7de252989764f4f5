//! Where the proxy's admin API is.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::text::shown;
use crate::upstream::Upstream;

/// The port of an admin API that names none.
const DEFAULT_PORT: u16 = 2019;

/// The address of an admin API: `unix//run/caddy/admin.sock`, a socket by its absolute path, or `http://host:port`.
///
/// The rendered configuration repeats it as the proxy spells it, since a configuration without it would move the endpoint
/// away. A socket may have the mode of its file behind it, `unix//run/caddy/admin.sock|0660`. A host without a port has
/// Caddy's 2019, and is repeated with it: a proxy that reads a host alone listens on a port of its own choice.
///
/// ```
/// use shipwick_routes::AdminAddress;
///
/// assert_eq!("unix//run/caddy/admin.sock".parse::<AdminAddress>()?.listen(), "unix//run/caddy/admin.sock");
/// assert_eq!("http://caddy".parse::<AdminAddress>()?.listen(), "caddy:2019");
/// # Ok::<(), shipwick_routes::AdminAddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AdminAddress {
    listen: Box<str>,
    target: AdminTarget,
}

/// What is connected to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AdminTarget {
    /// A unix socket with this path.
    Socket(Box<Path>),
    /// A TCP port.
    Tcp(Upstream),
}

/// The text is no address of an admin API.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value {}: expected unix//absolute/path.sock or http://host:port", shown(.0))]
pub struct AdminAddressError(String);

// === impl AdminAddress ===

impl AdminAddress {
    /// The address as the configuration of the proxy has it, in `admin.listen`.
    pub fn listen(&self) -> &str {
        &self.listen
    }

    /// What to connect to.
    pub fn target(&self) -> &AdminTarget {
        &self.target
    }
}

impl FromStr for AdminAddress {
    type Err = AdminAddressError;

    fn from_str(text: &str) -> Result<Self, AdminAddressError> {
        let parsed = match (text.strip_prefix("unix/"), text.strip_prefix("http://")) {
            (Some(path), _) => socket(path),
            (_, Some(authority)) => tcp(authority),
            _ => None,
        };
        let target = parsed.ok_or_else(|| AdminAddressError(text.to_owned()))?;
        let listen = match &target {
            AdminTarget::Socket(_) => text.into(),
            AdminTarget::Tcp(upstream) => upstream.to_string().into(),
        };
        Ok(Self { listen, target })
    }
}

/// As it is read.
impl fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target {
            AdminTarget::Socket(_) => f.write_str(&self.listen),
            AdminTarget::Tcp(_) => write!(f, "http://{}", self.listen),
        }
    }
}

fn socket(written: &str) -> Option<AdminTarget> {
    let (path, mode) = match written.split_once('|') {
        Some((path, mode)) => (path, Some(mode)),
        None => (written, None),
    };
    let is_mode =
        |mode: &str| (3..=4).contains(&mode.len()) && mode.bytes().all(|b| (b'0'..=b'7').contains(&b));
    let plain = !path.chars().any(|c| c.is_control() || c == '{' || c == '}');
    let good = path.len() >= 2 && path.starts_with('/') && plain && mode.is_none_or(is_mode);
    good.then(|| AdminTarget::Socket(Path::new(path).into()))
}

fn tcp(authority: &str) -> Option<AdminTarget> {
    let listen = authority.strip_suffix('/').unwrap_or(authority);
    let has_port = listen.contains(':') && !listen.ends_with(']');
    let target = if has_port {
        listen.parse()
    } else {
        Upstream::new(listen, DEFAULT_PORT)
    };
    Some(AdminTarget::Tcp(target.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read_and_repeated() {
        for (text, listen) in [
            ("http://caddy:2019", "caddy:2019"),
            ("http://127.0.0.1:2019/", "127.0.0.1:2019"),
            ("http://localhost", "localhost:2019"),
            ("http://localhost/", "localhost:2019"),
            ("http://[::1]:2020", "[::1]:2020"),
            ("http://[2001:DB8::1]", "[2001:db8::1]:2019"),
        ] {
            let address: AdminAddress = text.parse().unwrap();
            assert_eq!(address.listen(), listen);
            let AdminTarget::Tcp(upstream) = address.target() else {
                panic!("{address:?}")
            };
            assert_eq!(upstream.to_string(), listen);
            assert_eq!(address.to_string(), format!("http://{listen}"));
            assert_eq!(address.to_string().parse(), Ok(address));
        }
        for (text, path) in [
            ("unix//run/caddy/admin.sock", "/run/caddy/admin.sock"),
            ("unix//run/a.sock|0660", "/run/a.sock"),
            ("unix//x", "/x"),
        ] {
            let address: AdminAddress = text.parse().unwrap();
            assert_eq!(address.listen(), text);
            assert_eq!(address.target(), &AdminTarget::Socket(Path::new(path).into()));
            assert_eq!(address.to_string(), text);
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in [
            "",
            "caddy:2019",
            "https://caddy:2019",
            "unix/relative.sock",
            "unix/",
            "unix//",
            "unix//run/a.sock|rw",
            "unix//run/{env.X}.sock",
            "http://",
            "http://host:2019/config",
            "http://host:0",
            "http://user@host:2019",
            "http://::1",
        ] {
            let refused = text.parse::<AdminAddress>();
            assert_eq!(refused, Err(AdminAddressError(text.to_owned())));
        }
    }
}
