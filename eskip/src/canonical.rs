//! Whether two routes are the same, however they are written.

use std::{cmp::Ordering, collections::HashMap};

use crate::ast::{Arg, Backend, Call, Route};

// === impl Route ===

impl Route {
    /// The one form of all routes that mean the same: predicates and the endpoints of a balanced backend are sorted,
    /// as their order means nothing; what matches everything is left out.
    #[must_use]
    pub fn canonical(&self) -> Self {
        let mut canonical = self.clone();
        canonical.predicates.retain(|call| call.name != "Any");
        canonical.predicates.sort_by(compare);
        if let Backend::Balanced(balanced) = &mut canonical.backend {
            balanced.endpoints.sort();
        }
        canonical
    }

    /// Whether both mean the same and have the same id.
    ///
    /// ```
    /// let route = |text| eskip::parse(text).map(|routes| routes[0].clone());
    /// let left = route(r#"Path("/a") && Method("GET") -> <"http://a", "http://b">"#)?;
    /// assert!(left.is_equivalent(&route(r#"Method("GET") && Path("/a") -> <"http://b", "http://a">"#)?));
    /// assert!(!left.is_equivalent(&route(r#"Path("/a") -> <"http://b", "http://a">"#)?));
    /// # Ok::<(), eskip::ParseErrors>(())
    /// ```
    #[must_use]
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

/// Whether two lists have the same routes, in whatever order. Lists in which two routes have the same id, or none, are
/// equal to no list, as it is left open which of the routes is meant.
#[must_use]
pub fn are_equivalent(left: &[Route], right: &[Route]) -> bool {
    let by_id = |routes: &[Route]| -> HashMap<_, _> {
        routes
            .iter()
            .map(|route| (route.id.clone(), route.canonical()))
            .collect()
    };
    let (lefts, rights) = (by_id(left), by_id(right));
    lefts.len() == left.len() && rights.len() == right.len() && lefts == rights
}

fn compare(left: &Call, right: &Call) -> Ordering {
    let by_args = || {
        let pairs = left.args.iter().zip(&right.args);
        let difference = pairs
            .map(|(left, right)| compare_args(left, right))
            .find(|ordering| ordering.is_ne());
        difference.unwrap_or_else(|| left.args.len().cmp(&right.args.len()))
    };
    left.name.cmp(&right.name).then_with(by_args)
}

fn compare_args(left: &Arg, right: &Arg) -> Ordering {
    match (left, right) {
        (Arg::Number(left), Arg::Number(right)) => left.total_cmp(right),
        (Arg::Text(left), Arg::Text(right)) => left.cmp(right),
        (Arg::Number(_), Arg::Text(_)) => Ordering::Less,
        (Arg::Text(_), Arg::Number(_)) => Ordering::Greater,
    }
}
