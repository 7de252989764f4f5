//! Matcher sets: all of a set's matchers must match; one matching set is enough.

mod fields;
mod host;
mod query;
mod vars;

use std::str::FromStr;
use std::sync::Arc;

use doors_routing::{Country, Located};
use http::{Method, Version, header};

pub(crate) use self::fields::{FieldMatcher, FieldRegexp, Wanted};
pub(crate) use self::host::HostMatcher;
pub(crate) use self::query::QueryMatcher;
pub(crate) use self::vars::{VarMatcher, VarRegexp};
use super::expression::Expression;
use super::glob::PathPattern;
use super::regexp::Regexp;
use crate::error::Failure;
use crate::geo::Source;
use crate::ip_set::IpSet;
use crate::request::Context;

/// Matchers that must all match. An absent one matches everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct MatcherSet {
    pub(crate) host: Option<HostMatcher>,
    pub(crate) path: Option<Vec<PathPattern>>,
    pub(crate) method: Option<Vec<Method>>,
    /// Those that fewer routes have.
    pub(crate) others: Vec<Matcher>,
}

/// A matcher that fewer routes have.
#[derive(Clone, Debug)]
pub(crate) enum Matcher {
    PathRegexp(Regexp),
    Header(FieldMatcher),
    HeaderRegexp(FieldRegexp),
    Query(QueryMatcher),
    Protocol(Protocol),
    RemoteIp(Arc<IpSet>),
    ClientIp(Arc<IpSet>),
    /// The client is in one of these countries.
    GeoCountry(Box<[Country]>, Arc<Source>),
    /// One of them is enough; without any it matches.
    Vars(Vec<VarMatcher>),
    /// One of them is enough; without any it matches.
    VarsRegexp(Vec<VarRegexp>),
    /// None of the sets matches.
    Not(Vec<MatcherSet>),
    Expression(Box<Expression>),
}

/// What a request speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Https,
    Grpc,
    Exactly(Version),
    AtLeast(Version),
    /// A name that means nothing, and so never matches.
    Unknown,
}

/// Whether a request matches, or why that cannot be said.
pub(crate) type Matched = Result<bool, Box<Failure>>;

// === impl MatcherSet ===

impl MatcherSet {
    pub(crate) fn matches(&self, cx: &mut Context) -> Matched {
        Ok(self.refused_by(cx)?.is_none())
    }

    /// Whether every matcher but `host` matches, for callers that looked the host up in an index.
    pub(crate) fn matches_beside_host(&self, cx: &mut Context) -> Matched {
        Ok(self.refused_beside_host(cx)?.is_none())
    }

    /// The first matcher that does not match, by its name in JSON.
    pub(crate) fn refused_by(&self, cx: &mut Context) -> Result<Option<&'static str>, Box<Failure>> {
        if self.host.as_ref().is_some_and(|host| !host.matches(cx)) {
            return Ok(Some("host"));
        }
        self.refused_beside_host(cx)
    }

    fn refused_beside_host(&self, cx: &mut Context) -> Result<Option<&'static str>, Box<Failure>> {
        if let Some(methods) = &self.method
            && !methods.contains(&cx.parts.method)
        {
            return Ok(Some("method"));
        }
        if let Some(patterns) = &self.path
            && !patterns.iter().any(|pattern| pattern.matches(cx))
        {
            return Ok(Some("path"));
        }
        for matcher in &self.others {
            if !matcher.matches(cx)? {
                return Ok(Some(matcher.name()));
            }
        }
        Ok(None)
    }

    /// Whether it matches nothing, as `not` of a set that matches everything.
    pub(crate) fn is_never(&self) -> bool {
        let excludes_all = |matcher: &Matcher| match matcher {
            Matcher::Not(sets) => sets.iter().any(|set| set.host.is_none() && set.is_host_only()),
            _ => false,
        };
        self.others.iter().any(excludes_all)
    }

    /// Whether nothing but the host is looked at.
    pub(crate) fn is_host_only(&self) -> bool {
        self.path.is_none() && self.method.is_none() && self.others.is_empty()
    }
}

