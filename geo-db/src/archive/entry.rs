//! What an entry of the tar is, by its name and type.

use std::io::Read;

use tar::EntryType;

use super::Problem;
use crate::CountryCode;

/// An extension header of this size tells of times and owners many times over.
const EXTENSION_MOST: u64 = 16 * 1024;

/// What is to be done with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The file of a country.
    Country(CountryCode),
    /// Tells something about the entry behind it.
    Extension,
    /// Of no interest.
    Other,
}

/// What the extension headers before an entry say of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extension {
    changes_the_next: bool,
}

/// Sorts an entry by its type and name.
///
/// # Errors
///
/// If its name leads out of the archive or is longer than `longest`, or its type changes how the tar is to be read.
pub(super) fn kind(entry: EntryType, name: &[u8], longest: usize) -> Result<Kind, Problem> {
    if name.len() > longest {
        return Err(Problem::Name);
    }
    match entry {
        EntryType::XHeader | EntryType::GNULongName | EntryType::GNULongLink => return Ok(Kind::Extension),
        // More headers may follow where others have their data.
        EntryType::GNUSparse => return Err(Problem::Extension),
        EntryType::XGlobalHeader => return Ok(Kind::Other),
        _ => {}
    }
    if name.first() == Some(&b'/') || name.split(|byte| *byte == b'/').any(|part| part == b"..") {
        return Err(Problem::Name);
    }
    match country(name) {
        Some(code) if entry.is_file() => Ok(Kind::Country(code)),
        _ => Ok(Kind::Other),
    }
}

/// The country of `<folder>/country/<cc>/<cc>.json`; there may be several folders.
fn country(name: &[u8]) -> Option<CountryCode> {
    let mut parts = name.rsplit(|byte| *byte == b'/');
    let stem = parts.next()?.strip_suffix(b".json")?;
    let folder = parts.next()?;
    let inside = parts.next()? == b"country" && parts.next().is_some();
    if !inside || !stem.eq_ignore_ascii_case(folder) {
        return None;
    }
    CountryCode::from_bytes(folder.try_into().ok()?)
}

// === impl Extension ===

impl Extension {
    /// Takes one extension header.
    ///
    /// # Errors
    ///
    /// If it gives the next entry another size: readers that disagree about sizes see different archives.
    pub(super) fn read<R: Read>(&mut self, entry: &mut tar::Entry<'_, R>) -> Result<(), Problem> {
        if entry.size() > EXTENSION_MOST {
            return Err(Problem::Extension);
        }
        if entry.header().entry_type() != EntryType::XHeader {
            self.changes_the_next |= entry.header().entry_type() == EntryType::GNULongName;
            return Ok(());
        }
        let mut records = Vec::new();
        entry.read_to_end(&mut records).map_err(Problem::from_io)?;
        for record in tar::PaxExtensions::new(&records) {
            let record = record.map_err(|_| Problem::Extension)?;
            match record.key_bytes() {
                b"size" => return Err(Problem::Extension),
                b"path" | b"linkpath" => self.changes_the_next = true,
                key if key.starts_with(b"GNU.sparse.") => self.changes_the_next = true,
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether the next entry is another file than its header says.
    pub(super) fn changes_the_next(self) -> bool {
        self.changes_the_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_files_of_countries_count() {
        let code = |name: &str| country(name.as_bytes()).map(|code| code.to_string());
        for name in [
            "geo-ip-blocks-master/country/us/us.json",
            "./country/us/us.json",
            "a/b/country/us/us.json",
            "a/country/US/us.json",
        ] {
            assert_eq!(code(name).as_deref(), Some("US"), "{name}");
        }
        for name in [
            "",
            "us.json",
            "country/us/us.json",
            "a/country/us/us.txt",
            "a/country/us/us.json/",
            "a/country/us/de.json",
            "a/country/usa/usa.json",
            "a/country/u1/u1.json",
            "a/countries/us/us.json",
            "a/country/us/deep/us.json",
            "a/country/us/us.json\0",
        ] {
            assert_eq!(code(name), None, "{name}");
        }
    }

    #[test]
    fn names_that_lead_out_are_refused() {
        let of = |name: &str| kind(EntryType::Regular, name.as_bytes(), 40);
        for name in [
            "/etc/passwd",
            "../x",
            "a/../../b",
            "a/country/us/../us.json",
            &"a".repeat(41),
        ] {
            assert!(matches!(of(name), Err(Problem::Name)), "{name}");
        }
        assert_eq!(of("a/..b/c..").unwrap(), Kind::Other);
    }
}
