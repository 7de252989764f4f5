//! What is done to lists of routes.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    mem,
};

use crate::{
    ast::{Call, Name, Route},
    check::RouteError,
    error::ParseErrors,
    parser::{parse_filters, parse_predicates},
};

/// Puts each route of `updates` in the place of those with its id, or else behind all others. Routes without an id
/// are added.
///
/// ```
/// let mut routes = eskip::parse("a: * -> \"http://old\"; b: * -> <shunt>")?;
/// eskip::upsert(&mut routes, eskip::parse("c: * -> <loopback>; a: * -> \"http://new\"")?);
/// assert_eq!(
///     eskip::print(&routes, eskip::Layout::Plain),
///     "a: * -> \"http://new\";\nb: * -> <shunt>;\nc: * -> <loopback>;"
/// );
/// # Ok::<(), eskip::ParseErrors>(())
/// ```
pub fn upsert(routes: &mut Vec<Route>, updates: Vec<Route>) {
    let mut named: HashMap<Name, usize> = HashMap::new();
    let mut updates: Vec<Option<Route>> = updates.into_iter().map(Some).collect();
    for (index, update) in updates.iter().enumerate() {
        // The last one of an id wins.
        named.extend(update.as_ref().and_then(|route| Some((route.id.clone()?, index))));
    }
    let mut last = |id: &Name| {
        named
            .get(id)
            .and_then(|index| updates.get_mut(*index))
            .map(Option::take)
    };
    for route in mem::take(routes) {
        match route.id.as_ref().and_then(&mut last) {
            None => routes.push(route),
            // Later routes of the same id go: one of them is left.
            Some(update) => routes.extend(update),
        }
    }
    for (index, update) in updates.into_iter().enumerate() {
        routes
            .extend(update.filter(|route| route.id.as_ref().is_none_or(|id| named.get(id) == Some(&index))));
    }
}

/// As [`upsert`], and removes every other route.
pub fn reset(routes: &mut Vec<Route>, updates: Vec<Route>) {
    let kept: HashSet<Option<Name>> = updates.iter().map(|route| route.id.clone()).collect();
    routes.retain(|route| route.id.is_some() && kept.contains(&route.id));
    upsert(routes, updates);
}

/// Removes the routes with these ids, and gives the ids that no route had.
pub fn delete<'i>(routes: &mut Vec<Route>, ids: impl IntoIterator<Item = &'i str>) -> Vec<&'i str> {
    let ids: Vec<&str> = ids.into_iter().collect();
    let gone: HashSet<&str> = ids.iter().copied().collect();
    let mut found = HashSet::new();
    routes.retain(|route| {
        let id = route.id.as_ref().filter(|id| gone.contains(id.as_str()));
        found.extend(id.cloned());
        id.is_none()
    });
    ids.into_iter().filter(|id| !found.contains(*id)).collect()
}

/// Filters that every route gets.
///
/// ```
/// let defaults = eskip::DefaultFilters {
///     prepend: eskip::parse_filters("a() -> b()")?,
///     append: eskip::parse_filters("z()")?,
/// };
/// let mut routes = eskip::parse("* -> m() -> <shunt>")?;
/// defaults.apply(&mut routes);
/// assert_eq!(routes[0].to_string(), "* -> a() -> b() -> m() -> z() -> <shunt>");
/// # Ok::<(), eskip::ParseErrors>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DefaultFilters {
    /// Before those of the route.
    pub prepend: Vec<Call>,
    /// Behind those of the route.
    pub append: Vec<Call>,
}

// === impl DefaultFilters ===

impl DefaultFilters {
    /// Adds them to each route.
    pub fn apply(&self, routes: &mut [Route]) {
        for route in routes {
            route.filters.splice(..0, self.prepend.iter().cloned());
            route.filters.extend_from_slice(&self.append);
        }
    }
}

/// How to change routes by their text: `/regular expression/replacement/`.
///
/// Whatever character comes first stands between the parts, and in neither of them. The regular expression is
/// compiled by whoever applies it.
///
/// ```
/// let edit: eskip::Edit = "/Source[(](.*)[)]/ClientIP($1)/".parse()?;
/// assert_eq!((edit.pattern(), edit.replacement()), ("Source[(](.*)[)]", "ClientIP($1)"));
/// # Ok::<(), eskip::EditSyntaxError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Edit {
    pattern: String,
    replacement: String,
}

