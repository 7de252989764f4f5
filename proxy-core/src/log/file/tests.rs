//! Rolling, keeping and compressing, and files that vanish.

use std::io::Read as _;
use std::time::UNIX_EPOCH;

use tempfile::TempDir;

use super::*;

/// 2026-11-30T13:18:28.385Z.
const START: Duration = Duration::from_millis(1_796_044_708_385);

struct Place {
    directory: TempDir,
    now: SystemTime,
}

// === impl Place ===

impl Place {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            now: UNIX_EPOCH + START,
        }
    }

    fn settings(&self, rolling: Rolling) -> FileSettings {
        FileSettings {
            rolling: Some(rolling),
            ..FileSettings::new(self.directory.path().join("a.log"))
        }
    }

    fn after(&self, seconds: u64) -> SystemTime {
        self.now + Duration::from_secs(seconds)
    }

    /// The names in the directory, in order.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory.path().join(name)).unwrap()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }
}

fn open(settings: FileSettings, now: SystemTime) -> LogFile {
    LogFile::open(settings, now).unwrap()
}

fn uncompressed() -> Rolling {
    Rolling {
        compression: Compression::None,
        ..Rolling::default()
    }
}

#[test]
fn a_file_that_would_grow_too_large_is_rolled_first() {
    let place = Place::new();
    let rolling = Rolling {
        size: 10,
        ..uncompressed()
    };
    let mut file = open(place.settings(rolling), place.now);
    for line in ["12345\n", "123\n", "1\n"] {
        file.write(line.as_bytes(), place.now).unwrap();
    }
    assert_eq!(place.names(), ["a-2026-11-30T13-18-28.385-size.log", "a.log"]);
    assert_eq!(place.text("a-2026-11-30T13-18-28.385-size.log"), "12345\n123\n");
    assert_eq!(place.text("a.log"), "1\n");

    // A file that is there counts, and no name is taken twice.
    let mut file = open(file.settings, place.now);
    file.write(b"123456789\n", place.now).unwrap();
    assert_eq!(
        place.names(),
        [
            "a-2026-11-30T13-18-28.385-size.log",
            "a-2026-11-30T13-18-28.386-size.log",
            "a.log"
        ]
    );
}

#[test]
fn a_file_is_rolled_when_its_time_has_come() {
    let place = Place::new();
    let rolling = Rolling {
        interval: Some(Duration::from_secs(60)),
        ..uncompressed()
    };
    let mut file = open(place.settings(rolling), place.now);
    assert_eq!(file.until_due(place.now), Some(Duration::from_secs(60)));
    file.write(b"a\n", place.after(59)).unwrap();
    file.roll_if_due(place.after(60)).unwrap();
    assert_eq!(place.text("a-2026-11-30T13-19-28.385-time.log"), "a\n");
    assert_eq!(file.until_due(place.after(60)), Some(Duration::from_secs(60)));

    // Nothing was written: there is nothing to roll.
    file.roll_if_due(place.after(120)).unwrap();
    assert_eq!(place.names().len(), 2);
    assert_eq!(file.until_due(place.after(120)), Some(Duration::from_secs(60)));
}

#[test]
fn without_rolling_a_file_only_grows() {
    let place = Place::new();
    let settings = FileSettings {
        rolling: None,
        ..place.settings(Rolling::default())
    };
    let mut file = open(settings, place.now);
    file.write(&vec![b'\n'; 1000], place.now).unwrap();
    file.roll_if_due(place.after(1_000_000)).unwrap();
    assert_eq!(
        (place.names(), file.until_due(place.now)),
        (vec!["a.log".to_owned()], None)
    );
}

#[test]
fn rolled_files_are_compressed_and_keep_their_permissions() {
    for (compression, end) in [(Compression::Gzip, "gz"), (Compression::Zstd, "zst")] {
        let place = Place::new();
        let rolling = Rolling {
            size: 10,
            compression,
            ..Rolling::default()
        };
        let settings = FileSettings {
            mode: Some(0o640),
            ..place.settings(rolling)
        };
        let mut file = open(settings, place.now);
        file.write(b"12345678\n", place.now).unwrap();
        file.write(b"12\n", place.now).unwrap();
        let name = format!("a-2026-11-30T13-18-28.385-size.log.{end}");
        file.mill.finish();
        assert_eq!(place.names(), [name.as_str(), "a.log"]);

        let data = place.bytes(&name);
        let mut text = String::new();
        match compression {
            Compression::Zstd => zstd::stream::read::Decoder::new(&*data)
                .unwrap()
                .read_to_string(&mut text),
            _ => flate2::read::GzDecoder::new(&*data).read_to_string(&mut text),
        }
        .unwrap();
        assert_eq!(text, "12345678\n");
        let there = fs::metadata(place.directory.path().join(name)).unwrap();
        assert_eq!(there.mode() & 0o777, 0o640);
    }
}

