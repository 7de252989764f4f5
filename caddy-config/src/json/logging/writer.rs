//! Where lines go.

use std::path::PathBuf;

use super::{
    super::{
        decode::{Cx, Object},
        reader::Node,
        scalar::{count, duration},
    },
    kind,
};
use crate::{
    check,
    model::{DirMode, FileMode, FileWriter, LogWriter, RollCompression, TimeOfDay},
};

const WRITERS: [&str; 4] = ["discard", "file", "stderr", "stdout"];

pub(super) fn writer<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<LogWriter> {
    let mut object = Object::open(node, cx)?;
    let writer = match kind(&mut object, "output", &WRITERS, cx)? {
        "discard" => LogWriter::Discard {},
        "stderr" => LogWriter::Stderr {},
        "stdout" => LogWriter::Stdout {},
        _ => LogWriter::File(file(&mut object, cx)),
    };
    object.finish(cx);
    Some(writer)
}

fn file<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> FileWriter {
    FileWriter {
        filename: object.require("filename", cx, filename).unwrap_or_default(),
        mode: object.get("mode", cx, |node, cx| {
            let text = cx.string(node)?;
            cx.check(node, text.parse::<FileMode>().map_err(|_| check::FILE_MODE))
                .filter(|mode| mode.bits() != 0)
        }),
        dir_mode: object.get("dir_mode", cx, |node, cx| {
            let text = cx.string(node).filter(|text| !text.is_empty())?;
            cx.check(node, text.parse::<DirMode>().map_err(|_| check::DIR_MODE))
        }),
        roll: object.get("roll", cx, |node, cx| cx.boolean(node)),
        roll_size_mb: object.get("roll_size_mb", cx, count),
        roll_interval: object.get("roll_interval", cx, duration),
        roll_minutes: object.list("roll_minutes", cx, |node, cx| {
            let minute = cx.number(node, 59)?;
            u8::try_from(minute).ok()
        }),
        roll_at: object.list("roll_at", cx, |node, cx| {
            let text = cx.string(node)?;
            cx.check(node, text.parse::<TimeOfDay>().map_err(|_| check::TIME_OF_DAY))
        }),
        roll_gzip: object.get("roll_gzip", cx, |node, cx| cx.boolean(node)),
        roll_compression: object.get("roll_compression", cx, |node, cx| {
            let name = cx.string(node).filter(|name| !name.is_empty())?;
            let known = RollCompression::named(&name);
            cx.check(node, known.ok_or("expected \"none\", \"gzip\" or \"zstd\""))
        }),
        roll_local_time: object.flag("roll_local_time", cx),
        roll_keep: object.get("roll_keep", cx, count),
        roll_keep_days: object.get("roll_keep_days", cx, count),
    }
}

fn filename<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<PathBuf> {
    let path = cx.string(node)?;
    cx.check(node, (!path.is_empty()).then_some(()).ok_or("the path is empty"))?;
    cx.check(node, check::no_placeholder(&path))?;
    Some(PathBuf::from(path))
}
