//! Where a body ends (RFC 9112, section 6), decided from the framing fields of a head.

use http::header::{self, HeaderMap};
use http::{Method, StatusCode, Version};

use crate::error::HeadError;

/// How a body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    None,
    /// It has this many bytes, more than none.
    Length(u64),
    /// It is sent in chunks.
    Chunked,
    /// It ends with its connection. Only responses can.
    Close,
}

/// The framing fields of a head, as they are met.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FramingFields {
    length: Option<u64>,
    lengths: u32,
    lengths_differ: bool,
    bad_length: bool,
    codings: Codings,
}

/// What the Transfer-Encoding fields of a head say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Codings {
    #[default]
    None,
    /// One field, whose value is `chunked`.
    Chunked,
    /// A coding that is neither `chunked` nor `identity`, alone or before a final `chunked`.
    Unknown,
    /// Anything else.
    Wrong,
}

// === impl FramingFields ===

impl FramingFields {
    pub(crate) fn on_length(&mut self, value: &[u8]) {
        self.lengths += 1;
        match parse_length(value) {
            Some(length) => {
                self.lengths_differ |= self.length.is_some_and(|before| before != length);
                self.length = Some(length);
            }
            None => self.bad_length = true,
        }
    }

    pub(crate) fn on_coding(&mut self, value: &[u8]) {
        self.codings = match (self.codings, codings(value)) {
            (Codings::None, first) => first,
            // `gzip` and `chunked` on two lines is as good as on one; any other pair is wrong.
            (Codings::Unknown, Codings::Chunked) => Codings::Unknown,
            _ => Codings::Wrong,
        };
    }

    /// The one number that all Content-Length fields give.
    pub(crate) fn length(&self) -> Option<u64> {
        self.length
    }

    /// How many Content-Length fields there are.
    pub(crate) fn lengths(&self) -> u32 {
        self.lengths
    }

    /// The framing of a request. Whatever two readers could take differently is refused.
    pub(crate) fn of_request(&self, version: Version) -> Result<Framing, HeadError> {
        if self.codings != Codings::None {
            if version == Version::HTTP_10 {
                return Err(HeadError::CodingInOldVersion);
            }
            if self.lengths > 0 {
                return Err(HeadError::LengthAndCoding);
            }
            return match self.codings {
                Codings::Chunked => Ok(Framing::Chunked),
                Codings::Unknown => Err(HeadError::UnknownCoding),
                Codings::None | Codings::Wrong => Err(HeadError::Coding),
            };
        }
        if self.bad_length || self.lengths > 1 {
            return Err(HeadError::Length);
        }
        Ok(match self.length {
            None | Some(0) => Framing::None,
            Some(length) => Framing::Length(length),
        })
    }

    /// The framing of a response to a request with `method`. Equal Content-Length fields count as one, and a
    /// Content-Length beside `chunked` is void, as origins send both; the connection ends with such a response.
    pub(crate) fn of_response(
        &self,
        method: &Method,
        status: StatusCode,
        version: Version,
    ) -> Result<Framing, HeadError> {
        match self.codings {
            Codings::None => {}
            _ if version == Version::HTTP_10 => return Err(HeadError::CodingInOldVersion),
            Codings::Unknown => return Err(HeadError::UnknownCoding),
            Codings::Wrong => return Err(HeadError::Coding),
            Codings::Chunked => {}
        }
        if self.bad_length || self.lengths_differ {
            return Err(HeadError::Length);
        }
        Ok(if has_no_body(method, status) {
            Framing::None
        } else if self.codings == Codings::Chunked {
            Framing::Chunked
        } else {
            match self.length {
                None => Framing::Close,
                Some(0) => Framing::None,
                Some(length) => Framing::Length(length),
            }
        })
    }

    pub(crate) fn is_ambiguous(&self) -> bool {
        self.codings != Codings::None && self.lengths > 0
    }
}

