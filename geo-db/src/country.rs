//! A country's code.

use std::{fmt, str::FromStr};

/// A country by two letters, as ISO 3166-1 alpha-2 codes are; kept in upper case.
///
/// Whether the code is assigned to a country is not asked: registries use others, too, such as `EU` and `UK`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CountryCode([u8; 2]);

/// A text that is not two ASCII letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a country is two letters, such as DE")]
pub struct CountryCodeError;

// === impl CountryCode ===

impl CountryCode {
    /// The code of two bytes, in whatever case; `None` unless both are ASCII letters.
    pub const fn from_bytes(bytes: [u8; 2]) -> Option<Self> {
        let [first, second] = bytes;
        if first.is_ascii_alphabetic() && second.is_ascii_alphabetic() {
            Some(Self([first.to_ascii_uppercase(), second.to_ascii_uppercase()]))
        } else {
            None
        }
    }

    /// The two letters, in upper case.
    pub fn as_str(&self) -> &str {
        // Both bytes are ASCII letters by construction.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl FromStr for CountryCode {
    type Err = CountryCodeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = text.as_bytes().try_into().map_err(|_| CountryCodeError)?;
        Self::from_bytes(bytes).ok_or(CountryCodeError)
    }
}

impl fmt::Display for CountryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for CountryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_two_letters_in_upper_case() {
        for text in ["de", "De", "DE"] {
            let code: CountryCode = text.parse().unwrap();
            assert_eq!(code.as_str(), "DE");
            assert_eq!(format!("{code} {code:?} {code:>4}"), "DE DE   DE");
        }
        for text in ["", "D", "DEU", "D1", " D", "\u{e9}", "d\u{e9}"] {
            assert_eq!(text.parse::<CountryCode>(), Err(CountryCodeError), "{text:?}");
        }
    }

    #[test]
    fn codes_are_ordered_as_texts() {
        let code = |text: &str| text.parse::<CountryCode>().unwrap();
        assert!(code("at") < code("DE") && code("DE") < code("dz"));
    }
}
