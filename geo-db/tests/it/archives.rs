//! Good archives are read, and no bad one leaves a table.

use geo_db::archive::{self, ArchiveError, Limits, Problem};
use tar::EntryType;

use crate::support::{COUNTRIES, Tar, gzip, json, ten};

const DE: &str =
    r#"{"countryCode": "DE", "prefixes": {"ipv4": ["192.0.2.0/24"], "ipv6": ["2001:db8::/32"]}}"#;

fn error(tar: Tar) -> ArchiveError {
    tar.read().unwrap_err()
}

fn with(limits: &Limits) -> Result<geo_db::Table, ArchiveError> {
    archive::read(&*ten(), limits)
}

/// A record of an extension header: its length counts itself.
fn record(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let length = (rest.len()..).find(|length| length.to_string().len() + rest.len() == *length);
    format!("{}{rest}", length.unwrap()).into_bytes()
}

#[test]
fn the_cut_of_the_real_archive_answers_its_vectors() {
    let table = archive::read(&*ten(), &Limits::default()).unwrap();
    assert_eq!(table.countries().len(), COUNTRIES.len());
    let mut checked = 0;
    for line in include_str!("../data/vectors.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let (address, expected) = line.split_once('\t').unwrap();
        let found = table.lookup(address.parse().unwrap());
        let found = found.map_or_else(|| "-".to_owned(), |code| code.to_string());
        assert_eq!(found, expected, "{address}");
        checked += 1;
    }
    assert!(checked >= 50);
}

#[test]
fn other_entries_are_passed_over() {
    let table = Tar::default()
        .entry(EntryType::Directory, b"a/country/at/at.json", b"")
        .entry(EntryType::Symlink, b"a/country/at/at.json", b"")
        .entry(EntryType::Link, b"a/country/at/at.json", b"")
        .entry(EntryType::Char, b"a/country/at/at.json", b"")
        .entry(EntryType::Fifo, b"a/country/at/at.json", b"")
        .entry(EntryType::Regular, b"a/country/\xff\xfe/x.json", b"no JSON")
        .file("a/country/usa/usa.json", "no JSON")
        .file("country/ch/ch.json", "no JSON")
        .country("de", DE)
        .read()
        .unwrap();
    assert_eq!(
        table
            .countries()
            .map(|(code, _)| code.to_string())
            .collect::<Vec<_>>(),
        ["DE"]
    );
}

#[test]
fn names_that_lead_out_refuse_the_archive() {
    for name in ["/etc/x", "../../etc/x", "a/country/us/../../us.json", "a/.."] {
        let error = error(Tar::default().file(name, "").country("de", DE));
        assert!(matches!(error.problem(), Problem::Name), "{name}: {error}");
        assert_eq!(error.file(), Some(name));
    }
}

#[test]
fn extension_headers_give_no_file_another_name_or_size() {
    for (key, value) in [("path", "b/other.txt"), ("GNU.sparse.name", "b/other.txt")] {
        let renamed = Tar::default()
            .entry(EntryType::XHeader, b"x", &record(key, value))
            .file("a/country/at/at.json", "no JSON")
            .country("de", DE);
        assert_eq!(renamed.read().unwrap().countries().len(), 1, "{key}");
    }
    let named = Tar::default()
        .entry(EntryType::XHeader, b"x", &record("path", "a/country/at/at.json"))
        .file("b/other.txt", "no JSON")
        .country("de", DE);
    assert_eq!(named.read().unwrap().countries().len(), 1);

    let long = Tar::default()
        .entry(
            EntryType::GNULongName,
            b"././@LongLink",
            b"a/country/ch/ch.json\0",
        )
        .file("a/country/at/at.json", "no JSON")
        .country("de", DE);
    assert_eq!(long.read().unwrap().countries().len(), 1);

    let sized = Tar::default()
        .entry(EntryType::XHeader, b"x", &record("size", "512"))
        .country("de", DE);
    assert!(matches!(error(sized).problem(), Problem::Extension));

    let times = Tar::default()
        .entry(EntryType::XHeader, b"x", &record("mtime", "1700000000.5"))
        .country("de", DE);
    assert_eq!(times.read().unwrap().countries().len(), 1);

    let garbled = Tar::default().entry(EntryType::XHeader, b"x", b"99 a=b\n");
    assert!(matches!(error(garbled).problem(), Problem::Extension));
    let endless = Tar::default().entry(EntryType::XHeader, b"x", &[b'a'; 17 * 1024]);
    assert!(matches!(error(endless).problem(), Problem::Extension));
    let sparse = Tar::default().entry(EntryType::GNUSparse, b"a/country/de/de.json", DE.as_bytes());
    assert!(matches!(error(sparse).problem(), Problem::Extension));
}

