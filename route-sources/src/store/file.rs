//! The file that keeps the routes of a store for a start while the store is away.
//!
//! Its first line says what it is, of which store and revision, and a checksum of the rest; each further line is a route.

use std::io::{Read, Write};
use std::path::Path;

use route_store::document::read;
use route_store::{Revision, StoredRoute};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::entry::Entry;
use super::table::{Table, Terms};

/// What files of this kind say that they are.
const FORMAT: &str = "doorway-routes";
/// What is written.
const VERSION: u32 = 1;
/// Larger files are not read: 1 GiB.
const LONGEST: u64 = 1 << 30;

/// Why a file is of no use.
#[derive(Debug, Error)]
pub(super) enum FileError {
    #[error("it cannot be read: {0}")]
    Read(std::io::Error),
    #[error("it cannot be written: {0}")]
    Write(std::io::Error),
    #[error("it is larger than 1 GiB")]
    TooLong,
    #[error("it is no file of routes")]
    Foreign,
    #[error("its format has version {0}, and this program reads version {VERSION}")]
    Newer(u32),
    #[error("it is of another store")]
    OtherStore,
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
}

/// What can be said of any version.
#[derive(Deserialize)]
struct Kind {
    format: String,
    version: u32,
}

/// The first line.
#[derive(Deserialize, Serialize)]
struct Head {
    format: String,
    version: u32,
    identity: String,
    revision: Option<Revision>,
    routes: usize,
    checksum: String,
}

/// A route.
#[derive(Deserialize, Serialize)]
struct Line {
    stored: StoredRoute,
    /// The last good document, if it is not the one that is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    good: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    lost: bool,
    /// How it was before the store went back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    older: Option<StoredRoute>,
}

/// Reads a file; `None` if there is none.
pub(super) fn load(path: &Path, identity: &str, terms: Terms) -> Result<Option<Table>, FileError> {
    let file = match std::fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(FileError::Read)?,
    };
    let mut bytes = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(FileError::Read)?;
    if bytes.len() as u64 > LONGEST {
        return Err(FileError::TooLong);
    }
    decode(&bytes, identity, terms).map(Some)
}

/// Writes a file in the place of the one that is there, which only the owner may read. Whoever reads sees the old one or the
/// new one, after a crash too.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let write = || {
        std::fs::create_dir_all(folder)?;
        // It is created for its owner alone.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        std::fs::File::open(folder)?.sync_all()
    };
    write().map_err(FileError::Write)
}

/// The file as bytes.
pub(super) fn encode(table: &Table, identity: &str) -> Vec<u8> {
    let mut body = Vec::new();
    for (host, entry) in &table.entries {
        let good = entry.good.as_ref().filter(|_| entry.fault.is_some());
        let line = Line {
            stored: entry.stored(host),
            good: good.map(|good| good.to_json()),
            lost: entry.is_lost,
            older: table.older.get(&**host).cloned(),
        };
        push(&mut body, &line);
    }
    let head = Head {
        format: FORMAT.to_owned(),
        version: VERSION,
        identity: identity.to_owned(),
        revision: table.revision,
        routes: table.entries.len(),
        checksum: checksum(table.revision, &body),
    };
    let mut bytes = Vec::with_capacity(body.len() + 512);
    push(&mut bytes, &head);
    bytes.append(&mut body);
    bytes
}

pub(super) fn decode(bytes: &[u8], identity: &str, terms: Terms) -> Result<Table, FileError> {
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .ok_or(FileError::Foreign)?;
    let (first, rest) = bytes.split_at(end);
    let body = rest.get(1..).unwrap_or_default();
    let kind: Kind = serde_json::from_slice(first).map_err(|_| FileError::Foreign)?;
    if kind.format != FORMAT {
        return Err(FileError::Foreign);
    }
    if kind.version != VERSION {
        return Err(FileError::Newer(kind.version));
    }
    let head: Head = serde_json::from_slice(first).map_err(|_| FileError::Damaged("its first line"))?;
    if head.identity != identity {
        return Err(FileError::OtherStore);
    }
    if head.checksum != checksum(head.revision, body) {
        return Err(FileError::Damaged("its checksum is another"));
    }
    let mut table = Table {
        revision: head.revision,
        ..Table::default()
    };
    for line in body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line: Line = serde_json::from_slice(line).map_err(|_| FileError::Damaged("one of its routes"))?;
        let good = line
            .good
            .and_then(|good| read(&good).ok())
            .map(std::sync::Arc::new);
        let host = line.stored.host.clone();
        let mut entry = Entry::read(line.stored, good, terms.newer);
        entry.is_lost = line.lost;
        table.older.extend(line.older.map(|older| (host.clone(), older)));
        table.entries.insert(host.into(), entry);
    }
    if table.entries.len() != head.routes {
        return Err(FileError::Damaged("routes are missing"));
    }
    Ok(table)
}

fn push(to: &mut Vec<u8>, line: &impl Serialize) {
    // Texts and numbers can always be written, and a vector takes them; should a line be missing, the file is refused.
    if serde_json::to_writer(&mut *to, line).is_ok() {
        to.push(b'\n');
    }
}

/// FNV-1a, which tells damage and no more: whoever may write the file may write the checksum too.
fn checksum(revision: Option<Revision>, body: &[u8]) -> String {
    let revision = revision.map(|revision| revision.to_string()).unwrap_or_default();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in revision.as_bytes().iter().chain(body) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests;
