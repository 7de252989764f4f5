//! Bodies: from the bytes of a connection to pieces of data and trailers.

use bytes::{Buf as _, Bytes, BytesMut};
use http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::error::BodyError;
use crate::framing::Framing;

/// The most bytes of all chunk extensions of a body together, beyond one for each byte of data. They are dropped.
const MAX_EXTENSIONS: u64 = 16 * 1024;

/// The most bytes of a trailer section.
const MAX_TRAILERS: usize = 16 * 1024;

/// The most trailer fields.
const MAX_TRAILER_FIELDS: usize = 64;

/// Reads one body.
#[derive(Clone, Copy, Debug)]
pub struct BodyReader {
    state: State,
    extensions: u64,
    /// Bytes of chunks that were read.
    data: u64,
    /// No end of the trailer section begins before this.
    searched: usize,
    padded_sizes: bool,
}

/// A step through a body.
#[derive(Debug)]
pub enum Piece {
    /// Data, never empty.
    Data(Bytes),
    /// The trailer section. The body is at its end.
    Trailers(HeaderMap),
    /// The body is at its end.
    End,
    /// More bytes must be read from the connection.
    More,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// This many bytes of data are to come.
    Length(u64),
    /// Data until the connection ends.
    Close,
    /// A chunk's size.
    Size {
        size: u64,
        digits: u8,
    },
    /// Spaces behind a chunk's size.
    Padding(u64),
    /// A chunk's extension.
    Extension(u64),
    /// The line feed behind a chunk's size.
    SizeLf(u64),
    /// This many bytes of a chunk's data are to come.
    Data(u64),
    DataCr,
    DataLf,
    Trailers,
    Done,
    Failed(BodyError),
}

const SIZE: State = State::Size { size: 0, digits: 0 };

// === impl BodyReader ===

