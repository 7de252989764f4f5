//! Building a table: what is wrong with a route leaves that route out.

use std::{cmp::Reverse, collections::HashMap};

use super::{Entry, HostIndex, InvalidReason, InvalidRoute, RouteTable, TableOptions};
use crate::{
    Arg, Call, Name, Route,
    routing::{
        pattern::{PathPattern, PatternError},
        predicate::{ArgsError, Predicate, Predicates},
        tree::PathTree,
    },
};

impl<T> RouteTable<T> {
    /// A table of `routes`, each with what is kept for it, and those that were left out and why. Of routes with one id
    /// the last counts; a route without an id has the empty one.
    pub fn build<'e>(
        routes: impl IntoIterator<Item = (&'e Route, T)>,
        predicates: &Predicates,
        options: TableOptions,
    ) -> (Self, Vec<InvalidRoute>) {
        let (mut entries, mut invalid) = (Vec::new(), Vec::new());
        let mut places: HashMap<Option<Name>, usize> = HashMap::new();
        for (route, value) in routes {
            match Entry::new(route, value, predicates) {
                Ok(entry) => match places.entry(entry.id.clone()) {
                    std::collections::hash_map::Entry::Occupied(place) => {
                        if let Some(before) = entries.get_mut(*place.get()) {
                            *before = entry;
                        }
                        invalid.push(refused(route, InvalidReason::Repeated));
                    }
                    std::collections::hash_map::Entry::Vacant(place) => {
                        place.insert(entries.len());
                        entries.push(entry);
                    }
                },
                Err(reason) => invalid.push(refused(route, reason)),
            }
        }
        entries.sort_by(|a, b| (Reverse(a.weight), &a.id).cmp(&(Reverse(b.weight), &b.id)));
        (Self::of_entries(entries, options), invalid)
    }

    fn of_entries(routes: Vec<Entry<T>>, options: TableOptions) -> Self {
        let numbers = || routes.iter().zip(0_u32..);
        let (with, without): (Vec<_>, Vec<_>) = numbers().partition(|(entry, _)| entry.pattern.is_some());
        let with_path: Vec<u32> = with.iter().map(|(_, number)| *number).collect();
        let without_path: Vec<u32> = without.iter().map(|(_, number)| *number).collect();
        let patterns = with.iter().filter_map(|(entry, _)| entry.pattern.as_ref());
        let tree = PathTree::new(patterns, options.ignore_trailing_slash);
        let hosts = |route: u32| routes.get(route as usize).and_then(Entry::hosts);
        let by_host = tree.places().filter_map(|(place, numbers)| {
            let at: Vec<u32> = numbers
                .iter()
                .filter_map(|number| with_path.get(*number as usize).copied())
                .collect();
            Some((place, HostIndex::new(&at, hosts)?))
        });
        Self {
            by_host: by_host.collect(),
            without_path_by_host: HostIndex::new(&without_path, hosts),
            tree,
            with_path,
            without_path,
            routes,
        }
    }
}

fn refused(route: &Route, reason: InvalidReason) -> InvalidRoute {
    InvalidRoute {
        id: route.id.clone(),
        reason,
    }
}

// === impl Entry ===

impl<T> Entry<T> {
    fn new(route: &Route, value: T, known: &Predicates) -> Result<Self, InvalidReason> {
        let mut pattern = None;
        let mut weight: i64 = 0;
        let mut predicates: Vec<(u8, usize, Box<dyn Predicate>)> = Vec::new();
        let mut fields: Vec<(&str, String)> = Vec::new();
        for (number, call) in route.predicates.iter().enumerate() {
            let name = call.name.as_str();
            let more = match name {
                "Path" | "PathSubtree" => {
                    if pattern.replace(path(call)?).is_some() {
                        return Err(InvalidReason::Matcher("multiple tree predicates".to_owned()));
                    }
                    continue;
                }
                "Any" => continue,
                "Weight" => {
                    weight = weight.saturating_add(given_weight(call)?);
                    continue;
                }
                "TrafficSegment" => 0,
                "Header" | "HeaderRegexp" => {
                    let field = call.args.first().and_then(Arg::as_text).unwrap_or_default();
                    let field = (name, field.to_ascii_lowercase());
                    let is_new = !fields.contains(&field);
                    fields.push(field);
                    i64::from(is_new)
                }
                _ => 1,
            };
            weight = weight.saturating_add(more);
            let created = known.create(call);
            let created = created.ok_or_else(|| InvalidReason::UnknownPredicate(name.to_owned()))?;
            let predicate = created.map_err(|why| wrong(call, why))?;
            predicates.push((rank(name), number, predicate));
        }
        predicates.sort_by_key(|(rank, number, _)| (*rank, *number));
        let predicates = predicates
            .into_iter()
            .map(|(_, number, predicate)| (number, predicate));
        Ok(Self {
            id: route.id.clone(),
            weight,
            pattern,
            predicates: predicates.collect(),
            value,
        })
    }

    /// The hosts that it can be for, if they are few.
    fn hosts(&self) -> Option<Vec<String>> {
        self.predicates
            .iter()
            .find_map(|(_, predicate)| predicate.hosts())
    }
}

fn path(call: &Call) -> Result<PathPattern, InvalidReason> {
    let [Arg::Text(text)] = call.args.as_slice() else {
        return Err(wrong(call, ArgsError("expected one path".to_owned())));
    };
    let read = if call.name.as_str() == "Path" {
        PathPattern::path(text)
    } else {
        PathPattern::subtree(text)
    };
    read.map_err(|error: PatternError| InvalidReason::Matcher(error.to_string()))
}

fn given_weight(call: &Call) -> Result<i64, InvalidReason> {
    match call.args.as_slice() {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is cut to what fits, as Skipper does"
        )]
        [Arg::Number(weight)] => Ok(weight.trunc() as i64),
        _ => Err(wrong(call, ArgsError("expected one number".to_owned()))),
    }
}

fn wrong(call: &Call, why: ArgsError) -> InvalidReason {
    InvalidReason::PredicateArgs {
        name: call.name.as_str().to_owned(),
        why,
    }
}

/// The cheap and telling ones are asked first.
fn rank(name: &str) -> u8 {
    match name {
        "Method" => 0,
        "Host" => 1,
        "PathRegexp" => 2,
        "Header" => 3,
        "HeaderRegexp" => 4,
        _ => 5,
    }
}
