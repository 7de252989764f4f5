//! `doors_geo`: sends visitors to the site of their country.

use std::sync::Arc;

use doors_routing::{GeoDecision, GeoRedirects, GeoRequest, PassReason, RedirectScheme, is_system_path};
use http::header::{self, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode};

use crate::body::Body;
use crate::geo::{Counts, Outcome, Source};
use crate::request::{self, Context};

/// Where a trusted proxy says what the client speaks.
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// A compiled `doors_geo`.
#[derive(Debug)]
pub(crate) struct Geo {
    pub(crate) redirects: GeoRedirects,
    /// The status of a redirect. Default 307.
    pub(crate) status: StatusCode,
    /// Knows where clients are.
    pub(crate) source: Arc<Source>,
    pub(crate) counts: Arc<Counts>,
}

// === impl Geo ===

impl Geo {
    /// The redirect that answers the request; `None`: it goes on.
    pub(crate) fn run(&self, cx: &mut Context) -> Option<Response<Body>> {
        let redirect = match self.decide(cx) {
            GeoDecision::Pass(reason) => {
                self.counts
                    .add(cx.worker, Outcome::Passed(reason), reason.country());
                return None;
            }
            GeoDecision::Redirect(redirect) => redirect,
        };
        self.counts
            .add(cx.worker, Outcome::Redirected, Some(redirect.country));
        let location = HeaderValue::from_maybe_shared(redirect.location()).ok()?;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        *response.headers_mut() = std::mem::take(&mut cx.answer);
        let fields = response.headers_mut();
        fields.insert(header::LOCATION, location);
        // It is the answer for one visitor: who travels on, or shares a cache, may belong elsewhere.
        fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        fields.insert(header::VARY, HeaderValue::from_static("*"));
        Some(response)
    }

    /// What becomes of the request. Where it leads to, and whether it is a GET, is as the client has it: the other site
    /// does its own rewrites.
    pub(crate) fn decide<'a>(&'a self, cx: &'a Context) -> GeoDecision<'a> {
        if cx.original.is_some() && is_system_path(cx.path()) {
            return GeoDecision::Pass(PassReason::System);
        }
        let headers = &cx.parts.headers;
        let request = GeoRequest {
            method: cx.original_method().as_str(),
            target: request::target(cx.original_uri()),
            host: cx.host_port(),
            // Nobody asks else, and a look for a field takes its time.
            is_https: self.redirects.scheme() == RedirectScheme::Request && is_https(cx),
            is_upgrade: *cx.original_method() == Method::GET
                && headers.contains_key(header::UPGRADE)
                && http1_codec::connection_has(headers, b"upgrade"),
        };
        self.redirects
            .decide(&request, || self.source.locate(cx.client_ip))
    }
}

/// Whether the visitor speaks TLS, as far as a proxy says so that is trusted.
fn is_https(cx: &Context) -> bool {
    let told = cx
        .parts
        .headers
        .get(&X_FORWARDED_PROTO)
        .filter(|_| cx.via_trusted_proxy);
    let Some(told) = told else { return cx.tls };
    let first = told.as_bytes().split(|byte| *byte == b',').next();
    first.is_some_and(|scheme| scheme.trim_ascii().eq_ignore_ascii_case(b"https"))
}

#[cfg(test)]
mod tests;
