//! A log file that is rolled: renamed when it is large or old enough, and begun anew.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::tz::TimeZone;

use super::mill::{Mill, Names};
use super::schedule;

/// Who may read a log, unless the configuration says otherwise: logs tell about users.
const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

/// How often the path is looked at: somebody may have moved or deleted the file.
const LOOK: Duration = Duration::from_secs(1);

/// Where a log file is, and when it is rolled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSettings {
    /// Its path.
    pub path: PathBuf,
    /// Its permissions. Default `None`: 0600 for a file that is made, and no change of one that exists.
    pub mode: Option<u32>,
    /// The permissions of directories that are made for it. Default 0700.
    pub dir_mode: DirMode,
    /// When it is rolled. Default `None`: it only grows.
    pub rolling: Option<Rolling>,
}

/// The permissions of directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DirMode {
    /// These.
    Bits(u32),
    /// Those of the file, with the right to search wherever there is one to read.
    FromFile,
    /// Those of the nearest directory that exists.
    Inherit,
}

/// When a file is rolled, and what becomes of the old ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rolling {
    /// The size in bytes that it does not exceed. Default 100 MiB; 0 is no limit.
    pub size: u64,
    /// The time after which it is rolled. Default: never.
    pub interval: Option<Duration>,
    /// Minutes of each hour at which it is rolled.
    pub minutes: Vec<u8>,
    /// Hours and minutes of each day at which it is rolled.
    pub at: Vec<(u8, u8)>,
    /// How old files are compressed. Default gzip.
    pub compression: Compression,
    /// Whether times, also in the names of old files, are local. Default UTC.
    pub local_time: bool,
    /// How many old files are kept. Default 10.
    pub keep: usize,
    /// How long old files are kept. Default 90 days.
    pub keep_for: Duration,
}

/// How old files are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// By gzip.
    Gzip,
    /// Not at all.
    None,
    /// By Zstandard.
    Zstd,
}

/// Why a file was rolled; a part of the old one's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Size,
    Time,
}

/// The file while it is written to.
#[derive(Debug)]
pub(super) struct LogFile {
    settings: FileSettings,
    /// `None` after a failure: the next write opens it.
    open: Option<Open>,
    looked: SystemTime,
    mill: Mill,
}

#[derive(Debug)]
struct Open {
    file: File,
    length: u64,
    /// What tells it from another file at its path.
    identity: (u64, u64),
    /// The time to roll it.
    due: Option<SystemTime>,
    /// The last line lacks its end.
    is_torn: bool,
}

// === impl FileSettings ===

impl FileSettings {
    /// A file with Caddy's defaults.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            mode: None,
            dir_mode: DirMode::Bits(DIR_MODE),
            rolling: Some(Rolling::default()),
        }
    }
}

// === impl Rolling ===

impl Default for Rolling {
    fn default() -> Self {
        Self {
            size: 100 * 1024 * 1024,
            interval: None,
            minutes: Vec::new(),
            at: Vec::new(),
            compression: Compression::Gzip,
            local_time: false,
            keep: 10,
            keep_for: Duration::from_hours(90 * 24),
        }
    }
}

impl Rolling {
    pub(super) fn zone(&self) -> TimeZone {
        if self.local_time {
            TimeZone::system()
        } else {
            TimeZone::UTC
        }
    }
}

// === impl LogFile ===

