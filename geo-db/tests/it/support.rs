//! Archives made for tests.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use geo_db::{
    Table,
    archive::{self, ArchiveError, Limits},
};
use tar::{EntryType, Header};

/// The files of ten small countries, as ipverse made them.
pub(crate) const COUNTRIES: [(&str, &str); 10] = [
    ("bl", include_str!("../data/bl.json")),
    ("bn", include_str!("../data/bn.json")),
    ("bs", include_str!("../data/bs.json")),
    ("cm", include_str!("../data/cm.json")),
    ("gf", include_str!("../data/gf.json")),
    ("gg", include_str!("../data/gg.json")),
    ("ls", include_str!("../data/ls.json")),
    ("pw", include_str!("../data/pw.json")),
    ("wf", include_str!("../data/wf.json")),
    ("yt", include_str!("../data/yt.json")),
];

/// A tar that grows.
#[derive(Default)]
pub(crate) struct Tar(Vec<u8>);

impl Tar {
    /// A regular file.
    pub(crate) fn file(self, name: &str, content: &str) -> Self {
        self.entry(EntryType::Regular, name.as_bytes(), content.as_bytes())
    }

    /// The file of a country, where it belongs.
    pub(crate) fn country(self, code: &str, content: &str) -> Self {
        self.file(
            &format!("geo-ip-blocks-master/country/{code}/{code}.json"),
            content,
        )
    }

    /// Anything, with a name that no writer of tars would allow.
    pub(crate) fn entry(self, kind: EntryType, name: &[u8], content: &[u8]) -> Self {
        self.sized(kind, name, content, content.len() as u64)
    }

    /// An entry whose header names another size.
    pub(crate) fn sized(mut self, kind: EntryType, name: &[u8], content: &[u8], size: u64) -> Self {
        let mut header = Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub(crate) fn gzip(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        gzip(&self.0)
    }

    pub(crate) fn read(self) -> Result<Table, ArchiveError> {
        archive::read(&*self.gzip(), &Limits::default())
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The ten countries, packed as ipverse's archive is.
pub(crate) fn ten() -> Vec<u8> {
    let start = Tar::default()
        .entry(
            EntryType::XGlobalHeader,
            b"pax_global_header",
            b"52 comment=0123456789012345678901234567890123456789\n",
        )
        .entry(EntryType::Directory, b"geo-ip-blocks-master/country/", b"")
        .file("geo-ip-blocks-master/README.md", "# geo-ip-blocks");
    let all = COUNTRIES.iter().fold(start, |tar, (code, content)| {
        tar.file(
            &format!("geo-ip-blocks-master/country/{code}/{code}-ipv4.txt"),
            "1.0.0.0/8",
        )
        .country(code, content)
    });
    all.gzip()
}

/// A country's file with some IPv4 prefixes.
pub(crate) fn json(code: &str, prefixes: &[&str]) -> String {
    format!(r#"{{"countryCode": "{code}", "prefixes": {{"ipv4": {prefixes:?}, "ipv6": []}}}}"#)
}
