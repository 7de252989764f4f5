//! Matcher sets: all of a set's matchers must match; one matching set is enough.

use std::collections::HashSet;

use http::Method;

use super::glob::{PathForms, PathPattern};
use crate::request::Context;

/// Matchers that must all match. An absent one matches everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct MatcherSet {
    pub(crate) host: Option<HostMatcher>,
    pub(crate) path: Option<Vec<PathPattern>>,
    pub(crate) method: Option<Vec<Method>>,
}

/// Host names and wildcards; `*` stands for one whole label.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostMatcher {
    exact: HashSet<String>,
    wildcards: Vec<String>,
}

// === impl MatcherSet ===

impl MatcherSet {
    pub(crate) fn matches(&self, cx: &Context) -> bool {
        self.matches_beside_host(cx)
            && self
                .host
                .as_ref()
                .is_none_or(|host| host.matches(&cx.host_name()))
    }

    /// Whether every matcher but `host` matches, for callers that looked the host up in an index.
    pub(crate) fn matches_beside_host(&self, cx: &Context) -> bool {
        let method = self
            .method
            .as_ref()
            .is_none_or(|methods| methods.contains(&cx.parts.method));
        method
            && self.path.as_ref().is_none_or(|patterns| {
                let mut forms = PathForms::new(cx.path());
                patterns.iter().any(|pattern| pattern.matches(&mut forms))
            })
    }

    /// Whether nothing but the host is looked at.
    pub(crate) fn is_host_only(&self) -> bool {
        self.path.is_none() && self.method.is_none()
    }
}

// === impl HostMatcher ===

impl HostMatcher {
    /// Patterns in any case; a trailing dot does not count.
    pub(crate) fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Self {
        let mut matcher = Self::default();
        for pattern in patterns {
            let pattern = pattern.to_ascii_lowercase();
            let pattern = pattern.strip_suffix('.').unwrap_or(&pattern);
            if pattern.contains('*') {
                matcher.wildcards.push(pattern.to_owned());
            } else {
                matcher
                    .exact
                    .insert(pattern.trim_start_matches('[').trim_end_matches(']').to_owned());
            }
        }
        matcher
    }

    /// `host` without port and in lower case.
    pub(crate) fn matches(&self, host: &str) -> bool {
        self.exact.contains(host)
            || self
                .wildcards
                .iter()
                .any(|pattern| wildcard_matches(pattern, host))
    }

    pub(crate) fn exact(&self) -> impl Iterator<Item = &str> {
        self.exact.iter().map(String::as_str)
    }

    pub(crate) fn wildcards(&self) -> impl Iterator<Item = &str> {
        self.wildcards.iter().map(String::as_str)
    }
}

fn wildcard_matches(pattern: &str, host: &str) -> bool {
    let (mut labels, mut given) = (pattern.split('.'), host.split('.'));
    loop {
        match (labels.next(), given.next()) {
            (None, None) => return true,
            (Some("*"), Some(label)) if !label.is_empty() => {}
            (Some(wanted), Some(label)) if wanted == label => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::tests::context;

    #[test]
    fn hosts_match_by_whole_labels() {
        let matcher = HostMatcher::new(["A.test", "*.b.test", "x.*.c.test", "[::1]"]);
        for (host, expected) in [
            ("a.test", true),
            ("y.b.test", true),
            ("b.test", false),
            ("z.y.b.test", false),
            ("x.1.c.test", true),
            ("::1", true),
            ("", false),
        ] {
            assert_eq!(matcher.matches(host), expected, "{host}");
        }
    }

    #[test]
    fn all_matchers_of_a_set_must_match() {
        let set = MatcherSet {
            host: Some(HostMatcher::new(["a.test"])),
            path: Some(vec![PathPattern::new("/x/*"), PathPattern::new("/y")]),
            method: Some(vec![Method::GET]),
        };
        assert!(set.matches(&context("GET", "http://a.test/x/1")));
        assert!(set.matches(&context("GET", "http://A.test:81/y")));
        assert!(!set.matches(&context("POST", "http://a.test/x/1")));
        assert!(!set.matches(&context("GET", "http://b.test/x/1")));
        assert!(!set.matches(&context("GET", "http://a.test/z")));
    }
}
