//! `output stdout|stderr|discard`, `output file PATH { ... }`: where lines go.

use std::{path::PathBuf, time::Duration};

use super::{
    super::super::{
        cx::Cx,
        values::{Once, block, count, duration, path},
    },
    kind,
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{DirMode, FileMode, FileWriter, LogWriter, RollCompression, TimeOfDay},
    units,
};

const MIB: u64 = 1 << 20;
const DAY: Duration = Duration::from_secs(24 * 3600);

const OPTIONS: [&str; 12] = [
    "dir_mode",
    "mode",
    "roll_at",
    "roll_compression",
    "roll_disabled",
    "roll_interval",
    "roll_keep",
    "roll_keep_for",
    "roll_local_time",
    "roll_minutes",
    "roll_size",
    "roll_uncompressed",
];

pub(super) fn read(line: &Line, cx: &mut Cx<'_>) -> Option<LogWriter> {
    let (kind, rest) = kind(line, "stdout, stderr, discard or file", cx)?;
    let writer = match kind.text.as_str() {
        "file" => return file(line, kind, rest, cx).map(LogWriter::File),
        "stdout" => LogWriter::Stdout {},
        "stderr" => LogWriter::Stderr {},
        "discard" => LogWriter::Discard {},
        "net" => {
            let help = "write to standard output or a file, and let a log shipper send it on".to_owned();
            cx.error(kind.span, "the output `net` is not supported", help);
            return None;
        }
        _ => {
            cx.unknown(kind, "output", &["discard", "file", "stderr", "stdout"]);
            return None;
        }
    };
    cx.no_block(line);
    cx.surplus(rest);
    Some(writer)
}

fn file(line: &Line, kind: &Token, rest: &[Token], cx: &mut Cx<'_>) -> Option<FileWriter> {
    let Some((filename, surplus)) = rest.split_first() else {
        cx.error(kind.span, "`file` needs a path", None);
        return None;
    };
    cx.surplus(surplus);
    let mut file = FileWriter {
        filename: PathBuf::from(path(filename, cx).unwrap_or_default()),
        ..FileWriter::default()
    };
    let mut once = Once::default();
    for line in block(line) {
        once.note(&line.name, cx);
        option(line, &mut file, cx);
    }
    Some(file)
}

fn option(line: &Line, file: &mut FileWriter, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "mode" => {
            let mode = cx.one(line, "permissions, such as 0640").and_then(|arg| {
                let mode = arg.text.parse::<FileMode>().map_err(|_| check::FILE_MODE);
                cx.check(arg, mode)
            });
            file.mode = mode.filter(|mode| mode.bits() != 0);
        }
        "dir_mode" => {
            file.dir_mode = cx.one(line, "permissions, such as 0750").and_then(|arg| {
                let mode = arg.text.parse::<DirMode>().map_err(|_| check::DIR_MODE);
                cx.check(arg, mode)
            });
        }
        "roll_at" => {
            let times = listed(line, "times of day, such as 00:00", cx);
            for (arg, text) in times {
                let time = text.parse::<TimeOfDay>().map_err(|_| check::TIME_OF_DAY);
                file.roll_at.extend(cx.check(arg, time));
            }
        }
        "roll_compression" => {
            file.roll_compression = cx.one(line, "none, gzip or zstd").and_then(|arg| {
                let known = RollCompression::named(&arg.text);
                cx.check(arg, known.ok_or("expected none, gzip or zstd"))
            });
        }
        "roll_disabled" => {
            cx.nothing(line);
            file.roll = Some(false);
        }
        "roll_interval" => file.roll_interval = duration(line, cx),
        "roll_keep" => file.roll_keep = count(line, cx),
        "roll_keep_for" => file.roll_keep_days = days(line, cx),
        "roll_local_time" => {
            cx.nothing(line);
            file.roll_local_time = true;
        }
        "roll_minutes" => {
            for (arg, text) in listed(line, "minutes of the hour, such as 0,30", cx) {
                let minute = text.parse::<u8>().ok().filter(|minute| *minute < 60);
                let minute = minute.ok_or("expected a minute from 0 to 59");
                file.roll_minutes.extend(cx.check(arg, minute));
            }
        }
        "roll_size" => file.roll_size_mb = mebibytes(line, cx),
        "roll_uncompressed" => {
            cx.nothing(line);
            file.roll_gzip = Some(false);
        }
        _ => cx.unknown(&line.name, "option", &OPTIONS),
    }
}

/// Values separated by commas, space, or both.
fn listed<'l>(line: &'l Line, what: &str, cx: &mut Cx<'_>) -> Vec<(&'l Token, &'l str)> {
    let args = cx.some(line, what).unwrap_or_default();
    args.iter()
        .flat_map(|arg| arg.text.split(',').map(move |text| (arg, text)))
        .collect()
}

/// A size in whole MiB, rounded up.
fn mebibytes(line: &Line, cx: &mut Cx<'_>) -> Option<u32> {
    let arg = cx.one(line, "a size, such as 100MiB")?;
    let size = units::size(&arg.text).and_then(|bytes| u32::try_from(bytes.div_ceil(MIB)).ok());
    cx.check(arg, size.ok_or("expected a size, such as 100MiB"))
        .filter(|size| *size != 0)
}

/// A duration in whole days, rounded up.
fn days(line: &Line, cx: &mut Cx<'_>) -> Option<u32> {
    let duration = duration(line, cx)?;
    u32::try_from(duration.as_nanos().div_ceil(DAY.as_nanos())).ok()
}