#[test]
fn the_oldest_files_and_what_was_left_half_done_are_deleted_and_no_other_file_is() {
    let place = Place::new();
    for name in [
        "a-2026-11-30T13-18-20.000-size.log.gz",
        "a-2026-11-30T13-18-21.000-size.log",
        "a-2026-01-01T00-00-00.000-time.log.zst",
        "a-2026-11-30T13-18-22.000-size.log.gz.part",
        "a-2026-11-30T13-18-22.000-other.log",
        "a-notes.log",
        "b-2026-01-01T00-00-00.000-time.log",
    ] {
        fs::write(place.directory.path().join(name), "x").unwrap();
    }
    let rolling = Rolling {
        size: 5,
        keep: 2,
        keep_for: Duration::from_hours(24),
        ..uncompressed()
    };
    let mut file = open(place.settings(rolling), place.now);
    file.write(b"123\n", place.now).unwrap();
    file.write(b"123\n", place.now).unwrap();
    file.mill.finish();
    assert_eq!(
        place.names(),
        [
            "a-2026-11-30T13-18-21.000-size.log",
            "a-2026-11-30T13-18-22.000-other.log",
            "a-2026-11-30T13-18-28.385-size.log",
            "a-notes.log",
            "a.log",
            "b-2026-01-01T00-00-00.000-time.log",
        ]
    );
}

#[test]
fn a_file_that_was_moved_or_deleted_is_made_anew() {
    let place = Place::new();
    let settings = FileSettings {
        dir_mode: DirMode::Bits(0o750),
        ..FileSettings::new(place.directory.path().join("deep/er/a.log"))
    };
    let path = settings.path.clone();
    let mut file = open(settings, place.now);
    file.write(b"1\n", place.now).unwrap();
    fs::rename(&path, place.directory.path().join("moved.log")).unwrap();
    file.write(b"2\n", place.after(1)).unwrap();
    fs::remove_dir_all(place.directory.path().join("deep")).unwrap();
    file.write(b"3\n", place.after(2)).unwrap();

    assert_eq!(
        (place.text("moved.log"), place.text("deep/er/a.log")),
        ("1\n".to_owned(), "3\n".to_owned())
    );
    let there = fs::metadata(path.parent().unwrap()).unwrap();
    assert_eq!(there.mode() & 0o777, 0o750);
}

#[test]
fn a_directory_that_is_missing_fails_until_it_can_be_made() {
    let place = Place::new();
    let settings = FileSettings::new(place.directory.path().join("deep/a.log"));
    let mut file = open(settings, place.now);
    fs::remove_dir_all(place.directory.path().join("deep")).unwrap();
    fs::write(place.directory.path().join("deep"), "a file is in the way").unwrap();
    assert!(file.write(b"1\n", place.after(1)).is_err());
    fs::remove_file(place.directory.path().join("deep")).unwrap();
    file.write(b"2\n", place.after(1)).unwrap();

    assert_eq!(place.text("deep/a.log"), "2\n");
}

#[test]
fn a_line_that_was_written_in_part_is_ended_before_the_next() {
    let place = Place::new();
    let mut file = open(place.settings(uncompressed()), place.now);
    file.write(b"half", place.now).unwrap();
    file.write(b"whole\n", place.now).unwrap();
    assert_eq!(place.text("a.log"), "half\nwhole\n");
}

#[test]
fn permissions_are_for_the_owner_unless_others_are_asked_for() {
    let place = Place::new();
    for (name, mode, dir_mode, expected) in [
        ("a", None, DirMode::Bits(0o700), (0o600, 0o700)),
        ("b", Some(0o644), DirMode::FromFile, (0o644, 0o755)),
        ("c", Some(0o640), DirMode::Inherit, (0o640, 0o751)),
    ] {
        fs::set_permissions(place.directory.path(), Permissions::from_mode(0o751)).unwrap();
        let path = place.directory.path().join(name).join("x.log");
        open(
            FileSettings {
                mode,
                dir_mode,
                ..FileSettings::new(&path)
            },
            place.now,
        );
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), expected, "{name}");
    }
}
