//! Heads: found in a buffer, parsed by httparse, checked for all that it lets pass, and turned into `http` types
//! that share the buffer's bytes.

mod fields;
mod target;

use std::mem::MaybeUninit;
use std::sync::LazyLock;

use bytes::{Bytes, BytesMut};
use http::{Method, Request, Response, StatusCode, Version};
use memchr::memmem::Finder;

use self::fields::FieldReader;
pub use self::fields::connection_has;
use crate::error::HeadError;
use crate::framing::{Framing, is_token};

/// The most fields that any limit can allow.
pub const MAX_FIELDS: usize = 256;

/// Limits of a head, and what a peer may do against the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// The largest head in bytes. Default 64 KiB.
    pub size: usize,
    /// The most fields, at most [`MAX_FIELDS`]. Default 100.
    pub fields: usize,
    /// The longest request target in bytes. Default 8 KiB.
    pub target: usize,
    /// Whether a line may end with a line feed alone. Default false: two readers may take such a head
    /// differently.
    pub bare_line_feed: bool,
}

/// What a request's head says.
#[derive(Debug)]
pub struct RequestHead {
    /// Method, target, version and fields.
    pub request: Request<()>,
    /// Where its body ends.
    pub framing: Framing,
    /// Whether the client wants another exchange on this connection.
    pub keep_alive: bool,
    /// Whether the client waits for a 100 before it sends the body.
    pub expects_continue: bool,
}

/// What a response's head says.
#[derive(Debug)]
pub struct ResponseHead {
    /// Status, version and fields.
    pub response: Response<()>,
    /// Where its body ends.
    pub framing: Framing,
    /// Whether the connection can take another request behind it.
    pub keep_alive: bool,
}

/// Finds heads in a buffer that grows. Every byte is looked at a bounded number of times, however small the
/// pieces are in which it comes.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadReader {
    /// No end of a head begins before this.
    searched: usize,
    /// How much was there when an incomplete head was last parsed.
    tried: usize,
    /// Empty lines before the head.
    skipped: u8,
}

/// Empty lines that may precede a head (RFC 9112, section 2.2).
const EMPTY_LINES: u8 = 2;

/// The most bytes of a first line beside its target: a method and a version.
const BESIDE_TARGET: usize = 128;

type Fields<'h> = [MaybeUninit<httparse::Header<'h>>; MAX_FIELDS];

// === impl HeadLimits ===

impl Default for HeadLimits {
    fn default() -> Self {
        Self {
            size: 64 * 1024,
            fields: 100,
            target: 8 * 1024,
            bare_line_feed: false,
        }
    }
}

// === impl HeadReader ===

impl HeadReader {
    /// Takes a request's head out of `buffer`, or `None` if it is not complete yet.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with the head. The buffer is of no use then: nothing tells where the next
    /// message begins.
    pub fn request(
        &mut self,
        buffer: &mut BytesMut,
        limits: &HeadLimits,
    ) -> Result<Option<RequestHead>, HeadError> {
        match self.find(buffer, limits)? {
            Some(head) => request(&head, limits).map(Some),
            None if self.is_worth_a_look(buffer) => check_part(buffer, limits).map(|()| None),
            None => Ok(None),
        }
    }

    /// Takes the head of a response to a request with `method` out of `buffer`, or `None` if it is not complete
    /// yet.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with the head.
    pub fn response(
        &mut self,
        buffer: &mut BytesMut,
        limits: &HeadLimits,
        method: &Method,
    ) -> Result<Option<ResponseHead>, HeadError> {
        match self.find(buffer, limits)? {
            Some(head) => response(&head, limits, method).map(Some),
            None => Ok(None),
        }
    }

    /// Whether a part of a head was seen.
    pub fn has_begun(&self) -> bool {
        self.searched > 0 || self.skipped > 0
    }

