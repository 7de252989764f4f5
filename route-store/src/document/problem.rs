//! What is wrong with a document.

use std::fmt;

use thiserror::Error;

/// One thing that is wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    place: String,
    message: String,
}

/// Everything that is wrong with a document; of very many problems, the first.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub struct Problems(pub(crate) Vec<Problem>);

/// What has been found so far. A document can be wrong in more ways than anybody reads, so only the first are kept.
#[derive(Debug, Default)]
pub(super) struct Found(Vec<Problem>);

/// How many problems are told.
const MOST: usize = 100;

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

// === impl Found ===

impl Found {
    pub(super) fn say(&mut self, place: &str, message: impl Into<String>) {
        if self.0.len() < MOST {
            self.0.push(Problem::new(place, message));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The value, if nothing is wrong with it.
    pub(super) fn or<T>(self, value: T) -> Result<T, Problems> {
        if self.0.is_empty() {
            Ok(value)
        } else {
            Err(Problems(self.0))
        }
    }
}

// === impl Problems ===

impl Problems {
    /// One that stands alone.
    pub fn one(problem: Problem) -> Self {
        Self(vec![problem])
    }

    /// The same, with other places.
    pub(crate) fn moved(self, place: impl Fn(&str) -> String) -> Self {
        let moved = |problem: Problem| Problem {
            place: place(&problem.place),
            message: problem.message,
        };
        Self(self.0.into_iter().map(moved).collect())
    }

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
