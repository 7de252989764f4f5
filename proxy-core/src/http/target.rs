//! Head checks: what a request must look like before anything routes it, in one form for HTTP/1.1 and
//! HTTP/2 (RFC 9112, section 3; RFC 9113, section 8.3; RFC 9110, sections 4.2 and 10.1.1).
//!
//! The heads of this proxy's own HTTP/1 were checked when they were read. Those of HTTP/2, and of servers that the
//! proxy is mounted in, are not: they may come without Host, with two, and with any target form and coding. What
//! leaves this module has an origin-form target with resolved dot segments, one valid host, and framing that both
//! sides of the proxy read the same way.

use std::borrow::Cow;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, StatusCode, Uri, Version};

use super::forwarded;
use super::marks::Marks;
use super::upgrade;
use crate::percent;

/// The longest request target in bytes; a longer one gets 414.
pub(crate) const MAX_TARGET: usize = 8 * 1024;

/// Why a request is refused before it is routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) status: StatusCode,
    pub(crate) reason: &'static str,
}

/// What a request that passed the checks asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// A resource of the host (`None`: an HTTP/1.0 request without Host).
    Resource(Option<HeaderValue>),
    /// `OPTIONS *`: the proxy itself.
    Server,
}

/// Checks a request head and brings it into the form that is routed and forwarded. `is_checked` says that
/// `http1_codec` has read it.
pub(crate) fn check(parts: &mut Parts, is_checked: bool) -> Result<Asks, Rejection> {
    if parts.method == Method::CONNECT {
        upgrade::take_connect(parts)?;
    }
    if is_checked && parts.uri.authority().is_none() && parts.uri.path() != "*" {
        check_fields(&mut parts.headers)?;
        set_origin_form(&mut parts.uri)?;
        return Ok(Asks::Resource(parts.headers.get(header::HOST).cloned()));
    }
    check_values(&parts.headers)?;
    let host = host(parts)?;
    check_framing(&mut parts.headers)?;
    check_fields(&mut parts.headers)?;
    if parts.uri.path() == "*" {
        return match parts.method {
            Method::OPTIONS => Ok(Asks::Server),
            _ => Err(bad("the target * is for OPTIONS only")),
        };
    }
    set_origin_form(&mut parts.uri)?;
    Ok(Asks::Resource(host))
}

// === host ===

fn host(parts: &mut Parts) -> Result<Option<HeaderValue>, Rejection> {
    let mut lines = parts.headers.get_all(header::HOST).iter();
    let (line, more) = (lines.next().cloned(), lines.next().is_some());
    if more {
        return Err(bad("there are two Host fields"));
    }
    if let Some(line) = &line {
        check_authority(line.as_bytes())?;
    }
    let host = match parts.uri.authority() {
        Some(authority) => {
            check_scheme(&parts.uri)?;
            check_authority(authority.as_str().as_bytes())?;
            let differs = line.as_ref().is_some_and(|line| {
                !line
                    .as_bytes()
                    .eq_ignore_ascii_case(authority.as_str().as_bytes())
            });
            if differs && parts.version == Version::HTTP_2 {
                return Err(bad("Host differs from :authority"));
            }
            HeaderValue::from_str(authority.as_str())
                .map(Some)
                .map_err(|_| bad("the host is not valid"))?
        }
        None if line.is_none() && parts.version != Version::HTTP_10 => return Err(bad("there is no Host")),
        None => line.clone(),
    };
    if host != line
        && let Some(host) = &host
    {
        parts.headers.insert(header::HOST, host.clone());
    }
    Ok(host)
}

fn check_scheme(uri: &Uri) -> Result<(), Rejection> {
    match uri.scheme_str() {
        Some("http" | "https") => Ok(()),
        None => Err(bad("the target is neither a path nor a URI")),
        Some(_) => Err(bad("the scheme is neither http nor https")),
    }
}

fn check_authority(text: &[u8]) -> Result<(), Rejection> {
    if http1_codec::is_valid_authority(text) {
        Ok(())
    } else {
        Err(bad("the host is not valid"))
    }
}

