//! Origins: where a page came from, and which of them are allowed.

use std::fmt;

/// Scheme, user and host of an address, as far as they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// Empty: any.
    scheme: String,
    /// What stands before `@`; it says nothing about the host.
    user: Option<String>,
    /// With the port, if one is written.
    host: String,
}

// === impl Origin ===

impl Origin {
    /// As the configuration writes it: a host, or a scheme and a host.
    pub(super) fn allowed(text: &str) -> Self {
        match text.split_once("://") {
            Some((scheme, rest)) => Self::new(scheme, rest),
            None => Self {
                scheme: String::new(),
                user: None,
                host: text.to_owned(),
            },
        }
    }

    /// As a request says it; `None` if it is no address at all, or one that browsers read in their own way. One
    /// without a host, such as an empty one, is an origin that nobody allows.
    pub(super) fn of_request(text: &str) -> Option<Self> {
        if text.starts_with(':') || text.contains(|c: char| c.is_control() || c == '\\') {
            return None;
        }
        Some(match text.split_once("://") {
            Some((scheme, rest)) => Self::new(scheme, rest),
            None => Self::new("", ""),
        })
    }

    fn new(scheme: &str, rest: &str) -> Self {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host),
            None => (None, authority),
        };
        Self {
            scheme: scheme.to_ascii_lowercase(),
            user,
            host: host.to_owned(),
        }
    }

    /// Whether `host`, of a request, is this one.
    pub(super) fn has_host(&self, host: &str) -> bool {
        self.host.eq_ignore_ascii_case(host)
    }

    /// Whether this one, of the configuration, stands for `other`.
    pub(super) fn allows(&self, other: &Self) -> bool {
        let same_scheme = self.scheme.is_empty() || self.scheme == other.scheme;
        same_scheme && !other.host.is_empty() && self.has_host(&other.host)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        f.write_str(&self.host)
    }
}
