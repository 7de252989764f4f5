//! Where lines go.

use std::io::IsTerminal as _;
use std::time::Duration;

use caddy_config as model;

use crate::log::{Compression, Destination, DirMode, FileSettings, Rolling};

const MIB: u64 = 1024 * 1024;

/// What the configuration says; without it, standard error.
impl From<Option<&model::LogWriter>> for Destination {
    fn from(writer: Option<&model::LogWriter>) -> Self {
        match writer {
            Some(model::LogWriter::Discard {}) => Self::Discard,
            Some(model::LogWriter::File(file)) => Self::File(file_settings(file)),
            Some(model::LogWriter::Stdout {}) => Self::Stdout,
            _ => Self::Stderr,
        }
    }
}

/// Whether people read it as it is written.
pub(super) fn is_terminal(writer: Option<&model::LogWriter>) -> bool {
    match writer {
        None | Some(model::LogWriter::Stderr {}) => std::io::stderr().is_terminal(),
        Some(model::LogWriter::Stdout {}) => std::io::stdout().is_terminal(),
        Some(_) => false,
    }
}

fn file_settings(file: &model::FileWriter) -> FileSettings {
    let defaults = FileSettings::new(&file.filename);
    let mode = file.mode.map(model::FileMode::bits).filter(|mode| *mode > 0);
    FileSettings {
        mode,
        dir_mode: match &file.dir_mode {
            None => defaults.dir_mode,
            Some(model::DirMode::Inherit) => DirMode::Inherit,
            Some(model::DirMode::FromFile) => DirMode::FromFile,
            Some(model::DirMode::Bits(_, bits)) => DirMode::Bits(bits.bits()),
        },
        rolling: (file.roll != Some(false)).then(|| rolling(file)),
        path: defaults.path,
    }
}

/// As in Caddy, zero is no number of its own.
fn rolling(file: &model::FileWriter) -> Rolling {
    let defaults = Rolling::default();
    let some = |number: Option<u32>| number.filter(|number| *number > 0);
    let is_plain = file.roll_gzip == Some(false);
    Rolling {
        size: some(file.roll_size_mb).map_or(defaults.size, |size| u64::from(size) * MIB),
        interval: file.roll_interval.filter(|interval| !interval.is_zero()),
        minutes: file.roll_minutes.clone(),
        at: file.roll_at.iter().map(|at| (at.hour(), at.minute())).collect(),
        compression: match file.roll_compression {
            Some(model::RollCompression::None) => Compression::None,
            Some(model::RollCompression::Zstd) => Compression::Zstd,
            None if is_plain => Compression::None,
            _ => Compression::Gzip,
        },
        local_time: file.roll_local_time,
        keep: some(file.roll_keep)
            .and_then(|keep| usize::try_from(keep).ok())
            .unwrap_or(defaults.keep),
        keep_for: some(file.roll_keep_days).map_or(defaults.keep_for, |days| {
            Duration::from_hours(u64::from(days) * 24)
        }),
    }
}
