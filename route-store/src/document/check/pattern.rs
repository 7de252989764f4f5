//! Path patterns.

use std::collections::BTreeSet;

use super::super::fields::shorten;
use super::super::problem::Found;

/// Checks the patterns of one entry. `seen` has those of the entries before it: only the first can ever match.
pub(super) fn check(patterns: &[String], place: &str, seen: &mut BTreeSet<String>, found: &mut Found) {
    let place = format!("{place}.patterns");
    if patterns.is_empty() {
        found.say(&place, "a pattern is needed, such as `/api/*`");
    }
    for (number, pattern) in patterns.iter().enumerate() {
        let place = format!("{place}[{number}]");
        if let Some(reason) = fault(pattern) {
            found.say(&place, reason);
        } else if !seen.insert(pattern.to_lowercase()) {
            // The matcher looks at no case.
            found.say(&place, format!("`{}` is there twice", shorten(pattern)));
        }
    }
}

fn fault(pattern: &str) -> Option<&'static str> {
    if !pattern.starts_with(['/', '*']) {
        return Some("a pattern begins with `/` or `*`");
    }
    if pattern.chars().any(char::is_control) {
        return Some("a pattern has no control characters");
    }
    if pattern.contains("{{") || pattern.matches('{').count() != pattern.matches('}').count() {
        return Some("a brace has no counterpart");
    }
    // Without it the matcher takes the `*` at an end as any text, in which brackets are not special either.
    let special = pattern.contains(['?', '[', '\\']);
    if special && !is_glob(pattern) {
        return Some("a bracket is not closed, or nothing comes after a `\\`");
    }
    None
}

/// Whether brackets are closed, hold something, and whatever is behind a backslash is there.
fn is_glob(pattern: &str) -> bool {
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        let fine = match char {
            '\\' => chars.next().is_some(),
            '[' => is_class(&mut chars),
            _ => true,
        };
        if !fine {
            return false;
        }
    }
    true
}

fn is_class(chars: &mut std::str::Chars<'_>) -> bool {
    let mut is_empty = true;
    while let Some(char) = chars.next() {
        match char {
            ']' if !is_empty => return true,
            ']' | '-' if is_empty => return false,
            '^' if is_empty => continue,
            '\\' if chars.next().is_none() => return false,
            _ => {}
        }
        is_empty = false;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_begin_with_a_slash_or_a_star() {
        for pattern in [
            "/",
            "*",
            "/a",
            "/a/*",
            "*.png",
            "*/inside/*",
            "/[a-z]?",
            "/[^a]",
            "/a\\*",
            "/{vars.x}/b",
            "//a",
            "/%2f*",
        ] {
            assert_eq!(fault(pattern), None, "{pattern}");
        }
        for pattern in [
            "", "a", "a/*", ".png", "/a\n", "/[a", "/[]", "/[^]", "/[-a]", "/a\\", "/[a\\", "/{a", "{vars.x}",
        ] {
            assert!(fault(pattern).is_some(), "{pattern}");
        }
    }
}
