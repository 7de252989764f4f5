//! The checks of a document's parts.

use std::fmt;
use std::str::FromStr;

use super::Problem;
use super::raw::{Port, RawApp, RawOwn, RawReplica};
use crate::desired::{App, Conflict, Health, OwnRoute, Owner, Path, Replica, Rollout};
use crate::domain::Domain;
use crate::text::shown;
use crate::upstream::{Upstream, UpstreamError};

/// The longest name of an application.
const LONGEST_NAME: usize = 253;

/// The checks of one document.
#[derive(Debug, Default)]
pub(super) struct Check {
    pub(super) problems: Vec<Problem>,
}

// === impl Check ===

impl Check {
    pub(super) fn problem(&mut self, field: String, message: String) {
        self.problems.push(Problem { field, message });
    }

    pub(super) fn missing<T>(&mut self, field: impl Into<String>, message: &str) -> Option<T> {
        self.problem(field.into(), message.to_owned());
        None
    }

    pub(super) fn parsed<T>(&mut self, field: impl Into<String>, text: &str) -> Option<T>
    where
        T: FromStr<Err: fmt::Display>,
    {
        text.parse()
            .map_err(|error: T::Err| self.problem(field.into(), error.to_string()))
            .ok()
    }

    fn domain(&mut self, field: String, text: &str) -> Option<Domain> {
        text.parse()
            .map_err(|error| self.problem(field, format!("{error}; expected one such as api.example.com")))
            .ok()
    }

    pub(super) fn app(&mut self, place: &str, raw: &RawApp) -> App {
        let name = &raw.name;
        if name.is_empty() || name.len() > LONGEST_NAME || name.contains(char::is_control) {
            self.problem(format!("{place}.name"), format!("invalid value {}", shown(name)));
        }
        let domain = raw.domain.as_ref();
        if domain.is_none() && !raw.aliases.is_empty() {
            self.problem(
                format!("{place}.domain"),
                "is required when aliases is set".to_owned(),
            );
        }
        if domain.is_none() && raw.path.is_some() {
            self.problem(
                format!("{place}.domain"),
                "is required when path is set".to_owned(),
            );
        }
        if raw.strip_prefix && raw.path.is_none() {
            self.problem(
                format!("{place}.path"),
                "is required when strip_prefix is set".to_owned(),
            );
        }
        let port = self.port(format!("{place}.port"), raw.port);
        let mut replicas = |list: &str, raw: &[RawReplica]| -> Vec<Replica> {
            let each = raw.iter().enumerate();
            each.filter_map(|(at, raw)| self.replica(&format!("{place}.{list}[{at}]"), raw, port))
                .collect()
        };
        let serving = raw.replicas.as_deref().map(|list| replicas("replicas", list));
        let moving = raw
            .rollout
            .as_ref()
            .map(|rollout| replicas("rollout.replicas", &rollout.replicas));
        let moved = raw.rollout.as_ref().and_then(|rollout| rollout.domain.as_ref());
        if domain.or(moved).is_some() && raw.port.is_none() && raw.lacks_port() {
            self.problem(
                format!("{place}.port"),
                "is required when domain is set".to_owned(),
            );
        }
        let moved = moved.and_then(|text| self.domain(format!("{place}.rollout.domain"), text));
        let aliases = raw.aliases.iter().enumerate();
        App {
            domain: domain.and_then(|text| self.domain(format!("{place}.domain"), text)),
            aliases: aliases
                .filter_map(|(at, text)| self.domain(format!("{place}.aliases[{at}]"), text))
                .collect(),
            path: raw.path.as_ref().and_then(|text| {
                let prefix = self.parsed(format!("{place}.path"), text)?;
                Some(Path {
                    prefix,
                    strip: raw.strip_prefix,
                })
            }),
            stopped: raw.stopped,
            replicas: serving,
            rollout: moving.map(|replicas| Rollout {
                domain: moved,
                replicas,
            }),
        }
    }

    fn port(&mut self, field: String, port: Option<Port>) -> Option<u16> {
        let port = port?;
        let number = port.number();
        if number.is_none() {
            self.problem(field, UpstreamError::Port.to_string());
        }
        number
    }

    /// `port` is that of the application.
    fn replica(&mut self, place: &str, raw: &RawReplica, port: Option<u16>) -> Option<Replica> {
        let own = self.port(format!("{place}.port"), raw.port);
        // A port that is wrong was reported, and one that is missing is reported for the whole application.
        let port = if raw.port.is_some() { own } else { port };
        // The name is checked either way.
        let upstream = Upstream::new(&raw.name, port.unwrap_or(1));
        let upstream = upstream.map_err(|error| self.problem(format!("{place}.name"), error.to_string()));
        Some(Replica {
            upstream: upstream.ok().filter(|_| port.is_some())?,
            running: raw.running,
            health: Health::from(raw.health),
        })
    }

    pub(super) fn own(&mut self, place: &str, raw: &RawOwn) -> Option<OwnRoute> {
        let domain = self.domain(format!("{place}.domain"), &raw.domain);
        let upstream = self.parsed::<Upstream>(format!("{place}.upstream"), &raw.upstream);
        Some(OwnRoute {
            domain: domain?,
            upstream: upstream?,
        })
    }

    /// `place` is that of the application that claims what it may not; there is none if it is the dashboard.
    pub(super) fn conflict(&mut self, place: Option<&str>, dashboard: &str, conflict: &Conflict) {
        let field = match place {
            Some(place) => format!("{place}.{}", conflict.field),
            None => format!("{dashboard}.domain"),
        };
        let message = match (&conflict.owner, conflict.app.is_empty()) {
            (Owner::Shipwick, true) => "must be another one than the agent's".to_owned(),
            _ => conflict.to_string(),
        };
        self.problem(field, message);
    }
}
