//! What a request is about.
//!
//! A host that is named like one of the words here, such as `status`, is asked for with a dot behind it.

use http::header::{self, HeaderValue};
use http::{Method, StatusCode};
use route_store::HostName;

use super::Refused;
use crate::admin::reply::Reply;
use crate::control::Access;

/// What is wanted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// To be told something.
    Read(Place),
    Validate,
    Put(HostName),
    Delete(HostName),
    Rollback(HostName),
    Forget(HostName),
    AcceptLoss,
}

/// What one may be told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    List,
    Documents,
    Status,
    Replicas,
    One(HostName),
    History(HostName),
    Version(HostName, u64),
}

// === impl Want ===

impl Want {
    pub(super) fn of(method: &Method, path: &str) -> Result<Self, Refused> {
        let method = if method == Method::HEAD {
            &Method::GET
        } else {
            method
        };
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match (method.as_str(), parts.as_slice()) {
            ("GET", ["replicas"]) => Ok(Self::Read(Place::Replicas)),
            ("GET", ["routes"] | ["routes", ""]) => Ok(Self::Read(Place::List)),
            ("GET", ["routes", "documents"]) => Ok(Self::Read(Place::Documents)),
            ("GET", ["routes", "status"]) => Ok(Self::Read(Place::Status)),
            ("POST", ["routes", "validate"]) => Ok(Self::Validate),
            ("POST", ["routes", "accept-loss"]) => Ok(Self::AcceptLoss),
            ("POST", ["routes", "forget", name]) => Ok(Self::Forget(host(name)?)),
            ("GET", ["routes", name]) => Ok(Self::Read(Place::One(host(name)?))),
            ("PUT", ["routes", name]) => Ok(Self::Put(host(name)?)),
            ("DELETE", ["routes", name]) => Ok(Self::Delete(host(name)?)),
            ("GET", ["routes", name, "history"]) => Ok(Self::Read(Place::History(host(name)?))),
            ("GET", ["routes", name, "history", version]) => {
                let version = version.parse().map_err(|_| Box::new(Reply::not_found()))?;
                Ok(Self::Read(Place::Version(host(name)?, version)))
            }
            ("POST", ["routes", name, "rollback"]) => Ok(Self::Rollback(host(name)?)),
            (_, parts) => Err(Box::new(match allowed(parts) {
                Some(methods) => {
                    let reply = Reply::error(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
                    reply.with(header::ALLOW, HeaderValue::from_static(methods))
                }
                None => Reply::not_found(),
            })),
        }
    }

    /// What one must have for it.
    pub(super) fn needs(&self) -> Access {
        match self {
            Self::Read(_) | Self::Validate => Access::Read,
            Self::Put(_) | Self::Delete(_) | Self::Rollback(_) | Self::Forget(_) | Self::AcceptLoss => {
                Access::Write
            }
        }
    }
}

/// The methods of a place, if it is one.
fn allowed(parts: &[&str]) -> Option<&'static str> {
    match parts {
        ["replicas"] | ["routes"] | ["routes", ""] | ["routes", _, "history"] => Some("GET, HEAD"),
        ["routes", "validate" | "accept-loss"] | ["routes", "forget", _] | ["routes", _, "rollback"] => {
            Some("POST")
        }
        ["routes", _] => Some("GET, HEAD, PUT, DELETE"),
        _ => None,
    }
}

/// The host of a path; that of an IPv6 address may have its brackets.
fn host(text: &str) -> Result<HostName, Refused> {
    let plain = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text);
    let parsed = plain.parse::<HostName>();
    parsed.map_err(|error| Box::new(Reply::error(StatusCode::BAD_REQUEST, &error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(host: &str) -> HostName {
        host.parse().unwrap()
    }

    #[test]
    fn words_are_told_from_hosts() {
        for (method, path, want) in [
            (Method::GET, "/routes", Want::Read(Place::List)),
            (Method::HEAD, "/routes/", Want::Read(Place::List)),
            (Method::GET, "/replicas", Want::Read(Place::Replicas)),
            (Method::GET, "/routes/status", Want::Read(Place::Status)),
            (
                Method::GET,
                "/routes/status.",
                Want::Read(Place::One(named("status"))),
            ),
            (Method::PUT, "/routes/status", Want::Put(named("status"))),
            (
                Method::GET,
                "/routes/A.test",
                Want::Read(Place::One(named("a.test"))),
            ),
            (Method::PUT, "/routes/*.a.test", Want::Put(named("*.a.test"))),
            (Method::PUT, "/routes/[::1]", Want::Put(named("::1"))),
            (Method::POST, "/routes/validate", Want::Validate),
            (Method::POST, "/routes/forget/a", Want::Forget(named("a"))),
            (Method::POST, "/routes/accept-loss", Want::AcceptLoss),
            (Method::POST, "/routes/a/rollback", Want::Rollback(named("a"))),
            (
                Method::GET,
                "/routes/a/history",
                Want::Read(Place::History(named("a"))),
            ),
            (
                Method::GET,
                "/routes/a/history/7",
                Want::Read(Place::Version(named("a"), 7)),
            ),
        ] {
            assert_eq!(Want::of(&method, path).unwrap(), want, "{method} {path}");
        }
    }

    #[test]
    fn everything_else_says_what_is_wrong() {
        for (method, path, status) in [
            (Method::POST, "/routes", 405),
            (Method::DELETE, "/routes", 405),
            (Method::PATCH, "/routes/a", 405),
            (Method::POST, "/routes/a", 405),
            (Method::PUT, "/routes/a/history", 405),
            (Method::GET, "/routes/a/rollback", 405),
            (Method::POST, "/replicas", 405),
            (Method::GET, "/routes/a/b/c", 404),
            (Method::GET, "/routes/a/history/x", 404),
            (Method::GET, "/replicas/a", 404),
            (Method::GET, "/routes/a b", 400),
            (Method::PUT, "/routes/a:80", 400),
        ] {
            let refused = Want::of(&method, path).unwrap_err();
            assert_eq!(refused.status.as_u16(), status, "{method} {path}");
            assert_eq!(
                refused.fields.contains_key(header::ALLOW),
                status == 405,
                "{path}"
            );
        }
    }
}
