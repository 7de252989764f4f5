//! Loggers.

mod encoder;
mod writer;

use self::{encoder::encoder, writer::writer};
use super::{
    decode::{Cx, Object},
    reader::Node,
    scalar::{count, duration},
};
use crate::{
    model::{Log, LogLevelName, LogSampling, LogSink, Logging},
    suggest::did_you_mean,
};

/// What to do about a level that is none.
const LEVELS: &str = "expected \"DEBUG\", \"INFO\", \"WARN\", \"ERROR\", \"PANIC\" or \"FATAL\"";

pub(super) fn logging<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Logging> {
    let mut object = Object::open(node, cx)?;
    let logging = Logging {
        sink: object.get("sink", cx, |node, cx| {
            let mut object = Object::open(node, cx)?;
            let writer = object.get("writer", cx, writer);
            object.finish(cx);
            Some(LogSink { writer })
        }),
        logs: object
            .get("logs", cx, |node, cx| cx.map(node, log))
            .unwrap_or_default(),
    };
    object.finish(cx);
    Some(logging)
}

fn log<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Log> {
    let mut object = Object::open(node, cx)?;
    let log = Log {
        writer: object.get("writer", cx, writer),
        encoder: object.get("encoder", cx, encoder),
        level: object.get("level", cx, level),
        sampling: object.get("sampling", cx, sampling),
        include: object.strings("include", cx),
        exclude: object.strings("exclude", cx),
    };
    object.finish(cx);
    Some(log)
}

fn level<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<LogLevelName> {
    let name = cx.string(node).filter(|name| !name.is_empty())?;
    cx.check(node, LogLevelName::parse(&name).ok_or(LEVELS))
}

fn sampling<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<LogSampling> {
    let mut object = Object::open(node, cx)?;
    let sampling = LogSampling {
        interval: object.get("interval", cx, duration),
        first: object.get("first", cx, count),
        thereafter: object.get("thereafter", cx, count),
    };
    object.finish(cx);
    Some(sampling)
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