/// Brings Content-Length into the one form that no reader takes differently: one field, a plain number. For heads that
/// came by another way than this codec, such as HTTP/2.
///
/// # Errors
///
/// [`HeadError::Length`] if the fields do not give one number.
pub fn plain_length(headers: &mut HeaderMap) -> Result<(), HeadError> {
    let mut fields = FramingFields::default();
    let mut plain = true;
    for value in headers.get_all(header::CONTENT_LENGTH) {
        fields.on_length(value.as_bytes());
        plain &= value == "0" || !value.as_bytes().starts_with(b"0");
    }
    if fields.bad_length || fields.lengths_differ {
        return Err(HeadError::Length);
    }
    if let Some(length) = fields.length.filter(|_| !plain || fields.lengths > 1) {
        headers.insert(header::CONTENT_LENGTH, length.into());
    }
    Ok(())
}

/// Whether a response has no body whatever its fields say.
pub(crate) fn has_no_body(method: &Method, status: StatusCode) -> bool {
    method == Method::HEAD
        || status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// Digits only, at most 64 bits (RFC 9110, section 8.6).
fn parse_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// What one Transfer-Encoding field says.
fn codings(value: &[u8]) -> Codings {
    if value.eq_ignore_ascii_case(b"chunked") {
        return Codings::Chunked;
    }
    let mut chunked = false;
    let mut items = 0;
    for item in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
        let odd = item.is_empty() || item.eq_ignore_ascii_case(b"identity") || !item.iter().all(is_token);
        if odd || chunked {
            return Codings::Wrong;
        }
        chunked = item.eq_ignore_ascii_case(b"chunked");
        items += 1;
    }
    // A single unknown coding may be followed by a line with `chunked`.
    if chunked || items == 1 {
        Codings::Unknown
    } else {
        Codings::Wrong
    }
}