impl BodyReader {
    /// Reads a body that is delimited in this way.
    pub fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::None | Framing::Length(0) => State::Done,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => SIZE,
            Framing::Close => State::Close,
        };
        Self {
            state,
            extensions: 0,
            data: 0,
            searched: 0,
            padded_sizes: false,
        }
    }

    /// Lets spaces follow a chunk's size, as some origins pad it.
    #[must_use]
    pub fn with_padded_sizes(mut self) -> Self {
        self.padded_sizes = true;
        self
    }

    /// Whether nothing of the body is left to come.
    pub fn is_complete(&self) -> bool {
        self.state == State::Done
    }

    /// How many bytes of data are left to come, if that is known.
    pub fn remaining(&self) -> Option<u64> {
        match self.state {
            State::Length(left) => Some(left),
            State::Done => Some(0),
            _ => None,
        }
    }

    /// Takes the next piece out of `buffer`.
    ///
    /// # Errors
    ///
    /// What is wrong with the framing. Nothing tells where the body ends then, so that this is all that is said
    /// from then on.
    pub fn next(&mut self, buffer: &mut BytesMut) -> Result<Piece, BodyError> {
        self.step(buffer)
            .inspect_err(|error| self.state = State::Failed(*error))
    }

    fn step(&mut self, buffer: &mut BytesMut) -> Result<Piece, BodyError> {
        loop {
            match self.state {
                State::Failed(error) => return Err(error),
                State::Done => return Ok(Piece::End),
                State::Trailers => return self.trailers(buffer),
                _ if buffer.is_empty() => return Ok(Piece::More),
                State::Close => return Ok(Piece::Data(buffer.split().freeze())),
                State::Length(left) => {
                    let (data, left) = take(buffer, left);
                    self.state = if left == 0 {
                        State::Done
                    } else {
                        State::Length(left)
                    };
                    return Ok(Piece::Data(data));
                }
                State::Data(left) => {
                    let (data, left) = take(buffer, left);
                    self.data = self.data.saturating_add(data.len() as u64);
                    self.state = if left == 0 {
                        State::DataCr
                    } else {
                        State::Data(left)
                    };
                    return Ok(Piece::Data(data));
                }
                _ => {
                    let byte = buffer.get_u8();
                    self.state = self.after(byte)?;
                }
            }
        }
    }

    /// The connection has ended: which only some bodies may.
    ///
    /// # Errors
    ///
    /// [`BodyError::Cut`] if the body was not at its end.
    pub fn end(&mut self) -> Result<(), BodyError> {
        match self.state {
            State::Done | State::Close => {
                self.state = State::Done;
                Ok(())
            }
            State::Failed(error) => Err(error),
            _ => Err(BodyError::Cut),
        }
    }

    /// The state behind a byte between the data of two chunks (RFC 9112, section 7.1).
    fn after(&mut self, byte: u8) -> Result<State, BodyError> {
        match (self.state, byte) {
            (State::Size { size, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = char::from(byte).to_digit(16).ok_or(BodyError::ChunkSize)?;
                // 16 digits are 64 bits; more of them could only be zeros without end.
                let size = size.checked_mul(16).ok_or(BodyError::ChunkSize)? | u64::from(digit);
                (digits < 16)
                    .then_some(State::Size {
                        size,
                        digits: digits + 1,
                    })
                    .ok_or(BodyError::ChunkSize)
            }
            (State::Size { digits: 0, .. }, _) => Err(BodyError::ChunkSize),
            (State::Size { size, .. } | State::Padding(size) | State::Extension(size), b'\r') => {
                Ok(State::SizeLf(size))
            }
            (State::Size { size, .. } | State::Padding(size), b';') => Ok(State::Extension(size)),
            (State::Size { size, .. } | State::Padding(size), b' ' | b'\t') if self.padded_sizes => {
                self.count_extension().map(|()| State::Padding(size))
            }
            (State::Extension(size), b'\t' | b' '..=b'~' | 0x80..) => {
                self.count_extension().map(|()| State::Extension(size))
            }
            (State::Extension(_), _) => Err(BodyError::ChunkExtension),
            (State::SizeLf(0), b'\n') => Ok(State::Trailers),
            (State::SizeLf(size), b'\n') => Ok(State::Data(size)),
            (State::DataCr, b'\r') => Ok(State::DataLf),
            (State::DataLf, b'\n') => Ok(SIZE),
            (State::DataCr | State::DataLf, _) => Err(BodyError::ChunkEnd),
            _ => Err(BodyError::ChunkSize),
        }
    }

    fn count_extension(&mut self) -> Result<(), BodyError> {
        self.extensions += 1;
        if self.extensions > self.data.saturating_add(MAX_EXTENSIONS) {
            return Err(BodyError::ChunkExtension);
        }
        Ok(())
    }

    fn trailers(&mut self, buffer: &mut BytesMut) -> Result<Piece, BodyError> {
        match buffer.as_ref() {
            [b'\r', b'\n', ..] => {
                buffer.advance(2);
                self.state = State::Done;
                return Ok(Piece::End);
            }
            [] | [b'\r'] => return Ok(Piece::More),
            _ => {}
        }
        let from = self.searched;
        for at in memchr::memchr_iter(b'\n', buffer.get(from..).unwrap_or_default()).map(|at| from + at) {
            if at == 0 || buffer.get(at - 1) != Some(&b'\r') {
                return Err(BodyError::Trailers);
            }
            match buffer.get(at + 1..).unwrap_or_default() {
                [b'\r', b'\n', ..] if at + 3 > MAX_TRAILERS => return Err(BodyError::TrailersTooLarge),
                [b'\r', b'\n', ..] => {
                    let trailers = trailer_fields(&buffer.split_to(at + 3).freeze())?;
                    self.state = State::Done;
                    return Ok(Piece::Trailers(trailers));
                }
                [] | [b'\r'] => break,
                _ => self.searched = at + 1,
            }
        }
        if buffer.len() > MAX_TRAILERS {
            return Err(BodyError::TrailersTooLarge);
        }
        Ok(Piece::More)
    }
}

