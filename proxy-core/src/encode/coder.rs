//! The codings themselves: bytes in, compressed bytes out, as far as asked.

use std::fmt;
use std::io;

use brotli::enc::StandardAlloc;
use brotli::enc::encode::{BrotliEncoderOperation, BrotliEncoderParameter, BrotliEncoderStateStruct};
use flate2::{Compress, Compression, FlushCompress, Status};
use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation as _, OutBuffer};

/// Room that is made for output at least.
const ROOM: usize = 4 * 1024;

/// The window of gzip, as a power of two: 32 KiB, which is the most.
const GZIP_WINDOW: u8 = 15;

/// Windows of the others, which each answer on its way has for itself: 128 KiB and 256 KiB.
const ZSTD_WINDOW: u32 = 17;
const BROTLI_WINDOW: u32 = 18;

/// The highest level of zstd whose tables are small by themselves.
const ZSTD_SMALL: i32 = 3;

/// A content coding, and how hard it tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// 1 to 9.
    Gzip(u32),
    /// 1 to 19.
    Zstd(i32),
    /// 0 to 11.
    Brotli(u32),
}

/// How far compression goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// As far as it likes.
    Taken,
    /// Everything that was given can be read by whoever has the output.
    Readable,
    /// The output is complete.
    Complete,
}

/// One compressed body in the making.
pub(super) enum Coder {
    Gzip(Compress),
    Zstd(Encoder<'static>),
    Brotli(Box<BrotliEncoderStateStruct<StandardAlloc>>),
}

// === impl Coding ===

impl Coding {
    /// With what Caddy tries.
    pub(crate) const GZIP: Self = Self::Gzip(5);
    /// The middle of the four levels that Caddy has.
    pub(crate) const ZSTD: Self = Self::Zstd(3);
    /// As fast as gzip, and smaller.
    pub(crate) const BROTLI: Self = Self::Brotli(4);

    /// The name in `Content-Encoding`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip(_) => "gzip",
            Self::Zstd(_) => "zstd",
            Self::Brotli(_) => "br",
        }
    }
}

// === impl Coder ===

impl Coder {
    /// # Errors
    ///
    /// If there is no memory for it.
    pub(super) fn new(coding: Coding) -> io::Result<Self> {
        Ok(match coding {
            Coding::Gzip(level) => Self::Gzip(Compress::new_gzip(Compression::new(level), GZIP_WINDOW)),
            Coding::Zstd(level) => {
                let mut encoder = Encoder::new(level)?;
                encoder.set_parameter(CParameter::WindowLog(ZSTD_WINDOW))?;
                if level > ZSTD_SMALL {
                    // The tables of these levels are made for windows that are much larger: up to 20 MiB.
                    encoder.set_parameter(CParameter::HashLog(ZSTD_WINDOW))?;
                    encoder.set_parameter(CParameter::ChainLog(ZSTD_WINDOW + 1))?;
                }
                Self::Zstd(encoder)
            }
            Coding::Brotli(quality) => {
                let mut state = BrotliEncoderStateStruct::new(StandardAlloc::default());
                state.set_parameter(BrotliEncoderParameter::BROTLI_PARAM_QUALITY, quality);
                state.set_parameter(BrotliEncoderParameter::BROTLI_PARAM_LGWIN, BROTLI_WINDOW);
                Self::Brotli(Box::new(state))
            }
        })
    }

    /// Compresses all of `input` and appends to `out` what comes of it.
    ///
    /// # Errors
    ///
    /// If the library fails; the output is worthless then.
    pub(super) fn run(&mut self, input: &[u8], until: Until, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Gzip(compress) => gzip(compress, input, until, out),
            Self::Zstd(encoder) => zstd(encoder, input, until, out),
            Self::Brotli(state) => brotli(state, input, until, out),
        }
    }

    /// Makes it as new. `false` if that cannot be done.
    pub(super) fn reset(&mut self) -> bool {
        match self {
            Self::Gzip(compress) => {
                compress.reset();
                true
            }
            Self::Zstd(encoder) => encoder.reinit().is_ok(),
            Self::Brotli(_) => false,
        }
    }
}

impl fmt::Debug for Coder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip(_) => "Gzip",
            Self::Zstd(_) => "Zstd",
            Self::Brotli(_) => "Brotli",
        })
    }
}

// === the libraries ===

fn gzip(compress: &mut Compress, mut input: &[u8], until: Until, out: &mut Vec<u8>) -> io::Result<()> {
    let flush = match until {
        Until::Taken => FlushCompress::None,
        Until::Readable => FlushCompress::Sync,
        Until::Complete => FlushCompress::Finish,
    };
    loop {
        out.reserve(ROOM);
        let before = compress.total_in();
        let status = compress.compress_vec(input, out, flush)?;
        let taken = usize::try_from(compress.total_in() - before).unwrap_or(input.len());
        input = input.get(taken..).unwrap_or_default();
        // Room that is left says that there was no more to give.
        let has_given_all = input.is_empty() && out.len() < out.capacity();
        match (status, until) {
            (Status::StreamEnd, _) => return Ok(()),
            (_, Until::Taken | Until::Readable) if has_given_all => return Ok(()),
            _ => {}
        }
    }
}

fn zstd(encoder: &mut Encoder<'static>, input: &[u8], until: Until, out: &mut Vec<u8>) -> io::Result<()> {
    let mut input = InBuffer::around(input);
    while input.pos() < input.src.len() {
        out.reserve(ROOM);
        let used = out.len();
        encoder.run(&mut input, &mut OutBuffer::around_pos(out, used))?;
    }
    loop {
        out.reserve(ROOM);
        let used = out.len();
        let mut room = OutBuffer::around_pos(out, used);
        let left = match until {
            Until::Taken => 0,
            Until::Readable => encoder.flush(&mut room)?,
            Until::Complete => encoder.finish(&mut room, true)?,
        };
        if left == 0 {
            return Ok(());
        }
    }
}

fn brotli(
    state: &mut BrotliEncoderStateStruct<StandardAlloc>,
    input: &[u8],
    until: Until,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let (mut left, mut taken) = (input.len(), 0);
    // An operation must go on until it is done, so the input is taken first.
    while left > 0 {
        brotli_step(
            state,
            BrotliEncoderOperation::BROTLI_OPERATION_PROCESS,
            input,
            (&mut left, &mut taken),
            out,
        )?;
    }
    let operation = match until {
        Until::Taken => BrotliEncoderOperation::BROTLI_OPERATION_PROCESS,
        Until::Readable => BrotliEncoderOperation::BROTLI_OPERATION_FLUSH,
        Until::Complete => BrotliEncoderOperation::BROTLI_OPERATION_FINISH,
    };
    loop {
        brotli_step(state, operation, &[], (&mut 0, &mut 0), out)?;
        let is_done = until != Until::Complete || state.is_finished();
        if is_done && !state.has_more_output() {
            return Ok(());
        }
    }
}

fn brotli_step(
    state: &mut BrotliEncoderStateStruct<StandardAlloc>,
    operation: BrotliEncoderOperation,
    input: &[u8],
    (left, taken): (&mut usize, &mut usize),
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let mut written = out.len();
    out.resize(written + ROOM, 0);
    let mut room = ROOM;
    let went_well = state.compress_stream(
        operation,
        left,
        input,
        taken,
        &mut room,
        out,
        &mut written,
        &mut None,
        &mut |_, _, _, _| (),
    );
    out.truncate(written);
    if went_well {
        Ok(())
    } else {
        Err(io::Error::other("the encoder of brotli failed"))
    }
}
