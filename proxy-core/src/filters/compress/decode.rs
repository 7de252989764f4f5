//! A body that was compressed, as it was before.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use bytes::{Buf as _, Bytes};
use eskip::filters::{BoxError, StreamBody};
use flate2::{Decompress, FlushDecompress, Status};
use http_body::{Body as HttpBody, Frame, SizeHint};
use zstd::stream::raw::{Decoder, InBuffer, Operation as _, OutBuffer};

use crate::filters::bodies::Polled;

/// What is given at a time at most, however much a short piece stands for.
const ROOM: usize = 16 * 1024;

/// The most memory that zstd may take for its window, as a power of two: 8 MiB, as browsers have it.
const ZSTD_WINDOW: u32 = 23;

/// How a body was compressed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Coded {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// A body on its way back.
struct Decoded {
    body: StreamBody,
    /// What came and was not looked at yet.
    input: Bytes,
    coded: Coded,
    decoder: Coder,
    /// All of the compressed data was seen, unless more follows.
    has_ended: bool,
    /// Any data was seen.
    has_begun: bool,
    /// There may be more for the data that was taken.
    has_more: bool,
    trailers: Option<http::HeaderMap>,
    is_over: bool,
}

enum Coder {
    Flate(Decompress),
    Brotli(Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>),
    Zstd(Decoder<'static>),
    /// It could not be made.
    None,
}

/// `body` as it was before it was compressed.
pub(super) fn decoded(body: StreamBody, coded: Coded) -> StreamBody {
    Box::pin(Decoded {
        body,
        input: Bytes::new(),
        coded,
        decoder: Coder::new(coded),
        has_ended: false,
        has_begun: false,
        has_more: false,
        trailers: None,
        is_over: false,
    })
}

// === impl Coded ===

impl Coded {
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            "br" => Some(Self::Brotli),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

// === impl Coder ===

impl Coder {
    fn new(coded: Coded) -> Self {
        match coded {
            Coded::Gzip => Self::Flate(Decompress::new_gzip(15)),
            Coded::Deflate => Self::Flate(Decompress::new(true)),
            Coded::Brotli => Self::Brotli(Box::new(BrotliState::new(
                StandardAlloc::default(),
                StandardAlloc::default(),
                StandardAlloc::default(),
            ))),
            Coded::Zstd => zstd().map_or(Self::None, Self::Zstd),
        }
    }

    /// Takes some of `input` and appends to `out`, which has room. Gives how much was taken, and whether that is the end.
    fn run(&mut self, input: &[u8], out: &mut Vec<u8>) -> io::Result<(usize, bool)> {
        match self {
            Self::Flate(decompress) => {
                let before = decompress.total_in();
                let status = decompress.decompress_vec(input, out, FlushDecompress::None)?;
                let taken = usize::try_from(decompress.total_in() - before).unwrap_or(input.len());
                Ok((taken, status == Status::StreamEnd))
            }
            Self::Brotli(state) => {
                let (mut left, mut taken) = (input.len(), 0);
                let (mut room, mut written) = (out.capacity() - out.len(), out.len());
                let (start, mut total) = (out.len(), 0);
                out.resize(start + room, 0);
                let result = BrotliDecompressStream(
                    &mut left,
                    &mut taken,
                    input,
                    &mut room,
                    &mut written,
                    out,
                    &mut total,
                    state,
                );
                out.truncate(written);
                match result {
                    BrotliResult::ResultSuccess => Ok((taken, true)),
                    BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => Ok((taken, false)),
                    BrotliResult::ResultFailure => Err(io::Error::other("the data is not of brotli")),
                }
            }
            Self::Zstd(decoder) => {
                let mut input = InBuffer::around(input);
                let used = out.len();
                let hint = decoder.run(&mut input, &mut OutBuffer::around_pos(out, used))?;
                Ok((input.pos(), hint == 0))
            }
            Self::None => Err(io::Error::other("there is no memory for a decoder")),
        }
    }
}

fn zstd() -> io::Result<Decoder<'static>> {
    let mut decoder = Decoder::new()?;
    decoder.set_parameter(zstd::stream::raw::DParameter::WindowLogMax(ZSTD_WINDOW))?;
    Ok(decoder)
}

impl fmt::Debug for Coder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Coder")
    }
}

// === impl Decoded ===

impl Decoded {
    /// Some of what the input stands for.
    fn piece(&mut self) -> io::Result<Option<Bytes>> {
        if self.has_ended && self.input.has_remaining() {
            self.begin_again();
        }
        while !self.has_ended && (self.has_more || self.input.has_remaining()) {
            let mut out = Vec::with_capacity(ROOM);
            let (taken, is_end) = self.decoder.run(&self.input, &mut out)?;
            self.input.advance(taken.min(self.input.len()));
            self.has_begun = true;
            self.has_ended = is_end;
            self.has_more = out.len() == out.capacity();
            if !out.is_empty() {
                return Ok(Some(out.into()));
            }
            if self.has_ended && self.input.has_remaining() {
                self.begin_again();
            } else if taken == 0 {
                break;
            }
        }
        Ok(None)
    }

    /// Behind the end of some codings there may be the beginning of more; what is behind that of others is nobody's.
    fn begin_again(&mut self) {
        if matches!(self.coded, Coded::Gzip | Coded::Zstd) {
            self.decoder = Coder::new(self.coded);
            (self.has_ended, self.has_more) = (false, false);
        } else {
            self.input.clear();
        }
    }

    fn end(&mut self) -> Polled {
        self.is_over = true;
        // An answer without a body may say that it would be compressed.
        if self.has_begun && !self.has_ended {
            return Poll::Ready(Some(Err("the compressed body ended early".into())));
        }
        Poll::Ready(self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
    }
}

impl HttpBody for Decoded {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        loop {
            if self.is_over {
                return Poll::Ready(None);
            }
            match self.piece() {
                Ok(Some(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Ok(None) => {}
                Err(error) => {
                    self.is_over = true;
                    return Poll::Ready(Some(Err(error.into())));
                }
            }
            match ready!(self.body.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.input = joined(std::mem::take(&mut self.input), data),
                    Err(frame) => self.trailers = frame.into_trailers().ok(),
                },
                Some(Err(error)) => {
                    self.is_over = true;
                    return Poll::Ready(Some(Err(error)));
                }
                None => return self.end(),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

/// A decoder may leave a few bytes until there are more.
fn joined(before: Bytes, data: Bytes) -> Bytes {
    if before.is_empty() {
        return data;
    }
    [before, data].concat().into()
}
