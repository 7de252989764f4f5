//! The domain of an application.

use std::fmt;
use std::str::FromStr;

use crate::text::shown;

/// The most bytes of a domain.
const LONGEST: usize = 253;

/// The most bytes between two dots.
const LONGEST_LABEL: usize = 63;

/// A hostname, as it is matched: lowercase letters, digits and dashes in dot-separated labels, at most 253 characters.
///
/// It is read with white space around it, and in any case. A scheme, a port, a path, a wildcard, a trailing dot, an
/// underscore and letters beyond ASCII are refused; a single label such as `localhost` is not.
///
/// ```
/// use shipwick_routes::Domain;
///
/// assert_eq!(" API.example.com".parse::<Domain>()?.as_str(), "api.example.com");
/// let error = "https://api.example.com".parse::<Domain>().unwrap_err();
/// assert_eq!(error.to_string(), r#"invalid value "https://api.example.com": not a valid hostname"#);
/// # Ok::<(), shipwick_routes::DomainError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Domain(Box<str>);

/// Why a text is no domain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DomainError {
    /// More than 253 characters.
    #[error("invalid value: longer than {LONGEST} characters")]
    TooLong,
    /// Something else than a hostname, as it was written.
    #[error("invalid value {}: not a valid hostname", shown(.0))]
    Invalid(String),
}

// === impl Domain ===

impl Domain {
    /// The hostname, in lowercase.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Domain {
    type Err = DomainError;

    fn from_str(text: &str) -> Result<Self, DomainError> {
        let name = text.trim().to_ascii_lowercase();
        if name.len() > LONGEST {
            return Err(DomainError::TooLong);
        }
        if name.split('.').all(is_label) {
            Ok(Self(name.into()))
        } else {
            Err(DomainError::Invalid(text.trim().to_owned()))
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_label(label: &str) -> bool {
    let fits = (1..=LONGEST_LABEL).contains(&label.len());
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    fits && label.bytes().all(allowed) && !label.starts_with('-') && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostnames_are_trimmed_and_lowercased() {
        for (text, domain) in [
            ("api.example.com", "api.example.com"),
            ("  API.Example.COM\n", "api.example.com"),
            ("localhost", "localhost"),
            ("10.0.0.1", "10.0.0.1"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("a-b.c0", "a-b.c0"),
            (&"a".repeat(63), &"a".repeat(63)),
        ] {
            assert_eq!(text.parse::<Domain>().unwrap().as_str(), domain);
        }
    }

    #[test]
    fn what_is_no_hostname_is_refused_as_it_was_written() {
        for text in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "-a.b",
            "a-.b",
            "a_b.c",
            "bücher.example",
            "*.example.com",
            "a.com:443",
            "https://a.com",
            "a.com/x",
            "a.com { respond 200 }",
            "a com",
            "[::1]",
            "{env.HOME}",
            &"a".repeat(64),
        ] {
            let error = text.parse::<Domain>().unwrap_err();
            assert_eq!(error, DomainError::Invalid(text.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn it_is_253_characters_at_most() {
        let label = "a".repeat(49);
        let fits = format!("{label}.{label}.{label}.{label}.{label}.abc");
        assert_eq!(fits.len(), 253);
        assert_eq!(fits.parse::<Domain>().unwrap().as_str(), fits);
        assert_eq!(format!("{fits}d").parse::<Domain>(), Err(DomainError::TooLong));
    }
}
