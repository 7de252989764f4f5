//! Regular expressions in Go's syntax, which is what configurations are written in.
//!
//! The syntax of the crate `regex` is nearly Go's. [`compile`] writes the rest in it: `\d`, `\w`, `\s` and `\b` are
//! about ASCII only, braces that are no repetition are text, `\Q..\E` quotes, `\pN` may be negated by `^`, and within
//! brackets only Go's signs have a meaning. Neither of the two can be made slow; what would need much memory is
//! refused.

use regex::{Regex, RegexBuilder};
use regex_syntax::{
    ParserBuilder,
    hir::{Class, ClassUnicodeRange, Hir, HirKind},
    utf8::Utf8Sequences,
};

/// Memory of a compiled expression, in bytes.
const MAX_SIZE: usize = 1024 * 1024;

/// The longest expression, in bytes.
const MAX_LENGTH: usize = 8 * 1024;

/// How deep groups may be nested.
const MAX_DEPTH: u32 = 50;

/// Why a text is no regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this regular expression is {0}")]
pub struct RegexpError(String);

/// The work that one expression may make, in states of its automaton. It is reached before [`MAX_SIZE`] is.
const MAX_STATES: usize = 20_000;

/// The work that all expressions of a configuration may make.
const ALL_STATES: usize = 4_000_000;

/// The work that the expressions of one configuration may still make.
#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
}

/// Compiles an expression in Go's syntax.
///
/// # Errors
///
/// One that is wrong, or that needs about 1 MiB of memory.
pub fn compile(pattern: &str) -> Result<Regex, RegexpError> {
    let (translated, _) = checked(pattern)?;
    RegexBuilder::new(&translated)
        .size_limit(MAX_SIZE)
        .nest_limit(MAX_DEPTH)
        .build()
        .map_err(|error| RegexpError(error.to_string()))
}

/// What [`compile`] would refuse, and the work that it would have, without doing it.
pub(crate) fn check(pattern: &str) -> Result<usize, RegexpError> {
    checked(pattern).map(|(_, states)| states)
}

/// The expression in the syntax of the crate `regex`, and its states.
fn checked(pattern: &str) -> Result<(String, usize), RegexpError> {
    if pattern.len() > MAX_LENGTH {
        return Err(RegexpError(format!("longer than {MAX_LENGTH} bytes")));
    }
    let translated = Translator::new(pattern).translate();
    let parsed = ParserBuilder::new()
        .nest_limit(MAX_DEPTH)
        .build()
        .parse(&translated);
    let hir = parsed.map_err(|error| RegexpError(reason(&error)))?;
    let states = states(&hir);
    if states > MAX_STATES {
        return Err(RegexpError(
            "too large once its repetitions are written out".to_owned(),
        ));
    }
    Ok((translated, states))
}

/// About as many states as the automaton has.
fn states(hir: &Hir) -> usize {
    let sum = |parts: &[Hir]| parts.iter().map(states).fold(1, usize::saturating_add);
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len(),
        HirKind::Class(Class::Unicode(class)) => {
            let bytes = |range: &ClassUnicodeRange| -> usize {
                Utf8Sequences::new(range.start(), range.end())
                    .map(|sequence| sequence.len())
                    .sum()
            };
            class.ranges().iter().map(bytes).fold(1, usize::saturating_add)
        }
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            states(&repetition.sub).saturating_mul(usize::try_from(times).unwrap_or(usize::MAX))
        }
        HirKind::Capture(capture) => states(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}

/// One line; the crate's own message draws the expression over several.
fn reason(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => format!("wrong: {}", error.kind()),
        regex_syntax::Error::Translate(error) => format!("wrong: {}", error.kind()),
        _ => "wrong".to_owned(),
    }
}

/// What is left of a pattern, and what it became so far.
#[derive(Debug)]
struct Translator<'p> {
    rest: &'p str,
    out: String,
}

// === impl Budget ===

impl Default for Budget {
    fn default() -> Self {
        Self { left: ALL_STATES }
    }
}

impl Budget {
    /// Takes the work of one expression.
    pub(crate) fn take(&mut self, pattern: &str) -> Result<(), RegexpError> {
        let states = check(pattern)?;
        self.take_states(states)
    }

    /// Takes work that was counted elsewhere.
    pub(crate) fn take_states(&mut self, states: usize) -> Result<(), RegexpError> {
        self.left = self.left.checked_sub(states).ok_or_else(|| {
            RegexpError(
                "one too many: all of this configuration together would need too much memory".to_owned(),
            )
        })?;
        Ok(())
    }
}

