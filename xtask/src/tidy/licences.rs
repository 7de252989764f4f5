//! Every dependency comes from crates.io under a licence that Apache-2.0 software may carry.

use super::Finding;
use crate::metadata::{Metadata, Package};

/// Licences by SPDX name. All permissive; a new one is a decision, not a formality.
const ALLOWED: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks all packages of the graph.
pub(crate) fn check(metadata: &Metadata) -> Vec<Finding> {
    metadata.packages.iter().filter_map(check_package).collect()
}

fn check_package(package: &Package) -> Option<Finding> {
    let place = format!("{} {}", package.name, package.version);
    let foreign = package.source.as_ref().filter(|source| *source != CRATES_IO);
    if let Some(source) = foreign {
        return Some(Finding::new(
            place,
            format!("comes from {source}, not from crates.io"),
        ));
    }
    let licence = package.license.as_deref().unwrap_or("none");
    (!allows(licence)).then(|| Finding::new(place, format!("its licence ({licence}) is not on the list")))
}

/// Evaluates an SPDX expression; old manifests write `/` for OR.
fn allows(expression: &str) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words };
    parser.any() == Some(true) && parser.words.is_empty()
}

/// Recursive descent over the words that are left; AND binds closer than OR. `None` is a syntax error.
struct Parser<'a> {
    words: &'a [&'a str],
}

// === impl Parser ===

impl<'a> Parser<'a> {
    fn any(&mut self) -> Option<bool> {
        let mut allowed = self.all()?;
        while self.eat("OR") {
            allowed |= self.all()?;
        }
        Some(allowed)
    }

    fn all(&mut self) -> Option<bool> {
        let mut allowed = self.one()?;
        while self.eat("AND") {
            allowed &= self.one()?;
        }
        Some(allowed)
    }

    fn one(&mut self) -> Option<bool> {
        if self.eat("(") {
            let inner = self.any()?;
            return self.eat(")").then_some(inner);
        }
        let name = self.next()?;
        if !self.eat("WITH") {
            return Some(ALLOWED.contains(&name));
        }
        let exception = self.next()?;
        Some(ALLOWED.contains(&format!("{name} WITH {exception}").as_str()))
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.words.first() == Some(&word);
        if found {
            self.next();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_permissive_choice_is_enough() {
        assert!(allows("MIT OR GPL-3.0-only"));
        assert!(allows("MIT/Apache-2.0"));
        assert!(allows("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(allows("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only"));
    }

    #[test]
    fn every_part_of_an_and_counts() {
        assert!(!allows("MIT AND GPL-3.0-only"));
        assert!(!allows("GPL-3.0-only OR MIT AND AGPL-3.0-only"));
        assert!(allows("ISC AND (Apache-2.0 OR GPL-2.0-only)"));
    }

    #[test]
    fn nonsense_and_silence_are_refused() {
        for text in [
            "",
            "none",
            "MIT OR",
            "(MIT",
            "MIT)",
            "MIT Apache-2.0",
            "Apache-2.0 WITH",
            "GPL-2.0 WITH x",
        ] {
            assert!(!allows(text), "{text}");
        }
    }
}
