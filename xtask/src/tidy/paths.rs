//! The project names no place of the machine that it was written on.

use super::Finding;
use super::tree::Tree;

/// Directories of persons and work places. Without slashes, so that this file does not find itself.
const PLACES: [&str; 4] = ["root", "home", "Users", "work"];

/// Looks for absolute paths below such a directory, with at least one more part behind it.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (line, number) in file.text.lines().zip(1..) {
            if let Some(path) = line.split(is_boundary).find(|word| is_private(word)) {
                let message = format!("`{path}` is a path of one machine");
                findings.push(Finding::new(format!("{}:{number}", file.path), message));
            }
        }
    }
    findings
}

fn is_boundary(c: char) -> bool {
    c.is_whitespace() || "\"'`()<>=:,;|".contains(c)
}

fn is_private(word: &str) -> bool {
    let mut parts = word.split('/');
    let (empty, first) = (parts.next(), parts.next());
    let below = parts
        .next()
        .is_some_and(|part| part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.'));
    empty == Some("") && first.is_some_and(|part| PLACES.contains(&part)) && below
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::*;

    fn count(text: &str) -> usize {
        check(&Tree {
            files: vec![File {
                path: "a.md".to_owned(),
                text: text.to_owned(),
            }],
        })
        .len()
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        for place in PLACES {
            assert_eq!(count(&format!("see `/{place}/me/project`.")), 1, "{place}");
        }
    }

    #[test]
    fn other_paths_and_addresses_are_not() {
        assert_eq!(
            count("https://example.com/home/index.html and path /home/* or /etc/doorway or a/work/b"),
            0
        );
    }
}
