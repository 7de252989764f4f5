//! What is wrong with a document.

use std::fmt;

use thiserror::Error;

/// One thing that is wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    place: String,
    message: String,
}

/// Everything that is wrong with a document.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub struct Problems(pub(crate) Vec<Problem>);

// === impl Problem ===

impl Problem {
    /// Where it is, such as `paths[0].upstreams[1].address`, and what is wrong and what to do.
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
        }
    }

    /// Where it is.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What is wrong, and what to do.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.place, self.message)
    }
}

// === impl Problems ===

impl Problems {
    /// One by one.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}