/// A text that is no [`Edit`].
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("expected `/regular expression/replacement/`, with any character in place of the slash")]
pub struct EditSyntaxError;

/// Why an edit of a route was not made. The route stayed as it was.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum EditError {
    /// The text is no predicate or filter any more.
    #[error("{text:?} is no predicate or filter: {errors}")]
    Syntax {
        /// What became of it.
        text: String,
        /// Why it is none.
        errors: ParseErrors,
    },
    /// One predicate or filter became none, or several.
    #[error("{0:?} is not one predicate or filter")]
    Count(String),
    /// The route means nothing any more.
    #[error(transparent)]
    Route(RouteError),
}

// === impl Edit ===

impl Edit {
    /// The regular expression.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// What a match is replaced with; `$1` and `${name}` stand for groups.
    #[must_use]
    pub fn replacement(&self) -> &str {
        &self.replacement
    }
}

impl std::str::FromStr for Edit {
    type Err = EditSyntaxError;

    fn from_str(text: &str) -> Result<Self, EditSyntaxError> {
        let separator = text.chars().next().ok_or(EditSyntaxError)?;
        let parts: Vec<&str> = text.split(separator).collect();
        match parts.as_slice() {
            ["", pattern, replacement, ""] => Ok(Self {
                pattern: (*pattern).to_owned(),
                replacement: (*replacement).to_owned(),
            }),
            _ => Err(EditSyntaxError),
        }
    }
}

/// Changes the text of each predicate and filter by `replace`, and gives what could not be changed.
///
/// Each is shown to `replace` by itself, as [`Call`] is displayed: every string in double quotes.
pub fn edit_routes(
    routes: &mut [Route],
    replace: impl Fn(&str) -> Cow<'_, str>,
) -> Vec<(Option<&Name>, EditError)> {
    let mut errors = Vec::new();
    for route in routes {
        match edited(route, &replace) {
            Ok(Some(changed)) => *route = changed,
            Ok(None) => {}
            Err(error) => errors.push((route.id.as_ref(), error)),
        }
    }
    errors
}

/// As [`edit_routes`], but adds what an edit makes of a route as another route, `clone_` and its id. A route that
/// does not change is not cloned.
pub fn clone_routes(
    routes: &mut Vec<Route>,
    replace: impl Fn(&str) -> Cow<'_, str>,
) -> Vec<(Option<Name>, EditError)> {
    let mut errors = Vec::new();
    let mut clones = Vec::new();
    for route in routes.iter() {
        match edited(route, &replace) {
            Ok(Some(mut clone)) => {
                let id = format!("clone_{}", route.id.as_deref().unwrap_or_default());
                clone.id = Some(Name::of_symbol(&id));
                clones.push(clone);
            }
            Ok(None) => {}
            Err(error) => errors.push((route.id.clone(), error)),
        }
    }
    routes.append(&mut clones);
    errors
}

fn edited(route: &Route, replace: &impl Fn(&str) -> Cow<'_, str>) -> Result<Option<Route>, EditError> {
    let mut next = route.clone();
    let mut changed = false;
    for call in &mut next.predicates {
        changed |= edit_call(call, replace, parse_predicates)?;
    }
    for call in &mut next.filters {
        changed |= edit_call(call, replace, parse_filters)?;
    }
    next.predicates.retain(|call| call.name != "Any");
    if changed {
        next.check().map_err(EditError::Route)?;
    }
    Ok(changed.then_some(next))
}

/// Whether it changed.
fn edit_call(
    call: &mut Call,
    replace: &impl Fn(&str) -> Cow<'_, str>,
    parse: fn(&str) -> Result<Vec<Call>, ParseErrors>,
) -> Result<bool, EditError> {
    let before = call.to_string();
    let after = replace(&before);
    if after == before {
        return Ok(false);
    }
    let parsed = parse(&after).map_err(|errors| EditError::Syntax {
        text: after.to_string(),
        errors,
    })?;
    let [next]: [Call; 1] = parsed
        .try_into()
        .map_err(|_| EditError::Count(after.into_owned()))?;
    *call = next;
    Ok(true)
}
