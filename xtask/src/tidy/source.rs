//! Just enough of Rust's lexical grammar to tell code from comments and literals.

/// What a byte of a source file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Code,
    Comment,
    Literal,
}

/// A Rust file, split by class.
#[derive(Debug)]
pub(crate) struct Source {
    text: Vec<u8>,
    classes: Vec<Class>,
}

// === impl Source ===

impl Source {
    /// Classifies every byte. Text that is no Rust gives some answer, never a panic.
    pub(crate) fn new(text: &str) -> Self {
        let mut lexer = Lexer {
            text: text.as_bytes(),
            classes: Vec::with_capacity(text.len()),
        };
        while lexer.step() {}
        let Lexer { classes, .. } = lexer;
        Self {
            text: text.as_bytes().to_vec(),
            classes,
        }
    }

    /// The code with comments and the insides of literals blanked; places stay as they were.
    pub(crate) fn code(&self) -> String {
        self.keep(|class| class == Class::Code)
    }

    /// The code and the literals with comments blanked.
    pub(crate) fn without_comments(&self) -> String {
        self.keep(|class| class != Class::Comment)
    }

    /// Lines that hold code, those of `#[cfg(test)]` items left out.
    pub(crate) fn code_lines(&self) -> usize {
        let tests = test_items(&self.code());
        let mut at = 0;
        let mut count = 0;
        for line in self.without_comments().split_inclusive('\n') {
            let in_test = tests.iter().any(|range| range.contains(&at));
            count += usize::from(!in_test && !line.trim().is_empty());
            at += line.len();
        }
        count
    }

    fn keep(&self, wanted: impl Fn(Class) -> bool) -> String {
        let blank = |(byte, class): (&u8, &Class)| {
            if *byte == b'\n' || wanted(*class) {
                *byte
            } else {
                b' '
            }
        };
        let bytes: Vec<u8> = self.text.iter().zip(&self.classes).map(blank).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Byte ranges of items under `#[cfg(test)]`, attribute included.
fn test_items(code: &str) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let mut from = 0;
    while let Some(start) = find(code.as_bytes(), b"#[cfg(test)]", from) {
        from = end_of_item(code.as_bytes(), start + "#[cfg(test)]".len());
        ranges.push(start..from);
    }
    ranges
}

fn find(text: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    text.get(from..)?
        .windows(needle.len())
        .position(|window| window == needle)
        .map(|at| from + at)
}

/// Behind the `;` or the closing brace that ends the item which starts at `from`.
fn end_of_item(code: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().skip(from) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => return at + 1,
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

struct Lexer<'a> {
    text: &'a [u8],
    classes: Vec<Class>,
}

// === impl Lexer ===

impl Lexer<'_> {
    /// Classifies one token or one byte; false at the end.
    fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(&first) = rest.first() else { return false };
        let next = rest.get(1).copied();
        match first {
            b'/' if next == Some(b'/') => {
                let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                self.take(Class::Comment, end);
            }
            b'/' if next == Some(b'*') => self.take(Class::Comment, block_comment(rest)),
            b'"' => self.literal(quoted(rest, b'"')),
            b'r' if !self.in_word() => self.raw_string(),
            b'\'' if is_char(rest) => self.literal(quoted(rest, b'\'')),
            _ => self.take(Class::Code, 1),
        }
        true
    }

    fn rest(&self) -> &[u8] {
        self.text.get(self.classes.len()..).unwrap_or_default()
    }

    fn take(&mut self, class: Class, count: usize) {
        self.classes.extend(std::iter::repeat_n(class, count));
    }

    /// The quotes stay code, so that something is left of the token.
    fn literal(&mut self, length: usize) {
        self.take(Class::Code, 1);
        self.take(Class::Literal, length.saturating_sub(2));
        self.take(Class::Code, length.min(2) - 1);
    }

    /// Whether the byte before continues an identifier; the prefixes `b` and `c` of raw strings do not count.
    fn in_word(&self) -> bool {
        let at = self.classes.len();
        let before = |n: usize| {
            at.checked_sub(n)
                .and_then(|i| self.text.get(i))
                .copied()
                .unwrap_or(b' ')
        };
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let prefixed = matches!(before(1), b'b' | b'c') && !word(before(2));
        word(before(1)) && !prefixed
    }

    fn raw_string(&mut self) {
        let rest = self.rest();
        let hashes = rest.iter().skip(1).take_while(|b| **b == b'#').count();
        if rest.get(1 + hashes) != Some(&b'"') {
            return self.take(Class::Code, 1);
        }
        let mut close = vec![b'"'];
        close.resize(1 + hashes, b'#');
        let open = 2 + hashes;
        let inside = find(rest, &close, open).unwrap_or(rest.len()) - open;
        let end = close.len().min(rest.len() - open - inside);
        self.take(Class::Code, open);
        self.take(Class::Literal, inside);
        self.take(Class::Code, end);
    }
}

fn block_comment(text: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        match (text.get(at), text.get(at + 1)) {
            (Some(b'/'), Some(b'*')) => (depth, at) = (depth + 1, at + 2),
            (Some(b'*'), Some(b'/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Length of the literal that starts with `quote`, both quotes included.
fn quoted(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        at += match byte {
            b'\\' => 2,
            byte if *byte == quote => return at + 1,
            _ => 1,
        };
    }
    text.len()
}

/// Tells `'a'` and `'\n'` from the lifetime `'a`.
fn is_char(text: &[u8]) -> bool {
    match text.get(1) {
        Some(b'\\') => true,
        Some(first) => {
            let width = match first {
                0..=0x7f => 1,
                0x80..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xff => 4,
            };
            text.get(1 + width) == Some(&b'\'')
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Source::new(text).code()
    }

    #[test]
    fn comments_and_literals_are_blanked_in_place() {
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(code("a /* x /* y */ z */ b"), "a                   b");
        assert_eq!(code(r#"f("a\"b", c)"#), r#"f("    ", c)"#);
        assert_eq!(code(r###"f(r#"a"b"#, br"x")"###), r###"f(r#"   "#, br" ")"###);
    }

    #[test]
    fn lifetimes_are_no_character_literals() {
        assert_eq!(
            code("fn f<'a>(x: &'a str) { '\"' }"),
            "fn f<'a>(x: &'a str) { ' ' }"
        );
        assert_eq!(code(r"['\'', 'ä', '/']"), "['  ', '  ', ' ']");
    }

    #[test]
    fn an_identifier_that_ends_in_r_starts_no_raw_string() {
        assert_eq!(code(r#"bar"x""#), r#"bar" ""#);
    }

    #[test]
    fn unfinished_tokens_end_with_the_text() {
        for text in [
            "\"abc",
            "'\\",
            "/* abc",
            "r#\"abc",
            "r##\"abc\"#",
            "'",
            "\"",
            "r",
            "b'",
        ] {
            let source = Source::new(text);
            assert_eq!(source.classes.len(), source.text.len(), "{text}");
        }
    }

    #[test]
    fn code_lines_leave_out_blanks_comments_and_tests() {
        let text = "//! Doc.\n\nfn a() {\n    // why\n    b(); // how\n}\n\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n\nfn d() {}\n";
        assert_eq!(Source::new(text).code_lines(), 4);
        assert_eq!(
            Source::new("#[cfg(test)]\nmod tests;\nfn a() {}\n").code_lines(),
            1
        );
    }

    #[test]
    fn a_literal_of_many_lines_is_code() {
        assert_eq!(Source::new("const A: &str = \"a\n// b\nc\";\n").code_lines(), 3);
    }
}