    /// The bytes of the next head, with its last empty line.
    fn find(&mut self, buffer: &mut BytesMut, limits: &HeadLimits) -> Result<Option<Bytes>, HeadError> {
        if buffer.is_empty() {
            return Ok(None);
        }
        self.skip_empty_lines(buffer, limits)?;
        if self.searched == 0
            && !limits.bare_line_feed
            && let Some(found) = find_whole(buffer, limits)
        {
            self.skipped = 0;
            return found.map(Some);
        }
        let from = self.searched;
        let mut searched = buffer.len();
        let rest = buffer.get(from..).unwrap_or_default();
        for at in memchr::memchr_iter(b'\n', rest).map(|at| from + at) {
            let bare = at == 0 || buffer.get(at - 1) != Some(&b'\r');
            if bare && !limits.bare_line_feed {
                return Err(HeadError::BareLineFeed);
            }
            let length = match buffer.get(at + 1..).unwrap_or_default() {
                [b'\r', b'\n', ..] => at + 3,
                [b'\n', ..] if limits.bare_line_feed => at + 2,
                [] | [b'\r'] => {
                    searched = at;
                    break;
                }
                _ => continue,
            };
            if length > limits.size {
                return Err(HeadError::TooLarge);
            }
            *self = Self::default();
            return Ok(Some(buffer.split_to(length).freeze()));
        }
        self.searched = searched;
        if buffer.len() > limits.size {
            return Err(HeadError::TooLarge);
        }
        Ok(None)
    }

    fn skip_empty_lines(&mut self, buffer: &mut BytesMut, limits: &HeadLimits) -> Result<(), HeadError> {
        if self.searched > 1 {
            return Ok(());
        }
        loop {
            let length = match buffer.as_ref() {
                [b'\r', b'\n', ..] => 2,
                [b'\n', ..] if limits.bare_line_feed => 1,
                [b'\n', ..] => return Err(HeadError::BareLineFeed),
                _ => return Ok(()),
            };
            self.skipped += 1;
            if self.skipped > EMPTY_LINES {
                return Err(HeadError::FirstLine);
            }
            self.searched = 0;
            buffer.split_to(length).clear();
        }
    }

    /// What is no HTTP at all should hear so before its head is complete, as it may never be. Looking each time
    /// that what came has doubled costs no more than reading it twice.
    fn is_worth_a_look(&mut self, buffer: &BytesMut) -> bool {
        let worth = buffer.len() > 1 && buffer.len() >= self.tried.saturating_mul(2);
        if worth {
            self.tried = buffer.len();
        }
        worth
    }
}

/// A head that came at once, as most do. Its lines are looked at field by field, see [`fields`].
fn find_whole(buffer: &mut BytesMut, limits: &HeadLimits) -> Option<Result<Bytes, HeadError>> {
    static END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\r\n\r\n"));
    let length = END.find(buffer)? + 4;
    if length > limits.size {
        return Some(Err(HeadError::TooLarge));
    }
    Some(Ok(buffer.split_to(length).freeze()))
}

// === requests ===

fn request(head: &Bytes, limits: &HeadLimits) -> Result<RequestHead, HeadError> {
    let mut fields: Fields<'_> = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let fields = fields
        .get_mut(..limits.fields.min(MAX_FIELDS))
        .unwrap_or_default();
    let mut parsed = httparse::Request::new(&mut []);
    let status = httparse::ParserConfig::default()
        .parse_request_with_uninit_headers(&mut parsed, head, fields)
        .map_err(|error| request_error(error, head))?;
    // The end was found before: an incomplete head has a line in it that ends it early.
    let (httparse::Status::Complete(length), Some(method), Some(target), Some(version)) =
        (status, parsed.method, parsed.path, parsed.version)
    else {
        return Err(HeadError::FirstLine);
    };
    if length != head.len() {
        return Err(HeadError::FieldName);
    }
    let version = version_of(version)?;
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| HeadError::Method)?;
    check_line(method.as_str().len() + target.len() + " HTTP/1.1 ".len(), limits)?;
    let target = target::read(head.slice_ref(target.as_bytes()), limits)?;
    target::check_form(&method, &target)?;
    let mut read = FieldReader::new(parsed.headers.len(), limits);
    for field in parsed.headers.iter() {
        read.add(head, field)?;
    }
    read.check_host(version, &target)?;
    let framing = read.framing.of_request(version)?;
    let keep_alive = read.keep_alive(version);
    let expects_continue = read.expects && version == Version::HTTP_11 && framing != Framing::None;
    let mut request = Request::new(());
    *request.method_mut() = method;
    *request.uri_mut() = target;
    *request.version_mut() = version;
    *request.headers_mut() = read.into_fields()?;
    Ok(RequestHead {
        request,
        framing,
        keep_alive,
        expects_continue,
    })
}

