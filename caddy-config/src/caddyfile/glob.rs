//! Patterns of file names, such as `sites/*.caddyfile`.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

use crate::surroundings::Surroundings;

/// More files than this are not looked for.
pub(super) const MAX_FILES: usize = 20_000;

/// Whether a path stands for any number of files.
pub(super) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?'])
}

/// `path` without `.` and without `..` behind a name.
pub(super) fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        let last = out.components().next_back();
        match (component, last) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                out.pop();
            }
            _ => out.push(component),
        }
    }
    out
}

/// The files that `pattern` stands for, in the order of their names. Directories that were looked through, and the
/// first one even if it is not there, are added to `directories`.
pub(super) fn files(
    pattern: &Path,
    surroundings: &dyn Surroundings,
    directories: &mut BTreeSet<PathBuf>,
) -> Vec<PathBuf> {
    let is_wild = |component: Component<'_>| component.as_os_str().to_str().is_some_and(is_pattern);
    let mut components = pattern.components().peekable();
    let mut first = PathBuf::new();
    while let Some(component) = components.next_if(|component| !is_wild(*component)) {
        first.push(component);
    }
    directories.insert(first.clone());
    let mut found = vec![first];
    while let Some(component) = components.next() {
        let name = component.as_os_str().to_str().unwrap_or_default();
        // Hidden files are not for a pattern that begins with `*`; directories may be.
        let hidden = components.peek().is_some() || !name.starts_with('*');
        let mut next = Vec::new();
        for directory in found {
            let Ok(mut names) = surroundings.list(&directory) else {
                continue;
            };
            names.retain(|other| matches(name, other) && (hidden || !other.starts_with('.')));
            names.sort_unstable();
            next.extend(names.iter().map(|name| directory.join(name)));
            directories.insert(directory);
            if next.len() > MAX_FILES {
                return next;
            }
        }
        found = next;
    }
    found
}

/// Whether a name is like a pattern: `*`, of which there is at most one, is any text, `?` any character.
fn matches(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let Some((before, after)) = pattern.split_once('*') else {
        return is_like(pattern, &name);
    };
    let end = name.len().checked_sub(after.chars().count());
    let rest = name.split_at_checked(before.chars().count()).zip(end);
    let Some(((start, _), end)) = rest.filter(|((start, _), end)| start.len() <= *end) else {
        return false;
    };
    is_like(before, start) && is_like(after, name.get(end..).unwrap_or_default())
}

/// The same length, and equal but for `?`.
fn is_like(pattern: &str, name: &[char]) -> bool {
    let same = |(wanted, c): (char, &char)| wanted == '?' || wanted == *c;
    pattern.chars().count() == name.len() && pattern.chars().zip(name).all(same)
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        path::{Path, PathBuf},
    };

    use super::{clean, files, matches};
    use crate::surroundings::{FileError, Surroundings};

    /// Two directories.
    struct Tree;

    impl Surroundings for Tree {
        fn variable(&self, _: &str) -> Option<String> {
            None
        }

        fn list(&self, directory: &Path) -> Result<Vec<String>, FileError> {
            let names = match directory.to_str() {
                Some("" | "/etc") => vec!["b.conf", "a.conf", ".hidden.conf", "sites", ".git"],
                Some("sites" | ".git") => vec!["x", "y"],
                _ => return Err(FileError::NotFound),
            };
            Ok(names.into_iter().map(str::to_owned).collect())
        }
    }

    fn found(pattern: &str) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let mut directories = BTreeSet::new();
        let files = files(Path::new(pattern), &Tree, &mut directories);
        (files, directories.into_iter().collect())
    }

    #[test]
    fn a_star_is_any_text_and_a_question_mark_any_character() {
        for (pattern, name) in [
            ("*", "abc"),
            ("*.conf", ".conf"),
            ("a*", "a"),
            ("a*c", "abbc"),
            ("?b*", "äbc"),
            ("*b?", "xbé"),
            ("a?c", "abc"),
            ("a", "a"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("ab*ba", "aba"),
            ("a?c", "ac"),
            ("a*", "b"),
            ("*.conf", "conf"),
            ("a", "ab"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn files_come_by_name_and_hidden_ones_only_when_asked_for() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(found("*.conf"), (paths(&["a.conf", "b.conf"]), paths(&[""])));
        assert_eq!(found("/etc/.*conf").0, paths(&["/etc/.hidden.conf"]));
        assert_eq!(
            found("*/x"),
            (paths(&[".git/x", "sites/x"]), paths(&["", ".git", "sites"]))
        );
        assert_eq!(found("nowhere/*"), (paths(&[]), paths(&["nowhere"])));
        assert_eq!(found("sites/?").0, paths(&["sites/x", "sites/y"]));
    }

    #[test]
    fn paths_are_cleaned_without_looking() {
        for (path, expected) in [
            ("a/../b", "b"),
            ("./a/./b/", "a/b"),
            ("../a", "../a"),
            ("../../a/..", "../.."),
            ("/../a", "/a"),
            ("a/..", ""),
        ] {
            assert_eq!(clean(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