impl LogFile {
    /// Opens the file, and makes it and its directory if they are not there.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub(super) fn open(settings: FileSettings, now: SystemTime) -> io::Result<Self> {
        let open = Open::new(&settings, now)?;
        Ok(Self {
            settings,
            open: Some(open),
            looked: now,
            mill: Mill::default(),
        })
    }

    /// Appends whole lines. After a failure the next call opens the file anew.
    ///
    /// # Errors
    ///
    /// If the system refuses; a part of the lines may have been written.
    pub(super) fn write(&mut self, lines: &[u8], now: SystemTime) -> io::Result<()> {
        self.look(now);
        self.roll_if_due(now)?;
        let is_full = self.settings.rolling.as_ref().is_some_and(|rolling| {
            let length = self.open.as_ref().map_or(0, |open| open.length);
            rolling.size > 0 && length > 0 && length.saturating_add(lines.len() as u64) > rolling.size
        });
        if is_full {
            self.roll(Why::Size, now)?;
        }
        let open = match self.open.take() {
            Some(open) => open,
            None => Open::new(&self.settings, now)?,
        };
        self.open.insert(open).write(lines)
    }

    /// Rolls the file if its time has come.
    ///
    /// # Errors
    ///
    /// If the system refuses; the lines go on in the old file.
    pub(super) fn roll_if_due(&mut self, now: SystemTime) -> io::Result<()> {
        match &self.open {
            Some(open) if open.due.is_some_and(|due| due <= now) => self.roll(Why::Time, now),
            _ => Ok(()),
        }
    }

    /// How long it is until [`LogFile::roll_if_due`] has something to do.
    pub(super) fn until_due(&self, now: SystemTime) -> Option<Duration> {
        let due = self.open.as_ref()?.due?;
        Some(schedule::until(due, now))
    }

    /// Goes on with other settings, at the same path.
    pub(super) fn settle(&mut self, settings: FileSettings) {
        self.settings = settings;
        self.open = None;
    }

    /// Lets go of a file that is not at its path any more.
    fn look(&mut self, now: SystemTime) {
        let since = now.duration_since(self.looked);
        if since.is_ok_and(|since| since < LOOK) {
            return;
        }
        self.looked = now;
        let there = fs::metadata(&self.settings.path).map(|there| identity(&there));
        let is_there = |open: &Open| there.as_ref().is_ok_and(|there| *there == open.identity);
        if !self.open.as_ref().is_some_and(is_there) {
            self.open = None;
        }
    }

    fn roll(&mut self, why: Why, now: SystemTime) -> io::Result<()> {
        let Some(rolling) = self.settings.rolling.clone() else {
            return Ok(());
        };
        let names = Names::new(&self.settings.path);
        if self.open.as_ref().is_some_and(|open| open.length > 0) {
            let why = match why {
                Why::Size => "size",
                Why::Time => "time",
            };
            let old = names.rolled(why, &rolling.zone(), now);
            match fs::rename(&self.settings.path, old) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    self.postpone(now);
                    return Err(error);
                }
                _ => {}
            }
            self.open = None;
            self.mill.run(names, rolling, now);
        } else {
            self.postpone(now);
        }
        if self.open.is_none() {
            self.open = Some(Open::begin(&self.settings, now)?);
        }
        Ok(())
    }

    /// The next time counts from now.
    fn postpone(&mut self, now: SystemTime) {
        if let Some(open) = &mut self.open {
            open.due = due(&self.settings, now, now);
        }
    }
}

// === impl Open ===

impl Open {
    fn new(settings: &FileSettings, now: SystemTime) -> io::Result<Self> {
        Self::at(settings, now, |file| {
            let created = file.created().ok().filter(|_| file.len() > 0);
            created.unwrap_or(now).min(now)
        })
    }

    /// As [`Open::new`], for a file that has just been rolled: what the file system says of its age may be that of
    /// another one.
    fn begin(settings: &FileSettings, now: SystemTime) -> io::Result<Self> {
        Self::at(settings, now, |_| now)
    }

    fn at(
        settings: &FileSettings,
        now: SystemTime,
        begun: impl FnOnce(&fs::Metadata) -> SystemTime,
    ) -> io::Result<Self> {
        make_directory(settings)?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(settings.mode.unwrap_or(FILE_MODE))
            .open(&settings.path)?;
        let there = file.metadata()?;
        if let Some(mode) = settings.mode
            && there.mode() & 0o777 != mode
        {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        Ok(Self {
            length: there.len(),
            identity: identity(&there),
            due: due(settings, begun(&there), now),
            is_torn: false,
            file,
        })
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.is_torn {
            self.write_some(b"\n")?;
            self.is_torn = false;
        }
        self.write_some(lines)
    }

    fn write_some(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    let (done, rest) = bytes.split_at(written.min(bytes.len()));
                    self.length += done.len() as u64;
                    self.is_torn = !done.ends_with(b"\n");
                    bytes = rest;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn due(settings: &FileSettings, begun: SystemTime, now: SystemTime) -> Option<SystemTime> {
    let rolling = settings.rolling.as_ref()?;
    schedule::next(rolling, &rolling.zone(), begun, now)
}

fn identity(there: &fs::Metadata) -> (u64, u64) {
    (there.dev(), there.ino())
}

fn make_directory(settings: &FileSettings) -> io::Result<()> {
    let Some(directory) = settings.path.parent().filter(|directory| !directory.exists()) else {
        return Ok(());
    };
    if directory.as_os_str().is_empty() {
        return Ok(());
    }
    let mode = match settings.dir_mode {
        DirMode::Bits(bits) => bits,
        DirMode::FromFile => {
            let file = settings.mode.unwrap_or(FILE_MODE);
            file | ((file & 0o444) >> 2)
        }
        DirMode::Inherit => mode_of_nearest(directory).unwrap_or(DIR_MODE),
    };
    DirBuilder::new().recursive(true).mode(mode).create(directory)
}

fn mode_of_nearest(directory: &Path) -> Option<u32> {
    let mut above = directory.ancestors();
    above.find_map(|directory| {
        let directory = if directory.as_os_str().is_empty() {
            Path::new(".")
        } else {
            directory
        };
        fs::metadata(directory).ok().map(|there| there.mode() & 0o777)
    })
}

#[cfg(test)]
mod tests;
