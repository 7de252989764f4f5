//! Percent-encoding, as paths are compared and read.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// The form in which paths are compared: everything decoded, except what would be read otherwise then. A slash and a
/// percent sign stay encoded, also one that begins no encoding, and so do control characters.
pub(crate) fn canonical(path: &str) -> Cow<'_, [u8]> {
    if memchr(b'%', path.as_bytes()).is_none() {
        return path.as_bytes().into();
    }
    let mut form = Vec::with_capacity(path.len().saturating_add(8));
    let mut rest = path.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let (byte, after) = match encoded(rest) {
            Some((byte, after)) => (byte, after),
            None => (*first, tail),
        };
        // A slash that is none of the separators, and what encodes.
        let stays = byte == b'%' || byte.is_ascii_control() || (byte == b'/' && *first == b'%');
        if stays {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or_default();
            form.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
        } else {
            form.push(byte);
        }
        rest = after;
    }
    form.into()
}

/// The whole path, decoded once. What is no UTF-8 is replaced.
pub(crate) fn decoded(path: &str) -> Cow<'_, str> {
    if memchr(b'%', path.as_bytes()).is_none() {
        return path.into();
    }
    decode(path, false)
}

/// What a part of a path stands for, decoded once, a `+` being a space. What is no UTF-8 is replaced.
pub(crate) fn value(part: &str) -> Cow<'_, str> {
    if memchr2(b'%', b'+', part.as_bytes()).is_none() {
        return part.into();
    }
    decode(part, true)
}

fn decode(part: &str, plus_is_space: bool) -> Cow<'_, str> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let (byte, after) = match (encoded(rest), first) {
            (Some((byte, after)), _) => (byte, after),
            (None, b'+') if plus_is_space => (b' ', tail),
            (None, _) => (*first, tail),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// The byte of `%XX` at the beginning, and what follows.
fn encoded(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, after @ ..] = bytes else {
        return None;
    };
    let digit = |byte: &u8| {
        char::from(*byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    Some(((digit(high)? << 4) | digit(low)?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_read_otherwise_stays_encoded() {
        for (path, form) in [
            ("/a/b", "/a/b"),
            ("/%41%7e", "/A~"),
            ("/a%2fb", "/a%2Fb"),
            ("/100%", "/100%25"),
            ("/%zz%4", "/%25zz%254"),
            ("/%25", "/%25"),
            ("/%00%7F%0a", "/%00%7F%0A"),
            ("/%c3%a9", "/é"),
        ] {
            assert_eq!(canonical(path), form.as_bytes(), "{path}");
        }
        assert_eq!(&*canonical("/%ff"), b"/\xff");
    }

    #[test]
    fn values_are_decoded_once() {
        for (part, shown) in [
            ("Hello,+world!", "Hello, world!"),
            ("a%2Bb%252F", "a+b%2F"),
            ("%zz%", "%zz%"),
            ("%ff", "\u{fffd}"),
        ] {
            assert_eq!(value(part), shown, "{part}");
        }
    }
}
