//! Bodies of answers are compressed, or the other way round: `compress` and `decompress`.

mod decode;

use std::sync::Arc;

use eskip::filters::{Args, Filter, FilterContext, Filters, Flow, Wants};
use eskip::routing::ArgsError;
use eskip::{Arg, filters::StreamBody};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};

use self::decode::{Coded, decoded};
use super::Means;
use crate::body::Body;
use crate::encode::{Asked, Coding, Encode, Encoders};

/// What is compressed unless the filter has another list.
const KINDS: [&str; 9] = [
    "application/javascript",
    "application/json",
    "application/octet-stream",
    "application/x-javascript",
    "image/svg+xml",
    "text/css",
    "text/html",
    "text/javascript",
    "text/plain",
];

/// In the place of the list above, among other kinds.
const EXTENDS: &str = "...";

/// The highest level, which brotli has; gzip goes on with its own.
const MOST: u32 = 11;

/// The highest level of gzip.
const GZIP_MOST: u32 = 9;

/// The filter.
#[derive(Debug)]
struct Compress {
    encode: Encode,
    /// In lower case.
    kinds: Vec<String>,
    encoders: Arc<Encoders>,
}

/// What the request lets be done with its answer, by the filter that has looked.
#[derive(Debug)]
struct Looked(Asked);

/// Undoes what a backend has compressed.
#[derive(Debug)]
struct Decompress;

pub(super) fn add(all: &mut Filters, _means: &Means) {
    let encoders = Arc::new(Encoders::default());
    all.add(
        "compress",
        (
            "compresses the answer with brotli or gzip, if the client takes that, at a level from 0 to 11; `...` stands for the usual types",
            r#"compress(9, "...", "text/csv")"#,
        ),
        move |args| Compress::create(args, &encoders),
    );
    all.add(
        "decompress",
        (
            "undoes what the backend has compressed, with gzip, deflate, brotli or zstd",
            "decompress()",
        ),
        |args| {
            Args::new(args).end()?;
            Ok(Decompress)
        },
    );
}

// === impl Compress ===

impl Compress {
    fn create(args: &[Arg], encoders: &Arc<Encoders>) -> Result<Self, ArgsError> {
        let (level, rest) = match args.split_first() {
            Some((level @ Arg::Number(_), rest)) => {
                let level: u32 = Args::new(std::slice::from_ref(level)).whole("a level")?;
                if level > MOST {
                    return Err(ArgsError(format!(
                        "argument 1: expected a level from 0, which compresses nothing, to {MOST}"
                    )));
                }
                (Some(level), rest)
            }
            _ => (None, args),
        };
        let given = Args::new(rest).texts("a media type")?;
        let mut kinds = Vec::new();
        if given.is_empty() || given.contains(&EXTENDS) {
            kinds.extend(KINDS.map(str::to_owned));
        }
        let named = given.iter().filter(|kind| **kind != EXTENDS);
        kinds.extend(named.map(|kind| kind.trim().to_ascii_lowercase()));
        let codings = match level {
            Some(0) => Vec::new(),
            Some(level) => vec![Coding::Brotli(level), Coding::Gzip(level.min(GZIP_MOST))],
            None => vec![Coding::BROTLI, Coding::GZIP],
        };
        let encode = Encode {
            codings,
            ..Encode::default()
        };
        Ok(Self {
            encode,
            kinds,
            encoders: Arc::clone(encoders),
        })
    }

    fn is_of_kind(&self, headers: &HeaderMap) -> bool {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let essence = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
        essence.is_some_and(|essence| self.kinds.iter().any(|kind| kind.eq_ignore_ascii_case(essence)))
    }
}

impl Filter for Compress {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let looked = Looked(self.encode.ask(cx.request));
        cx.exchange.keep(looked);
        Flow::Next
    }

    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        let looked = cx.exchange.take_kept::<Looked>();
        let (Some(Looked(asked)), Some(answer)) = (looked, &mut cx.response) else {
            return Flow::Next;
        };
        let is_not_modified = *answer.status == http::StatusCode::NOT_MODIFIED;
        if !is_not_modified && !self.is_of_kind(answer.headers) {
            return Flow::Next;
        }
        // To say that nothing was done is as good as to say nothing.
        let identity = coding(answer.headers) == Some("identity");
        let said = identity
            .then(|| answer.headers.remove(CONTENT_ENCODING))
            .flatten();
        let length = answer.body.length().or_else(|| stated(answer.headers));
        let later = self
            .encode
            .head(asked, *answer.status, answer.headers, length, &self.encoders);
        if let Some(later) = later {
            answer
                .body
                .wrap(move |body| -> StreamBody { Box::pin(later.around(Body::new(body))) });
        } else if let Some(said) = said {
            answer.headers.entry(CONTENT_ENCODING).or_insert(said);
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::BOTH
    }
}

// === impl Decompress ===

impl Filter for Decompress {
    fn response(&self, cx: &mut FilterContext<'_>) -> Flow {
        let Some(answer) = &mut cx.response else {
            return Flow::Next;
        };
        let Some(coded) = coding(answer.headers).and_then(Coded::parse) else {
            return Flow::Next;
        };
        answer.headers.remove(CONTENT_ENCODING);
        answer.headers.remove(CONTENT_LENGTH);
        answer.body.wrap(move |body| decoded(body, coded));
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::RESPONSE
    }
}

// === what the head says ===

/// The one coding of the body; none if there are several.
fn coding(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(CONTENT_ENCODING).iter();
    let one = all.next()?.to_str().ok()?;
    all.next().is_none().then(|| one.trim())
}

fn stated(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(CONTENT_LENGTH)
        .and_then(|length: &HeaderValue| length.to_str().ok()?.parse().ok())
}

#[cfg(test)]
mod tests;
