//! Why the proxy does not have the routes.

use crate::text::shown;

/// Why a sync failed. The proxy keeps the routes that it has.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The routes could not be computed.
    #[error("cannot compute the routes: {0}")]
    Source(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The routes are for another admin address than the one that is asked: loading them would move the endpoint away.
    #[error("the routes have another admin address than the proxy is asked at; start again to change it")]
    Moved,
    /// No answer: no connection, a time-out, or something that is no HTTP.
    #[error("cannot reach the proxy's admin endpoint: {0}")]
    Unreachable(String),
    /// The proxy does not take the configuration.
    #[error("the proxy rejected the configuration (HTTP {status}): {text}")]
    Rejected {
        /// The status of its answer.
        status: u16,
        /// The beginning of its answer.
        text: String,
    },
}

/// A swap of a rollout was not carried out.
#[derive(Debug, thiserror::Error)]
#[error("could not route {what} to the new version: {cause}")]
pub struct RolloutError {
    /// The domain that the rollout names, or the application's name if it names none.
    pub what: String,
    /// Why.
    #[source]
    pub cause: SyncError,
}

/// A rollout of the application is under way already.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rollout of application {} is under way", shown(.0))]
pub struct RolloutUnderWay(pub(super) String);
