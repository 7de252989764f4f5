//! The variables and files that a Caddyfile may ask for: the environment and the file system of this process.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use caddy_config::{FileError, Surroundings};

use crate::settings::Environment;

/// What a Caddyfile may ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files(pub(crate) Environment);

// === impl Files ===

impl Surroundings for Files {
    fn variable(&self, name: &str) -> Option<String> {
        self.0.get(name).map(str::to_owned)
    }

    fn read(&self, path: &Path, limit: usize) -> Result<Vec<u8>, FileError> {
        let kind = fs::metadata(path).map_err(|error| reason(&error))?.file_type();
        if kind.is_dir() {
            return Err(FileError::Directory);
        }
        // Opening a pipe would wait for someone to write to it.
        if !kind.is_file() {
            return Err(FileError::Other("it is not a regular file".to_owned()));
        }
        let file = File::open(path).map_err(|error| reason(&error))?;
        let mut bytes = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        file.take(most)
            .read_to_end(&mut bytes)
            .map_err(|error| reason(&error))?;
        if bytes.len() > limit {
            return Err(FileError::TooLong);
        }
        Ok(bytes)
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, FileError> {
        let directory = if directory.as_os_str().is_empty() {
            Path::new(".")
        } else {
            directory
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(directory).map_err(|error| reason(&error))? {
            // A name that is not UTF-8 matches no pattern that a Caddyfile can hold.
            names.extend(entry.map_err(|error| reason(&error))?.file_name().into_string());
        }
        Ok(names)
    }
}

/// All that is there, unless it has more bytes than `most`: a device may never end.
pub(crate) fn read_whole(from: impl io::Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    from.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        let message = format!("it is longer than {} MiB", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

fn reason(error: &io::Error) -> FileError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileError::NotFound,
        io::ErrorKind::IsADirectory => FileError::Directory,
        _ => FileError::Other(error.to_string()),
    }
}
