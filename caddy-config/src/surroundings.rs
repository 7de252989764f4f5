//! What a Caddyfile asks for while it is read: environment variables, and files to import.

use std::{
    collections::BTreeSet,
    error::Error,
    fmt,
    path::{Path, PathBuf},
};

/// Variables and files, for [`from_caddyfile_in`](crate::from_caddyfile_in). This crate does no I/O: a program
/// implements it on its file system, a test on a map.
///
/// Paths come as the Caddyfile leads to them: what an `import` names, relative to the directory of the file that it
/// stands in, without `.` and `..` where possible.
pub trait Surroundings {
    /// The value of an environment variable; `None` if it is not set.
    fn variable(&self, name: &str) -> Option<String>;

    /// The bytes of a file. One that is longer than `limit` bytes need not be read to its end.
    ///
    /// # Errors
    ///
    /// Why there are none. Without an own definition, there are no files.
    fn read(&self, path: &Path, limit: usize) -> Result<Vec<u8>, FileError> {
        let _ = (path, limit);
        Err(FileError::NoFiles)
    }

    /// The names of what is in a directory, in any order, without `.` and `..`. The empty path is the current
    /// directory.
    ///
    /// # Errors
    ///
    /// Why there are none. Without an own definition, there are no files.
    fn list(&self, directory: &Path) -> Result<Vec<String>, FileError> {
        let _ = directory;
        Err(FileError::NoFiles)
    }
}

/// Why a file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileError {
    /// It is a directory, or is in none.
    Directory,
    /// The configuration is read where there are no files, such as from a request.
    NoFiles,
    /// There is none.
    NotFound,
    /// Anything else, in the words of the system.
    Other(String),
    /// It is longer than the limit.
    TooLong,
}

/// The files that a configuration was read from beside its own, so that one can see when they change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Directories whose files were looked through for a pattern such as `sites/*`.
    pub directories: BTreeSet<PathBuf>,
    /// Files that were imported, or that could not be.
    pub files: BTreeSet<PathBuf>,
}

/// Variables without files.
pub(crate) struct Variables<'e>(pub(crate) &'e dyn Fn(&str) -> Option<String>);

// === impl FileError ===

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "it is a directory",
            Self::NoFiles => "there are no files here",
            Self::NotFound => "there is no such file",
            Self::Other(reason) => reason,
            Self::TooLong => "it is too long",
        })
    }
}

impl Error for FileError {}

// === impl Variables ===

impl Surroundings for Variables<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }
}
