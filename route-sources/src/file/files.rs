//! Reading files without being held up by them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The bytes that a file may have.
pub(super) const MAX_BYTES: u64 = 64 << 20;
/// The files that a directory may give.
const MAX_FILES: usize = 10_000;

/// What a path was seen to hold.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen {
    Bytes(Arc<[u8]>),
    Missing,
    /// It is there and cannot be read, for this reason.
    Unreadable(String),
}

/// What all paths were seen to hold at one time, in the order in which their routes count.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Look {
    pub(super) files: Vec<(PathBuf, Seen)>,
    /// Files that others import.
    pub(super) imports: BTreeMap<PathBuf, Seen>,
}

/// Looks at all paths: files, directories, and patterns with `*` in their last part. What was seen earlier in a directory and is
/// not there any more is listed as missing.
pub(super) fn look(paths: &[PathBuf], known: &[PathBuf], imports: &[PathBuf]) -> Look {
    let mut files: Vec<(PathBuf, Seen)> = Vec::new();
    let mut listed = std::collections::BTreeSet::new();
    for path in paths {
        for path in expand(path) {
            if listed.insert(path.clone()) {
                let seen = read(&path);
                files.push((path, seen));
            }
        }
    }
    for path in known {
        if listed.insert(path.clone()) {
            files.push((path.clone(), Seen::Missing));
        }
    }
    let imports = imports.iter().map(|path| (path.clone(), read(path)));
    Look {
        files,
        imports: imports.collect(),
    }
}

/// Reads a regular file. Whatever else a path leads to, such as a pipe nobody writes to, is not even opened.
pub(super) fn read(path: &Path) -> Seen {
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Seen::Missing,
        _ => Seen::Unreadable(error.to_string()),
    };
    match fs::metadata(path) {
        Ok(data) if !data.is_file() => return Seen::Unreadable("it is no regular file".to_owned()),
        Ok(data) if data.len() > MAX_BYTES => return too_long(),
        Ok(_) => {}
        Err(error) => return unreadable(error),
    }
    let mut bytes = Vec::new();
    let file = File::open(path);
    match file.and_then(|file| file.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut bytes)) {
        Ok(length) if u64::try_from(length).is_ok_and(|length| length <= MAX_BYTES) => {
            Seen::Bytes(bytes.into())
        }
        Ok(_) => too_long(),
        Err(error) => unreadable(error),
    }
}

fn too_long() -> Seen {
    Seen::Unreadable("it is longer than 64 MiB".to_owned())
}

/// The files that a path of the settings stands for.
fn expand(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str());
    match name {
        Some(pattern) if pattern.contains('*') => {
            let folder = path.parent().unwrap_or_else(|| Path::new(""));
            list(folder, |name| matches(pattern, name))
        }
        _ if path.is_dir() => list(path, is_read),
        _ => vec![path.to_owned()],
    }
}

/// The entries of a directory, by name. A hidden file is one that an editor has not finished.
fn list(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let here = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let entries = fs::read_dir(here).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| !name.starts_with('.') && wanted(name))
        .collect();
    names.sort_unstable();
    names.truncate(MAX_FILES);
    let paths = names.into_iter().map(|name| folder.join(name));
    paths.filter(|path| !path.is_dir()).collect()
}

fn is_read(name: &str) -> bool {
    let extension = Path::new(name)
        .extension()
        .and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "hcl" | "json"))
}

/// Whether a name is like a pattern, in which a `*` is any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        // The first place is the best one, as it leaves the most.
        let Some((_, behind)) = name.split_once(part) else {
            return false;
        };
        name = behind;
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text() {
        for (pattern, name, expected) in [
            ("*", "a.yaml", true),
            ("*.yaml", "a.yaml", true),
            ("*.yaml", "a.yml", false),
            ("a*.y*ml", "ab.yaml", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("a*bb*b", "abb", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn directories_give_their_files_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "b.yaml", "a.hcl", "c.txt", ".d.yaml", "e.json", "f.yml", "g.yaml~",
        ] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        fs::create_dir(folder.path().join("h.yaml")).unwrap();
        let names = |path: &Path| -> Vec<String> {
            let look = look(&[path.to_owned()], &[], &[]);
            let names = look
                .files
                .iter()
                .map(|(path, _)| path.file_name().unwrap().to_str().unwrap().to_owned());
            names.collect()
        };
        assert_eq!(names(folder.path()), ["a.hcl", "b.yaml", "e.json", "f.yml"]);
        assert_eq!(names(&folder.path().join("*.yaml")), ["b.yaml"]);
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.yaml");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        for path in [pipe.as_path(), folder.path(), Path::new("/dev/zero")] {
            assert!(matches!(read(path), Seen::Unreadable(_)), "{path:?}");
        }
        assert_eq!(read(&folder.path().join("none")), Seen::Missing);
        let long = File::create(folder.path().join("long")).unwrap();
        long.set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(read(&folder.path().join("long")), too_long());
    }
}
