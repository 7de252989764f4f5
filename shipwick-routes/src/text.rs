//! How texts of others are shown.

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

/// `text` as one line of at most `most` characters, without those that control a terminal.
pub(crate) fn line(text: &str, most: usize) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    let mut line: String = text.chars().take(most).map(shown).collect();
    if line.len() < text.len() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_shown_in_part() {
        assert_eq!(shown("a\n\"b"), r#""a\n\"b""#);
        assert_eq!(shown(&"x".repeat(5000)).chars().count(), MOST + 3);
    }

    #[test]
    fn a_line_is_one() {
        assert_eq!(line(" a\nb\u{1b}[2J \n", 100), "a b [2J");
        assert_eq!(line("ééé", 2), "éé…");
    }
}
