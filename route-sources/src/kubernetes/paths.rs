//! Paths of Ingresses, and the patterns that they become.

use std::cmp::Ordering;

use thiserror::Error;

/// What an Ingress claims of a host.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Place {
    /// Whether nothing below the path is meant.
    exact: bool,
    /// The path; a prefix has no slash at its end, so the root is empty.
    path: String,
}

/// Why a path cannot be served.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub(super) enum PathError {
    #[error("a path begins with a slash")]
    Relative,
    #[error(
        "`*`, `{{` and `}}` in a path would not be taken literally; leave `*` out, a prefix covers what is below it"
    )]
    Special,
    #[error("the type of a path is Exact, Prefix or ImplementationSpecific")]
    Type,
}

/// What patterns do not take literally.
const SPECIAL: [char; 7] = ['*', '?', '\\', '{', '}', '[', ']'];

// === impl Place ===

impl Place {
    /// What a path of this type stands for. `ImplementationSpecific` is taken as a prefix, and `/*` at its end is left out.
    pub(super) fn parse(kind: &str, path: Option<&str>) -> Result<Self, PathError> {
        let path = path.unwrap_or_default();
        let (exact, path) = match kind {
            "Exact" => (true, path),
            "Prefix" => (false, path),
            "ImplementationSpecific" => (false, path.strip_suffix("/*").unwrap_or(path)),
            _ => return Err(PathError::Type),
        };
        if path.contains(SPECIAL) {
            return Err(PathError::Special);
        }
        if exact && !path.starts_with('/') || !path.is_empty() && !path.starts_with('/') {
            return Err(PathError::Relative);
        }
        let path = if exact { path } else { path.trim_end_matches('/') };
        Ok(Self {
            exact,
            path: path.to_owned(),
        })
    }

    /// Everything below a path.
    pub(super) fn below(path: &str) -> Self {
        Self {
            exact: false,
            path: path.trim_end_matches('/').to_owned(),
        }
    }

    /// What is below the part of a refused path that can be taken literally, unless that is all of the host. Nobody else may
    /// serve it, as they would do so without what its Ingress asks for.
    pub(super) fn literal(path: &str) -> Option<Self> {
        let (start, _) = path.split_once(SPECIAL).unwrap_or((path, ""));
        let end = if start.len() == path.len() {
            start.len()
        } else {
            start.rfind('/')?
        };
        let place = Self::below(start.get(..end)?);
        (start.starts_with('/') && !place.is_root()).then_some(place)
    }

    /// Whether it is all of the host.
    pub(super) fn is_root(&self) -> bool {
        !self.exact && self.path.is_empty()
    }

    /// What two claims have in common that cannot be told apart: paths are matched without regard to case.
    pub(super) fn identity(&self) -> (bool, String) {
        (self.exact, self.path.to_lowercase())
    }

    /// The patterns that match it, element by element: `/a` does not cover `/ab`.
    pub(super) fn patterns(&self) -> Vec<String> {
        if self.exact {
            return vec![self.path.clone()];
        }
        if self.path.is_empty() {
            return vec!["/*".to_owned()];
        }
        vec![self.path.clone(), format!("{}/*", self.path)]
    }

    /// The path as people know it.
    pub(super) fn shown(&self) -> &str {
        if self.path.is_empty() { "/" } else { &self.path }
    }

    /// The order in which places are tried: the longest first, an exact one before a prefix of the same length.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let by_length = other.path.len().cmp(&self.path.len());
        by_length
            .then_with(|| other.exact.cmp(&self.exact))
            .then_with(|| self.path.cmp(&other.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(kind: &str, path: &str) -> Place {
        Place::parse(kind, Some(path)).unwrap()
    }

    #[test]
    fn a_prefix_covers_whole_elements() {
        assert_eq!(place("Prefix", "/a").patterns(), ["/a", "/a/*"]);
        assert_eq!(place("Prefix", "/a/"), place("Prefix", "/a"));
        assert_eq!(place("Prefix", "/").patterns(), ["/*"]);
        assert!(place("Prefix", "/").is_root());
    }

    #[test]
    fn an_exact_path_covers_only_itself() {
        assert_eq!(place("Exact", "/a").patterns(), ["/a"]);
        assert_ne!(place("Exact", "/a"), place("Exact", "/a/"));
        assert!(!place("Exact", "/").is_root());
    }

    #[test]
    fn a_specific_path_is_a_prefix() {
        assert_eq!(place("ImplementationSpecific", "/a/*"), place("Prefix", "/a"));
        assert_eq!(place("ImplementationSpecific", "/*"), place("Prefix", "/"));
        assert!(Place::parse("ImplementationSpecific", None).unwrap().is_root());
    }

    #[test]
    fn the_longest_path_comes_first_and_an_exact_one_before_a_prefix() {
        let mut places = [
            place("Prefix", "/"),
            place("Prefix", "/a"),
            place("Exact", "/a"),
            place("Prefix", "/a/b"),
            place("Exact", "/"),
        ];
        places.sort_by(Place::order);
        let shown: Vec<_> = places.iter().map(|place| (place.exact, place.shown())).collect();
        assert_eq!(
            shown,
            [
                (false, "/a/b"),
                (true, "/a"),
                (false, "/a"),
                (true, "/"),
                (false, "/")
            ]
        );
    }

    #[test]
    fn a_refused_path_still_keeps_its_literal_part_from_others() {
        for (path, literal) in [
            ("/admin/*", Some("/admin")),
            ("/admin/a*b/c", Some("/admin")),
            ("/admin", Some("/admin")),
            ("/*", None),
            ("/a*", None),
            ("admin", None),
            ("/", None),
        ] {
            let place = Place::literal(path);
            assert_eq!(place.as_ref().map(Place::shown), literal, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for (kind, path, error) in [
            ("Prefix", "a", PathError::Relative),
            ("Exact", "", PathError::Relative),
            ("Prefix", "/a/*", PathError::Special),
            ("ImplementationSpecific", "/*/a", PathError::Special),
            ("Exact", "/{env.A}", PathError::Special),
            ("Prefix", "/[a]", PathError::Special),
            ("Regex", "/a", PathError::Type),
        ] {
            assert_eq!(Place::parse(kind, Some(path)), Err(error), "{kind} {path}");
        }
    }
}
