//! Who may ask for hosts, and change them.
//!
//! Tokens, once there are some, are asked of everybody. Without any, whoever is on the same machine may do everything, and
//! nobody else may do anything.

use std::net::{IpAddr, SocketAddr};

use http::StatusCode;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::Refused;
use crate::admin::reply::Reply;
use crate::control::{Access, Tokens};

/// Who changes something, for the history, where no token says it.
const AUTHOR: HeaderName = HeaderName::from_static("x-doorway-author");

/// Who changes something without saying who.
const SOMEBODY: &str = "local";

/// The longest name of who changes something.
const LONGEST: usize = 64;

/// Somebody who may ask.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Caller {
    /// For the history.
    pub(super) author: String,
    access: Access,
}

/// Who asks.
pub(super) fn caller(
    tokens: Option<&Tokens>,
    peer: Option<SocketAddr>,
    fields: &HeaderMap,
) -> Result<Caller, Refused> {
    match tokens.filter(|tokens| !tokens.is_empty()) {
        Some(tokens) => by_token(tokens, fields),
        None if is_here(peer) => Ok(Caller {
            author: author(fields)?,
            access: Access::Write,
        }),
        None => {
            let help = "routes are only told and changed on this machine, as the configuration has no tokens; add \
                        `token NAME read|write SECRET` to `route_sources`";
            Err(Box::new(Reply::error(StatusCode::FORBIDDEN, help)))
        }
    }
}

fn by_token(tokens: &Tokens, fields: &HeaderMap) -> Result<Caller, Refused> {
    let Some(shown) = bearer(fields) else {
        let error = "this needs a token: `Authorization: Bearer TOKEN`";
        return Err(challenge(
            StatusCode::UNAUTHORIZED,
            error,
            "Bearer realm=\"doorway\"",
        ));
    };
    match tokens.find(shown) {
        Some((name, access)) => Ok(Caller {
            author: name.to_owned(),
            access,
        }),
        None => Err(challenge(
            StatusCode::UNAUTHORIZED,
            "the configuration has no such token",
            "Bearer realm=\"doorway\", error=\"invalid_token\"",
        )),
    }
}

/// The token that is shown.
fn bearer(fields: &HeaderMap) -> Option<&[u8]> {
    let mut values = fields.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?.as_bytes();
    let (scheme, token) = value.split_at_checked(7)?;
    let token = token.trim_ascii();
    let fits = scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty() && values.next().is_none();
    fits.then_some(token)
}

/// Whether somebody is on this machine.
pub(super) fn is_here(peer: Option<SocketAddr>) -> bool {
    peer.is_none_or(|peer| match peer.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback()),
    })
}

/// Who says to change something.
fn author(fields: &HeaderMap) -> Result<String, Refused> {
    let Some(value) = fields.get(AUTHOR) else {
        return Ok(SOMEBODY.to_owned());
    };
    let plain = |text: &&str| {
        (1..=LONGEST).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
    };
    match value.to_str().ok().map(str::trim).filter(plain) {
        Some(author) => Ok(author.to_owned()),
        None => {
            let error = format!("`X-Doorway-Author` has 1 to {LONGEST} characters of ASCII");
            Err(Box::new(Reply::error(StatusCode::BAD_REQUEST, &error)))
        }
    }
}

fn challenge(status: StatusCode, error: &str, challenge: &'static str) -> Refused {
    let challenge = HeaderValue::from_static(challenge);
    Box::new(Reply::error(status, error).with(header::WWW_AUTHENTICATE, challenge))
}

// === impl Caller ===

impl Caller {
    /// Whether they may do what needs this.
    pub(super) fn may(&self, needed: Access) -> Result<(), Refused> {
        if self.access >= needed {
            return Ok(());
        }
        Err(challenge(
            StatusCode::FORBIDDEN,
            "this token is for reading alone",
            "Bearer realm=\"doorway\", error=\"insufficient_scope\"",
        ))
    }
}
