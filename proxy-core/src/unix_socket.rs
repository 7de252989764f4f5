//! Unix sockets to listen on: bound beside the place where they will be found, then moved there.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

/// Connections that may wait for an accept.
const BACKLOG: i32 = 4096;

/// A bound socket that nobody finds before [`Bound::settle`].
#[derive(Debug)]
pub(crate) struct Bound {
    /// Listening already, so that nobody is refused who finds it.
    pub(crate) listener: UnixListener,
    file: Option<Unsettled>,
}

/// The file of a socket that is not where it is to be found; removed when dropped.
#[derive(Debug)]
struct Unsettled {
    now: PathBuf,
    path: PathBuf,
}

/// The file of a socket; removed when dropped, unless another one has taken its place.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and number of the file.
    identity: (u64, u64),
}

/// Binds a socket for `path`, which only those may use whom `mode` lets write; or, if the path begins with `@`, for
/// one of Linux's abstract names, which have no permissions.
///
/// `ours` says that a live socket at `path` is this process's own, which will be replaced.
///
/// # Errors
///
/// If somebody listens there, if something else than a socket is there (a symbolic link too: whoever made it may
/// not be one who may replace what it leads to), or if the system refuses.
pub(crate) fn bind(path: &str, mode: u32, ours: bool) -> io::Result<Bound> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    if let Some(name) = path.strip_prefix('@') {
        socket.bind(&SockAddr::unix(format!("\0{name}"))?)?;
        socket.listen(BACKLOG)?;
        return Ok(Bound {
            listener: socket.into(),
            file: None,
        });
    }
    let path = Path::new(path);
    check_free(path, ours)?;
    let file = Unsettled {
        now: beside(path),
        path: path.to_owned(),
    };
    if check_free(&file.now, false).is_ok() {
        // Of a process that ended between two steps.
        let _absent = fs::remove_file(&file.now);
    }
    socket.bind(&SockAddr::unix(&file.now)?)?;
    // Before anybody can connect.
    fs::set_permissions(&file.now, Permissions::from_mode(mode))?;
    socket.listen(BACKLOG)?;
    Ok(Bound {
        listener: socket.into(),
        file: Some(file),
    })
}

// === impl Bound ===

impl Bound {
    /// Puts the socket where it is to be found, in one step with the removal of what was there.
    pub(crate) fn settle(self) -> io::Result<(UnixListener, Option<SocketFile>)> {
        let file = self.file.map(Unsettled::settle).transpose()?;
        Ok((self.listener, file))
    }
}

// === impl Unsettled ===

impl Unsettled {
    fn settle(self) -> io::Result<SocketFile> {
        let found = fs::symlink_metadata(&self.now)?;
        fs::rename(&self.now, &self.path)?;
        Ok(SocketFile {
            path: self.path.clone(),
            identity: (found.dev(), found.ino()),
        })
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        // Gone, once it is settled.
        let _settled = fs::remove_file(&self.now);
    }
}

// === impl SocketFile ===

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = |found: fs::Metadata| (found.dev(), found.ino()) == self.identity;
        if fs::symlink_metadata(&self.path).is_ok_and(is_ours) {
            // If it cannot be removed, the next one to listen there finds it stale.
            let _stale = fs::remove_file(&self.path);
        }
    }
}

/// Whether a socket may take the place `path`.
fn check_free(path: &Path, ours: bool) -> io::Result<()> {
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
    if ours || UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        return Ok(());
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// Where a socket waits before it is moved to `path`: in the same directory.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("~");
    name.into()
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
    fn a_socket_is_found_once_it_is_settled_and_gone_when_it_is_dropped() {
        let (folder, path) = place();
        let bound = bind(&path, 0o640, false).unwrap();
        assert!(UnixStream::connect(&path).is_err());
        let settled = bound.settle().unwrap();
        assert_eq!(names(&folder), ["a.sock"]);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        UnixStream::connect(&path).unwrap();
        drop(settled);
        assert_eq!(names(&folder), [""; 0]);
    }

    #[test]
    fn one_that_is_not_settled_leaves_nothing() {
        let (folder, path) = place();
        drop(bind(&path, 0o600, false).unwrap());
        assert_eq!(names(&folder), [""; 0]);
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let (folder, path) = place();
        drop(UnixListener::bind(&path).unwrap());
        drop(UnixListener::bind(format!("{path}~")).unwrap());
        let settled = bind(&path, 0o600, false).unwrap().settle().unwrap();
        UnixStream::connect(&path).unwrap();
        let error = bind(&path, 0o600, false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        let next = bind(&path, 0o600, true).unwrap().settle().unwrap();
        drop(settled);
        assert_eq!(
            names(&folder),
            ["a.sock"],
            "the old one does not remove the new one"
        );
        UnixStream::connect(&path).unwrap();
        drop(next);
    }

    #[test]
    fn what_is_no_socket_stays() {
        let (folder, path) = place();
        fs::write(&path, "precious").unwrap();
        assert_eq!(
            bind(&path, 0o600, false).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        let link = folder.path().join("link").display().to_string();
        symlink(folder.path().join("nowhere"), &link).unwrap();
        let error = bind(&link, 0o600, false).unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
    }

    #[test]
    fn an_abstract_name_is_no_file() {
        let name = format!("@doorway-test-{}", std::process::id());
        let bound = bind(&name, 0o600, false).unwrap();
        assert_eq!(
            bind(&name, 0o600, false).unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
        assert!(bound.settle().unwrap().1.is_none());
    }
}
