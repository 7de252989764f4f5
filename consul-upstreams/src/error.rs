//! Why a look-up brought nothing.

use std::sync::Arc;

use thiserror::Error;

use crate::name::NameError;

/// Why a look-up failed. It is shared by all who waited for it, and holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The name is none; Consul was not asked.
    #[error(transparent)]
    Name(NameError),
    /// Too many names are being looked up; Consul was not asked.
    #[error("too many services are being looked up")]
    Busy,
    /// The driver has stopped, or was never run.
    #[error("nobody looks services up any more")]
    Stopped,
    /// Nothing accepts connections there.
    #[error("Consul cannot be reached: {0}")]
    Unreachable(Arc<str>),
    /// No whole answer within the time-out.
    #[error("Consul did not answer in time")]
    TimedOut,
    /// The connection broke before the answer was whole.
    #[error("Consul's answer was cut: {0}")]
    Cut(Arc<str>),
    /// 403: the token is not known, has expired or may not do this.
    #[error("Consul refuses the token: {0}")]
    Acl(Arc<str>),
    /// The token sees none of the instances: an empty answer of which Consul says that it was filtered by ACLs.
    #[error("the token may see none of the instances")]
    Filtered,
    /// The token's file cannot be read, or its token cannot be sent.
    #[error("the token cannot be used: {0}")]
    Token(Arc<str>),
    /// 500: the servers have no leader, and a read that is not `stale` needs one.
    #[error("Consul has no leader")]
    NoLeader,
    /// 500: the agent knows no servers.
    #[error("Consul's agent knows no servers")]
    NoServers,
    /// 500: no such datacenter.
    #[error("Consul knows no way to the datacenter")]
    NoDatacenter,
    /// 429 or 503: more requests than Consul takes now.
    #[error("Consul is overloaded: status {0}")]
    Overloaded(u16),
    /// 3xx: redirects are never followed, since they lead away from what was asked.
    #[error("Consul answers with a redirect, status {0}")]
    Redirect(u16),
    /// Any other status.
    #[error("Consul answers with status {0}: {1}")]
    Status(u16, Arc<str>),
    /// Not what this endpoint answers.
    #[error("Consul's answer cannot be read: {0}")]
    Bad(Arc<str>),
    /// More bytes, or instances, than are read.
    #[error("Consul's answer is too long: {0}")]
    Long(Arc<str>),
}

// === impl LookupError ===

impl LookupError {
    /// Whether Consul was not asked because of the name itself.
    pub fn is_name(&self) -> bool {
        matches!(self, Self::Name(_))
    }

    /// Of an answer with another status than 200, whose body begins with `text`.
    pub(crate) fn of_status(status: u16, text: &str) -> Self {
        let has = |part: &str| text.contains(part);
        match status {
            300..400 => Self::Redirect(status),
            403 => Self::Acl(text.into()),
            429 | 503 => Self::Overloaded(status),
            500 if has("No cluster leader") => Self::NoLeader,
            500 if has("No known Consul servers") => Self::NoServers,
            500 if has("No path to datacenter") => Self::NoDatacenter,
            _ => Self::Status(status, text.into()),
        }
    }
}

impl From<NameError> for LookupError {
    fn from(error: NameError) -> Self {
        Self::Name(error)
    }
}
