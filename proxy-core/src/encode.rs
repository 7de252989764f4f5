//! Compression of answers: whether, with which coding, and what changes in the head.

mod accept;
mod coder;
mod first;
mod lease;
mod stream;

use std::sync::Arc;

use doors_routing::is_system_path;
use futures_util::FutureExt as _;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;

pub(crate) use self::coder::Coding;
use self::coder::Until;
pub(crate) use self::first::first_piece;
pub(crate) use self::lease::Encoders;
use self::lease::Lease;
use crate::body::Body;
use crate::response_matcher::ResponseMatcher;

/// The least length that is compressed, unless the configuration has another one.
pub(crate) const MINIMUM: u64 = 512;

/// A body that is there as a whole and no longer than this is compressed at once, so that its length is known.
const AT_ONCE: u64 = 32 * 1024;

/// Fields that say something about the very bytes of a body, and would be wrong for others.
const OF_BYTES: [HeaderName; 6] = [
    header::ACCEPT_RANGES,
    header::CONTENT_LENGTH,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("repr-digest"),
];

/// What is compressed, and how: the handler `encode`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encode {
    /// In order of preference among those that a client likes as much.
    pub(crate) codings: Vec<Coding>,
    /// Only bodies that are longer, in bytes; see [`MINIMUM`].
    pub(crate) minimum: u64,
    /// Only answers like this.
    pub(crate) only: ResponseMatcher,
}

/// What a request lets be done with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    coding: Option<Coding>,
    /// A plain answer is not acceptable, however short.
    not_plain: bool,
    /// There is nothing to do, whatever the answer: the answer is a stream, or becomes one.
    untouched: bool,
    is_head: bool,
    /// The client's entity tag was that of the compressed answer.
    own_tag: bool,
}

/// What a body must pass through whose head says already that it is compressed.
#[derive(Debug)]
pub(crate) struct Later {
    lease: Lease,
    /// The client can read what there is whenever the body pauses.
    at_once: bool,
}

/// How long a body is, as far as that is known before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Known(u64),
    /// Its first piece is this long.
    AtLeast(u64),
    Unknown,
}

// === impl Encode ===

impl Encode {
    /// Reads what the client accepts. Its `If-None-Match` is changed to what the upstream knows: without the
    /// ending that [`Encode::answer`] gives to entity tags.
    pub(crate) fn ask(&self, request: &mut Parts) -> Asked {
        let headers = &mut request.headers;
        let untouched = headers.contains_key(header::SEC_WEBSOCKET_KEY) || is_system_path(request.uri.path());
        let choice = if untouched || forbids_transformation(headers) {
            accept::Choice::default()
        } else {
            accept::choose(headers, &self.codings)
        };
        Asked {
            coding: choice.coding,
            not_plain: choice.not_plain,
            untouched,
            is_head: request.method == Method::HEAD,
            own_tag: choice.coding.is_some_and(|coding| strip_tag(headers, coding)),
        }
    }

    /// Whether the length of the first piece of the body decides: then [`first_piece`] is awaited before
    /// [`Encode::answer`].
    pub(crate) fn waits_for_piece(&self, asked: Asked, response: &Response<Body>) -> bool {
        asked.coding.is_some()
            && !asked.not_plain
            && !asked.is_head
            && length(response, asked) == Length::Unknown
            && !response.body().is_end_stream()
            && self.may_change(asked, response)
    }

    /// Compresses the answer to a request that asked so. `first` is what [`first_piece`] gave.
    pub(crate) fn answer(
        &self,
        asked: Asked,
        response: &mut Response<Body>,
        first: Option<u64>,
        encoders: &Arc<Encoders>,
    ) {
        if asked.untouched {
            return;
        }
        if response.status() == StatusCode::NOT_MODIFIED {
            vary(response.headers_mut());
            if let Some(coding) = asked.coding.filter(|_| asked.own_tag) {
                mark_tag(response.headers_mut(), coding);
                // What it says of the bytes is about the plain form.
                for name in &OF_BYTES {
                    response.headers_mut().remove(name);
                }
            }
            return;
        }
        let length = match (length(response, asked), first) {
            (Length::Unknown, Some(first)) => Length::AtLeast(first),
            (length, _) => length,
        };
        if !self.may_change(asked, response) || !self.is_worth_it(asked, length) {
            return;
        }
        vary(response.headers_mut());
        let Some(coding) = asked.coding else { return };
        if asked.is_head {
            change_head(response.headers_mut(), coding);
            // The length of what a GET would get is not known.
            *response.body_mut() = Body::empty();
        } else if let Some(lease) = encoders.lease(coding) {
            let body = std::mem::replace(response.body_mut(), Body::empty());
            *response.body_mut() = match compressed(body, lease, matches!(length, Length::Known(_))) {
                Ok(body) => {
                    change_head(response.headers_mut(), coding);
                    body
                }
                Err(body) => body,
            };
        }
    }

    /// As [`Encode::answer`], for a body that is seen later only and is `length` bytes long if that is known: changes the
    /// head, and gives what the body must pass through then.
    pub(crate) fn head(
        &self,
        asked: Asked,
        status: StatusCode,
        headers: &mut HeaderMap,
        length: Option<u64>,
        encoders: &Arc<Encoders>,
    ) -> Option<Later> {
        if status == StatusCode::NOT_MODIFIED && !asked.untouched {
            vary(headers);
            if let Some(coding) = asked.coding.filter(|_| asked.own_tag) {
                mark_tag(headers, coding);
            }
            return None;
        }
        let worth = length
            .filter(|_| !asked.is_head)
            .map_or(Length::Unknown, Length::Known);
        if !self.may_change_head(asked, status, headers) || !self.is_worth_it(asked, worth) {
            return None;
        }
        vary(headers);
        let coding = asked.coding?;
        if asked.is_head {
            change_head(headers, coding);
            return None;
        }
        let lease = encoders.lease(coding)?;
        change_head(headers, coding);
        let at_once = length.is_none();
        Some(Later { lease, at_once })
    }

