//! How much of an archive is read.

use std::{
    fmt,
    io::{self, BufReader, Read},
};

use flate2::bufread::MultiGzDecoder;

/// Compressed bytes are read in pieces of this size.
const PIECE: usize = 64 * 1024;

/// Bytes of the tar that the ratio does not count: headers and padding of a small archive are almost all zeros.
const RATIO_FROM: u64 = 1 << 20;

/// How much an archive may hold. The default leaves several times the room that the archive of 2026 takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Compressed bytes; 32 MiB.
    pub packed: u64,
    /// Bytes of the tar; 192 MiB.
    pub unpacked: u64,
    /// Bytes of the tar for each compressed byte, beyond the first MiB; 40.
    pub ratio: u64,
    /// Entries of the tar, whatever they are; 20,000.
    pub entries: u32,
    /// Bytes of an entry's name; 255.
    pub name: usize,
    /// Bytes of one country's file, which is read at once; 16 MiB.
    pub file: u64,
    /// Prefixes of all countries together; 4 million.
    pub prefixes: usize,
    /// Whether 0.0.0.0/0 and ::/0 may belong to a country; no.
    pub allow_everything: bool,
}

/// Which limit was exceeded; travels inside of an [`io::Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exceeded {
    Packed,
    Unpacked,
    Ratio,
}

/// The tar inside of a gzip stream, within limits.
pub(super) struct Unpacked<R> {
    from: MultiGzDecoder<BufReader<Packed<R>>>,
    read: u64,
    most: u64,
    ratio: u64,
}

/// The gzip stream, within limits.
struct Packed<R> {
    from: R,
    read: u64,
    most: u64,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            packed: 32 << 20,
            unpacked: 192 << 20,
            ratio: 40,
            entries: 20_000,
            name: 255,
            file: 16 << 20,
            prefixes: 4_000_000,
            allow_everything: false,
        }
    }
}

// === impl Unpacked ===

impl<R: Read> Unpacked<R> {
    pub(super) fn new(from: R, limits: &Limits) -> Self {
        let packed = Packed {
            from,
            read: 0,
            most: limits.packed,
        };
        Self {
            from: MultiGzDecoder::new(BufReader::with_capacity(PIECE, packed)),
            read: 0,
            most: limits.unpacked,
            ratio: limits.ratio,
        }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.read = self.read.saturating_add(read as u64);
        let packed = self.from.get_ref().get_ref().read;
        if self.read > self.most {
            return Err(Exceeded::Unpacked.into());
        }
        if self.read > packed.saturating_mul(self.ratio).saturating_add(RATIO_FROM) {
            return Err(Exceeded::Ratio.into());
        }
        Ok(read)
    }
}

// === impl Packed ===

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.read = self.read.saturating_add(read as u64);
        if self.read > self.most {
            return Err(Exceeded::Packed.into());
        }
        Ok(read)
    }
}

// === impl Exceeded ===

impl From<Exceeded> for io::Error {
    fn from(exceeded: Exceeded) -> Self {
        Self::new(io::ErrorKind::InvalidData, exceeded)
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Packed => "more compressed bytes than the limit",
            Self::Unpacked => "more unpacked bytes than the limit",
            Self::Ratio => "unpacks to many times its size, as no list of prefixes does",
        })
    }
}

impl std::error::Error for Exceeded {}
