//! Host and authority, as a request may name them (RFC 9110, section 7.2; RFC 3986, section 3.2).

/// The longest authority in bytes: a host name has at most 253.
const MAX_AUTHORITY: usize = 255;

/// Whether `text` is `host` or `host:port`: a name, an IPv4 address, or an IPv6 address in brackets, and a port
/// from 1 to 65535. No user information, no empty label, no byte that a name cannot have.
pub fn is_valid_authority(text: &[u8]) -> bool {
    if text.is_empty() || text.len() > MAX_AUTHORITY {
        return false;
    }
    match split(text) {
        Some((Name::Address(address), port)) => is_ipv6(address) && is_port(port),
        Some((Name::Host(host), port)) => is_host_name(host) && is_port(port),
        None => false,
    }
}

enum Name<'t> {
    Address(&'t [u8]),
    Host(&'t [u8]),
}

/// The host and what follows it.
fn split(text: &[u8]) -> Option<(Name<'_>, &[u8])> {
    if let Some(inner) = text.strip_prefix(b"[") {
        let end = inner.iter().position(|byte| *byte == b']')?;
        let (address, rest) = inner.split_at_checked(end)?;
        return Some((Name::Address(address), rest.get(1..)?));
    }
    let end = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
    let (host, port) = text.split_at_checked(end)?;
    Some((Name::Host(host), port))
}

fn is_ipv6(address: &[u8]) -> bool {
    std::str::from_utf8(address).is_ok_and(|text| text.parse::<std::net::Ipv6Addr>().is_ok())
}

fn is_port(port: &[u8]) -> bool {
    match port {
        [] | [b':'] => true,
        [b':', digits @ ..] => {
            let port = digits.iter().try_fold(0_u16, |port, byte| {
                let digit = byte.is_ascii_digit().then(|| u16::from(byte - b'0'))?;
                port.checked_mul(10)?.checked_add(digit)
            });
            port.is_some_and(|port| port > 0)
        }
        _ => false,
    }
}

fn is_host_name(name: &[u8]) -> bool {
    let name = name.strip_suffix(b".").unwrap_or(name);
    let mut label = 0;
    for byte in name {
        if IN_LABEL.get(usize::from(*byte)) == Some(&true) {
            label += 1;
        } else if *byte == b'.' && label > 0 {
            label = 0;
        } else {
            return false;
        }
    }
    label > 0
}

/// The bytes that a label of a name can have.
static IN_LABEL: [bool; 256] = in_label();

const fn in_label() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~');
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_with_and_without_ports_are_valid() {
        for text in [
            "a",
            "a.test",
            "A.Test",
            "a.test.",
            "a.test:80",
            "a.test:",
            "1.2.3.4",
            "1.2.3.4:65535",
            "[::1]",
            "[::1]:8080",
            "xn--bcher-kva.test",
            "a_b.test",
            "a.test.:80",
        ] {
            assert!(is_valid_authority(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn everything_else_is_not() {
        let long = "a".repeat(256);
        for text in [
            "",
            ":80",
            "u@a",
            "a/b",
            "a, b",
            "a b",
            "a?x",
            "a#x",
            "a:99999",
            "a:0",
            "a:1:2",
            "a:x",
            "a:+1",
            "[::1",
            "[::1].",
            "[::1]x",
            "[]",
            "[1.2.3.4]",
            "..",
            ".",
            "a..b",
            ".a",
            "a]",
            "\u{2}",
            "a%41",
            "http://a",
            "a;b",
            &long,
        ] {
            assert!(!is_valid_authority(text.as_bytes()), "{text}");
        }
    }
}