// === framing ===

fn check_framing(headers: &mut HeaderMap) -> Result<(), Rejection> {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        check_codings(headers)?;
    }
    http1_codec::plain_length(headers).map_err(|_| bad("Content-Length is not a number"))
}

fn check_codings(headers: &HeaderMap) -> Result<(), Rejection> {
    let mut rejection = None;
    let mut codings = headers
        .get_all(header::TRANSFER_ENCODING)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .peekable();
    while let Some(coding) = codings.next() {
        let last = codings.peek().is_none();
        let chunked = coding.eq_ignore_ascii_case(b"chunked");
        let known = chunked || coding.is_empty() || coding.eq_ignore_ascii_case(b"identity");
        match (last, chunked, known) {
            (true, true, _) => {}
            (false, false, false) => {
                rejection = Some(refuse(
                    StatusCode::NOT_IMPLEMENTED,
                    "the transfer coding is not supported",
                ));
            }
            _ => return Err(bad("Transfer-Encoding is not one final chunked")),
        }
    }
    rejection.map_or(Ok(()), Err)
}

/// A value with blanks around it is malformed over HTTP/2 (RFC 9113, section 8.2.1), and over HTTP/1 no reader gives any.
fn check_values(headers: &HeaderMap) -> Result<(), Rejection> {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let padded = headers
        .values()
        .map(HeaderValue::as_bytes)
        .any(|value| is_blank(value.first()) || is_blank(value.last()));
    if padded {
        Err(bad("a field has blanks around its value"))
    } else {
        Ok(())
    }
}

fn check_fields(headers: &mut HeaderMap) -> Result<(), Rejection> {
    let marks = Marks::of(headers);
    if marks.any(Marks::EXPECT) {
        check_expect(headers)?;
    }
    if marks.any(Marks::ALIAS) {
        drop_aliases(headers);
    }
    Ok(())
}

fn check_expect(headers: &HeaderMap) -> Result<(), Rejection> {
    let met = headers
        .get_all(header::EXPECT)
        .iter()
        .all(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"));
    if met {
        Ok(())
    } else {
        Err(refuse(
            StatusCode::EXPECTATION_FAILED,
            "the expectation is not known",
        ))
    }
}

fn drop_aliases(headers: &mut HeaderMap) {
    let aliases: Vec<HeaderName> = headers
        .keys()
        .filter(|name| forwarded::is_alias(name))
        .cloned()
        .collect();
    for name in aliases {
        headers.remove(name);
    }
}

// === target ===

fn set_origin_form(uri: &mut Uri) -> Result<(), Rejection> {
    let Some(target) = uri.path_and_query() else {
        return Err(bad("the target has no path"));
    };
    if target.as_str().len() > MAX_TARGET {
        return Err(refuse(StatusCode::URI_TOO_LONG, "the target is too long"));
    }
    if !target.path().starts_with('/') {
        return Err(bad("the target is neither a path nor a URI"));
    }
    if target.path().contains("%00") {
        return Err(bad("the path has a NUL"));
    }
    let resolved = percent::resolve_dots(target.path());
    if uri.authority().is_none() && matches!(resolved, Cow::Borrowed(_)) {
        return Ok(());
    }
    let text = match (&resolved, target.query()) {
        (Cow::Borrowed(_), _) => None,
        (Cow::Owned(path), None) => Some(path.clone()),
        (Cow::Owned(path), Some(query)) => Some(format!("{path}?{query}")),
    };
    let target = match text {
        None => target.clone(),
        Some(text) => PathAndQuery::try_from(text).map_err(|_| bad("the path is not valid"))?,
    };
    *uri = Uri::from(target);
    Ok(())
}

// === helpers ===

pub(super) const fn refuse(status: StatusCode, reason: &'static str) -> Rejection {
    Rejection { status, reason }
}

const fn bad(reason: &'static str) -> Rejection {
    refuse(StatusCode::BAD_REQUEST, reason)
}

#[cfg(test)]
mod tests;
