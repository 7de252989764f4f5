//! `teeLoopback`: copies of a request that go through the routes by themselves.

use std::sync::Arc;

use http::{Request, header};
use http_body::Body as _;

use super::super::{Journey, RequestBody};
use crate::body::Body;
use crate::filters::{TeeLoopback, copy};
use crate::routing::trace::Tracer;

/// What a copy has from its request, among its extensions.
#[derive(Clone, Debug)]
pub(in crate::forward) struct Copied {
    /// What `Tee` is asked for.
    pub(super) label: Arc<str>,
    /// How often the request went through the table again.
    pub(super) loopbacks: u32,
}

// === impl Journey ===

impl<'a, T: Tracer<'a>> Journey<'a, T> {
    /// The copies that were made since somebody asked.
    pub(in crate::forward) fn copies(&mut self) -> Vec<Request<Body>> {
        std::mem::take(&mut self.copies)
    }

    /// Makes the copy that the filter before has asked for, as the request is now. One that wants another protocol is
    /// not copied.
    pub(super) fn copy_if_asked(&mut self) {
        let Some(filtering) = self.filtering.as_deref_mut() else {
            return;
        };
        let Some(TeeLoopback { label }) = filtering.exchange.take_kept() else {
            return;
        };
        let loopbacks = filtering.loopbacks.saturating_add(1);
        let is_upgrade = self.cx.parts.headers.contains_key(header::UPGRADE) || self.was_connect;
        if is_upgrade || loopbacks > filtering.table.rules.most_loopbacks || self.body.is_spent() {
            return;
        }
        let host = filtering.host.clone();
        let mut parts = self.cx.parts.clone();
        parts.extensions.clear();
        parts.extensions.insert(Copied { label, loopbacks });
        if let (false, Some(host)) = (parts.headers.contains_key(header::HOST), host) {
            parts.headers.insert(header::HOST, host);
        }
        let body = self.copy_body();
        self.copies.push(Request::from_parts(parts, body));
    }

    /// A copy of the body, of what comes yet as it comes.
    fn copy_body(&mut self) -> Body {
        let RequestBody::Whole(body) = &mut self.body else {
            return Body::empty();
        };
        if let Some(same) = body.copy() {
            return same;
        }
        let length = body.size_hint().exact();
        let own = std::mem::replace(body, Body::empty());
        let (own, copied, _end) = copy(Box::pin(own), length);
        *body = Body::new(own);
        Body::new(copied)
    }
}
