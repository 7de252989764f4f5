//! Logs: the form of a line, and the files that lines go to. Nothing here knows what is logged.

pub(crate) mod digits;
mod file;
mod filter;
mod format;
mod json;
mod layout;
mod mill;
mod sampler;
mod schedule;
mod time;
mod writer;

pub use self::file::{Compression, DirMode, FileSettings, Rolling};
pub(crate) use self::filter::{Filter, Filters, ItemAction};
pub(crate) use self::format::{Fields, Format, Keys, Level, LevelFormat, Record};
pub(crate) use self::sampler::Sampler;
pub(crate) use self::time::{DurationFormat, TimeFormat};
pub use self::writer::{Destination, LogFiles, LogWriter};
