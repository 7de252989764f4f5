//! `encode`: which answers are compressed, and how.

use caddy_config as model;
use http::header;

use super::compile::Compiler;
use super::handlers::response_matcher;
use crate::encode::{self, Coding, Encode};
use crate::response_matcher::ResponseMatcher;

/// Types that shrink, as Caddy lists them.
const TYPES: [&str; 34] = [
    "application/atom+xml*",
    "application/eot*",
    "application/font*",
    "application/geo+json*",
    "application/graphql+json*",
    "application/graphql-response+json*",
    "application/javascript*",
    "application/json*",
    "application/ld+json*",
    "application/manifest+json*",
    "application/opentype*",
    "application/otf*",
    "application/rss+xml*",
    "application/truetype*",
    "application/ttf*",
    "application/vnd.api+json*",
    "application/vnd.ms-fontobject*",
    "application/wasm*",
    "application/x-httpd-cgi*",
    "application/x-javascript*",
    "application/x-opentype*",
    "application/x-otf*",
    "application/x-perl*",
    "application/x-protobuf*",
    "application/x-ttf*",
    "application/xhtml+xml*",
    "application/xml*",
    "font/otf*",
    "font/ttf*",
    "image/svg+xml*",
    "image/vnd.microsoft.icon*",
    "image/x-icon*",
    "multipart/bag*",
    "multipart/mixed*",
];

/// Levels of brotli above this one take so long for each 64 KiB that other requests would feel it.
const BROTLI_LIMIT: u8 = 9;

/// Compiles one handler.
pub(super) fn compile(compiler: &mut Compiler<'_>, encode: &model::Encode) -> Encode {
    let offered = &encode.encodings;
    let order: &[model::Encoding] = if encode.prefer.is_empty() {
        &[model::Encoding::Zstd, model::Encoding::Br, model::Encoding::Gzip]
    } else {
        &encode.prefer
    };
    // What is on offer without being preferred comes last.
    let rest = [model::Encoding::Zstd, model::Encoding::Br, model::Encoding::Gzip];
    let rest = rest.iter().filter(|encoding| !order.contains(encoding));
    Encode {
        codings: order
            .iter()
            .chain(rest)
            .filter_map(|encoding| coding(compiler, *encoding, offered))
            .collect(),
        minimum: encode
            .minimum_length
            .filter(|length| *length > 0)
            .unwrap_or(encode::MINIMUM),
        only: encode
            .matcher
            .as_ref()
            .map_or_else(usual_types, |matcher| response_matcher(compiler, matcher)),
    }
}

fn coding(
    compiler: &mut Compiler<'_>,
    encoding: model::Encoding,
    offered: &model::Encodings,
) -> Option<Coding> {
    match encoding {
        model::Encoding::Br => {
            let level = offered.br?.level;
            if level.is_some_and(|level| level > BROTLI_LIMIT) {
                compiler.wrong(
                    "`encode br` takes levels from 0 to 9; higher ones are for files, not for answers on their way",
                    &level.unwrap_or_default().to_string(),
                );
            }
            Some(level.map_or(Coding::BROTLI, |level| Coding::Brotli(level.into())))
        }
        model::Encoding::Gzip => {
            let level = offered.gzip?.level;
            Some(level.map_or(Coding::GZIP, |level| Coding::Gzip(level.into())))
        }
        model::Encoding::Zstd => Some(match offered.zstd?.level {
            None | Some(model::ZstdLevel::Default) => Coding::ZSTD,
            Some(model::ZstdLevel::Fastest) => Coding::Zstd(1),
            Some(model::ZstdLevel::Better) => Coding::Zstd(7),
            Some(model::ZstdLevel::Best) => Coding::Zstd(11),
        }),
        _ => None,
    }
}

fn usual_types() -> ResponseMatcher {
    let types = std::iter::once("text/*").chain(TYPES);
    ResponseMatcher {
        fields: vec![(header::CONTENT_TYPE, Some(types.map(str::to_owned).collect()))],
        ..ResponseMatcher::default()
    }
}
