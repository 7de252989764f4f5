//! The host of a request.

use std::collections::HashSet;

use crate::request::Context;
use crate::routing::template::Template;

/// Host names and wildcards; `*` stands for one whole label.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostMatcher {
    exact: HashSet<String>,
    wildcards: Vec<String>,
    /// Patterns with placeholders, which are others for each request.
    rendered: Vec<Template>,
}

// === impl HostMatcher ===

impl HostMatcher {
    /// Patterns in any case; a trailing dot does not count.
    pub(crate) fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Self {
        let mut matcher = Self::default();
        for pattern in patterns {
            matcher.add(pattern);
        }
        matcher
    }

    /// Patterns that may have placeholders.
    pub(crate) fn of(patterns: impl IntoIterator<Item = Template>) -> Self {
        let mut matcher = Self::default();
        for pattern in patterns {
            match pattern.as_static() {
                Some(text) => matcher.add(text),
                None => matcher.rendered.push(pattern),
            }
        }
        matcher
    }

    fn add(&mut self, pattern: &str) {
        let pattern = normal(pattern);
        if pattern.contains('*') {
            self.wildcards.push(pattern);
        } else {
            self.exact.insert(pattern);
        }
    }

    pub(crate) fn matches(&self, cx: &Context) -> bool {
        let host = cx.host_name();
        self.matches_name(&host)
            || self
                .rendered
                .iter()
                .any(|pattern| Self::new([&*pattern.render(cx)]).matches_name(&host))
    }

    /// `host` without port and in lower case. Patterns with placeholders are not looked at.
    pub(crate) fn matches_name(&self, host: &str) -> bool {
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

    /// Whether each pattern is known before there is a request.
    pub(crate) fn is_fixed(&self) -> bool {
        self.rendered.is_empty()
    }
}

fn normal(pattern: &str) -> String {
    let pattern = pattern.to_ascii_lowercase();
    let pattern = pattern.strip_suffix('.').unwrap_or(&pattern);
    pattern.trim_start_matches('[').trim_end_matches(']').to_owned()
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
            assert_eq!(matcher.matches_name(host), expected, "{host}");
        }
    }

    #[test]
    fn a_pattern_may_follow_the_request() {
        let matcher = HostMatcher::of(["{http.request.method}.test".parse().unwrap()]);
        assert!(!matcher.is_fixed());
        assert!(matcher.matches(&context("GET", "http://get.test:80/")));
        assert!(!matcher.matches(&context("PUT", "http://get.test/")));
    }
}
