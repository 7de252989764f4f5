//! The header itself, in both versions of HAProxy's specification. Whatever it does not allow is an error: a sign before
//! a port, another blank, an address of the wrong family.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use thiserror::Error;

/// The most bytes of a header. One of the first version has 107 at most; one of the second could say that it has 64 KiB,
/// which nobody needs to name two addresses and a few things more.
pub(crate) const MAX_HEADER: usize = 4096;

const MAX_V1: usize = 107;

const V1: &[u8] = b"PROXY ";
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// What bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No header.
    Nothing,
    /// A header of this length; the client, if it names one.
    Header {
        length: usize,
        client: Option<SocketAddr>,
    },
}

/// Why a header is none.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum HeaderError {
    #[error("it is too long")]
    TooLong,
    #[error("the line is malformed")]
    Line,
    #[error("its version or command is not known")]
    Command,
    #[error("its address family is not known")]
    Family,
    #[error("it is shorter than its addresses")]
    TooShort,
}

/// What `bytes` begin with; `None` if more of them must come to tell.
pub(crate) fn find(bytes: &[u8]) -> Result<Option<Found>, HeaderError> {
    if bytes.starts_with(V1) {
        return v1(bytes);
    }
    if bytes.starts_with(V2) {
        return v2(bytes);
    }
    let may_become = |signature: &[u8]| signature.starts_with(bytes);
    Ok((!may_become(V1) && !may_become(V2)).then_some(Found::Nothing))
}

fn v1(bytes: &[u8]) -> Result<Option<Found>, HeaderError> {
    let looked_at = bytes.get(..MAX_V1).unwrap_or(bytes);
    let Some(end) = looked_at.iter().position(|byte| *byte == b'\n') else {
        return if looked_at.len() < MAX_V1 {
            Ok(None)
        } else {
            Err(HeaderError::TooLong)
        };
    };
    let line = looked_at
        .get(V1.len()..end)
        .and_then(|line| line.strip_suffix(b"\r"));
    let line = line.and_then(|line| std::str::from_utf8(line).ok());
    let client = client_of_line(line.ok_or(HeaderError::Line)?).ok_or(HeaderError::Line)?;
    Ok(Some(Found::Header {
        length: end + 1,
        client,
    }))
}

/// The client that a line names, without what stands before and behind it. `Some(None)`: it says that there is none.
fn client_of_line(line: &str) -> Option<Option<SocketAddr>> {
    let mut words = line.split(' ');
    let client = match words.next()? {
        // Whatever else such a line says is to be ignored.
        "UNKNOWN" => return Some(None),
        "TCP4" => client::<Ipv4Addr>(&mut words)?,
        "TCP6" => client::<Ipv6Addr>(&mut words)?,
        _ => return None,
    };
    words.next().is_none().then_some(Some(client))
}

fn client<'l, A: FromStr + Into<IpAddr>>(words: &mut impl Iterator<Item = &'l str>) -> Option<SocketAddr> {
    let source: A = words.next()?.parse().ok()?;
    let _destination: A = words.next()?.parse().ok()?;
    let port = port(words.next()?)?;
    let _destination_port = self::port(words.next()?)?;
    Some(SocketAddr::new(source.into(), port))
}

fn port(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let leading_zero = text.len() > 1 && text.starts_with('0');
    text.parse().ok().filter(|_| digits && !leading_zero)
}

fn v2(bytes: &[u8]) -> Result<Option<Found>, HeaderError> {
    let fixed = bytes.get(V2.len()..).and_then(<[u8]>::first_chunk::<4>);
    let Some([command, family, high, low]) = fixed else {
        return Ok(None);
    };
    let addresses = usize::from(u16::from_be_bytes([*high, *low]));
    let begin = V2.len() + 4;
    let length = begin + addresses;
    let is_local = match command {
        0x20 => true,
        0x21 => false,
        _ => return Err(HeaderError::Command),
    };
    if length > MAX_HEADER {
        return Err(HeaderError::TooLong);
    }
    let Some(rest) = bytes.get(begin..length) else {
        return Ok(None);
    };
    let client = match family {
        // Said by the balancer itself, such as to see whether we are there.
        _ if is_local => None,
        0x00 => None,
        0x11 | 0x12 => Some(binary::<4, Ipv4Addr>(rest)?),
        0x21 | 0x22 => Some(binary::<16, Ipv6Addr>(rest)?),
        // Unix sockets: their names say nothing of a client.
        0x31 | 0x32 if rest.len() >= 216 => None,
        0x31 | 0x32 => return Err(HeaderError::TooShort),
        _ => return Err(HeaderError::Family),
    };
    Ok(Some(Found::Header { length, client }))
}

