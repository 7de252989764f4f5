//! What is done to a request before it goes to an upstream, at each that is tried, and when it is sent again.

use http::header::{self, HeaderMap};
use http::{Request, Response};
use tokio::time::Instant;

use crate::body::Body;
use crate::error::{Failure, Side};
use crate::facts::Chosen;
use crate::request::{self, Context};
use crate::routing::header_ops::{self, HeaderOps};
use crate::routing::matcher::MatcherSet;
use crate::upstream::transport::Way;

/// What is done before a request goes to an upstream, at each that is tried.
#[derive(Debug, Default)]
pub(crate) struct Before<'v> {
    /// Changes to these fields, which are those of the request so far.
    pub(crate) changes: Option<(&'v HeaderOps, HeaderMap)>,
    /// Placeholders ask where the request went.
    pub(crate) notes: bool,
    /// When it may be sent again although it may have reached an application.
    pub(crate) resend: Option<&'v Resend>,
    /// Upstreams are told their own host and port as the Host, unless the changes say otherwise.
    pub(crate) sets_host: bool,
}

/// `lb_retry_match`: what is sent again.
#[derive(Debug)]
pub(crate) struct Resend {
    /// A request that failed after bytes of it were sent, if any of these sets matches.
    pub(crate) requests: Vec<MatcherSet>,
    /// Those that ask about answers: an answer is replaced if any of them matches.
    pub(crate) answers: Vec<MatcherSet>,
}

// === impl Before ===

impl Before<'_> {
    /// Whether there is anything to do.
    pub(crate) fn is_any(&self) -> bool {
        self.notes || self.sets_host || self.changes.is_some() || self.resend.is_some()
    }

    /// A copy of `request`, if it may have to be sent again.
    pub(super) fn copy_of(&self, request: &Request<Body>, cx: &mut Context) -> Option<Box<Request<Body>>> {
        let resend = self.resend?;
        let by_request = |set: &MatcherSet| set.matches(cx).unwrap_or(false);
        let may_be_sent = !resend.answers.is_empty() || resend.requests.iter().any(by_request);
        may_be_sent.then(|| request::copy(request)).flatten()
    }

    /// Whether the request is sent again after `failure`, although bytes of it were sent.
    pub(super) fn resends(&self, failure: &Failure, cx: &mut Context) -> bool {
        // A client that fails would fail again.
        let Some(resend) = self.resend.filter(|_| failure.reason.side() == Side::Upstream) else {
            return false;
        };
        if let Some(facts) = &mut cx.facts {
            facts.transport_error = true;
        }
        let sent_again = resend.requests.iter().any(|set| set.matches(cx).unwrap_or(false));
        if let Some(facts) = &mut cx.facts {
            facts.transport_error = false;
        }
        sent_again
    }

    /// Whether a better answer than this one is wanted.
    pub(super) fn refuses(&self, response: &Response<Body>, cx: &mut Context) -> bool {
        let Some(resend) = self.resend.filter(|resend| !resend.answers.is_empty()) else {
            return false;
        };
        let mut told = Response::new(Body::empty());
        *told.status_mut() = response.status();
        *told.headers_mut() = response.headers().clone();
        let before = cx.caught.replace(Box::new(told));
        let refused = resend.answers.iter().any(|set| set.matches(cx).unwrap_or(false));
        cx.caught = before;
        refused
    }

    pub(super) fn go_to(
        &self,
        (host, port): (&str, u16),
        way: &Way,
        cx: &mut Context,
        request: &mut Request<Body>,
    ) {
        if let Some(facts) = &mut cx.facts {
            facts.retries = facts
                .upstream
                .as_ref()
                .map_or(0, |_| facts.retries.saturating_add(1));
            facts.upstream = Some(Chosen {
                host: host.to_owned(),
                port,
                latency: None,
            });
            facts.sent = Some(Instant::now());
        }
        if let Some((ops, fields)) = &self.changes {
            let mut fields = fields.clone();
            self.set_host(way, &mut fields);
            change_request(ops, cx, &mut fields);
            if !fields.contains_key(header::HOST) {
                self.set_host(way, &mut fields);
            }
            *request.headers_mut() = fields;
        } else {
            self.set_host(way, request.headers_mut());
        }
    }

    fn set_host(&self, way: &Way, fields: &mut HeaderMap) {
        if let Some(host) = way.host.as_ref().filter(|_| self.sets_host) {
            fields.insert(header::HOST, host.clone());
        }
    }
}

/// Changes the fields of a request to an upstream, or of its answer. Those that frame a message or concern one
/// connection are not among them.
pub(crate) fn change(ops: &HeaderOps, cx: &Context, fields: &mut HeaderMap) {
    ops.apply(&mut header_ops::Beside { cx, fields });
}

/// The same for a request, which has one host at most. What a client wrote into a placeholder's value may be none:
/// then it is empty, as in Caddy.
pub(crate) fn change_request(ops: &HeaderOps, cx: &Context, fields: &mut HeaderMap) {
    change(ops, cx, fields);
    let mut hosts = fields.get_all(header::HOST).iter();
    let Some(first) = hosts.next() else { return };
    let host = hosts.next().unwrap_or(first).clone();
    fields.insert(header::HOST, request::valid_host(&host));
}
