//! Why a watch has failed.

use kube::core::Status;
use kube::runtime::watcher;

/// A failure, in words without an address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::kubernetes) struct Failure {
    pub(in crate::kubernetes) reason: String,
    kind: FailureKind,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum FailureKind {
    /// The API does not know any more what has changed since; listing anew mends it.
    Gone,
    /// Rights are missing.
    Forbidden,
    /// Everything else.
    Other,
}

// === impl Failure ===

impl Failure {
    pub(super) fn of(error: &watcher::Error) -> Self {
        match error {
            watcher::Error::WatchError(status) => Self::status(status),
            watcher::Error::InitialListFailed(error)
            | watcher::Error::WatchStartFailed(error)
            | watcher::Error::WatchFailed(error) => Self::client(error),
            watcher::Error::NoResourceVersion => Self::other("its answer has no version"),
        }
    }

    pub(super) fn ended() -> Self {
        Self::other("the watch has ended")
    }

    /// Whether rights are missing.
    pub(in crate::kubernetes) fn is_forbidden(&self) -> bool {
        self.kind == FailureKind::Forbidden
    }

    /// Whether it is usual, and nothing is stale for it.
    pub(in crate::kubernetes) fn is_usual(&self) -> bool {
        self.kind == FailureKind::Gone
    }

    fn client(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::status(status),
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Self::other("its answer cannot be read"),
            kube::Error::ReadEvents(_) => Self::other("the connection was cut"),
            _ => Self::other("it cannot be reached"),
        }
    }

    fn status(status: &Status) -> Self {
        let kind = match status.code {
            403 => FailureKind::Forbidden,
            410 => FailureKind::Gone,
            _ => FailureKind::Other,
        };
        let hint = match status.code {
            401 => ": it does not accept the credentials",
            403 => ": the right to list and watch is missing",
            _ => "",
        };
        Self {
            reason: format!("it answers {}{hint}", status.code),
            kind,
        }
    }

    fn other(reason: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            kind: FailureKind::Other,
        }
    }
}