/// Refuses what can be no beginning of a request's head.
fn check_part(part: &[u8], limits: &HeadLimits) -> Result<(), HeadError> {
    let line = part.split(|byte| *byte == b'\n').next().unwrap_or_default();
    check_line(line.strip_suffix(b"\r").unwrap_or(line).len(), limits)?;
    let mut fields: Fields<'_> = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let fields = fields
        .get_mut(..limits.fields.min(MAX_FIELDS))
        .unwrap_or_default();
    httparse::ParserConfig::default()
        .parse_request_with_uninit_headers(&mut httparse::Request::new(&mut []), part, fields)
        .map(|_| ())
        .map_err(|error| request_error(error, part))
}

/// Whether a first line of this length can be one.
fn check_line(length: usize, limits: &HeadLimits) -> Result<(), HeadError> {
    if length > limits.target.saturating_add(BESIDE_TARGET) {
        return Err(HeadError::TargetTooLong);
    }
    Ok(())
}

fn request_error(error: httparse::Error, head: &[u8]) -> HeadError {
    match error {
        httparse::Error::Version => first_line_error(head, HeadError::Version),
        httparse::Error::Token => first_line_error(head, HeadError::Target),
        other => field_error(other),
    }
}

/// httparse has few words for what is wrong with a first line: `whole` if it has three words and a method.
fn first_line_error(head: &[u8], whole: HeadError) -> HeadError {
    let line = head
        .split(|byte| matches!(byte, b'\r' | b'\n'))
        .next()
        .unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let method = words.next().unwrap_or_default();
    if method.is_empty() || !method.iter().all(is_token) {
        return HeadError::Method;
    }
    match (words.next(), words.next(), words.next()) {
        (Some(b""), ..) => HeadError::FirstLine,
        (Some(_), Some(version), None) if version.starts_with(b"HTTP/") => whole,
        (Some(_), None, None) => HeadError::Target,
        _ => HeadError::FirstLine,
    }
}

fn field_error(error: httparse::Error) -> HeadError {
    match error {
        httparse::Error::TooManyHeaders => HeadError::TooManyFields,
        httparse::Error::HeaderName => HeadError::FieldName,
        httparse::Error::HeaderValue => HeadError::FieldValue,
        httparse::Error::Status => HeadError::Status,
        httparse::Error::Version => HeadError::Version,
        httparse::Error::NewLine | httparse::Error::Token => HeadError::FirstLine,
    }
}

fn version_of(minor: u8) -> Result<Version, HeadError> {
    match minor {
        0 => Ok(Version::HTTP_10),
        1 => Ok(Version::HTTP_11),
        _ => Err(HeadError::Version),
    }
}

// === responses ===

fn response(head: &Bytes, limits: &HeadLimits, method: &Method) -> Result<ResponseHead, HeadError> {
    let mut fields: Fields<'_> = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let fields = fields
        .get_mut(..limits.fields.min(MAX_FIELDS))
        .unwrap_or_default();
    let mut parsed = httparse::Response::new(&mut []);
    let status = httparse::ParserConfig::default()
        .parse_response_with_uninit_headers(&mut parsed, head, fields)
        .map_err(field_error)?;
    let (httparse::Status::Complete(length), Some(code), Some(version)) =
        (status, parsed.code, parsed.version)
    else {
        return Err(HeadError::FirstLine);
    };
    if length != head.len() {
        return Err(HeadError::FieldName);
    }
    let version = version_of(version)?;
    let status = StatusCode::from_u16(code)
        .ok()
        .filter(|status| status.as_u16() < 600)
        .ok_or(HeadError::Status)?;
    let mut read = FieldReader::new(parsed.headers.len(), limits);
    for field in parsed.headers.iter() {
        read.add(head, field)?;
    }
    let framing = read.framing.of_response(method, status, version)?;
    let keep_alive = read.keep_alive(version) && framing != Framing::Close && !read.framing.is_ambiguous();
    let mut response = Response::new(());
    *response.status_mut() = status;
    *response.version_mut() = version;
    *response.headers_mut() = read.into_fields()?;
    Ok(ResponseHead {
        response,
        framing,
        keep_alive,
    })
}

#[cfg(test)]
mod tests;
