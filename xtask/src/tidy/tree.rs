//! The text files of the project, read once.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Every text file that belongs to the project.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// In no particular order.
    pub(crate) files: Vec<File>,
}

/// One text file.
#[derive(Debug)]
pub(crate) struct File {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    /// The whole content.
    pub(crate) text: String,
}

/// What a person reads and edits; corpora, keys and images are left alone.
const EXTENSIONS: [&str; 9] = [
    "rs",
    "toml",
    "md",
    "yml",
    "yaml",
    "json",
    "Caddyfile",
    "eskip",
    "sh",
];

// === impl Tree ===

impl Tree {
    /// Reads everything below `root` except build output and hidden directories other than the project's own.
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.add(root, "")?;
        Ok(tree)
    }

    /// The Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    fn add(&mut self, directory: &Path, prefix: &str) -> Result<()> {
        let entries =
            fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() && is_ours(&name) {
                self.add(&path, &format!("{prefix}{name}/"))?;
            } else if kind.is_file() && is_text(prefix, &path) {
                let text =
                    fs::read_to_string(&path).with_context(|| format!("cannot read {prefix}{name}"))?;
                self.files.push(File {
                    path: format!("{prefix}{name}"),
                    text,
                });
            }
        }
        Ok(())
    }
}

// === impl File ===

impl File {
    /// Whether the file is only there to test, measure or show the code.
    pub(crate) fn is_test(&self) -> bool {
        let aside = ["tests", "benches", "examples", "fuzz"];
        self.path.split('/').any(|part| aside.contains(&part)) || self.path.ends_with("/tests.rs")
    }
}

fn is_ours(directory: &str) -> bool {
    match directory {
        "target" | "corpus" => false,
        ".ci" | ".cargo" => true,
        other => !other.starts_with('.'),
    }
}

fn is_text(prefix: &str, path: &Path) -> bool {
    let known = |extension: &OsStr| EXTENSIONS.iter().any(|text| extension == *text);
    prefix == ".ci/" || path.extension().is_some_and(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_reads_itself() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let tree = Tree::load(root).unwrap();
        let has = |path: &str| tree.files.iter().any(|file| file.path == path);
        assert!(has("xtask/src/tidy/tree.rs") && has(".ci/run") && has("Cargo.toml"));
        assert!(!tree.files.iter().any(|file| file.path.starts_with("target/")));
    }

    #[test]
    fn tests_are_known_by_their_place() {
        let file = |path: &str| File {
            path: path.to_owned(),
            text: String::new(),
        };
        assert!(file("a/tests/it/main.rs").is_test() && file("a/src/b/tests.rs").is_test());
        assert!(!file("xtask/src/test.rs").is_test());
    }
}
