//! The system prefix and the token segment of a request path, read without changing or copying the path.
//!
//! A path is compared as if each `%XX` were decoded, once. Only a literal `/` separates segments, so that `%2F` stays
//! data, and empty segments count.

use doors_token::MAX_TOKEN_LEN;

/// Whether `raw_path` is a Doors system path: one that begins, decoded once, with `/~/` and a segment that is not
/// empty.
///
/// `raw_path` is the path as it stands in the request target, after dot segments were resolved. A query behind it does
/// no harm. The router and everything that must leave system requests alone (redirects, filters) ask this one
/// function, so that they can't disagree.
///
/// ```
/// use doors_routing::is_system_path;
///
/// assert!(is_system_path("/~/token/h/1"));
/// assert!(is_system_path("/%7E/token"));
/// assert!(!is_system_path("/~"));
/// assert!(!is_system_path("/~//token"));
/// assert!(!is_system_path("/~%2Ftoken"));
/// ```
#[must_use]
pub fn is_system_path(raw_path: &str) -> bool {
    token_segment(raw_path).is_some()
}

/// The token segment of a system path, as it was written; `None` for every other path. Never empty.
pub(crate) fn token_segment(raw_path: &str) -> Option<&[u8]> {
    let ([b'/', b'~', b'/', rest @ ..] | [b'/', b'%', b'7', b'E' | b'e', b'/', rest @ ..]) =
        raw_path.as_bytes()
    else {
        return None;
    };
    // A literal `?` is no part of a path: a caller that left the query on still gets the right answer.
    let segment = rest.split(|byte| matches!(byte, b'/' | b'?')).next()?;
    (!segment.is_empty()).then_some(segment)
}

/// `segment` with each `%XX` decoded, once, into `buffer` if there is any; a `%` that no two hexadecimal digits follow
/// stays as it is. `None` if the result does not fit: it is longer than any token then.
pub(crate) fn decoded<'a>(segment: &'a [u8], buffer: &'a mut [u8; MAX_TOKEN_LEN]) -> Option<&'a [u8]> {
    if !segment.contains(&b'%') {
        return Some(segment);
    }
    let (mut rest, mut len) = (segment, 0_usize);
    while let Some((byte, tail)) = next_decoded(rest) {
        *buffer.get_mut(len)? = byte;
        len = len.saturating_add(1);
        rest = tail;
    }
    buffer.get(..len)
}

fn next_decoded(bytes: &[u8]) -> Option<(u8, &[u8])> {
    if let [b'%', high, low, tail @ ..] = bytes
        && let (Some(high), Some(low)) = (hex(*high), hex(*low))
    {
        return Some((high << 4 | low, tail));
    }
    bytes.split_first().map(|(byte, tail)| (*byte, tail))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(segment: &str) -> Option<String> {
        let mut buffer = [0; MAX_TOKEN_LEN];
        decoded(segment.as_bytes(), &mut buffer).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    #[test]
    fn each_escape_is_decoded_once_and_a_broken_one_stays() {
        for (segment, expected) in [
            ("abc", "abc"),
            ("%61b%63", "abc"),
            ("%2f%2F", "//"),
            ("%2541", "%41"),
            ("%25%34%31", "%41"),
            ("%", "%"),
            ("a%4", "a%4"),
            ("%zz%4x%61", "%zz%4xa"),
            ("%%61", "%a"),
            ("%+1", "%+1"),
        ] {
            assert_eq!(decode(segment).as_deref(), Some(expected), "{segment}");
        }
    }

    #[test]
    fn what_decodes_to_more_than_a_token_is_given_up() {
        assert_eq!(decode(&"%41".repeat(MAX_TOKEN_LEN)).unwrap().len(), MAX_TOKEN_LEN);
        assert_eq!(decode(&"%41".repeat(MAX_TOKEN_LEN + 1)), None);
    }

    #[test]
    fn the_token_segment_is_taken_as_it_is_written() {
        let segment = |path| token_segment(path).map(|segment| String::from_utf8_lossy(segment).into_owned());
        assert_eq!(segment("/%7e/a%2Fb//c").as_deref(), Some("a%2Fb"));
        assert_eq!(segment("/~/a"), Some("a".to_owned()));
        assert_eq!(segment("/~/?a"), None);
        assert_eq!(segment("/x/~/a"), None);
    }
}
