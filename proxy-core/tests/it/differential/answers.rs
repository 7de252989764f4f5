//! The answers to all requests for one configuration, as kept in a file: a name, then indented lines. An answer that
//! an earlier request got too is `= ` and that request's name.

use std::collections::BTreeMap;
use std::fmt;

/// The lines of each request's answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    names: Vec<String>,
    lines: BTreeMap<String, Vec<String>>,
}

// === impl Answers ===

impl Answers {
    /// Reads what [`fmt::Display`] wrote.
    pub(crate) fn parse(text: &str) -> Self {
        let mut answers = Self::default();
        for line in text.lines() {
            match line.strip_prefix('\t') {
                Some(line) => {
                    let name = answers.names.last().expect("a name comes first");
                    answers
                        .lines
                        .entry(name.clone())
                        .or_default()
                        .push(line.to_owned());
                }
                None => answers.push(line, Vec::new()),
            }
        }
        answers
    }

    /// Adds the answer to one request.
    pub(crate) fn push(&mut self, name: &str, lines: Vec<String>) {
        self.names.push(name.to_owned());
        let before = self.lines.insert(name.to_owned(), lines);
        assert!(before.is_none(), "two requests are called {name}");
    }

    /// The requests, in order.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The answer to one request.
    pub(crate) fn lines(&self, name: &str) -> &[String] {
        self.lines.get(name).map_or(&[], Vec::as_slice)
    }
}

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in &self.names {
            writeln!(f, "{name}")?;
            self.lines(name)
                .iter()
                .try_for_each(|line| writeln!(f, "\t{line}"))?;
        }
        Ok(())
    }
}
