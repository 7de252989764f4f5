//! `encode [matcher] [FORMAT...] { FORMAT [LEVEL]; minimum_length BYTES; match ... }`: compresses responses.

use super::{
    super::{args::Args, cx::Cx},
    header::response_matcher,
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    model::{Brotli, Encode, Encoding, Encodings, Gzip, Handler, Zstd, ZstdLevel},
};

const SUBDIRECTIVES: [&str; 5] = ["br", "gzip", "match", "minimum_length", "zstd"];

pub(super) fn read(args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    let mut encode = Encode::default();
    // Those in the block are preferred, as in Caddy.
    for line in args.block() {
        subdirective(line, &mut encode, cx);
    }
    for arg in args.rest() {
        match Encoding::named(&arg.text) {
            Some(encoding) => format(arg, encoding, None, &mut encode, cx),
            None => cx.unknown(arg, "format", &["br", "gzip", "zstd"]),
        }
    }
    if encode.prefer.is_empty() {
        encode.encodings = Encodings {
            br: None,
            gzip: Some(Gzip::default()),
            zstd: Some(Zstd::default()),
        };
        encode.prefer = vec![Encoding::Zstd, Encoding::Gzip];
    }
    Some(Handler::Encode(encode))
}

fn subdirective(line: &Line, encode: &mut Encode, cx: &mut Cx<'_>) {
    let name = line.name.text.as_str();
    match name {
        "match" => {
            if encode.matcher.is_some() {
                cx.error(line.name.span, "`match` is given twice", None);
            }
            encode.matcher = Some(response_matcher(line, cx));
        }
        "minimum_length" => {
            if encode.minimum_length.is_some() {
                cx.error(line.name.span, "`minimum_length` is given twice", None);
            }
            let length = cx.one(line, "a number of bytes").and_then(|arg| {
                let length = arg
                    .text
                    .parse::<u64>()
                    .ok()
                    .filter(|length| i64::try_from(*length).is_ok());
                cx.check(arg, length.ok_or("expected a number of bytes"))
            });
            encode.minimum_length = length.filter(|length| *length != 0);
        }
        _ => match Encoding::named(name) {
            Some(encoding) => {
                cx.no_block(line);
                cx.surplus(line.args.get(1..).unwrap_or_default());
                format(&line.name, encoding, line.args.first(), encode, cx);
            }
            None => cx.unknown(&line.name, "subdirective", &SUBDIRECTIVES),
        },
    }
}

/// Puts a format on offer, to be preferred to those after it.
fn format(name: &Token, encoding: Encoding, level: Option<&Token>, encode: &mut Encode, cx: &mut Cx<'_>) {
    if encode.prefer.contains(&encoding) {
        let help = "give it once: on the line of `encode`, or with its level in the block".to_owned();
        return cx.error(name.span, format!("`{}` is given twice", encoding.name()), help);
    }
    encode.prefer.push(encoding);
    let offers = &mut encode.encodings;
    match encoding {
        Encoding::Br => {
            let level = level.and_then(|level| number(level, 0..=11, cx));
            offers.br = Some(Brotli { level });
        }
        Encoding::Gzip => {
            let level = level
                .and_then(|level| number(level, 0..=9, cx))
                .filter(|level| *level != 0);
            offers.gzip = Some(Gzip { level });
        }
        Encoding::Zstd => {
            let level = level.and_then(|level| {
                let known = ZstdLevel::named(&level.text);
                if known.is_none() {
                    cx.unknown(level, "level", &["best", "better", "default", "fastest"]);
                }
                known
            });
            offers.zstd = Some(Zstd { level });
        }
    }
}

fn number(level: &Token, range: std::ops::RangeInclusive<u8>, cx: &mut Cx<'_>) -> Option<u8> {
    let number = level.text.parse().ok().filter(|number| range.contains(number));
    let message = format!("expected a level from {} to {}", range.start(), range.end());
    cx.check(level, number.ok_or(message))
}
