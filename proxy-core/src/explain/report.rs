//! What is said of a request: as values, as text, as JSON.

use std::fmt;

use caddy_config as model;
use http::header;
use http_body::Body as _;
use serde::Serialize;
use serde_json::Value;

use crate::forward::rehearsal::{self, Ending, Why};
use crate::percent;

/// What a configuration would do with a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The request's method.
    pub method: String,
    /// Its URL, without tokens.
    pub url: String,
    /// The server's name in the configuration.
    pub server: String,
    /// The address that the server would take the connection at.
    pub listener: String,
    /// What happens, in order. Places in the configuration begin at the server.
    pub steps: Vec<Step>,
    /// How it ends.
    pub outcome: Outcome,
}

/// One step of a request on its way through the routes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// Routes in a row that only other hosts reach.
    Elsewhere {
        /// The first one.
        first: String,
        /// How many.
        routes: usize,
    },
    /// A route of which another one of its group ran.
    Excluded {
        /// Its place.
        route: String,
    },
    /// A route whose matchers do not match.
    PassedOver {
        /// Its place.
        route: String,
        /// For each of its sets the first matcher that refused.
        by: Vec<Refusal>,
    },
    /// A route whose handlers run.
    Taken {
        /// Its place.
        route: String,
        /// Its sets of matchers, of which one matches; empty for a route that takes everything.
        matchers: Vec<Value>,
    },
    /// A handler runs.
    Runs {
        /// Its name in JSON.
        handler: &'static str,
        /// How many lists of routes are around it.
        depth: usize,
        /// What it does, where that can be said in a few words.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// An upstream would be asked; what follows assumes that it answers with a plain 200.
    Asked {
        /// Where.
        #[serde(flatten)]
        destination: Destination,
    },
    /// An error ends the routes so far; those for errors follow, if there are any.
    Failed {
        /// The error's status.
        status: u16,
        /// What it says.
        message: String,
    },
}

/// Why a set of matchers does not match.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// The matcher, by its name in JSON.
    pub matcher: &'static str,
    /// What it asks for.
    pub wants: Value,
}

/// Where a request would be sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Destination {
    /// With this method.
    pub method: String,
    /// For this path and query, without tokens.
    pub target: String,
    /// With this host, if it is not the upstream's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The upstreams that may get it.
    pub upstreams: Vec<String>,
    /// Those that would not, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Why those.
    pub why: &'static str,
}

/// An upstream that gets no requests now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Skipped {
    /// Its address.
    pub upstream: String,
    /// What keeps them away.
    pub why: &'static str,
}

/// How a request ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// Doorway answers itself.
    Answered {
        /// The status.
        status: u16,
        /// Its fields; values of cookies are left out.
        headers: Vec<(String, String)>,
        /// No handler answered: the answer is an empty one.
        #[serde(skip_serializing_if = "is_false")]
        unhandled: bool,
        /// The length of its body, if that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        length: Option<u64>,
    },
    /// An upstream answers.
    Forwarded {
        /// Where.
        #[serde(flatten)]
        destination: Destination,
    },
    /// The connection is closed without an answer.
    Closed,
}

/// For `skip_serializing_if`, which passes a reference.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The matchers of one set.
pub(super) fn matchers(set: &model::MatcherSet) -> Value {
    serde_json::to_value(set).unwrap_or_default()
}

/// One matcher of a set.
pub(super) fn matcher(set: &model::MatcherSet, name: &str) -> Value {
    matchers(set).get_mut(name).map(Value::take).unwrap_or_default()
}

/// A URL or a target without the tokens that lead to pods: the segment behind each `~`.
pub(super) fn masked(target: &str) -> String {
    let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
    let mut segments: Vec<&str> = path.split('/').collect();
    for index in 1..segments.len() {
        let leads = segments
            .get(index - 1)
            .is_some_and(|before| percent::decode(before) == "~");
        if let Some(segment) = segments
            .get_mut(index)
            .filter(|segment| leads && !segment.is_empty())
        {
            *segment = "(token)";
        }
    }
    segments.join("/") + query
}

// === impl Explanation ===

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            method,
            url,
            server,
            listener,
            ..
        } = self;
        writeln!(f, "{method} {url}\nserver {server} at {listener}")?;
        let mut depth = 0;
        for step in &self.steps {
            depth = step
                .place()
                .map_or(depth, |place| place.matches("routes[").count());
            let indent = match step {
                Step::Runs { .. } | Step::Asked { .. } | Step::Failed { .. } => depth + 1,
                _ => depth,
            };
            writeln!(f, "{}{step}", "  ".repeat(indent))?;
        }
        write!(f, "{}", self.outcome)
    }
}

// === impl Step ===

impl Step {
    fn place(&self) -> Option<&str> {
        match self {
            Self::Elsewhere { first, .. } => Some(first),
            Self::Excluded { route } | Self::PassedOver { route, .. } | Self::Taken { route, .. } => {
                Some(route)
            }
            Self::Runs { .. } | Self::Asked { .. } | Self::Failed { .. } => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere { first, routes: 1 } => write!(f, "- {first}: for another host"),
            Self::Elsewhere { first, routes } => {
                write!(f, "- {first} and {} more: for other hosts", routes - 1)
            }
            Self::Excluded { route } => write!(f, "- {}: another one of its group ran", nearest(route)),
            Self::PassedOver { route, by } => {
                let by: Vec<String> = by.iter().map(ToString::to_string).collect();
                write!(f, "- {}: refused by {}", nearest(route), by.join(", and by "))
            }
            Self::Taken { route, matchers } if matchers.is_empty() => write!(f, "+ {}", nearest(route)),
            Self::Taken { route, matchers } => {
                let sets: Vec<String> = matchers.iter().map(set).collect();
                write!(f, "+ {}: {}", nearest(route), sets.join(" or "))
            }
            Self::Runs {
                handler, note: None, ..
            } => f.write_str(handler),
            Self::Runs {
                handler,
                note: Some(note),
                ..
            } => write!(f, "{handler} {note}"),
            Self::Asked { destination } => {
                write!(
                    f,
                    "asks {destination}; if the answer is a plain 200, this follows:"
                )
            }
            Self::Failed { status, message } if message.is_empty() => write!(f, "error {status}"),
            Self::Failed { status, message } => write!(f, "error {status}: {message}"),
        }
    }
}