#[test]
fn one_bad_file_refuses_the_archive_with_its_name_and_line() {
    let cases = [
        (
            json("DE", &["192.0.2.0/33"]),
            "\"192.0.2.0/33\" is no IPv4 prefix at line 1 column 58",
        ),
        (json("DE", &["192.0.2.0"]), "is no IPv4 prefix"),
        (json("DE", &["2001:db8::/32"]), "is no IPv4 prefix"),
        (json("DE", &["0.0.0.0/0"]), "0.0.0.0/0 is all addresses"),
        (json("AT", &["192.0.2.0/24"]), "countryCode \"AT\" is not DE"),
        (json("", &[]), "countryCode \"\" is not DE"),
        (DE.replace("2001:db8::/32", "::/0"), "::/0 is all addresses"),
        (
            DE.replace("2001:db8::/32", "2001:db8::/65"),
            "2001:db8::/65 is longer than /64",
        ),
        (DE.replace("2001:db8::/32", "10.0.0.0/8"), "is no IPv6 prefix"),
        (DE.replace("countryCode", "code"), "missing field `countryCode`"),
        (DE.replace("prefixes", "lists"), "missing field `prefixes`"),
        (DE.replace("ipv6", "ipv4"), "a family has two lists"),
        (format!("{DE} x"), "trailing characters"),
        (
            DE.replace("[\"192.0.2.0/24\"]", "\n\n[7]"),
            "invalid type: integer `7`, expected a prefix at line 3",
        ),
        ("[".repeat(100_000), "invalid type: sequence"),
        (
            format!("{{\"a\": {}", "[".repeat(100_000)),
            "EOF while parsing a list",
        ),
        ("<html>".to_owned(), "expected value at line 1 column 1"),
        (String::new(), "EOF while parsing"),
        (
            json("DE", &["PREFIX"]).replace("PREFIX", "\\u001b[31m"),
            "is no IPv4 prefix",
        ),
        (json(&"D".repeat(10_000), &[]), "is not DE"),
        (
            DE.replace("[\"192.0.2.0/24\"]", &format!("\"{}\"", "x".repeat(10_000))),
            "at line 1 column",
        ),
    ];
    for (content, expected) in cases {
        let error = error(
            Tar::default()
                .country("at", &json("AT", &["10.0.0.0/8"]))
                .country("de", &content),
        );
        assert_eq!(error.file(), Some("geo-ip-blocks-master/country/de/de.json"));
        let text = error.to_string();
        assert!(text.contains(expected), "{text:?} lacks {expected:?}");
        assert!(
            text.len() < 300 && text.chars().all(|c| !c.is_control()),
            "{text:?}"
        );
    }
}

#[test]
fn all_addresses_pass_if_that_is_wished() {
    let limits = Limits {
        allow_everything: true,
        ..Limits::default()
    };
    let packed = Tar::default().country("de", &json("DE", &["0.0.0.0/0"])).gzip();
    let table = archive::read(&*packed, &limits).unwrap();
    assert!(table.lookup("203.0.113.9".parse().unwrap()).is_some());
}

