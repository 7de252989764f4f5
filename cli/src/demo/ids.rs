//! Ids that cannot be guessed: whoever knows one may act for its session.

use std::fmt;

use anyhow::Context as _;

/// 16 random bytes, written as 32 hexadecimal digits.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Id(u128);

// === impl Id ===

impl Id {
    /// A new random id.
    pub(super) fn random() -> anyhow::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).context("no random bytes from the system")?;
        Ok(Self(u128::from_le_bytes(bytes)))
    }

    /// Reads the written form; nothing else is an id.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let canonical = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        canonical
            .then(|| u128::from_str_radix(text, 16).ok().map(Self))
            .flatten()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// An id is a secret of its session, so it is not shown.
impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Id")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_being_written_and_read() {
        let id = Id::random().unwrap();
        assert_eq!(Id::parse(&id.to_string()), Some(id));
    }

    #[test]
    fn only_the_written_form_is_an_id() {
        let upper = "ABCDEF00000000000000000000000000";
        let signed = "+0000000000000000000000000000000";
        for text in [
            "",
            "0",
            upper,
            signed,
            "000000000000000000000000000000000",
            "<script>",
        ] {
            assert_eq!(Id::parse(text), None, "{text}");
        }
    }
}
