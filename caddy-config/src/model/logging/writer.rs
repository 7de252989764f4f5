//! Where lines go.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use serde::{Serialize, Serializer};

use super::super::{http::nanos, is_false};

/// Where lines go; `output` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "output", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogWriter {
    /// Nowhere.
    Discard {},
    /// A file, appended to.
    File(FileWriter),
    /// Standard error.
    Stderr {},
    /// Standard output.
    Stdout {},
}

/// A file, and when a new one is begun ("rolled"). The old ones are kept beside it, with the time in their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileWriter {
    /// Its path.
    pub filename: PathBuf,
    /// Its permissions; `None` and zero are 0600 for a file that is made, and no change of one that exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<FileMode>,
    /// The permissions of directories that are made for it; `None` is 0700.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir_mode: Option<DirMode>,
    /// `Some(false)`: it only grows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roll: Option<bool>,
    /// The size in MiB at which it is rolled; `None` is 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roll_size_mb: Option<u32>,
    /// The time after which it is rolled; `None` is never.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub roll_interval: Option<Duration>,
    /// Minutes of each hour, 0 to 59, at which it is rolled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roll_minutes: Vec<u8>,
    /// Times of each day at which it is rolled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roll_at: Vec<TimeOfDay>,
    /// Whether rolled files are compressed by gzip; `None` is yes. `roll_compression` comes before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roll_gzip: Option<bool>,
    /// How rolled files are compressed; `None` is gzip, unless `roll_gzip` says no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roll_compression: Option<RollCompression>,
    /// Whether the names of rolled files have local time; else UTC.
    #[serde(skip_serializing_if = "is_false")]
    pub roll_local_time: bool,
    /// How many rolled files are kept; `None` is 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roll_keep: Option<u32>,
    /// How many days rolled files are kept; `None` is 90.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roll_keep_days: Option<u32>,
}

/// Permissions of a file, printed as four octal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileMode(u32);

/// Permissions of directories.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DirMode {
    /// Those of the nearest directory that exists; `inherit`.
    Inherit,
    /// Those of the file, with the right to search wherever there is one to read; `from_file`.
    FromFile,
    /// These; the text is kept as it is written.
    Bits(String, FileMode),
}

/// How rolled files are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RollCompression {
    /// Not at all.
    None,
    /// By gzip.
    Gzip,
    /// By Zstandard.
    Zstd,
}

/// A time of day, `HH:MM`; printed as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimeOfDay {
    hour: u8,
    minute: u8,
    written: String,
}

/// A text is none of the form that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

// === impl FileMode ===

impl FileMode {
    /// The permission bits; up to 0777.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }
}

impl FromStr for FileMode {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let octal = (1..=4).contains(&text.len()) && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        let bits = u32::from_str_radix(text, 8)
            .ok()
            .filter(|bits| octal && *bits <= 0o777);
        bits.map(Self).ok_or(Malformed)
    }
}

impl fmt::Display for FileMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04o}", self.0)
    }
}

impl Serialize for FileMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// === impl DirMode ===

impl FromStr for DirMode {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "inherit" => Ok(Self::Inherit),
            "from_file" => Ok(Self::FromFile),
            _ => Ok(Self::Bits(text.to_owned(), text.parse()?)),
        }
    }
}

impl Serialize for DirMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Inherit => "inherit",
            Self::FromFile => "from_file",
            Self::Bits(written, _) => written,
        })
    }
}

// === impl RollCompression ===

impl RollCompression {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "gzip" => Some(Self::Gzip),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

// === impl TimeOfDay ===

impl TimeOfDay {
    /// 0 to 23.
    #[must_use]
    pub const fn hour(&self) -> u8 {
        self.hour
    }

    /// 0 to 59.
    #[must_use]
    pub const fn minute(&self) -> u8 {
        self.minute
    }
}

impl FromStr for TimeOfDay {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str, end: u8| {
            let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u8>().ok().filter(|number| digits && *number < end)
        };
        let (hour, minute) = text.split_once(':').ok_or(Malformed)?;
        Ok(Self {
            hour: number(hour, 24).ok_or(Malformed)?,
            minute: number(minute, 60).ok_or(Malformed)?,
            written: text.to_owned(),
        })
    }
}

impl Serialize for TimeOfDay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.written)
    }
}
