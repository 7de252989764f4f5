//! Distinguished names, such as `CN=My CA,O=My Org,C=DE`.

use x509_parser::x509::X509Name;

/// A name, as its parts in no order: programs write them from the front or from the back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct DistinguishedName(Vec<(String, String)>);

/// The short names of attributes, and what they stand for.
const KINDS: &[(&str, &str)] = &[
    ("C", "2.5.4.6"),
    ("CN", "2.5.4.3"),
    ("DC", "0.9.2342.19200300.100.1.25"),
    ("EMAILADDRESS", "1.2.840.113549.1.9.1"),
    ("L", "2.5.4.7"),
    ("O", "2.5.4.10"),
    ("OU", "2.5.4.11"),
    ("POSTALCODE", "2.5.4.17"),
    ("SERIALNUMBER", "2.5.4.5"),
    ("ST", "2.5.4.8"),
    ("STREET", "2.5.4.9"),
    ("UID", "0.9.2342.19200300.100.1.1"),
];

// === impl DistinguishedName ===

impl DistinguishedName {
    /// Reads a name as RFC 2253 has it: a backslash makes what follows a part of the value.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = Some(text);
        while let Some(part) = rest {
            let (kind, behind) = part.split_once('=')?;
            let (value, next) = value(behind)?;
            parts.push((kind_of(kind.trim())?, value));
            rest = next;
        }
        Some(Self::of(parts))
    }

    /// The name in a certificate, if all of its parts are text.
    pub(super) fn of_certificate(name: &X509Name<'_>) -> Option<Self> {
        let parts = name.iter_attributes().map(|part| {
            let value = part.as_str().ok()?.to_owned();
            Some((part.attr_type().to_id_string(), value))
        });
        parts.collect::<Option<_>>().map(Self::of)
    }

    fn of(mut parts: Vec<(String, String)>) -> Self {
        parts.sort_unstable();
        Self(parts)
    }
}

fn kind_of(name: &str) -> Option<String> {
    let known = KINDS.iter().find(|(short, _)| short.eq_ignore_ascii_case(name));
    let is_number = name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number = known
        .map(|(_, number)| *number)
        .or_else(|| is_number.then_some(name));
    number.map(str::to_owned)
}

/// A value, and what is behind it if there is more.
fn value(text: &str) -> Option<(String, Option<&str>)> {
    let mut chars = text.trim_start_matches(' ').chars();
    let mut bytes = Vec::new();
    // Spaces at the end are no part of it, unless they are escaped.
    let mut kept = 0;
    let mut rest = None;
    while let Some(c) = chars.next() {
        match c {
            ',' | '+' => {
                rest = Some(chars.as_str());
                break;
            }
            '\\' => {
                push_escaped(&mut chars, &mut bytes)?;
                kept = bytes.len();
            }
            c => {
                push(c, &mut bytes);
                if c != ' ' {
                    kept = bytes.len();
                }
            }
        }
    }
    bytes.truncate(kept);
    Some((String::from_utf8(bytes).ok()?, rest))
}

/// Two hexadecimal digits are a byte; anything else is itself.
fn push_escaped(chars: &mut std::str::Chars<'_>, bytes: &mut Vec<u8>) -> Option<()> {
    let first = chars.next()?;
    let second = chars.clone().next().and_then(|second| second.to_digit(16));
    match (first.to_digit(16), second) {
        (Some(high), Some(low)) => {
            chars.next();
            bytes.push(u8::try_from(high << 4 | low).ok()?);
        }
        _ => push(first, bytes),
    }
    Some(())
}

fn push(c: char, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_however_they_are_written() {
        let name = DistinguishedName::parse(r"CN=Test CA,OU=B,OU=A,O=Trust\, Ltd,C=DE");
        assert!(name.is_some());
        for same in [
            r"C=DE,O=Trust\, Ltd,OU=A,OU=B,CN=Test CA",
            r"cn = Test CA , ou=A+OU=B, O=Trust\2C\20Ltd,c=DE",
            r"2.5.4.3=Test CA,OU=B,OU=A,O=Trust\, Ltd,C=DE",
        ] {
            assert_eq!(DistinguishedName::parse(same), name, "{same}");
        }
        for other in [
            r"CN=Test CA,OU=A,O=Trust\, Ltd,C=DE",
            r"CN=test CA,OU=B,OU=A,O=Trust\, Ltd,C=DE",
            r"CN=Test CA\ ,OU=B,OU=A,O=Trust\, Ltd,C=DE",
            r"O=Test CA,OU=B,OU=A,CN=Trust\, Ltd,C=DE",
        ] {
            let other = DistinguishedName::parse(other);
            assert!(other.is_some() && other != name, "{other:?}");
        }
    }

    #[test]
    fn what_is_no_name_is_none() {
        for wrong in [
            "",
            "CN",
            "CN=a,",
            "CN=a,b",
            "X=a",
            r"CN=a\",
            r"CN=\ff",
            "=a",
            "CN=a,,O=b",
        ] {
            assert_eq!(DistinguishedName::parse(wrong), None, "{wrong}");
        }
    }
}
