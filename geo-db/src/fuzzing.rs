//! The bodies of the fuzz targets, here so that ordinary tests can replay their corpora.

use std::net::IpAddr;

use crate::{
    CountryCode,
    archive::{self, Limits},
    ipverse,
    table::Builder,
};

/// Small, so that a fuzzer's time goes into the reader and not into zeros.
fn limits() -> Limits {
    Limits {
        packed: 1 << 20,
        unpacked: 4 << 20,
        entries: 100,
        file: 1 << 20,
        prefixes: 10_000,
        ..Limits::default()
    }
}

/// Reads `data` as an archive, and as the tar inside of one.
///
/// # Panics
///
/// If a table is made that breaks a promise.
pub fn archive(data: &[u8]) {
    for read in [archive::read(data, &limits()), archive::read_tar(data, &limits())] {
        match read {
            Ok(table) => {
                assert!(!table.is_empty());
                assert!(table.counts().total() <= 10_000);
            }
            Err(error) => printable(&error.to_string()),
        }
    }
}

/// Reads `data` as the file of Germany.
///
/// # Panics
///
/// If a table is made that breaks a promise.
pub fn country(data: &[u8]) {
    let code: CountryCode = "DE".parse().expect("DE is a code");
    let mut builder = Builder::default();
    match ipverse::read(data, code, &mut builder, &limits()) {
        Ok(()) => {
            let added = builder.len();
            let table = builder.build().expect("a few prefixes fit");
            assert_eq!(table.counts().total(), added);
            for address in ["0.0.0.0", "255.255.255.255", "::", "2001:db8::1", "ffff::"] {
                let address: IpAddr = address.parse().expect("an address");
                assert!(table.lookup(address).is_none_or(|found| found == code));
            }
        }
        Err(problem) => printable(&problem.to_string()),
    }
}

fn printable(text: &str) {
    assert!(text.len() < 1000 && !text.contains(char::is_control), "{text:?}");
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    fn replay(corpus: &str, target: fn(&[u8])) {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join(corpus);
        let mut replayed = 0;
        for entry in fs::read_dir(corpus).unwrap() {
            target(&fs::read(entry.unwrap().path()).unwrap());
            replayed += 1;
        }
        assert!(replayed > 0);
    }

    #[test]
    fn the_corpora_break_no_promise() {
        replay("fuzz/corpus/archive", super::archive);
        replay("fuzz/corpus/country", super::country);
    }
}