/// The end of a place, from the handler on that holds the route.
fn nearest(route: &str) -> &str {
    let at = route.rfind(".handle[").map_or(0, |dot| dot.saturating_add(1));
    route.get(at..).unwrap_or(route)
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.matcher, words(&self.wants))
    }
}

/// A set of matchers in a line.
fn set(set: &Value) -> String {
    let matchers = set.as_object().into_iter().flatten();
    let texts: Vec<String> = matchers
        .map(|(name, wants)| format!("{name} {}", words(wants)))
        .collect();
    if texts.is_empty() {
        "everything".to_owned()
    } else {
        texts.join(", ")
    }
}

/// A list of texts as a Caddyfile has it; anything else as JSON.
fn words(value: &Value) -> String {
    let texts = value.as_array().and_then(|list| {
        let texts = list.iter().map(Value::as_str);
        texts.collect::<Option<Vec<&str>>>()
    });
    match (texts, value) {
        (Some(texts), _) => texts.join(" "),
        (None, Value::String(text)) => text.clone(),
        (None, other) => other.to_string(),
    }
}

// === impl Destination ===

impl From<rehearsal::Destination> for Destination {
    fn from(destination: rehearsal::Destination) -> Self {
        let host = destination.host.as_ref().and_then(|host| host.to_str().ok());
        Self {
            method: destination.method.to_string(),
            target: masked(&destination.target),
            host: host.map(str::to_owned),
            upstreams: destination.upstreams,
            skipped: destination
                .skipped
                .into_iter()
                .map(|(upstream, why)| Skipped { upstream, why })
                .collect(),
            why: match destination.why {
                Why::Configured => "one of those that are configured",
                Why::Token => "the pod of the token in the path, and no other",
                Why::Pinned => "the server of the visitor, then others if it refuses",
                Why::Any => "any server",
                Why::Found => "found out at run time",
            },
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            method,
            target,
            upstreams,
            skipped,
            why,
            ..
        } = self;
        let upstreams = if upstreams.is_empty() {
            "no upstream".to_owned()
        } else {
            upstreams.join(", ")
        };
        write!(f, "{upstreams} for {method} {target}")?;
        if let Some(host) = &self.host {
            write!(f, " of {host}")?;
        }
        write!(f, " ({why})")?;
        skipped
            .iter()
            .try_for_each(|Skipped { upstream, why }| write!(f, ", not {upstream}: {why}"))
    }
}

// === impl Outcome ===

impl From<Ending> for Outcome {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Closed => Self::Closed,
            Ending::Sent(destination) => Self::Forwarded {
                destination: destination.into(),
            },
            Ending::Answered { response, unhandled } => Self::Answered {
                unhandled,
                status: response.status().as_u16(),
                length: response.body().size_hint().exact(),
                headers: response
                    .headers()
                    .iter()
                    .map(|(name, value)| {
                        let text = String::from_utf8_lossy(value.as_bytes());
                        let shown = match *name {
                            header::SET_COOKIE => {
                                text.split('=').next().unwrap_or_default().to_owned() + "=.."
                            }
                            header::LOCATION => masked(&text),
                            _ => text.into_owned(),
                        };
                        (name.to_string(), shown)
                    })
                    .collect(),
            },
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the connection is closed without an answer"),
            Self::Forwarded { destination } => write!(f, "forwarded to {destination}"),
            Self::Answered {
                status,
                headers,
                unhandled,
                length,
            } => {
                write!(f, "answered with {status}")?;
                match length {
                    _ if *unhandled => f.write_str(" and no body: no route answers")?,
                    Some(length) => write!(f, " and {length} bytes")?,
                    None => {}
                }
                headers
                    .iter()
                    .try_for_each(|(name, value)| write!(f, "\n  {name}: {value}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstreams_that_get_no_requests_are_named_with_the_reason() {
        let told = |upstreams: &[&str], skipped: &[(&str, &'static str)]| {
            let skipped = skipped.iter();
            Destination::from(rehearsal::Destination {
                method: http::Method::GET,
                target: "/x".to_owned(),
                host: None,
                upstreams: upstreams.iter().map(ToString::to_string).collect(),
                skipped: skipped
                    .map(|(upstream, why)| ((*upstream).to_owned(), *why))
                    .collect(),
                why: Why::Configured,
                decided: false,
            })
        };
        let one = told(&["a:80"], &[("b:80", "its checks fail"), ("c:80", "it is full")]);
        assert_eq!(
            one.to_string(),
            "a:80 for GET /x (one of those that are configured), not b:80: its checks fail, not c:80: it is full"
        );
        let json = serde_json::to_value(&one).unwrap();
        assert_eq!(json["skipped"][0]["why"], "its checks fail");
        let none = told(&[], &[("a:80", "it is full")]);
        assert!(none.to_string().starts_with("no upstream for GET /x"), "{none}");
    }
}
