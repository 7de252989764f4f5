//! What becomes of rolled files: they are compressed, and the oldest are deleted. On a thread of its own, as
//! lines must not wait for it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use tracing::warn;

use super::file::{Compression, Rolling};

/// How the time stands in the name of a rolled file.
const TIME: &str = "%Y-%m-%dT%H-%M-%S.%3f";

/// The name of a file that is being compressed ends with this.
const PART: &str = ".part";

/// The names of a log file and of its rolled ones, such as `access.log` and
/// `access-2026-11-30T13-18-28.385-size.log.gz`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    directory: PathBuf,
    /// The name up to the last dot, and a dash.
    begin: String,
    /// The last dot and what follows.
    end: String,
}

/// A rolled file.
#[derive(Debug, PartialEq, Eq)]
struct Rolled {
    at: DateTime,
    path: PathBuf,
    is_compressed: bool,
}

/// Looks after the rolled files of one log, one round at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Mill(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    is_running: bool,
    /// What came meanwhile.
    next: Option<Round>,
}

#[derive(Debug)]
struct Round {
    names: Names,
    rolling: Rolling,
    now: SystemTime,
}

// === impl Names ===

impl Names {
    pub(super) fn new(path: &Path) -> Self {
        let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Self {
            directory: directory.unwrap_or_else(|| Path::new(".")).to_owned(),
            begin: text(path.file_stem()) + "-",
            end: path
                .extension()
                .map_or_else(String::new, |end| format!(".{}", text(Some(end)))),
        }
    }

    /// A name for the file that is rolled now, which no other one has.
    pub(super) fn rolled(&self, why: &str, zone: &TimeZone, now: SystemTime) -> PathBuf {
        let now = Timestamp::try_from(now).unwrap_or_default();
        let mut name = PathBuf::new();
        for later in 0..1000 {
            let at = now.checked_add(Duration::from_millis(later)).unwrap_or(now);
            let at = at.to_zoned_datetime(zone.clone()).strftime(TIME).to_string();
            name = self
                .directory
                .join(format!("{}{at}-{why}{}", self.begin, self.end));
            let compressed = [".gz", ".zst"].iter().any(|end| with_end(&name, end).exists());
            if !name.exists() && !compressed {
                break;
            }
        }
        name
    }

    /// The rolled files that are there, the newest first, and what an interrupted round has left.
    fn list(&self) -> io::Result<(Vec<Rolled>, Vec<PathBuf>)> {
        let (mut rolled, mut parts) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let (name, is_part) = match name.strip_suffix(PART) {
                Some(name) => (name.to_owned(), true),
                None => (name, false),
            };
            match self.read(&name) {
                Some(_) if is_part => parts.push(path),
                Some((at, is_compressed)) => rolled.push(Rolled {
                    at,
                    path,
                    is_compressed,
                }),
                None => {}
            }
        }
        rolled.sort_by_key(|rolled| std::cmp::Reverse(rolled.at));
        Ok((rolled, parts))
    }

    /// When a file was rolled, by its name, and whether it is compressed. `None` if it is no rolled file.
    fn read(&self, name: &str) -> Option<(DateTime, bool)> {
        let uncompressed = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst"));
        let is_compressed = uncompressed.is_some();
        let middle = uncompressed
            .unwrap_or(name)
            .strip_prefix(&self.begin)?
            .strip_suffix(&self.end)?;
        let (at, why) = middle.rsplit_once('-')?;
        let is_why = matches!(why, "size" | "time");
        let at = DateTime::strptime("%Y-%m-%dT%H-%M-%S%.f", at).ok()?;
        is_why.then_some((at, is_compressed))
    }
}

// === impl Mill ===

impl Mill {
    /// Begins a round, or has another one follow the one that is under way.
    pub(super) fn run(&self, names: Names, rolling: Rolling, now: SystemTime) {
        let mut state = self.state();
        state.next = Some(Round { names, rolling, now });
        if state.is_running {
            return;
        }
        let mill = self.clone();
        let thread = std::thread::Builder::new().name("log-roll".to_owned());
        match thread.spawn(move || mill.work()) {
            Ok(_) => state.is_running = true,
            Err(error) => warn!(%error, "rolled logs are not looked after: no thread"),
        }
    }

    /// Waits until there is nothing to do.
    #[cfg(test)]
    pub(super) fn finish(&self) {
        while self.state().is_running {
            std::thread::yield_now();
        }
    }

    fn work(&self) {
        loop {
            let mut state = self.state();
            let Some(round) = state.next.take() else {
                state.is_running = false;
                return;
            };
            drop(state);
            if let Err(error) = round.carry_out() {
                let directory = round.names.directory.display();
                warn!(%error, %directory, "rolled logs could not all be compressed or deleted");
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Round ===

impl Round {
    fn carry_out(&self) -> io::Result<()> {
        let (rolled, parts) = self.names.list()?;
        for part in parts {
            fs::remove_file(part)?;
        }
        let oldest = self.oldest();
        for (index, rolled) in rolled.iter().enumerate() {
            if index >= self.rolling.keep || oldest.is_some_and(|oldest| rolled.at < oldest) {
                fs::remove_file(&rolled.path)?;
            } else if !rolled.is_compressed {
                compress(&rolled.path, self.rolling.compression)?;
            }
        }
        Ok(())
    }

    /// What is older than this is not kept.
    fn oldest(&self) -> Option<DateTime> {
        let oldest = self.now.checked_sub(self.rolling.keep_for)?;
        let oldest = Timestamp::try_from(oldest).ok()?;
        Some(oldest.to_zoned_datetime(self.rolling.zone()).datetime())
    }
}

/// Puts a compressed file in place of `path`, complete or not at all.
fn compress(path: &Path, compression: Compression) -> io::Result<()> {
    let end = match compression {
        Compression::None => return Ok(()),
        Compression::Gzip => ".gz",
        Compression::Zstd => ".zst",
    };
    let target = with_end(path, end);
    let part = with_end(&target, PART);
    let result = copy_compressed(path, &part, compression);
    if let Err(error) = result {
        // What is left is deleted with the next round, if it cannot be now.
        let _left = fs::remove_file(&part);
        return Err(error);
    }
    fs::rename(&part, &target)?;
    fs::remove_file(path)
}

fn copy_compressed(from: &Path, to: &Path, compression: Compression) -> io::Result<()> {
    let source = File::open(from)?;
    let permissions = source.metadata()?.permissions();
    let mut source = BufReader::with_capacity(64 * 1024, source);
    let target = File::create(to)?;
    target.set_permissions(permissions)?;
    let target = match compression {
        Compression::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(target, 3)?;
            io::copy(&mut source, &mut encoder)?;
            encoder.finish()?
        }
        Compression::Gzip | Compression::None => {
            let mut encoder = flate2::write::GzEncoder::new(target, flate2::Compression::default());
            io::copy(&mut source, &mut encoder)?;
            encoder.finish()?
        }
    };
    target.sync_all()
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
