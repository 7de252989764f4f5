//! Loggers.

use std::path::PathBuf;

use super::{
    decode::{Cx, Object},
    reader::Node,
};
use crate::{
    model::{Log, LogEncoder, LogLevel, LogWriter, Logging},
    suggest::did_you_mean,
};

const WRITERS: [&str; 4] = ["discard", "file", "stderr", "stdout"];
const ENCODERS: [&str; 2] = ["console", "json"];

pub(super) fn logging<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Logging> {
    let mut object = Object::open(node, cx)?;
    let logs = object
        .get("logs", cx, |node, cx| cx.map(node, log))
        .unwrap_or_default();
    object.finish(cx);
    Some(Logging { logs })
}

fn log<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Log> {
    let mut object = Object::open(node, cx)?;
    let log = Log {
        writer: object.get("writer", cx, writer),
        encoder: object.get("encoder", cx, encoder),
        level: object.get("level", cx, level),
        include: object.strings("include", cx),
        exclude: object.strings("exclude", cx),
    };
    object.finish(cx);
    Some(log)
}

fn writer<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<LogWriter> {
    let mut object = Object::open(node, cx)?;
    let writer = match kind(&mut object, "output", &WRITERS, cx)? {
        "discard" => LogWriter::Discard {},
        "stderr" => LogWriter::Stderr {},
        "stdout" => LogWriter::Stdout {},
        _ => {
            let filename = object.require("filename", cx, |node, cx| {
                let path = cx.string(node)?;
                cx.check(node, (!path.is_empty()).then_some(()).ok_or("the path is empty"))?;
                Some(PathBuf::from(path))
            });
            LogWriter::File {
                filename: filename.unwrap_or_default(),
            }
        }
    };
    object.finish(cx);
    Some(writer)
}

fn encoder<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<LogEncoder> {
    let mut object = Object::open(node, cx)?;
    let encoder = match kind(&mut object, "format", &ENCODERS, cx)? {
        "console" => LogEncoder::Console {},
        _ => LogEncoder::Json {},
    };
    object.finish(cx);
    Some(encoder)
}

fn level<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<LogLevel> {
    let name = cx.string(node)?;
    cx.check(
        node,
        LogLevel::named(&name).ok_or("expected \"DEBUG\", \"INFO\", \"WARN\" or \"ERROR\""),
    )
}

/// The value of the field that names what an object is.
fn kind<'n>(
    object: &mut Object<'n>,
    tag: &'static str,
    known: &[&'static str],
    cx: &mut Cx<'n, '_>,
) -> Option<&'static str> {
    object.require(tag, cx, |node, cx| {
        let name = cx.string(node)?;
        let found = known.iter().copied().find(|known| *known == name);
        if found.is_none() {
            let help = did_you_mean(&name, known.iter().copied())
                .unwrap_or_else(|| format!("supported here: {}", known.join(", ")));
            cx.error(node.span, format!("unknown or unsupported {tag}"), help);
        }
        found
    })
}
