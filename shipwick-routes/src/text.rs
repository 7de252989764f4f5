//! How a value that was refused is shown.

/// The most characters of a value that are shown.
const MOST: usize = 100;

/// `text` in quotation marks, its control characters escaped, and no more of it than a reader needs.
pub(crate) fn shown(text: &str) -> String {
    let mut beginning: String = text.chars().take(MOST).collect();
    if beginning.len() < text.len() {
        beginning.push('…');
    }
    format!("{beginning:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_shown_in_part() {
        assert_eq!(shown("a\n\"b"), r#""a\n\"b""#);
        assert_eq!(shown(&"x".repeat(5000)).chars().count(), MOST + 3);
    }
}
