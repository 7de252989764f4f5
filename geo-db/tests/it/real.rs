//! The whole archive of ipverse/geo-ip-blocks, for those who have it: `GEO_ARCHIVE=<file> GEO_VECTORS=<file> cargo test
//! -p geo-db`. The vectors are lines `address<TAB>country`, `-` for none, `#` for remarks.

use std::{env, fs, io::BufReader};

use geo_db::archive::{self, Limits};

#[test]
#[expect(clippy::disallowed_methods, reason = "a test may be told where its data is")]
fn the_whole_archive_answers_all_vectors() {
    let (Ok(archive), Ok(vectors)) = (env::var("GEO_ARCHIVE"), env::var("GEO_VECTORS")) else {
        eprintln!("skipped: GEO_ARCHIVE and GEO_VECTORS name no files");
        return;
    };
    let table = archive::read(fs::File::open(archive).unwrap(), &Limits::default()).unwrap();
    assert!(table.bytes() < 4 << 20, "{} bytes", table.bytes());

    let vectors = BufReader::new(fs::File::open(vectors).unwrap());
    let lines = std::io::BufRead::lines(vectors).map(Result::unwrap);
    let mut checked = 0;
    for line in lines.filter(|line| !line.starts_with('#')) {
        let (address, expected) = line.split_once('\t').unwrap();
        let found = table.lookup(address.parse().unwrap());
        let found = found.map_or_else(|| "-".to_owned(), |code| code.to_string());
        assert_eq!(found, expected, "{address}");
        checked += 1;
    }
    assert!(checked > 0);
    eprintln!("{checked} vectors, {:?}, {} bytes", table.counts(), table.bytes());
}
