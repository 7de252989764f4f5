//! Where something stands in a text, for people.

use std::{fmt, ops::Range};

/// A place in a text: line, column, and the line itself with a mark.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    line: usize,
    column: usize,
    excerpt: String,
    before: usize,
    marked: usize,
}

/// Characters of a line that fit a screen.
const WIDTH: usize = 100;

/// Characters shown before the mark, at most.
const BEFORE: usize = 60;

/// Finds places in one text, each behind the last one, so that all of them together cost one pass.
#[derive(Debug)]
pub(crate) struct Places<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    column: usize,
}

// === impl Place ===

impl Place {
    /// The place of `span`, in bytes of `text`.
    #[must_use]
    pub fn of(text: &str, span: Range<usize>) -> Self {
        Places::new(text).find(span)
    }

    /// The line, from 1.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }

    /// The column in characters, from 1.
    #[must_use]
    pub const fn column(&self) -> usize {
        self.column
    }
}

/// Two lines to stand below a message: the source line, and a mark below the place.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, excerpt) = (self.line, &self.excerpt);
        let gutter = line.to_string().len();
        // A tab before the mark stays one, so that the mark stands below its place at every tab width.
        let lead: String = excerpt
            .chars()
            .take(self.before)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let mark = "^".repeat(self.marked);
        write!(f, "  {line} | {excerpt}\n  {:gutter$} | {lead}{mark}", "")
    }
}

// === impl Places ===

impl<'t> Places<'t> {
    pub(crate) const fn new(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
            column: 1,
        }
    }

    /// The place of `span`, which does not begin before the last one did.
    pub(crate) fn find(&mut self, span: Range<usize>) -> Place {
        self.advance(span.start);
        let behind = self.text.get(self.at..).unwrap_or_default();
        let before = self.text.get(..self.at).unwrap_or_default();
        let lead: Vec<char> = before
            .chars()
            .rev()
            .take_while(|c| *c != '\n')
            .take(BEFORE)
            .collect();
        let mut excerpt: String = lead.iter().rev().map(|c| visible(*c)).collect();
        let room = WIDTH.saturating_sub(lead.len());
        let rest: String = behind.chars().take_while(|c| *c != '\n').take(room).collect();
        let rest = rest.trim_end();
        let length = span.end.saturating_sub(self.at);
        let marked = behind
            .char_indices()
            .take_while(|(offset, _)| *offset < length)
            .take(room)
            .count();
        excerpt.extend(rest.chars().map(visible));
        Place {
            line: self.line,
            column: self.column,
            excerpt,
            before: lead.len(),
            marked: marked.min(rest.chars().count()).max(1),
        }
    }

    fn advance(&mut self, to: usize) {
        let passed = self.text.get(self.at..to).unwrap_or_default();
        let lines = memchr::memchr_iter(b'\n', passed.as_bytes()).count();
        let tail = passed.rsplit('\n').next().unwrap_or_default().chars().count();
        self.line = self.line.saturating_add(lines);
        self.column = if lines == 0 {
            self.column.saturating_add(tail)
        } else {
            tail.saturating_add(1)
        };
        self.at = self.at.saturating_add(passed.len());
    }
}

/// Characters that would move the cursor of a terminal are not shown as they are.
fn visible(c: char) -> char {
    if c.is_control() && c != '\t' {
        '\u{fffd}'
    } else {
        c
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_with_its_line() {
        let text = "a: * -> <shunt>;\n\tb: é -> <shunt>;\r\n";
        let at = text.find('é').unwrap();
        let place = Place::of(text, at..at + 2);
        assert_eq!((place.line(), place.column()), (2, 5));
        assert_eq!(place.to_string(), "  2 | \tb: é -> <shunt>;\n    | \t   ^");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = "x".repeat(1000);
        let place = Place::of(&text, 500..900);
        assert_eq!(place.column(), 501);
        let shown = place.to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], format!("  1 | {}", "x".repeat(WIDTH)));
        assert_eq!(
            lines[1],
            format!("    | {}{}", " ".repeat(BEFORE), "^".repeat(WIDTH - BEFORE))
        );
    }

    #[test]
    fn the_end_of_a_text_is_a_place() {
        let place = Place::of("a\n", 2..2);
        assert_eq!((place.line(), place.column()), (2, 1));
        assert_eq!(place.to_string(), "  2 | \n    | ^");
        assert_eq!(Place::of("", 0..0).to_string(), "  1 | \n    | ^");
    }

    #[test]
    fn later_places_go_on_from_earlier_ones() {
        let mut places = Places::new("ab\ncd ef\n");
        for (start, line, column) in [(1, 1, 2), (3, 2, 1), (6, 2, 4), (6, 2, 4), (9, 3, 1)] {
            let place = places.find(start..start + 1);
            assert_eq!((place.line(), place.column()), (line, column));
        }
    }
}
