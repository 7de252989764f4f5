//! The configuration on disk, so that a restart can go on with it.

use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use tempfile::NamedTempFile;

/// Writes `text` to `path` in such a way that, whatever happens, the old text or the new one is there, whole. Only its
/// owner may read it: a configuration holds secrets. Waits for the disk.
pub(super) fn save(path: &Path, text: &str) -> io::Result<()> {
    let directory = path
        .parent()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no directory"))?;
    if !directory.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    // Made with mode 0600, in the same directory, so that it can be renamed.
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The name is on disk once its directory is.
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_saved_is_there_whole_and_only_its_owner_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/autosave.json");
        for text in ["{\"a\":1}", "{}"] {
            save(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("autosave.json");
        fs::create_dir(&path).unwrap();
        assert!(save(&path, "{}").is_err());
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no temporary file stays"
        );
    }
}
