//! `doors_handler`: asks doors-routing which pod or server a request belongs to.

use doors_routing::{Decision, Router};
use http::{StatusCode, header};

use crate::failure_log::FailureGates;
use crate::request::Context;

/// A compiled `doors_handler`.
#[derive(Debug)]
pub(crate) struct Doors {
    /// Which `doors_handler` of the configuration this is.
    pub(crate) id: usize,
    pub(crate) router: Router,
    /// What a refused connection to a pod is answered with. Default 410.
    pub(crate) dead_pod_status: StatusCode,
    pub(crate) gates: FailureGates,
}

// === impl Doors ===

impl Doors {
    pub(crate) fn decide(&self, cx: &Context) -> Decision {
        let cookies = cx.parts.headers.get_all(header::COOKIE);
        self.router
            .decide(cx.path(), cookies.iter().map(|line| line.as_bytes()))
    }
}
