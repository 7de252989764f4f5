//! Tables of routes.

mod build;

use std::{borrow::Cow, collections::HashMap, fmt};

use foldhash::fast::FixedState;

use super::{
    Asked,
    hosts::{self, HostIndex},
    pattern::PathPattern,
    predicate::{ArgsError, Predicate},
    tree::PathTree,
};
use crate::Name;

/// Routes, each with what its owner keeps for it. Built once; a new list of routes is a new table.
#[derive(Debug)]
pub struct RouteTable<T> {
    /// In the order in which routes of one place are tried.
    routes: Vec<Entry<T>>,
    /// The patterns of those that have one; the numbers that it knows are places in `with_path`.
    tree: PathTree,
    with_path: Vec<u32>,
    /// Those that have none.
    without_path: Vec<u32>,
    without_path_by_host: Option<HostIndex>,
    /// Of places in the tree where many routes are, by the place's own number.
    by_host: HashMap<u32, HostIndex, FixedState>,
}

/// How a table is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Whether a slash at the end of a path means nothing.
    pub ignore_trailing_slash: bool,
}

/// The route of a request.
#[derive(Debug)]
pub struct Found<'t, 'r, T> {
    entry: &'t Entry<T>,
    path: &'r str,
}

/// A route that is left out of a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to process route {}: {reason}", .id.as_ref().map_or("", Name::as_str))]
pub struct InvalidRoute {
    /// Its id, if it has one.
    pub id: Option<Name>,
    /// Why.
    pub reason: InvalidReason,
}

/// Why a route is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidReason {
    /// There is no such predicate.
    #[error("unknown_predicate: predicate {0:?} not found")]
    UnknownPredicate(String),
    /// A predicate's arguments say nothing.
    #[error("invalid_predicate_params: failed to create predicate {name}(): {why}")]
    PredicateArgs {
        /// The predicate.
        name: String,
        /// What is wrong with them.
        why: ArgsError,
    },
    /// The path is no pattern, or there are several.
    #[error("invalid_matcher: {0}")]
    Matcher(String),
    /// Another route that comes later has the same id.
    #[error("other: another route has the same id")]
    Repeated,
    /// A filter cannot be made.
    #[cfg(feature = "filters")]
    #[error(transparent)]
    Filter(#[from] crate::filters::FilterError),
    /// The backend cannot be used; for whoever runs the routes to say.
    #[error("failed_backend_split: {0}")]
    Backend(String),
    /// What was to be changed in the route made no sense. The route stays as it was.
    #[error("other: not changed: {0}")]
    Edit(String),
}

/// What a table says of one of its routes, for one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<'t> {
    /// The route.
    pub id: &'t str,
    /// Why it is not the one; `None` for the one that is.
    pub refused: Option<Refused>,
}

/// Why a route is not that of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// Its path is another one.
    Path,
    /// The predicate of this number, in the order of the route, does not hold.
    Predicate(usize),
    /// Another route comes first.
    Behind,
}

#[derive(Debug)]
struct Entry<T> {
    id: Option<Name>,
    weight: i64,
    pattern: Option<PathPattern>,
    /// In the order in which they are asked, each with its number in the route.
    predicates: Box<[(usize, Box<dyn Predicate>)]>,
    value: T,
}

// === impl InvalidReason ===

impl InvalidReason {
    /// The kind of reason, as logs and metrics name it; Skipper's names.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::UnknownPredicate(_) => "unknown_predicate",
            Self::PredicateArgs { .. } => "invalid_predicate_params",
            Self::Matcher(_) => "invalid_matcher",
            #[cfg(feature = "filters")]
            Self::Filter(error) => error.name(),
            Self::Backend(_) => "failed_backend_split",
            Self::Repeated | Self::Edit(_) => "other",
        }
    }
}

// === impl RouteTable ===

impl<T> RouteTable<T> {
    /// The route of a request, if any is for it.
    pub fn find<'t, 'r>(&'t self, asked: &Asked<'r>) -> Option<Found<'t, 'r, T>> {
        let mut host = None;
        let in_tree = self.tree.find_place(asked.path, |place, numbers| {
            let index = place.and_then(|place| self.by_host.get(&place));
            match index {
                Some(index) => {
                    let host = host.get_or_insert_with(|| hosts::name(asked.host));
                    index.routes(host).find_map(|route| self.holding(route, asked))
                }
                None => numbers
                    .iter()
                    .find_map(|number| self.holding(*self.with_path.get(*number as usize)?, asked)),
            }
        });
        let entry = in_tree.or_else(|| match &self.without_path_by_host {
            Some(index) => {
                let host = host.get_or_insert_with(|| hosts::name(asked.host));
                index.routes(host).find_map(|route| self.holding(route, asked))
            }
            None => self
                .without_path
                .iter()
                .find_map(|route| self.holding(*route, asked)),
        })?;
        Some(Found {
            entry,
            path: self.tree.compared(asked.path),
        })
    }

    /// What every route says to a request, in the order in which routes of one place are tried.
    pub fn explain(&self, asked: &Asked<'_>) -> Vec<Verdict<'_>> {
        let found = self.find(asked).map(|found| found.entry);
        let verdict = |entry: &'_ Entry<T>| {
            let matches = entry.pattern.as_ref().is_none_or(|pattern| {
                let alone = PathTree::new([pattern], self.tree.ignores_trailing_slash());
                alone.find(asked.path, |_| Some(())).is_some()
            });
            let mut predicates = entry.predicates.iter();
            if !matches {
                Some(Refused::Path)
            } else if let Some((number, _)) = predicates.find(|(_, predicate)| !predicate.holds(asked)) {
                Some(Refused::Predicate(*number))
            } else if found.is_some_and(|found| std::ptr::eq(found, entry)) {
                None
            } else {
                Some(Refused::Behind)
            }
        };
        let each = self.routes.iter().map(|entry| Verdict {
            id: entry.id(),
            refused: verdict(entry),
        });
        each.collect()
    }

    /// How many routes there are.
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// Every route and what is kept for it.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.routes.iter().map(|entry| (entry.id(), &entry.value))
    }

    fn holding(&self, route: u32, asked: &Asked<'_>) -> Option<&Entry<T>> {
        let entry = self.routes.get(route as usize)?;
        entry
            .predicates
            .iter()
            .all(|(_, predicate)| predicate.holds(asked))
            .then_some(entry)
    }
}

// === impl Found ===

impl<'t, 'r, T> Found<'t, 'r, T> {
    /// The id of the route.
    pub fn id(&self) -> &'t str {
        self.entry.id()
    }

    /// What is kept for it.
    pub fn value(&self) -> &'t T {
        &self.entry.value
    }

    /// The names of the path's wildcards, and what they stand for.
    pub fn params<'s>(&'s self) -> impl Iterator<Item = (&'s str, Cow<'s, str>)> {
        let pattern = self.entry.pattern.as_ref();
        pattern.into_iter().flat_map(|pattern| pattern.params(self.path))
    }
}

// === impl Entry ===

impl<T> Entry<T> {
    /// Empty for a route that is a document by itself.
    fn id(&self) -> &str {
        self.id.as_ref().map_or("", Name::as_str)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path => f.write_str("its path is another one"),
            Self::Predicate(number) => write!(f, "predicate {} does not hold", number.saturating_add(1)),
            Self::Behind => f.write_str("another route comes first"),
        }
    }
}
