//! Unix sockets to listen on: who may use one is settled before anybody can, and its file goes with it.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

/// Connections that may wait for an accept.
const BACKLOG: i32 = 4096;

/// The file of a socket; removed when dropped, unless another one has taken its place.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and number of the file.
    identity: (u64, u64),
}

/// Listens on `path`, where only those may connect whom `mode` lets write; or, if it begins with `@`, on one of Linux's
/// abstract names, which are no files and have no permissions.
///
/// # Errors
///
/// If somebody listens there, if something else than a socket is there (a symbolic link too: whoever made it may
/// not be one who may replace what it leads to), or if the system refuses.
pub(crate) fn bind(path: &str, mode: u32) -> io::Result<(UnixListener, Option<SocketFile>)> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    if let Some(name) = path.strip_prefix('@') {
        socket.bind(&SockAddr::unix(format!("\0{name}"))?)?;
        socket.listen(BACKLOG)?;
        return Ok((socket.into(), None));
    }
    let path = Path::new(path);
    make_way(path)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let file = SocketFile::of(path)?;
    // Nobody can connect before it listens.
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    socket.listen(BACKLOG)?;
    Ok((socket.into(), Some(file)))
}

// === impl SocketFile ===

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        Ok(Self {
            path: path.to_owned(),
            identity: (found.dev(), found.ino()),
        })
    }

    /// Lets others connect from now on.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        fs::set_permissions(&self.path, Permissions::from_mode(mode))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = |found: fs::Metadata| (found.dev(), found.ino()) == self.identity;
        if fs::symlink_metadata(&self.path).is_ok_and(is_ours) {
            // If it cannot be removed, the next one to listen there finds it stale.
            let _stale = fs::remove_file(&self.path);
        }
    }
}

/// Removes a socket on which nobody listens any more.
fn make_way(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let other = |what| Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
    if found.is_symlink() {
        return other("a symbolic link is in its place; remove it, or write the path that it leads to");
    }
    if !found.is_socket() {
        return other("a file that is no socket is in its place; remove it, or choose another path");
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => Err(io::ErrorKind::AddrInUse.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn place() -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock").display().to_string();
        (folder, path)
    }

    fn names(folder: &tempfile::TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_socket_has_its_mode_and_is_gone_when_it_is_dropped() {
        let (folder, path) = place();
        let (listener, file) = bind(&path, 0o640).unwrap();
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o640);
        UnixStream::connect(&path).unwrap();
        let file = file.unwrap();
        file.set_mode(0o600).unwrap();
        assert_eq!(mode(), 0o600);
        drop((listener, file));
        assert_eq!(names(&folder), [""; 0]);
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let (folder, path) = place();
        drop(UnixListener::bind(&path).unwrap());
        let _live = bind(&path, 0o600).unwrap();
        let error = bind(&path, 0o600).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert_eq!(names(&folder), ["a.sock"]);
    }

    #[test]
    fn the_file_of_another_socket_is_left_alone() {
        let (_folder, path) = place();
        let first = bind(&path, 0o600).unwrap();
        fs::remove_file(&path).unwrap();
        let _second = bind(&path, 0o600).unwrap();
        drop(first);
        UnixStream::connect(&path).unwrap();
    }

    #[test]
    fn what_is_no_socket_stays() {
        let (folder, path) = place();
        fs::write(&path, "precious").unwrap();
        assert_eq!(
            bind(&path, 0o600).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        let link = folder.path().join("link").display().to_string();
        symlink(folder.path().join("nowhere"), &link).unwrap();
        let error = bind(&link, 0o600).unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
    }

    #[test]
    fn an_abstract_name_is_no_file() {
        let name = format!("@doorway-test-{}", std::process::id());
        let (_listener, file) = bind(&name, 0o600).unwrap();
        assert!(file.is_none());
        assert_eq!(bind(&name, 0o600).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }
}
