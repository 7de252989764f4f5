//! What a fuzzer once found stays found: an ordinary test of the crate replays the corpus of each target.

use super::Finding;
use super::tree::{File, Tree};

/// Looks for a test that reads the corpus of each fuzz target.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let silent = |(member, target): &(&str, &str)| !tree.rust().any(|file| replays(file, member, target));
    let finding = |(member, target)| {
        Finding::new(
            member,
            format!("no test replays fuzz/corpus/{target}, the corpus of its fuzz target"),
        )
    };
    tree.rust()
        .filter_map(target)
        .filter(silent)
        .map(finding)
        .collect()
}

/// The crate and the name of a fuzz target.
fn target(file: &File) -> Option<(&str, &str)> {
    let (member, name) = file.path.split_once("/fuzz/fuzz_targets/")?;
    Some((member, name.strip_suffix(".rs")?))
}

fn replays(file: &File, member: &str, target: &str) -> bool {
    let inside = file
        .path
        .strip_prefix(member)
        .and_then(|rest| rest.strip_prefix('/'));
    inside.is_some_and(|path| !path.starts_with("fuzz/"))
        && file.text.contains("fuzz/corpus")
        && file.text.contains(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(test: &str) -> Tree {
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        Tree {
            files: vec![
                file("a/fuzz/fuzz_targets/decode.rs", ""),
                file("a/src/fuzzing.rs", test),
            ],
        }
    }

    #[test]
    fn a_replayed_corpus_is_no_finding() {
        assert_eq!(check(&tree("read(\"fuzz/corpus/decode\")")), []);
    }

    #[test]
    fn a_corpus_that_no_test_reads_is_found() {
        assert_eq!(check(&tree("read(\"fuzz/corpus/other\")")).len(), 1);
    }
}