/// The source of two addresses and two ports. More may follow them, in a form that nobody here needs to know.
fn binary<const N: usize, A: From<[u8; N]> + Into<IpAddr>>(bytes: &[u8]) -> Result<SocketAddr, HeaderError> {
    let source = bytes.first_chunk::<N>();
    let port = bytes.get(2 * N..2 * N + 4).and_then(<[u8]>::first_chunk::<2>);
    let (source, port) = source.zip(port).ok_or(HeaderError::TooShort)?;
    Ok(SocketAddr::new(
        A::from(*source).into(),
        u16::from_be_bytes(*port),
    ))
}

/// What must hold of any bytes: pieces of them are no other header, and what is found is within them and names what its
/// own writing names.
#[cfg(any(test, fuzzing))]
#[expect(clippy::panic, reason = "that is how a contradiction is told")]
pub(crate) fn check(bytes: &[u8]) {
    let whole = find(bytes);
    for length in 0..bytes.len() {
        let part = bytes.get(..length).unwrap_or_default();
        match (find(part), whole) {
            (Ok(None), _) => {}
            (found, whole) => assert_eq!(found, whole, "{length} bytes of {bytes:?}"),
        }
    }
    if let Ok(Some(Found::Header { length, client })) = whole {
        assert!(length <= bytes.len() && length <= MAX_HEADER);
        let rest = bytes.get(length..).unwrap_or_default();
        let again = match client {
            None => b"PROXY UNKNOWN\r\n".to_vec(),
            Some(client) => {
                let (family, other) = match client {
                    SocketAddr::V4(_) => ("TCP4", "192.0.2.1"),
                    SocketAddr::V6(_) => ("TCP6", "2001:db8::1"),
                };
                format!("PROXY {family} {} {other} {} 80\r\n", client.ip(), client.port()).into_bytes()
            }
        };
        let written = [&again, rest].concat();
        match find(&written) {
            Ok(Some(Found::Header { length, client: read })) => {
                assert_eq!((length, read), (again.len(), client));
            }
            other => panic!("{other:?} in {written:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header(length: usize, client: &str) -> Result<Option<Found>, HeaderError> {
        Ok(Some(Found::Header {
            length,
            client: client.parse().ok(),
        }))
    }

    fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
        [V2, &[command, family], &length, rest].concat()
    }

    const V4: [u8; 12] = [192, 0, 2, 1, 192, 0, 2, 2, 0x12, 0x67, 0, 80];

    #[test]
    fn lines_name_the_client() {
        for (line, client) in [
            ("PROXY TCP4 192.0.2.1 192.0.2.2 4711 80\r\n", "192.0.2.1:4711"),
            (
                "PROXY TCP4 255.255.255.255 0.0.0.0 65535 0\r\n",
                "255.255.255.255:65535",
            ),
            ("PROXY TCP6 2001:db8::1 ::1 4711 80\r\n", "[2001:db8::1]:4711"),
            ("PROXY UNKNOWN\r\n", ""),
            ("PROXY UNKNOWN ffff::1 whatever\r\n", ""),
        ] {
            assert_eq!(find(line.as_bytes()), header(line.len(), client), "{line}");
            let more = [line, "GET / HTTP/1.1\r\n"].concat();
            assert_eq!(find(more.as_bytes()), header(line.len(), client), "{line}");
        }
    }

    #[test]
    fn what_is_no_such_line_is_an_error() {
        for line in [
            "PROXY \r\n",
            "PROXY TCP4\r\n",
            "PROXY TCP5 192.0.2.1 192.0.2.2 4711 80\r\n",
            "PROXY tcp4 192.0.2.1 192.0.2.2 4711 80\r\n",
            "PROXY TCP4 ::1 ::1 4711 80\r\n",
            "PROXY TCP6 192.0.2.1 192.0.2.2 4711 80\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 4711\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 4711 80 1\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 4711 80 \r\n",
            "PROXY TCP4  192.0.2.1 192.0.2.2 4711 80\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 +4711 80\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 04711 80\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 65536 80\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 4711 -1\r\n",
            "PROXY TCP4 192.0.2.01 192.0.2.2 4711 80\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 4711 80\n",
            "PROXY TCP4 192.0.2.1\t192.0.2.2 4711 80\r\n",
        ] {
            assert_eq!(find(line.as_bytes()), Err(HeaderError::Line), "{line}");
        }
        let long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(100));
        assert_eq!(find(long.as_bytes()), Err(HeaderError::TooLong));
    }

    #[test]
    fn the_second_version_names_the_client() {
        let v6 = [
            [0x20, 1, 0x0d, 0xb8].as_slice(),
            &[0; 11],
            &[1],
            &[0; 15],
            &[1],
            &[0x12, 0x67, 0, 80],
        ]
        .concat();
        let with_more = [V4.as_slice(), &[4, 0, 1, 0]].concat();
        for (bytes, client) in [
            (binary(0x21, 0x11, &V4), "192.0.2.1:4711"),
            (binary(0x21, 0x12, &V4), "192.0.2.1:4711"),
            (binary(0x21, 0x11, &with_more), "192.0.2.1:4711"),
            (binary(0x21, 0x21, &v6), "[2001:db8::1]:4711"),
            (binary(0x20, 0x11, &V4), ""),
            (binary(0x20, 0x00, &[]), ""),
            (binary(0x21, 0x00, &[]), ""),
            (binary(0x21, 0x31, &[b'x'; 216]), ""),
        ] {
            assert_eq!(find(&bytes), header(bytes.len(), client), "{bytes:?}");
        }
    }

    #[test]
    fn a_second_version_that_cannot_be_is_an_error() {
        for (bytes, error) in [
            (binary(0x11, 0x11, &V4), HeaderError::Command),
            (binary(0x22, 0x11, &V4), HeaderError::Command),
            (binary(0x21, 0x13, &V4), HeaderError::Family),
            (binary(0x21, 0x41, &V4), HeaderError::Family),
            (binary(0x21, 0x11, &V4[..11]), HeaderError::TooShort),
            (binary(0x21, 0x21, &V4), HeaderError::TooShort),
            (binary(0x21, 0x31, &[0; 215]), HeaderError::TooShort),
            (binary(0x21, 0x11, &[0; 5000]), HeaderError::TooLong),
        ] {
            assert_eq!(find(&bytes), Err(error), "{bytes:?}");
        }
    }

    #[test]
    fn anything_else_is_no_header() {
        for bytes in [
            b"GET / HTTP/1.1\r\n".as_slice(),
            b"PROPFIND",
            b"\x16\x03\x01",
            b"\r\n\r\nGET",
            b"PRI * HTTP/2.0",
        ] {
            assert_eq!(find(bytes), Ok(Some(Found::Nothing)), "{bytes:?}");
        }
        for bytes in [
            b"".as_slice(),
            b"P",
            b"PROXY",
            b"\r\n",
            b"\r\n\r\n\0\r\nQUIT\n\x21",
        ] {
            assert_eq!(find(bytes), Ok(None), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_confuse_it(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            check(&bytes);
        }

        #[test]
        fn no_lines_confuse_it(line in "PROXY (TCP4|TCP6|UNKNOWN)[ 0-9a-f:.+]{0,100}\r?\n?x{0,9}") {
            check(line.as_bytes());
        }

        #[test]
        fn no_second_version_confuses_it(
            command in prop_oneof![Just(0x20_u8), Just(0x21), any::<u8>()],
            family in prop_oneof![Just(0x11_u8), Just(0x21), Just(0), any::<u8>()],
            rest in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            check(&binary(command, family, &rest));
        }
    }
}
