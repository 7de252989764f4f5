//! The fields of a head, and what the codec itself has to know of them.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Uri, Version};

use super::HeadLimits;
use crate::buffers;
use crate::error::HeadError;
use crate::framing::FramingFields;
use crate::host::is_valid_authority;

/// Collects the fields of a head, and what the codec itself has to know of them.
pub(super) struct FieldReader {
    map: HeaderMap,
    bare_line_feed: bool,
    pub(super) framing: FramingFields,
    hosts: u32,
    host_is_valid: bool,
    pub(super) expects: bool,
    close: bool,
    persist: bool,
}

impl FieldReader {
    pub(super) fn new(fields: usize, limits: &HeadLimits) -> Self {
        Self {
            // Room for the fields that a proxy adds.
            map: buffers::fields(fields + 6),
            bare_line_feed: limits.bare_line_feed,
            framing: FramingFields::default(),
            hosts: 0,
            host_is_valid: true,
            expects: false,
            close: false,
            persist: false,
        }
    }

    pub(super) fn add(&mut self, head: &Bytes, field: &httparse::Header<'_>) -> Result<(), HeadError> {
        if !self.bare_line_feed && !ends_with_crlf(head, field.name) {
            return Err(HeadError::BareLineFeed);
        }
        let name = match usual(field.name.as_bytes()) {
            Some(name) => name,
            None => HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| HeadError::FieldName)?,
        };
        match name {
            header::HOST => {
                self.hosts += 1;
                self.host_is_valid &= is_valid_authority(field.value);
            }
            header::CONTENT_LENGTH => self.framing.on_length(field.value),
            header::TRANSFER_ENCODING => self.framing.on_coding(field.value),
            header::CONNECTION => self.on_connection(field.value),
            header::EXPECT => self.expects |= field.value.eq_ignore_ascii_case(b"100-continue"),
            _ => {}
        }
        let value = if field.value.is_empty() {
            HeaderValue::from_static("")
        } else {
            HeaderValue::from_maybe_shared(head.slice_ref(field.value)).map_err(|_| HeadError::FieldValue)?
        };
        self.map
            .try_append(name, value)
            .map(|_| ())
            .map_err(|_| HeadError::TooManyFields)
    }

    fn on_connection(&mut self, value: &[u8]) {
        for token in list(value) {
            self.close |= token.eq_ignore_ascii_case(b"close");
            self.persist |= token.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// RFC 9112, section 9.3.
    pub(super) fn keep_alive(&self, version: Version) -> bool {
        !self.close && (version == Version::HTTP_11 || self.persist)
    }

    /// RFC 9112, section 3.2. The host of a target in absolute form counts; Host must be valid all the same.
    pub(super) fn check_host(&self, version: Version, target: &Uri) -> Result<(), HeadError> {
        match self.hosts {
            0 if version == Version::HTTP_11 => return Err(HeadError::NoHost),
            0 | 1 => {}
            _ => return Err(HeadError::TwoHosts),
        }
        let target_is_valid = target
            .authority()
            .is_none_or(|authority| is_valid_authority(authority.as_str().as_bytes()));
        if self.host_is_valid && target_is_valid {
            Ok(())
        } else {
            Err(HeadError::Host)
        }
    }

    /// The fields, with one Content-Length in its plain form.
    pub(super) fn into_fields(mut self) -> Result<HeaderMap, HeadError> {
        if let Some(length) = self.framing.length() {
            let plain = |value: &HeaderValue| matches!(value.as_bytes(), [b'0'] | [b'1'..=b'9', ..]);
            let is_plain = self.map.get(header::CONTENT_LENGTH).is_some_and(plain);
            if self.framing.is_ambiguous() {
                self.map.remove(header::CONTENT_LENGTH);
            } else if self.framing.lengths() > 1 || !is_plain {
                self.map
                    .try_insert(header::CONTENT_LENGTH, length.into())
                    .map_err(|_| HeadError::TooManyFields)?;
            }
        }
        Ok(self.map)
    }
}

/// The names that most heads have, as most peers write them: they are found sooner here than in the table of all.
fn usual(name: &[u8]) -> Option<HeaderName> {
    Some(match name {
        b"Accept" | b"accept" => header::ACCEPT,
        b"Accept-Encoding" | b"accept-encoding" => header::ACCEPT_ENCODING,
        b"Accept-Language" | b"accept-language" => header::ACCEPT_LANGUAGE,
        b"Cache-Control" | b"cache-control" => header::CACHE_CONTROL,
        b"Connection" | b"connection" => header::CONNECTION,
        b"Content-Length" | b"content-length" => header::CONTENT_LENGTH,
        b"Content-Type" | b"content-type" => header::CONTENT_TYPE,
        b"Cookie" | b"cookie" => header::COOKIE,
        b"Date" | b"date" => header::DATE,
        b"Host" | b"host" => header::HOST,
        b"Server" | b"server" => header::SERVER,
        b"User-Agent" | b"user-agent" => header::USER_AGENT,
        _ => return None,
    })
}

/// Whether Connection has this option, in whatever case it is written.
pub fn connection_has(headers: &HeaderMap, option: &[u8]) -> bool {
    headers
        .get_all(header::CONNECTION)
        .iter()
        .any(|value| list(value.as_bytes()).any(|token| token.eq_ignore_ascii_case(option)))
}

/// The items of a list (RFC 9110, section 5.6.1).
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// Whether the line before a field's name ends as it should: httparse takes a line feed alone, too.
fn ends_with_crlf(head: &Bytes, name: &str) -> bool {
    let start = (name.as_ptr() as usize).wrapping_sub(head.as_ptr() as usize);
    head.get(..start).is_some_and(|before| before.ends_with(b"\r\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_those_of_the_table() {
        let names = "Accept Accept-Encoding Accept-Language Cache-Control Connection Content-Length Content-Type \
                     Cookie Date Host Server User-Agent";
        for name in names.split(' ') {
            for name in [name.to_owned(), name.to_lowercase()] {
                assert_eq!(
                    usual(name.as_bytes()),
                    HeaderName::from_bytes(name.as_bytes()).ok()
                );
            }
        }
        assert_eq!(usual(b"X-Custom"), None);
    }
}
