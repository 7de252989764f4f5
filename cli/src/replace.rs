//! Files that are replaced as a whole.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Writes `text` to `path` in such a way that, whatever happens, the old text or the new one is there, whole. The file
/// that a link leads to is replaced, not the link, and keeps its mode. What is no regular file, such as a pipe, is
/// written to as it is, and so is a file that is named by being open, as `/dev/stdout` does.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let (path, mode) = match fs::metadata(path) {
        Ok(found) if !found.is_file() || path.starts_with("/dev") || path.starts_with("/proc") => {
            return fs::write(path, text);
        }
        Ok(found) => (fs::canonicalize(path)?, Some(found.permissions())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), None),
        Err(error) => return Err(error),
    };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or_else(|| Path::new("."));
    // In the same directory, so that it can be renamed. A new file gets the mode that any new file gets here.
    let mut builder = tempfile::Builder::new();
    let mut file = builder
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    if let Some(mode) = mode {
        file.as_file().set_permissions(mode)?;
    }
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    // The name is on disk once its directory is.
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_keeps_its_mode_and_its_links() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            (fs::read_to_string(&file).unwrap().as_str(), mode(&file)),
            ("new", 0o640)
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_new_file_is_as_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, other) = (folder.path().join("ours"), folder.path().join("other"));
        replace(&ours, "text").unwrap();
        fs::write(&other, "text").unwrap();
        assert_eq!(mode(&ours), mode(&other));
        assert!(replace(&folder.path().join("none/file"), "").is_err());
    }
}
