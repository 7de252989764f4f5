//! Why a message is not read: each reason with the status that a server answers it with.

use std::fmt;

use http::StatusCode;

/// Why a head is refused (RFC 9112, sections 2 to 6; RFC 9110, sections 5 and 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HeadError {
    /// The first line is not `method SP target SP version`, or no status line.
    FirstLine,
    /// The method is not a token.
    Method,
    /// The target holds a byte that no target may have, or a fragment.
    Target,
    /// The target is longer than the limit.
    TargetTooLong,
    /// The version is none of HTTP/1.0 and HTTP/1.1.
    Version,
    /// The status is below 100 or above 599, or no number of three digits.
    Status,
    /// A field name is not a token followed by a colon.
    FieldName,
    /// A field value holds a control byte, or is continued on the next line.
    FieldValue,
    /// A line ends with a line feed alone.
    BareLineFeed,
    /// A response comes with more interim ones than the limit.
    TooManyInterim,
    /// The head is larger than the limit.
    TooLarge,
    /// The head has more fields than the limit.
    TooManyFields,
    /// An HTTP/1.1 request has no Host.
    NoHost,
    /// The request has two Hosts, equal or not.
    TwoHosts,
    /// Host is not `host` or `host:port`.
    Host,
    /// Content-Length is not one number.
    Length,
    /// There are a Content-Length and a Transfer-Encoding: two readers could frame the body differently.
    LengthAndCoding,
    /// Transfer-Encoding is not one final `chunked`.
    Coding,
    /// Transfer-Encoding names a coding other than `chunked`.
    UnknownCoding,
    /// HTTP/1.0 knows no Transfer-Encoding.
    CodingInOldVersion,
    /// The peer went away or was too slow in the middle of a head.
    TimedOut,
}

/// Why a body is not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// A chunk size is not a hexadecimal number of at most 64 bits followed by CRLF.
    #[error("a chunk size is malformed")]
    ChunkSize,
    /// A chunk extension holds a control byte, or all of them are larger than the limit.
    #[error("a chunk extension is malformed or too large")]
    ChunkExtension,
    /// A chunk's data is not followed by CRLF.
    #[error("a chunk does not end where its size says")]
    ChunkEnd,
    /// The trailer section is malformed.
    #[error("the trailers are malformed")]
    Trailers,
    /// The trailer section is larger than the limit.
    #[error("the trailers are too large")]
    TrailersTooLarge,
    /// The connection ended before the body did.
    #[error("the body is cut short")]
    Cut,
    /// The peer sends nothing, or too little.
    #[error("the body did not come in time")]
    TimedOut,
    /// The message is over: its connection went on without this body.
    #[error("the message is over")]
    Over,
}

// === impl HeadError ===

impl fmt::Display for HeadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl std::error::Error for HeadError {}

impl HeadError {
    /// The status that a server answers the request with.
    pub fn status(self) -> StatusCode {
        match self {
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::Version => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::TooLarge | Self::TooManyFields => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::UnknownCoding => StatusCode::NOT_IMPLEMENTED,
            Self::TimedOut => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// The reason in words that never change, for logs.
    pub fn reason(self) -> &'static str {
        match self {
            Self::FirstLine => "the first line is malformed",
            Self::Method => "the method is malformed",
            Self::Target => "the target is malformed",
            Self::TargetTooLong => "the target is too long",
            Self::Version => "the version is not supported",
            Self::Status => "the status is malformed",
            Self::FieldName => "a field name is malformed",
            Self::FieldValue => "a field value is malformed",
            Self::BareLineFeed => "a line ends without a carriage return",
            Self::TooManyInterim => "there are too many interim responses",
            Self::TooLarge => "the head is too large",
            Self::TooManyFields => "the head has too many fields",
            Self::NoHost => "there is no Host",
            Self::TwoHosts => "there are two Host fields",
            Self::Host => "the host is not valid",
            Self::Length => "Content-Length is not one number",
            Self::LengthAndCoding => "there are both Content-Length and Transfer-Encoding",
            Self::Coding => "Transfer-Encoding is not one final chunked",
            Self::UnknownCoding => "the transfer coding is not supported",
            Self::CodingInOldVersion => "HTTP/1.0 knows no Transfer-Encoding",
            Self::TimedOut => "the head did not come in time",
        }
    }
}