#[test]
fn a_country_has_one_file_and_an_archive_has_a_prefix() {
    let twice = Tar::default().country("de", DE).file("b/country/DE/de.json", DE);
    assert!(matches!(error(twice).problem(), Problem::Twice));
    assert!(matches!(error(Tar::default()).problem(), Problem::Empty));
    let bare = Tar::default().country("de", &json("DE", &[]));
    assert!(matches!(error(bare).problem(), Problem::Empty));
}

#[test]
fn what_is_no_archive_is_refused() {
    let read = |bytes: &[u8]| archive::read(bytes, &Limits::default()).unwrap_err();
    assert!(matches!(read(b"").problem(), Problem::NotGzip));
    assert!(matches!(
        read(b"<!doctype html><title>Sign in</title>").problem(),
        Problem::NotGzip
    ));
    assert!(matches!(
        read(&gzip(&[b'x'; 2048])).problem(),
        Problem::Damaged(_)
    ));
    assert!(matches!(
        read(&[&*ten(), b"more"].concat()).problem(),
        Problem::Damaged(_) | Problem::NotGzip
    ));
}

#[test]
fn an_archive_that_is_cut_off_or_changed_is_refused() {
    let whole = ten();
    for len in (0..whole.len())
        .step_by(997)
        .chain([whole.len() - 1, whole.len() - 8])
    {
        assert!(
            archive::read(&whole[..len], &Limits::default()).is_err(),
            "{len} bytes"
        );
    }
    let mut changed = whole;
    let middle = changed.len() / 2;
    changed[middle] ^= 0x10;
    assert!(archive::read(&*changed, &Limits::default()).is_err());

    let short = Tar::default().sized(EntryType::Regular, b"a/country/de/de.json", DE.as_bytes(), 4096);
    assert!(matches!(error(short).problem(), Problem::Damaged(_)));
    let beyond = Tar::default().sized(EntryType::Regular, b"a/x", b"", u64::from(u32::MAX));
    assert!(beyond.read().is_err());
}

#[test]
fn limits_hold() {
    let limits = Limits::default;
    let refused = |limits: Limits| with(&limits).unwrap_err();
    assert!(matches!(
        refused(Limits {
            packed: 1000,
            ..limits()
        })
        .problem(),
        Problem::Bytes(_)
    ));
    assert!(matches!(
        refused(Limits {
            unpacked: 4096,
            ..limits()
        })
        .problem(),
        Problem::Bytes(_)
    ));
    assert!(matches!(
        refused(Limits {
            entries: 5,
            ..limits()
        })
        .problem(),
        Problem::Entries
    ));
    assert!(matches!(
        refused(Limits { name: 20, ..limits() }).problem(),
        Problem::Name
    ));
    assert!(matches!(
        refused(Limits {
            file: 1000,
            ..limits()
        })
        .problem(),
        Problem::File
    ));
    assert!(
        refused(Limits {
            prefixes: 3,
            ..limits()
        })
        .to_string()
        .contains("more than 3 prefixes")
    );
    assert!(with(&limits()).is_ok());
}

#[test]
fn bombs_are_refused_before_they_burst() {
    // Zeros inside of a file that nobody wants: 8 MiB in 8 KiB.
    let zeros = vec![0; 8 << 20];
    let bomb = Tar::default()
        .entry(EntryType::Regular, b"a/zeros", &zeros)
        .gzip();
    let refused = archive::read(&*bomb, &Limits::default()).unwrap_err();
    assert!(refused.to_string().contains("many times its size"), "{refused}");

    let many = (0..20_001).fold(Tar::default(), |tar, _| tar.file("a", ""));
    let limits = Limits {
        ratio: u64::MAX,
        ..Limits::default()
    };
    let refused = archive::read(&*many.gzip(), &limits).unwrap_err();
    assert!(matches!(refused.problem(), Problem::Entries), "{refused}");
}
