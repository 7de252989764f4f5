//! Log lines for failed requests: at most one a second for each kind and site, with a count of those in
//! between, so that neither a stranger nor a dead upstream floods the log.

use std::error::Error as StdError;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::{debug, warn};

use crate::error::{Failure, Reason, Side};

/// The gates of one source of failures: a site's `doors_handler` or `reverse_proxy`, or a server's head
/// checks.
#[derive(Debug, Default)]
pub(crate) struct FailureGates(OnceLock<Box<Gates>>);

/// Takes no memory as long as nothing fails: there may be many sites.
#[derive(Debug, Default)]
struct Gates {
    bad_token: Gate,
    dead_pod: Gate,
    client: Gate,
    upstream: Gate,
}

/// Lets one event a second through.
#[derive(Debug, Default)]
struct Gate {
    /// The second of the last event, plus one; 0 if there was none.
    last: AtomicU64,
    held_back: AtomicU64,
}

// === impl FailureGates ===

impl FailureGates {
    /// Writes a line for `failure` unless there was one of its kind in this `second`. Names whose fault it
    /// is and why; neither a token nor a cookie is ever part of it.
    pub(crate) fn log(&self, failure: &Failure, server: &str, host: &str, upstream: &str, second: u64) {
        let reason = failure.reason;
        let side = reason.side().as_str();
        let gates = || self.0.get_or_init(Box::default);
        let gate = match (reason, reason.side()) {
            (Reason::ClientGone, _) => {
                debug!(side, server, host, upstream, "{reason}");
                return;
            }
            // As configured: nothing is wrong.
            (
                Reason::Raised
                | Reason::NoRoute
                | Reason::Unauthenticated
                | Reason::BodyTooLong
                | Reason::BodyRefused,
                _,
            ) if !failure.status.is_server_error() => {
                debug!(side, server, host, status = failure.status.as_u16(), "{reason}");
                return;
            }
            (Reason::BadToken, _) => &gates().bad_token,
            (Reason::DeadPod, _) => &gates().dead_pod,
            (_, Side::Client) => &gates().client,
            (_, Side::Upstream | Side::Proxy) => &gates().upstream,
        };
        let Some(held_back) = gate.pass(second) else {
            return;
        };
        let status = failure.status.as_u16();
        let cause = failure.source().map(causes);
        let upstream = Some(upstream).filter(|upstream| !upstream.is_empty());
        warn!(status, side, server, host, upstream, cause, held_back, "{reason}");
    }
}

/// An error and what it came from, in one line.
fn causes(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

// === impl Gate ===

impl Gate {
    /// `Some` with the number of events held back before, if this one may pass.
    fn pass(&self, second: u64) -> Option<u64> {
        let now = second.saturating_add(1);
        if self.last.swap(now, Ordering::Relaxed) == now {
            self.held_back.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(self.held_back.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_event_a_second_passes_and_the_others_are_counted() {
        let gate = Gate::default();
        let passed: Vec<_> = [0, 0, 0, 1, 1, 5]
            .into_iter()
            .map(|second| gate.pass(second))
            .collect();
        assert_eq!(passed, [Some(0), None, None, Some(2), None, Some(1)]);
    }
}
