//! What is known of the proxy.

use serde::Serialize;

use super::error::SyncError;

/// The state of the proxy, for an agent's own status. The default is that of an agent without one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Whether there is a proxy to be configured.
    pub enabled: bool,
    /// Whether the last sync succeeded.
    pub reachable: bool,
    /// Why it failed; empty if it did not.
    pub error: String,
    /// The routes of the last one that succeeded, also those that answer 503.
    pub routes: usize,
}

// === impl Status ===

impl Status {
    /// Before the first sync.
    pub(super) fn enabled() -> Self {
        Self {
            enabled: true,
            ..Self::default()
        }
    }

    /// Notes what came of a sync; `routes` are those that the proxy has if it succeeded.
    pub(super) fn record(&mut self, error: Option<&SyncError>, routes: usize) {
        self.reachable = error.is_none();
        self.error = error.map_or_else(String::new, ToString::to_string);
        if error.is_none() {
            self.routes = routes;
        }
    }
}