/// At most `left` bytes of `buffer`, and how many are left to come.
fn take(buffer: &mut BytesMut, left: u64) -> (Bytes, u64) {
    let length = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
    (buffer.split_to(length).freeze(), left - length as u64)
}

fn trailer_fields(section: &Bytes) -> Result<HeaderMap, BodyError> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_TRAILER_FIELDS];
    let (length, parsed) = match httparse::parse_headers(section, &mut fields) {
        Ok(httparse::Status::Complete(done)) => done,
        Err(httparse::Error::TooManyHeaders) => return Err(BodyError::TrailersTooLarge),
        Ok(httparse::Status::Partial) | Err(_) => return Err(BodyError::Trailers),
    };
    if length != section.len() {
        return Err(BodyError::Trailers);
    }
    let mut map = HeaderMap::with_capacity(parsed.len());
    for field in parsed {
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| BodyError::Trailers)?;
        let value = HeaderValue::from_bytes(field.value).map_err(|_| BodyError::Trailers)?;
        map.try_append(name, value)
            .map_err(|_| BodyError::TrailersTooLarge)?;
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data and trailers of a body whose bytes come in these pieces; `None`: more would have to come.
    fn read(framing: Framing, pieces: &[&[u8]]) -> Result<Option<(Vec<u8>, HeaderMap)>, BodyError> {
        let (mut reader, mut buffer) = (BodyReader::new(framing), BytesMut::new());
        let (mut data, mut trailers) = (Vec::new(), HeaderMap::new());
        for piece in pieces {
            buffer.extend_from_slice(piece);
            loop {
                match reader.next(&mut buffer)? {
                    Piece::Data(piece) => data.extend_from_slice(&piece),
                    Piece::Trailers(fields) => trailers = fields,
                    Piece::End => return Ok(Some((data, trailers))),
                    Piece::More => break,
                }
            }
        }
        Ok(None)
    }

    fn chunked(text: &str) -> Result<Option<Vec<u8>>, BodyError> {
        let whole = read(Framing::Chunked, &[text.as_bytes()]).map(|read| read.map(|(data, _)| data));
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        let byte_by_byte = read(Framing::Chunked, &bytes).map(|read| read.map(|(data, _)| data));
        assert_eq!(whole, byte_by_byte, "{text:?}");
        whole
    }

    #[test]
    fn chunks_become_data() {
        let data = |text| chunked(text).unwrap().unwrap();
        assert_eq!(data("5\r\nhello\r\n0\r\n\r\n"), b"hello");
        assert_eq!(data("5;a=b;c=\"x\"\r\nhello\r\n1\r\n!\r\n000\r\n\r\n"), b"hello!");
        assert_eq!(data("A\r\n0123456789\r\n0;x\r\n\r\n"), b"0123456789");
    }

    #[test]
    fn chunks_against_the_grammar_are_refused() {
        for text in [
            "0x5\r\n",
            "+5\r\n",
            "-5\r\n",
            "0_5\r\n",
            " 5\r\n",
            "\r\n",
            "5 \r\n",
            "5\nhello",
            "5\r\nhello\n0",
            "5\r\nhello0\r\n",
            "5\r\nhelloX\r\n",
            "5;a\rb\r\n",
            "5;a\nb",
            "5;a\0\r\n",
            "2\r\r;a\r\n",
            "0\r\n\n",
            "0\n\r\n",
            "0\r\nX y\r\n\r\n",
            "0\r\nX: y\n\r\n",
            "0\r\nX : y\r\n\r\n",
            "0\r\n X: y\r\n\r\n",
            "11111111111111111\r\n",
            "00000000000000000\r\n",
            "g\r\n",
            "5,5\r\n",
        ] {
            assert!(chunked(text).is_err(), "{text:?}: {:?}", chunked(text));
        }
    }

    #[test]
    fn a_malformed_body_stays_malformed() {
        for text in ["g0\r\n\r\n", "0\r\nX y\r\n\r\n"] {
            let mut reader = BodyReader::new(Framing::Chunked);
            let mut buffer = BytesMut::from(text);
            let error = reader.next(&mut buffer).unwrap_err();
            buffer.extend_from_slice(b"0\r\n\r\n");
            assert_eq!(reader.next(&mut buffer).unwrap_err(), error);
            assert_eq!(reader.end(), Err(error));
            assert!(!reader.is_complete());
        }
    }

    #[test]
    fn a_body_that_is_not_complete_waits() {
        for text in [
            "",
            "5",
            "5\r",
            "5\r\nhell",
            "5\r\nhello",
            "5\r\nhello\r\n",
            "0\r\n",
            "0\r\n\r",
            "0\r\nX: y\r\n",
            "ffffffffffffffff\r\nx",
        ] {
            assert_eq!(chunked(text).map(|read| read.is_some()), Ok(false), "{text:?}");
            let mut reader = BodyReader::new(Framing::Chunked);
            assert_eq!(reader.end(), Err(BodyError::Cut));
        }
    }

    #[test]
    fn trailers_come_behind_the_data() {
        let text = b"1\r\nx\r\n0\r\nX-Sum: 7\r\nX:POST / HTTP/1.1\r\n\r\nnext";
        let (data, trailers) = read(Framing::Chunked, &[text]).unwrap().unwrap();
        assert_eq!(
            (data.as_slice(), &trailers["x-sum"]),
            (&b"x"[..], &HeaderValue::from_static("7"))
        );
        assert_eq!(trailers["x"], "POST / HTTP/1.1");
    }

    #[test]
    fn extensions_and_trailers_have_limits() {
        let flood = format!("1;{}\r\nx\r\n", "a".repeat(4000)).repeat(5);
        assert_eq!(
            read(Framing::Chunked, &[flood.as_bytes()]).unwrap_err(),
            BodyError::ChunkExtension
        );
        let large = format!("0\r\nX: {}", "a".repeat(MAX_TRAILERS));
        assert_eq!(
            read(Framing::Chunked, &[large.as_bytes()]).unwrap_err(),
            BodyError::TrailersTooLarge
        );
        let many = format!("0\r\n{}\r\n", "X: y\r\n".repeat(65));
        assert_eq!(
            read(Framing::Chunked, &[many.as_bytes()]).unwrap_err(),
            BodyError::TrailersTooLarge
        );
    }

    #[test]
    fn extensions_may_grow_with_the_data() {
        let chunk = format!("64;a=bbbbbbbb\r\n{}\r\n", "x".repeat(100));
        let body = chunk.repeat(10_000) + "0\r\n\r\n";
        let (data, _) = read(Framing::Chunked, &[body.as_bytes()]).unwrap().unwrap();
        assert_eq!(data.len(), 1_000_000);
    }

    #[test]
    fn origins_may_pad_chunk_sizes() {
        let mut reader = BodyReader::new(Framing::Chunked).with_padded_sizes();
        let mut buffer = BytesMut::from("5  \r\nhello");
        assert!(matches!(reader.next(&mut buffer), Ok(Piece::Data(data)) if data == "hello"));
    }

    #[test]
    fn a_length_ends_where_it_says() {
        let mut buffer = BytesMut::from("hello, next");
        let mut reader = BodyReader::new(Framing::Length(5));
        assert!(matches!(reader.next(&mut buffer), Ok(Piece::Data(data)) if data == "hello"));
        assert!(reader.is_complete());
        assert!(matches!(reader.next(&mut buffer), Ok(Piece::End)));
        assert_eq!(buffer, ", next");
        assert_eq!(BodyReader::new(Framing::Length(1)).end(), Err(BodyError::Cut));
    }

    #[test]
    fn a_body_without_a_length_ends_with_its_connection() {
        let mut reader = BodyReader::new(Framing::Close);
        let mut buffer = BytesMut::from("all");
        assert!(matches!(reader.next(&mut buffer), Ok(Piece::Data(data)) if data == "all"));
        assert!(!reader.is_complete());
        assert_eq!(reader.end(), Ok(()));
        assert!(reader.is_complete());
    }
}
