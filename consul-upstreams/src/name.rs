//! Names of services, some of which a client had a hand in.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// The longest name, in bytes. Consul's own limit for names that DNS can answer is 63.
const LONGEST: usize = 255;

/// The name of a service: trimmed, in lower case, and of one segment of a path.
///
/// Consul does not tell upper from lower case, so neither does this: `API` and `api` are one service, and one entry of
/// the cache. A copy costs next to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServiceName(Arc<str>);

/// Why a text is not the name of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// Nothing, or only spaces.
    #[error("the name of the Consul service is empty")]
    Empty,
    /// `/`, `\`, a control byte, `.` or `..`: it could lead to another resource of Consul's API, even escaped.
    #[error("the name of the Consul service could lead out of its path")]
    Path,
    /// More than 255 bytes.
    #[error("the name of the Consul service is longer than 255 bytes")]
    Long,
}

// === impl ServiceName ===

impl ServiceName {
    /// The service that `text` names.
    ///
    /// # Errors
    ///
    /// If it is empty, too long, or could leave its place in the path of a request.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let name = text.trim();
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        if name.len() > LONGEST {
            return Err(NameError::Long);
        }
        let leaves = |c: char| matches!(c, '/' | '\\') || c.is_control();
        if name == "." || name == ".." || name.contains(leaves) {
            return Err(NameError::Path);
        }
        Ok(Self(name.to_ascii_lowercase().into()))
    }

    /// As it is asked for.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_trimmed_and_have_no_case() {
        for text in ["api", " API ", "Api\n"] {
            assert_eq!(ServiceName::parse(text).unwrap().as_str(), "api", "{text:?}");
        }
        for text in ["a b", "a..b", "...", "%2e%2e", "a%2fb", "ä", "?x=1", "#", "a;b"] {
            assert_eq!(ServiceName::parse(text).unwrap().as_str(), text, "{text:?}");
        }
    }

    #[test]
    fn names_that_could_leave_the_path_are_refused() {
        for text in [
            "..",
            ".",
            " .. ",
            "../agent/self",
            "a/b",
            "/",
            "a\\b",
            "a\0b",
            "a\r\nb",
            "a\u{7f}",
            "a\u{85}b",
        ] {
            assert_eq!(ServiceName::parse(text), Err(NameError::Path), "{text:?}");
        }
        for text in ["", "  ", "\t"] {
            assert_eq!(ServiceName::parse(text), Err(NameError::Empty), "{text:?}");
        }
        assert_eq!(ServiceName::parse(&"a".repeat(256)), Err(NameError::Long));
        assert!(ServiceName::parse(&"a".repeat(255)).is_ok());
    }
}
