//! What is known about predicates before there is a table of routes.

use std::collections::HashSet;

use crate::ast::{Balanced, Call, EndpointError, Name, Route};

/// A well-formed route that means nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("invalid route {:?}: {problem}", .id.as_deref().unwrap_or_default())]
pub struct RouteError {
    pub(crate) id: Option<Name>,
    pub(crate) problem: Problem,
}

/// Why a route means nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A predicate has other arguments than the strings that it needs.
    #[error("{predicate} predicate expects {}", strings(*.count))]
    Arguments {
        /// The predicate's name.
        predicate: &'static str,
        /// How many strings it needs.
        count: usize,
    },
    /// A route has one path.
    #[error("duplicate path tree predicate")]
    DuplicatePath,
    /// A request has one method.
    #[error("duplicate method predicate")]
    DuplicateMethod,
    /// Two values are asked of one header.
    #[error("duplicate header predicate: {0}")]
    DuplicateHeader(String),
    /// A server to balance over has no address.
    #[error(transparent)]
    Endpoint(EndpointError),
    /// There is no server to balance over.
    #[error("loadbalancer without an endpoint")]
    NoEndpoint,
    /// Servers to balance over have different schemes.
    #[error("loadbalancer endpoints cannot have mixed protocols")]
    MixedProtocols,
}

// === impl RouteError ===

impl RouteError {
    /// Which route it is; `None` for one without an id.
    #[must_use]
    pub const fn id(&self) -> Option<&Name> {
        self.id.as_ref()
    }

    /// What is wrong with it.
    #[must_use]
    pub const fn problem(&self) -> &Problem {
        &self.problem
    }
}

fn strings(count: usize) -> String {
    if count == 1 {
        "1 string argument".to_owned()
    } else {
        format!("{count} string arguments")
    }
}

// === impl Route ===

impl Route {
    /// Checks what a parser checks: the arguments of `Path`, `Method`, `Host`, `PathRegexp`, `Header` and
    /// `HeaderRegexp`, and the endpoints of a balanced backend. Other predicates, and filters, are checked by whoever
    /// knows them.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), RouteError> {
        let wrong = predicate_problems(&self.predicates)
            .into_iter()
            .next()
            .map(|(_, problem)| problem);
        let problem = wrong.or_else(|| match &self.backend {
            crate::Backend::Balanced(balanced) => balanced_problem(balanced),
            _ => None,
        });
        match problem {
            None => Ok(()),
            Some(problem) => Err(RouteError {
                id: self.id.clone(),
                problem,
            }),
        }
    }
}

/// How many strings the predicates need that every parser knows.
const KNOWN: [(&str, usize); 6] = [
    ("Path", 1),
    ("Method", 1),
    ("Host", 1),
    ("PathRegexp", 1),
    ("Header", 2),
    ("HeaderRegexp", 2),
];

/// All that is wrong with the predicates of a route, and with which of them.
pub(crate) fn predicate_problems(predicates: &[Call]) -> Vec<(usize, Problem)> {
    let mut problems = Vec::new();
    let (mut paths, mut methods) = (0_usize, 0_usize);
    let mut headers = HashSet::new();
    for (index, call) in predicates.iter().enumerate() {
        let Some((predicate, count)) = KNOWN.iter().find(|(known, _)| call.name == *known) else {
            continue;
        };
        let all_strings = call.args.iter().all(|arg| arg.as_text().is_some());
        let problem = if call.args.len() != *count || !all_strings {
            Some(Problem::Arguments {
                predicate,
                count: *count,
            })
        } else {
            let again = |seen: &mut usize| {
                *seen = seen.saturating_add(1);
                *seen > 1
            };
            let first = call
                .args
                .first()
                .and_then(|arg| arg.as_text())
                .unwrap_or_default();
            match *predicate {
                "Path" if again(&mut paths) => Some(Problem::DuplicatePath),
                "Method" if again(&mut methods) => Some(Problem::DuplicateMethod),
                "Header" if !headers.insert(first) => Some(Problem::DuplicateHeader(first.to_owned())),
                _ => None,
            }
        };
        problems.extend(problem.map(|problem| (index, problem)));
    }
    problems
}

fn balanced_problem(balanced: &Balanced) -> Option<Problem> {
    let Some(first) = balanced.endpoints.first() else {
        return Some(Problem::NoEndpoint);
    };
    let mixed = balanced
        .endpoints
        .iter()
        .any(|endpoint| !endpoint.speaks_as(first));
    mixed.then_some(Problem::MixedProtocols)
}