/// Whether any of `sets` matches. No set at all matches everything.
pub(crate) fn any(sets: &[MatcherSet], cx: &mut Context) -> Matched {
    if sets.is_empty() {
        return Ok(true);
    }
    for set in sets {
        if set.matches(cx)? {
            return Ok(true);
        }
    }
    Ok(false)
}

// === impl Matcher ===

impl Matcher {
    /// As JSON names it.
    fn name(&self) -> &'static str {
        match self {
            Self::PathRegexp(_) => "path_regexp",
            Self::Header(_) => "header",
            Self::HeaderRegexp(_) => "header_regexp",
            Self::Query(_) => "query",
            Self::Protocol(_) => "protocol",
            Self::RemoteIp(_) => "remote_ip",
            Self::ClientIp(_) => "client_ip",
            Self::GeoCountry(..) => "geo_country",
            Self::Vars(_) => "vars",
            Self::VarsRegexp(_) => "vars_regexp",
            Self::Not(_) => "not",
            Self::Expression(_) => "expression",
        }
    }

    pub(crate) fn matches(&self, cx: &mut Context) -> Matched {
        Ok(match self {
            Self::PathRegexp(regexp) => path_regexp(regexp, cx),
            Self::Header(fields) => fields.matches(cx),
            Self::HeaderRegexp(fields) => fields.matches(cx),
            Self::Query(query) => query.matches(cx),
            Self::Protocol(protocol) => protocol.matches(cx),
            Self::RemoteIp(set) => cx.peer.is_some_and(|peer| set.contains(peer.ip())),
            Self::ClientIp(set) => cx.client_ip.is_some_and(|ip| set.contains(ip)),
            Self::GeoCountry(countries, source) => {
                matches!(source.locate(cx.client_ip), Located::In(country) if countries.contains(&country))
            }
            Self::Vars(vars) => vars.is_empty() || vars.iter().any(|one| one.matches(cx)),
            Self::VarsRegexp(vars) => vars.is_empty() || vars.iter().any(|one| one.matches(cx)),
            Self::Not(sets) => {
                for set in sets {
                    if set.matches(cx)? {
                        return Ok(false);
                    }
                }
                true
            }
            Self::Expression(expression) => return expression.matches(cx),
        })
    }
}

/// The path decoded and cleaned, its case as it came.
fn path_regexp(regexp: &Regexp, cx: &mut Context) -> bool {
    let decoded = crate::percent::decode(cx.parts.uri.path());
    let path = crate::percent::clean(&decoded, true);
    regexp.matches(&path, &mut cx.vars)
}

// === impl Protocol ===

impl Protocol {
    fn matches(self, cx: &Context) -> bool {
        match self {
            Self::Http => !cx.tls,
            Self::Https => cx.tls,
            Self::Grpc => {
                let kind = cx.parts.headers.get(header::CONTENT_TYPE);
                kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
            }
            Self::Exactly(version) => cx.parts.version == version,
            Self::AtLeast(version) => cx.parts.version >= version,
            Self::Unknown => false,
        }
    }
}

impl FromStr for Protocol {
    type Err = std::convert::Infallible;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let version = |name: &str| match name {
            "http/1.0" => Some(Version::HTTP_10),
            "http/1.1" => Some(Version::HTTP_11),
            "http/2" => Some(Version::HTTP_2),
            "http/3" => Some(Version::HTTP_3),
            _ => None,
        };
        Ok(match name {
            "http" => Self::Http,
            "https" => Self::Https,
            "grpc" => Self::Grpc,
            _ => match name.strip_suffix('+') {
                Some(name) => version(name).map_or(Self::Unknown, Self::AtLeast),
                None => version(name).map_or(Self::Unknown, Self::Exactly),
            },
        })
    }
}

#[cfg(test)]
mod tests;
