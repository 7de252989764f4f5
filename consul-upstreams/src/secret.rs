//! A text that is sent and never shown.

use std::fmt;

/// A token or password. Neither `Debug` nor any error of this crate shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

// === impl Secret ===

impl Secret {
    /// Keeps `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for who sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
