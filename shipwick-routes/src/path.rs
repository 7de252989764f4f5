//! The part of a host that an application serves.

use std::fmt;
use std::str::FromStr;

use crate::text::shown;

/// The most bytes of a prefix.
const LONGEST: usize = 256;

/// A path and everything below it: `/api` is `/api` and `/api/…`, but not `/apix`.
///
/// It has one or more segments of letters, digits, `-`, `_`, `.` and `~`, and no slash at its end.
///
/// ```
/// use shipwick_routes::PathPrefix;
///
/// assert_eq!("/api/v2".parse::<PathPrefix>()?.as_str(), "/api/v2");
/// assert!("/api/*".parse::<PathPrefix>().is_err());
/// # Ok::<(), shipwick_routes::PathPrefixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathPrefix(Box<str>);

/// The text is no path prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value {}: not a path such as /api, without a slash at its end", shown(.0))]
pub struct PathPrefixError(String);

// === impl PathPrefix ===

impl PathPrefix {
    /// The path, which begins with a slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PathPrefix {
    type Err = PathPrefixError;

    fn from_str(text: &str) -> Result<Self, PathPrefixError> {
        let segments = text.strip_prefix('/').filter(|_| text.len() <= LONGEST);
        if segments.is_some_and(|segments| segments.split('/').all(is_segment)) {
            Ok(Self(text.into()))
        } else {
            Err(PathPrefixError(text.to_owned()))
        }
    }
}

impl fmt::Display for PathPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_segment(segment: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    !segment.is_empty() && segment != "." && segment != ".." && segment.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_segments_are_taken() {
        for text in ["/api", "/api/v2", "/~x", "/a.b-c_d"] {
            assert_eq!(text.parse::<PathPrefix>().unwrap().as_str(), text);
        }
        let long = format!("/{}", "a".repeat(LONGEST));
        for text in [
            "", "/", "api", "/api/", "//", "/a//b", "/*", "/a b", "/..", "/a/../b", "/%2F", "/{x}", &long,
        ] {
            assert!(text.parse::<PathPrefix>().is_err(), "{text:?}");
        }
    }
}