// === impl Translator ===

impl<'p> Translator<'p> {
    fn new(pattern: &'p str) -> Self {
        Self {
            rest: pattern,
            out: String::with_capacity(pattern.len()),
        }
    }

    fn translate(mut self) -> String {
        while let Some(c) = self.next() {
            match c {
                '\\' => self.escape(false),
                '[' => self.class(),
                '{' if repetition(self.rest).is_none() => self.out.push_str(r"\{"),
                _ => self.out.push(c),
            }
        }
        self.out
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next()?;
        self.rest = chars.as_str();
        Some(next)
    }

    fn takes(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// What stands behind a backslash.
    fn escape(&mut self, in_class: bool) {
        let Some(c) = self.next() else {
            return self.out.push('\\');
        };
        match c {
            'd' if in_class => self.out.push_str("0-9"),
            'w' if in_class => self.out.push_str("0-9A-Za-z_"),
            's' if in_class => self.out.push_str(r"\t\n\x0C\r\x20"),
            'd' => self.out.push_str("[0-9]"),
            'w' => self.out.push_str("[0-9A-Za-z_]"),
            's' => self.out.push_str(r"[\t\n\x0C\r\x20]"),
            'D' => self.out.push_str("[^0-9]"),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            'S' => self.out.push_str(r"[^\t\n\x0C\r\x20]"),
            'b' if !in_class => self.out.push_str(r"(?-u:\b)"),
            '<' | '>' => self.out.push(c),
            'Q' if !in_class => self.quoted(),
            'E' if !in_class => {}
            'p' | 'P' if self.takes("{^") => {
                self.out.push('\\');
                self.out.push(if c == 'p' { 'P' } else { 'p' });
                self.out.push('{');
            }
            '0'..='7' => self.octal(c),
            _ => {
                self.out.push('\\');
                self.out.push(c);
                // Braces that belong to the escape are no repetition.
                if matches!(c, 'x' | 'p' | 'P') && self.takes("{") {
                    self.out.push('{');
                }
            }
        }
    }

    /// Text to `\E` or the end.
    fn quoted(&mut self) {
        let (text, rest) = self.rest.split_once(r"\E").unwrap_or((self.rest, ""));
        self.out.push_str(&regex::escape(text));
        self.rest = rest;
    }

    /// `\0`, `\07` and `\123`, but not `\1`, which would be a reference to a group.
    fn octal(&mut self, first: char) {
        let digits = self
            .rest
            .bytes()
            .take(2)
            .take_while(|byte| (b'0'..=b'7').contains(byte));
        let count = digits.count();
        let (digits, rest) = self.rest.split_at_checked(count).unwrap_or(("", self.rest));
        let number = u32::from_str_radix(&format!("{first}{digits}"), 8);
        match number {
            Ok(number) if first == '0' || count > 0 => {
                self.rest = rest;
                self.out.push_str(&format!(r"\x{{{number:X}}}"));
            }
            _ => {
                self.out.push('\\');
                self.out.push(first);
            }
        }
    }

    /// What stands between brackets; the first of them is taken.
    fn class(&mut self) {
        self.out.push('[');
        if self.takes("^") {
            self.out.push('^');
        }
        if self.takes("]") {
            self.out.push_str(r"\]");
        }
        // Whether a dash now would make a range from what stands before it.
        let mut begun = self.out.ends_with(r"\]");
        while let Some(c) = self.next() {
            begun = match c {
                ']' => return self.out.push(']'),
                '\\' => {
                    let single = !self.rest.starts_with(['d', 'D', 's', 'S', 'w', 'W', 'p', 'P']);
                    self.escape(true);
                    single
                }
                '[' if self.rest.starts_with(':') => {
                    self.posix();
                    false
                }
                '-' if begun && !self.rest.starts_with(']') => {
                    self.out.push('-');
                    if self.takes("-") {
                        self.out.push_str(r"\-");
                    }
                    false
                }
                // A dash of its own, and signs of sets, which Go has not.
                '-' | '[' | '&' | '~' => {
                    self.out.push('\\');
                    self.out.push(c);
                    true
                }
                _ => {
                    self.out.push(c);
                    true
                }
            };
        }
    }

    /// `[:alpha:]`, the same in both.
    fn posix(&mut self) {
        let end = self.rest.find(":]").filter(|end| *end < 16);
        match end.and_then(|end| self.rest.split_at_checked(end.saturating_add(2))) {
            Some((name, rest)) => {
                self.out.push('[');
                self.out.push_str(name);
                self.rest = rest;
            }
            None => self.out.push_str(r"\["),
        }
    }
}

/// Whether a text that stands behind a `{` goes on as a repetition: `N}`, `N,}` or `N,M}`.
fn repetition(text: &str) -> Option<()> {
    let (inside, _) = text.split_once('}')?;
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = match inside.split_once(',') {
        None => number(inside),
        Some((low, high)) => number(low) && (high.is_empty() || number(high)),
    };
    fits.then_some(())
}

#[cfg(test)]
mod tests {
    use super::{Budget, compile};

