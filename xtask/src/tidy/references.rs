//! What a document says is shown by a test is shown by a test: the file and the function exist.

use super::Finding;
use super::tree::Tree;

/// Where the documents are that name tests, as `crate/path/file.rs: function` or as a bare file.
const MANUAL: &str = "proxy-core/src/manual/";

/// Checks every reference in backquotes that begins like a path of this project.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let manual = |path: &str| path.starts_with(MANUAL) && path.ends_with(".md");
    for document in tree.files.iter().filter(|file| manual(&file.path)) {
        for (line, number) in document.text.lines().zip(1..) {
            let quoted = line.split('`').skip(1).step_by(2);
            let dangling = quoted.filter(|reference| !exists(tree, reference));
            findings.extend(dangling.map(|reference| {
                let message = format!("`{reference}` is not there");
                Finding::new(format!("{}:{number}", document.path), message)
            }));
        }
    }
    findings
}

/// Whether it is there, or no reference.
fn exists(tree: &Tree, reference: &str) -> bool {
    let (path, function) = match reference.split_once(": ") {
        Some((path, function)) => (path, Some(function)),
        None => (reference, None),
    };
    let top = path.split('/').next().unwrap_or_default();
    let ours = path.contains('/')
        && tree
            .files
            .iter()
            .any(|file| file.path == format!("{top}/Cargo.toml"));
    if !ours {
        return true;
    }
    let file = tree.files.iter().find(|file| file.path == path);
    file.is_some_and(|file| function.is_none_or(|name| file.text.contains(&format!("fn {name}("))))
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::*;

    fn findings(document: &str) -> usize {
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let files = vec![
            file("a/Cargo.toml", ""),
            file("a/tests/it/x.rs", "#[test]\nfn it_works() {}\n"),
            file("proxy-core/src/manual/m.md", document),
        ];
        check(&Tree { files }).len()
    }

    #[test]
    fn a_test_that_is_there_is_found() {
        assert_eq!(
            findings("| 1 | `a/tests/it/x.rs: it_works` | `a/tests/it/x.rs` |\n"),
            0
        );
    }

    #[test]
    fn a_test_or_a_file_that_is_gone_is_a_finding() {
        assert_eq!(
            findings("`a/tests/it/x.rs: it_fails`\n`a/tests/it/y.rs: it_works`\n"),
            2
        );
    }

    #[test]
    fn other_words_in_backquotes_are_free() {
        assert_eq!(findings("`/load` and `header X: y` and `b/c.rs: z` and `x`\n"), 0);
    }
}
