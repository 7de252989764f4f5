//! Everything that is wrong with a configuration, all at once.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::auth::HashError;
use crate::tls::TlsError;

/// All errors found while building a proxy. Nothing was changed and nothing stays bound.
#[derive(Debug)]
pub struct BuildErrors(pub(crate) Vec<BuildError>);

/// One thing that is wrong with a configuration, or that the machine refuses.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A host document says something that cannot be done.
    #[error("{reason}")]
    Document {
        /// Where, what, and the way out.
        reason: String,
    },
    /// The handlers of a host document.
    #[error("{report}")]
    Handlers {
        /// Every mistake, with its place in the list of handlers.
        report: caddy_config::Diagnostics,
    },
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}{}", way_out(source))]
    Bind {
        /// The address as configured.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// Two servers want the same address.
    #[error("the servers {first} and {second} both listen on {address}; give each an address of its own")]
    SharedAddress {
        /// The address.
        address: String,
        /// The first server.
        first: String,
        /// The second server.
        second: String,
    },
    /// A certificate, key or name for TLS.
    #[error("server {server}: {source}")]
    Tls {
        /// The server.
        server: String,
        /// What is wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A secret of a `doors_handler`.
    #[error("server {server}: the secret of doors_handler: {source}")]
    Secret {
        /// The server.
        server: String,
        /// What is wrong with it; never the secret itself.
        source: doors_token::KeyError,
    },
    /// The upstreams or the cookie of a `doors_handler`.
    #[error("server {server}: doors_handler: {source}")]
    Doors {
        /// The server.
        server: String,
        /// What is wrong.
        source: doors_routing::ConfigErrors,
    },
    /// `reverse_proxy` takes its upstreams from a `doors_handler`, but none comes before it.
    #[error(
        "server {server}: reverse_proxy uses doors_upstreams, but no doors_handler comes before it in its site"
    )]
    NoDoorsHandler {
        /// The server.
        server: String,
    },
    /// The password of an account of `basic_auth`.
    #[error("server {server}: basic_auth: the password of {user}: {source}")]
    Password {
        /// The server.
        server: String,
        /// The user.
        user: String,
        /// What is wrong; never the hash itself.
        source: HashError,
    },
    /// Something that the model can say but Doorway does not do.
    #[error("server {server}: {what}; {way_out}")]
    Unsupported {
        /// The server.
        server: String,
        /// What is not supported.
        what: String,
        /// What to do instead.
        way_out: &'static str,
    },
    /// Routes of an `eskip` that are none.
    #[error("server {server}: eskip: {report}")]
    Routes {
        /// The server.
        server: String,
        /// What is wrong with them, and where.
        report: String,
    },
    /// A value that is not valid for its purpose.
    #[error("server {server}: {what}: `{value}`")]
    Value {
        /// The server.
        server: String,
        /// What the value is for.
        what: &'static str,
        /// The value.
        value: String,
    },
    /// A log cannot be opened.
    #[error("log {name}: cannot write to {destination}: {source}")]
    Log {
        /// The log's name.
        name: String,
        /// The file.
        destination: String,
        /// What the system says.
        source: io::Error,
    },
    /// The form of a log's lines.
    #[error("log {name}: {what}: `{value}`")]
    LogFormat {
        /// The log's name.
        name: String,
        /// What is wrong.
        what: &'static str,
        /// The value.
        value: String,
    },
    /// The configuration has no server.
    #[error(
        "the configuration has no site; a Caddyfile of the two lines `localhost:8080` and `respond hello` has one"
    )]
    NoServer,
    /// Something beside the servers, such as the log of the process.
    #[error("{0}")]
    Part(Box<dyn std::error::Error + Send + Sync>),
    /// The proxy is about to end.
    #[error("the proxy is stopping, it takes no configuration any more")]
    Stopping,
    /// A fault of this program, found by a panic.
    #[error("the configuration cannot be compiled: a fault of Doorway itself; nothing was changed")]
    Fault,
    /// The process cannot set up TLS at all.
    #[error("cannot set up TLS: {0}")]
    Provider(Box<dyn std::error::Error + Send + Sync>),
}

// === impl BuildErrors ===

impl BuildErrors {
    /// The errors, in the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &BuildError> {
        self.0.iter()
    }
}

impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildErrors {}

impl From<BuildError> for BuildErrors {
    fn from(error: BuildError) -> Self {
        Self(vec![error])
    }
}

impl FromIterator<BuildError> for BuildErrors {
    fn from_iter<I: IntoIterator<Item = BuildError>>(errors: I) -> Self {
        Self(errors.into_iter().collect())
    }
}

// === impl BuildError ===

impl BuildError {
    pub(crate) fn tls(server: &str, source: TlsError) -> Self {
        Self::Tls {
            server: server.to_owned(),
            source: Box::new(source),
        }
    }
}

fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "; stop what listens there, or choose another port",
        io::ErrorKind::PermissionDenied => {
            "; ports below 1024 need CAP_NET_BIND_SERVICE, or choose http_port and https_port above"
        }
        io::ErrorKind::AddrNotAvailable => "; it is not an address of this machine",
        _ => "",
    }
}
