//! Rules about single files: the first line, the length, debris, silent tests, feature thickets.

use std::collections::BTreeMap;

use super::Finding;
use super::source::Source;
use super::tree::{File, Tree};

/// Code lines of one file, tests apart.
const MAX_CODE_LINES: usize = 400;

/// Lines that may name one feature in the sources of one crate: a `mod` line, a registration and one to spare.
const MAX_FEATURE_LINES: usize = 3;

/// Words that promise work instead of doing it. Split, so that this file does not find itself.
const DEBRIS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// Checks every file of the tree.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tree.files.iter().filter_map(debris).collect();
    let mut features = Features::default();
    for file in tree.rust() {
        let source = Source::new(&file.text);
        findings.extend(first_line(file));
        findings.extend(length(file, &source));
        findings.extend(silent_tests(file, &source));
        features.count(file, &source);
    }
    findings.extend(features.findings());
    findings
}

fn first_line(file: &File) -> Option<Finding> {
    let documented = file.text.starts_with("//! ");
    (!documented).then(|| Finding::new(&file.path, "the first line is no `//!` sentence about the file"))
}

fn length(file: &File, source: &Source) -> Option<Finding> {
    let lines = source.code_lines();
    let message = || format!("{lines} code lines, {MAX_CODE_LINES} are allowed: split it by what it does");
    (!file.is_test() && lines > MAX_CODE_LINES).then(|| Finding::new(&file.path, message()))
}

fn debris(file: &File) -> Option<Finding> {
    let is_debris = |word: &str| DEBRIS.contains(&word);
    let (line, word) = file.text.lines().zip(1..).find_map(|(line, number)| {
        line.split(|c: char| !c.is_alphanumeric())
            .find(|word| is_debris(word))
            .map(|word| (number, word))
    })?;
    Some(Finding::new(
        format!("{}:{line}", file.path),
        format!("{word}: do it, or file it as an issue"),
    ))
}

/// `#[ignore]` must say why, as `#[ignore = "..."]`.
fn silent_tests(file: &File, source: &Source) -> Vec<Finding> {
    let silent = |(line, number): (&str, usize)| {
        let place = format!("{}:{number}", file.path);
        line.contains("#[ignore]")
            .then(|| Finding::new(place, "an ignored test without a reason"))
    };
    source.code().lines().zip(1..).filter_map(silent).collect()
}

/// How many lines name a feature, by crate and feature.
#[derive(Debug, Default)]
struct Features(BTreeMap<(String, String), usize>);

// === impl Features ===

impl Features {
    fn count(&mut self, file: &File, source: &Source) {
        let Some((member, rest)) = file.path.split_once('/') else {
            return;
        };
        if !rest.starts_with("src/") {
            return;
        }
        let text = source.without_comments();
        for line in text.lines().filter(|line| line.contains("cfg")) {
            for name in line
                .split("feature = \"")
                .skip(1)
                .filter_map(|rest| rest.split('"').next())
            {
                *self.0.entry((member.to_owned(), name.to_owned())).or_default() += 1;
            }
        }
    }

    fn findings(self) -> impl Iterator<Item = Finding> {
        let thickets = self.0.into_iter().filter(|(_, lines)| *lines > MAX_FEATURE_LINES);
        thickets.map(|((member, feature), lines)| {
            let message = format!(
                "feature `{feature}` is named in {lines} cfg lines, {MAX_FEATURE_LINES} are allowed: put what it adds in one module"
            );
            Finding::new(member, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let tree = Tree {
            files: vec![File {
                path: path.to_owned(),
                text: text.to_owned(),
            }],
        };
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_clean_file_has_no_findings() {
        assert_eq!(findings("a/src/b.rs", "//! About b.\n\nfn b() {}\n"), [""; 0]);
    }

    #[test]
    fn a_file_must_start_by_saying_what_it_is() {
        assert_eq!(findings("a/src/b.rs", "fn b() {}\n").len(), 1);
    }

    #[test]
    fn a_long_file_is_found_and_a_long_test_is_not() {
        let text = format!("//! Long.\n{}", "const A: u8 = 1;\n".repeat(401));
        assert!(findings("a/src/b.rs", &text)[0].contains("401 code lines"));
        assert_eq!(findings("a/tests/it/b.rs", &text), [""; 0]);
    }

    #[test]
    fn debris_is_found_in_any_text_and_only_as_a_word() {
        let word = DEBRIS[0];
        assert!(findings("README.md", &format!("fine\nnot {word}: later\n"))[0].starts_with("README.md:2: "));
        assert_eq!(findings("README.md", &format!("a {word}R list\n")), [""; 0]);
    }

    #[test]
    fn an_ignored_test_needs_a_reason() {
        let silent = "//! Doc.\n#[ignore]\nfn a() {}\n#[ignore = \"needs a kernel\"]\nfn b() {}\n";
        assert_eq!(
            findings("a/src/b.rs", silent),
            ["a/src/b.rs:2: an ignored test without a reason"]
        );
    }

    #[test]
    fn a_feature_thicket_is_found() {
        let line = "#[cfg(feature = \"sync\")]\nmod a;\n";
        assert_eq!(
            findings("a/src/b.rs", &format!("//! Doc.\n{}", line.repeat(3))),
            [""; 0]
        );
        assert!(findings("a/src/b.rs", &format!("//! Doc.\n{}", line.repeat(4)))[0].contains("`sync`"));
    }
}
