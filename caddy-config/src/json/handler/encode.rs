//! Compression of responses.

use crate::{
    json::{
        decode::{Cx, Object},
        headers::response_matcher,
        reader::Node,
    },
    model::{Brotli, Encode, Encoding, Encodings, Gzip, Zstd, ZstdLevel},
};

pub(super) fn encode<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> Encode {
    let encodings = object.get("encodings", cx, encodings).unwrap_or_default();
    let mut seen = Vec::new();
    Encode {
        encodings,
        prefer: object.list("prefer", cx, |node, cx| {
            let name = cx.string(node)?;
            let encoding = cx.check(
                node,
                Encoding::named(&name).ok_or("expected `br`, `gzip` or `zstd`"),
            )?;
            if !encodings.has(encoding) {
                cx.error(node.span, "this encoding is not among `encodings`", None);
            }
            if seen.contains(&encoding) {
                cx.error(node.span, "this encoding is given twice", None);
            }
            seen.push(encoding);
            Some(encoding)
        }),
        minimum_length: object
            .get("minimum_length", cx, |node, cx| {
                cx.number(node, i64::MAX.unsigned_abs())
            })
            .filter(|length| *length != 0),
        matcher: object.get("match", cx, response_matcher),
    }
}

fn encodings<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Encodings> {
    let mut object = Object::open(node, cx)?;
    let encodings = Encodings {
        br: object.get("br", cx, |node, cx| {
            let level = level(node, 0, 11, cx)?;
            Some(Brotli { level })
        }),
        gzip: object.get("gzip", cx, |node, cx| {
            let level = level(node, 0, 9, cx)?.filter(|level| *level != 0);
            Some(Gzip { level })
        }),
        zstd: object.get("zstd", cx, zstd),
    };
    object.finish(cx);
    Some(encodings)
}

fn level<'n>(node: &'n Node, min: u64, max: u64, cx: &mut Cx<'n, '_>) -> Option<Option<u8>> {
    let mut object = Object::open(node, cx)?;
    let level = object.get("level", cx, |node, cx| {
        let level = cx.number(node, max).filter(|level| *level >= min)?;
        u8::try_from(level).ok()
    });
    object.finish(cx);
    Some(level)
}

fn zstd<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Zstd> {
    let mut object = Object::open(node, cx)?;
    let level = object.get("level", cx, |node, cx| {
        let name = cx.string(node)?;
        let level = ZstdLevel::named(&name);
        cx.check(
            node,
            level.ok_or("expected `fastest`, `default`, `better` or `best`"),
        )
    });
    object.finish(cx);
    Some(Zstd { level })
}