    #[test]
    fn what_go_accepts_matches_what_it_matches_there() {
        let cases = [
            (r"^/a(b|c)$", "/ab", true),
            (r"\d", "\u{663}", false),
            (r"^\D$", "\u{663}", true),
            (r"\w", "\u{e9}", false),
            (r"[\w-]+$", "a-b", true),
            (r"[^\W]", "a", true),
            (r"[^\W]", "-", false),
            (r"\s", "\u{b}", false),
            (r"a\b", "a\u{e9}", true),
            (r"(?P<n>a)\z", "ba", true),
            (r"(?<n>a)\z", "ab", false),
            (r"a{,2}", "a{,2}", true),
            (r"^{x}$", "{x}", true),
            (r"a{2}", "aa", true),
            (r"^a{2,}$", "aaa", true),
            (r"\Qa.b\E.", "a.bc", true),
            (r"\Qa.b", "axb", false),
            (r"\<a\>", "<a>", true),
            (r"\_\-\/\:\%", "_-/:%", true),
            (r"[[a]", "[", true),
            (r"[a&&b]", "&", true),
            (r"[]a]", "]", true),
            (r"[^]a]", "]", false),
            (r"[[:alpha:]_]", "_", true),
            (r"[+--]", ",", true),
            (r"[--/]", ".", true),
            (r"[a-]", "-", true),
            (r"[\w-z]", "-", true),
            (r"[a-c-e]", "-", true),
            (r"[a-c-e]", "d", false),
            (r"\x41\x{42}\103", "ABC", true),
            (r"\p{Greek}", "\u{3b1}", true),
            (r"\p{^Greek}", "\u{3b1}", false),
            (r"\pL", "\u{e9}", true),
            (r"(?i)stra\x{df}e", "STRA\u{df}E", true),
            (r"(?U)a+?b", "aab", true),
        ];
        for (pattern, text, matches) in cases {
            let regex = compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert_eq!(regex.is_match(text), matches, "{pattern} on {text}, as {regex}");
        }
    }

    #[test]
    fn what_is_wrong_or_large_is_refused_at_once() {
        let cases = [
            ("(a", "this regular expression is wrong: unclosed group"),
            (
                "a**b|[",
                "this regular expression is wrong: unclosed character class",
            ),
            (
                r"(a)\1",
                "this regular expression is wrong: backreferences are not supported",
            ),
            (
                "(?=a)",
                "this regular expression is wrong: look-around, including look-ahead and look-behind, is not supported",
            ),
            (
                "((a{1000}){1000}){1000}",
                "this regular expression is too large once its repetitions are written out",
            ),
        ];
        for (pattern, message) in cases {
            assert_eq!(compile(pattern).unwrap_err().to_string(), message);
        }
        for pattern in ["(".repeat(10_000), "(".repeat(1_000), "a".repeat(10_000)] {
            assert!(compile(&pattern).is_err());
        }
    }

    #[test]
    fn what_is_not_refused_compiles() {
        let patterns = [
            ".{600}",
            r"\pL{7}",
            r"(?i)\pL{6}",
            "((a{10}){10}){50}",
            "[a-z]{5000}",
            "(a|b|c){2000}",
        ];
        for pattern in patterns {
            assert!(compile(pattern).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn all_of_a_configuration_share_a_budget() {
        let mut budget = Budget::default();
        let taken = (0..10_000).take_while(|_| budget.take(".{600}").is_ok()).count();
        assert!((100..1_000).contains(&taken), "{taken}");
        assert!(budget.take("^/a").is_ok(), "a small one still fits");
    }
}
