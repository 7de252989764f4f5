//! From the archive of [ipverse/geo-ip-blocks](https://github.com/ipverse/geo-ip-blocks) to a table.
//!
//! The archive is a gzipped tar with a file `<folder>/country/<cc>/<cc>.json` for each country. Only regular files of
//! such names count. Links, devices, folders, and files whose name or size an extension header changes are passed
//! over; names that lead out of the archive are refused. Nothing is ever written to disk from it.

mod entry;
mod error;
mod limits;

use std::io::{self, Read};

use self::{
    entry::{Extension, Kind},
    limits::Unpacked,
};
pub use self::{
    error::{ArchiveError, Problem},
    limits::Limits,
};
use crate::{CountryCode, Table, ipverse, table::Builder};

/// Reads a whole archive. Compressed bytes are read in pieces, each country's file at once; `from` needs no buffer of
/// its own.
///
/// # Errors
///
/// If anything in the archive is bad, beyond `limits`, or missing; see [`Problem`]. There is no table of the rest.
pub fn read(mut from: impl Read, limits: &Limits) -> Result<Table, ArchiveError> {
    // The most usual mistake, a page of HTML, is worth a message of its own.
    let mut magic = Vec::new();
    let begun = from.by_ref().take(2).read_to_end(&mut magic);
    begun.map_err(ArchiveError::io)?;
    if magic != [0x1f, 0x8b] {
        return Err(Problem::NotGzip.into());
    }
    let from = magic.as_slice().chain(from);
    unpacked(Unpacked::new(from, limits), limits)
}

/// Reads the tar of an archive, for fuzzers: they would not find their way through the checksums of gzip.
#[cfg(any(test, fuzzing))]
pub(crate) fn read_tar(from: &[u8], limits: &Limits) -> Result<Table, ArchiveError> {
    unpacked(from, limits)
}

fn unpacked(tar: impl Read, limits: &Limits) -> Result<Table, ArchiveError> {
    let mut archive = tar::Archive::new(tar);
    let builder = entries(&mut archive, limits).and_then(|builder| {
        // What is behind the last entry belongs to the archive, too: its checksum is at the very end.
        let mut rest = archive.into_inner();
        io::copy(&mut rest, &mut io::sink()).map_err(ArchiveError::io)?;
        Ok(builder)
    })?;
    if builder.len() == 0 {
        return Err(Problem::Empty.into());
    }
    builder.build().map_err(|error| Problem::Table(error).into())
}

fn entries<R: Read>(archive: &mut tar::Archive<R>, limits: &Limits) -> Result<Builder, ArchiveError> {
    let mut builder = Builder::default();
    let mut seen: Vec<CountryCode> = Vec::new();
    let mut buffer = Vec::new();
    let mut extension = Extension::default();
    let mut count: u32 = 0;

    // Raw: the extension headers are looked at below, so that none can change what the next file is taken for.
    for entry in archive.entries().map_err(ArchiveError::io)?.raw(true) {
        let mut entry = entry.map_err(ArchiveError::io)?;
        count = count.saturating_add(1);
        if count > limits.entries {
            return Err(Problem::Entries.into());
        }
        let name = entry.path_bytes().into_owned();
        let kind = entry::kind(entry.header().entry_type(), &name, limits.name)
            .map_err(|problem| ArchiveError::in_file(&name, problem))?;
        match kind {
            Kind::Extension => {
                let failed = |problem| ArchiveError::in_file(&name, problem);
                extension.read(&mut entry).map_err(failed)?;
                continue;
            }
            Kind::Country(code) if !extension.changes_the_next() => {
                let read = |problem| ArchiveError::in_file(&name, problem);
                if seen.contains(&code) {
                    return Err(read(Problem::Twice));
                }
                seen.push(code);
                whole(&mut entry, &mut buffer, limits).map_err(read)?;
                ipverse::read(&buffer, code, &mut builder, limits).map_err(read)?;
            }
            Kind::Country(_) | Kind::Other => {}
        }
        extension = Extension::default();
    }
    Ok(builder)
}

/// Reads an entry into the buffer that all of them share.
fn whole<R: Read>(
    entry: &mut tar::Entry<'_, R>,
    buffer: &mut Vec<u8>,
    limits: &Limits,
) -> Result<(), Problem> {
    buffer.clear();
    if entry.size() > limits.file {
        return Err(Problem::File);
    }
    let read = entry.read_to_end(buffer).map_err(Problem::from_io)?;
    if read as u64 == entry.size() {
        Ok(())
    } else {
        Err(Problem::Damaged(io::ErrorKind::UnexpectedEof.into()))
    }
}