/// A byte of a token (RFC 9110, section 5.6.2).
pub(crate) fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lengths: &[&str], codings: &[&str]) -> FramingFields {
        let mut fields = FramingFields::default();
        lengths
            .iter()
            .for_each(|value| fields.on_length(value.as_bytes()));
        codings
            .iter()
            .for_each(|value| fields.on_coding(value.as_bytes()));
        fields
    }

    fn request(lengths: &[&str], codings: &[&str]) -> Result<Framing, HeadError> {
        fields(lengths, codings).of_request(Version::HTTP_11)
    }

    fn response(lengths: &[&str], codings: &[&str]) -> Result<Framing, HeadError> {
        fields(lengths, codings).of_response(&Method::GET, StatusCode::OK, Version::HTTP_11)
    }

    #[test]
    fn a_length_is_digits_and_nothing_else() {
        assert_eq!(request(&["5"], &[]), Ok(Framing::Length(5)));
        assert_eq!(request(&["005"], &[]), Ok(Framing::Length(5)));
        assert_eq!(request(&["0"], &[]), Ok(Framing::None));
        assert_eq!(
            request(&["18446744073709551615"], &[]),
            Ok(Framing::Length(u64::MAX))
        );
        for odd in [
            "",
            "+5",
            "-0",
            "-5",
            "0x5",
            "1_0",
            "1 0",
            "5;",
            "5,",
            "5, 5",
            "5\u{b}",
            "5.0",
            "1e3",
            "18446744073709551616",
            "a",
        ] {
            assert_eq!(request(&[odd], &[]), Err(HeadError::Length), "{odd}");
            assert_eq!(response(&[odd], &[]), Err(HeadError::Length), "{odd}");
        }
    }

    #[test]
    fn requests_with_two_lengths_are_refused_and_responses_only_if_they_differ() {
        assert_eq!(request(&["5", "5"], &[]), Err(HeadError::Length));
        assert_eq!(request(&["5", "6"], &[]), Err(HeadError::Length));
        assert_eq!(response(&["5", "5"], &[]), Ok(Framing::Length(5)));
        assert_eq!(response(&["5", "6"], &[]), Err(HeadError::Length));
        assert_eq!(response(&["5", "6", "5"], &[]), Err(HeadError::Length));
    }

    #[test]
    fn only_one_final_chunked_is_a_coding() {
        for (codings, expected) in [
            (&["chunked"][..], Ok(Framing::Chunked)),
            (&["Chunked"], Ok(Framing::Chunked)),
            (&["gzip, chunked"], Err(HeadError::UnknownCoding)),
            (&["gzip", "chunked"], Err(HeadError::UnknownCoding)),
            (&["xchunked"], Err(HeadError::UnknownCoding)),
            (&["chunked, chunked"], Err(HeadError::Coding)),
            (&["chunked", "chunked"], Err(HeadError::Coding)),
            (&["chunked, identity"], Err(HeadError::Coding)),
            (&["identity, chunked"], Err(HeadError::Coding)),
            (&["identity", "chunked"], Err(HeadError::Coding)),
            (&["identity"], Err(HeadError::Coding)),
            (&[",chunked"], Err(HeadError::Coding)),
            (&["chunked,"], Err(HeadError::Coding)),
            (&["chunked;x=1"], Err(HeadError::Coding)),
            (&["\"chunked\""], Err(HeadError::Coding)),
            (&["\u{b}chunked"], Err(HeadError::Coding)),
            (&["\u{a0}chunked"], Err(HeadError::Coding)),
            (&["chunked, gzip"], Err(HeadError::Coding)),
            (&["chunked gzip"], Err(HeadError::Coding)),
            (&[""], Err(HeadError::Coding)),
        ] {
            assert_eq!(request(&[], codings), expected, "{codings:?}");
            assert_eq!(response(&[], codings), expected, "{codings:?}");
        }
    }

    #[test]
    fn a_length_beside_a_coding_is_refused_in_requests_and_void_in_responses() {
        assert_eq!(request(&["5"], &["chunked"]), Err(HeadError::LengthAndCoding));
        let both = fields(&["5"], &["chunked"]);
        assert!(both.is_ambiguous());
        assert_eq!(response(&["5"], &["chunked"]), Ok(Framing::Chunked));
    }

    #[test]
    fn http_1_0_knows_no_coding() {
        let chunked = fields(&[], &["chunked"]);
        assert_eq!(
            chunked.of_request(Version::HTTP_10),
            Err(HeadError::CodingInOldVersion)
        );
        assert_eq!(
            chunked.of_response(&Method::GET, StatusCode::OK, Version::HTTP_10),
            Err(HeadError::CodingInOldVersion)
        );
    }

    #[test]
    fn some_responses_have_no_body_whatever_their_fields_say() {
        let long = fields(&["5"], &[]);
        let framing = |method, status| {
            long.of_response(&method, StatusCode::from_u16(status).unwrap(), Version::HTTP_11)
        };
        for status in [100, 103, 204, 304] {
            assert_eq!(framing(Method::GET, status), Ok(Framing::None), "{status}");
        }
        assert_eq!(framing(Method::HEAD, 200), Ok(Framing::None));
        assert_eq!(framing(Method::GET, 200), Ok(Framing::Length(5)));
        assert_eq!(response(&[], &[]), Ok(Framing::Close));
    }

    #[test]
    fn lengths_are_brought_into_one_plain_form() {
        for (lines, plain) in [
            (&[][..], Ok(None)),
            (&["5"], Ok(Some("5"))),
            (&["0"], Ok(Some("0"))),
            (&["005"], Ok(Some("5"))),
            (&["00"], Ok(Some("0"))),
            (&["5", "5"], Ok(Some("5"))),
            (&["5", "05"], Ok(Some("5"))),
            (&["5", "6"], Err(HeadError::Length)),
            (&["5", "x"], Err(HeadError::Length)),
            (&["5, 5"], Err(HeadError::Length)),
            (&["+5"], Err(HeadError::Length)),
            (&[""], Err(HeadError::Length)),
            (&["18446744073709551616"], Err(HeadError::Length)),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::CONTENT_LENGTH, line.parse().unwrap());
            }
            let result = plain_length(&mut headers);
            assert_eq!(result, plain.map(|_| ()), "{lines:?}");
            if let Ok(plain) = plain {
                let values: Vec<_> = headers.get_all(header::CONTENT_LENGTH).iter().collect();
                assert_eq!(values, plain.as_slice(), "{lines:?}");
            }
        }
    }
}