    /// Whether answers like this are compressed for those clients that like it.
    fn may_change(&self, asked: Asked, response: &Response<Body>) -> bool {
        self.may_change_head(asked, response.status(), response.headers())
    }

    fn may_change_head(&self, asked: Asked, status: StatusCode, headers: &HeaderMap) -> bool {
        let has_body = !status.is_informational()
            && status != StatusCode::NO_CONTENT
            && status != StatusCode::PARTIAL_CONTENT;
        has_body
            && !asked.untouched
            && is_plain(headers)
            && !forbids_transformation(headers)
            && !is_event_stream(headers)
            && self.only.matches(status.as_u16(), headers)
    }

    fn is_worth_it(&self, asked: Asked, length: Length) -> bool {
        match length {
            Length::Known(0) => false,
            Length::Known(length) | Length::AtLeast(length) => length > self.minimum || asked.not_plain,
            Length::Unknown => true,
        }
    }
}

// === impl Later ===

impl Later {
    /// The body, compressed.
    pub(crate) fn around(self, body: Body) -> Body {
        stream::compressed(body, self.lease, self.at_once)
    }
}

/// The body, compressed, or as it was if that failed.
fn compressed(mut body: Body, mut lease: Lease, is_known: bool) -> Result<Body, Body> {
    let is_short = body.size_hint().exact().is_some_and(|length| length <= AT_ONCE);
    if !body.is_whole() || !is_short {
        return Ok(stream::compressed(body, lease, !is_known));
    }
    let frame = body.frame().now_or_never().flatten();
    let data = frame
        .and_then(|frame| frame.ok()?.into_data().ok())
        .unwrap_or_default();
    let mut out = Vec::with_capacity(data.len());
    match lease.run(&data, Until::Complete, &mut out) {
        Ok(()) => Ok(Body::full(out)),
        Err(_) => Err(Body::full(data)),
    }
}

// === what the heads say ===

fn length(response: &Response<Body>, asked: Asked) -> Length {
    let stated = || {
        response
            .headers()
            .get(header::CONTENT_LENGTH)?
            .to_str()
            .ok()?
            .parse()
            .ok()
    };
    let exact = response.body().size_hint().exact();
    // The body of an answer to HEAD is empty, and tells nothing.
    let exact = exact.filter(|length| *length > 0 || !asked.is_head);
    match exact.or_else(stated) {
        Some(length) => Length::Known(length),
        None => Length::Unknown,
    }
}

/// `Cache-Control: no-transform`, of either side.
fn forbids_transformation(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CACHE_CONTROL).iter();
    values.any(|value| lists(value.as_bytes(), b"no-transform"))
}

fn is_plain(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_ENCODING)
        .is_none_or(|coding| coding.is_empty())
}

/// A stream of events is never held up by an encoder.
fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let essence = kind.and_then(|kind| kind.split(|byte| *byte == b';').next());
    essence.is_some_and(|essence| essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream"))
}

fn lists(value: &[u8], token: &[u8]) -> bool {
    let mut items = value.split(|byte| *byte == b',');
    items.any(|item| item.trim_ascii().eq_ignore_ascii_case(token))
}

// === what changes in the heads ===

fn vary(headers: &mut HeaderMap) {
    let mut values = headers.get_all(header::VARY).iter();
    let has =
        values.any(|value| lists(value.as_bytes(), b"accept-encoding") || lists(value.as_bytes(), b"*"));
    if !has {
        headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}

fn change_head(headers: &mut HeaderMap, coding: Coding) {
    for name in &OF_BYTES {
        headers.remove(name);
    }
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    mark_tag(headers, coding);
}

/// A strong entity tag stands for certain bytes, so the compressed form needs another one.
fn mark_tag(headers: &mut HeaderMap, coding: Coding) {
    let marked = headers.get(header::ETAG).and_then(|tag| {
        let tag = tag
            .as_bytes()
            .strip_suffix(b"\"")
            .filter(|tag| tag.starts_with(b"\""))?;
        HeaderValue::from_bytes(&[tag, b"-", coding.name().as_bytes(), b"\""].concat()).ok()
    });
    if let Some(tag) = marked {
        headers.insert(header::ETAG, tag);
    }
}

/// The opposite of [`mark_tag`], for what a client has. Whether there was anything to do.
fn strip_tag(headers: &mut HeaderMap, coding: Coding) -> bool {
    let Some(tag) = headers.get(header::IF_NONE_MATCH).map(HeaderValue::as_bytes) else {
        return false;
    };
    let own = tag
        .strip_suffix(b"\"")
        .and_then(|tag| tag.strip_suffix(coding.name().as_bytes()))
        .and_then(|tag| tag.strip_suffix(b"-"))
        .filter(|tag| tag.starts_with(b"\"") && !tag.contains(&b','));
    match own.and_then(|tag| HeaderValue::from_bytes(&[tag, b"\""].concat()).ok()) {
        Some(tag) => {
            headers.insert(header::IF_NONE_MATCH, tag);
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests;
